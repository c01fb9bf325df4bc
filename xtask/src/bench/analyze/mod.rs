//! The throughput of `wiretape stats` and `wiretape calls`, against a bare scan of the same trace's envelopes.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use wiretape_testkit::memory::peak_of_tree;

use crate::bench::Effort;
use crate::bench::figures::{Rounds, megabytes, show_all};
use crate::bench::import::{answer, call, prose};
use crate::bench::programs::Programs;
use crate::bench::progress::Progress;
use crate::bench::report::{Report, Row};
use crate::failure::{Context, Failure, Result};
use crate::sh::{cargo, run as run_task, target_directory};

const SUBJECTS: [&str; 3] = ["envelope scan", "stats", "calls"];

/// The minimum speed, as a share of the floor's.
const LEAST: f64 = 0.5;

/// The maximum memory in bytes, for a trace of any length.
const MEMORY: f64 = 50_000_000.0;

/// The size of the messages.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Usual,
    Tiny,
}

/// Runs all measurements of this section.
pub(super) fn measure(programs: &Programs, effort: Effort) -> Result<Report> {
    let rounds = effort.rounds.unwrap_or(if effort.quick { 2 } else { 5 });
    let shrink = if effort.quick { 10 } else { 1 };
    let cases = [
        ("messages of 1.6 kB", Kind::Usual, 1_000_000_000 / shrink),
        ("tiny messages", Kind::Tiny, 200_000_000 / shrink),
    ];
    build_scan()?;
    let scratch = programs.scratch()?;
    let mut rows = Vec::new();
    for (name, kind, bytes) in cases {
        let trace = scratch.path().join("trace.jsonl");
        write(kind, bytes, &trace).context("a trace to read")?;
        rows.extend(case(&format!("{} of {name}", megabytes(bytes as f64)), programs, &trace, rounds)?);
    }
    Ok(Report { section: "analyze", rounds, subjects: &SUBJECTS, rows })
}

/// Builds the floor.
pub(super) fn build_scan() -> Result {
    run_task(&mut cargo(["build", "--release", "--package", "wiretape-trace", "--example", "scan"]))
}

/// The floor: a bare scan of a trace's envelopes.
pub(super) fn scan(trace: &Path) -> Result<u64> {
    run(&target_directory().join("release/examples/scan"), None, trace)
}

fn case(what: &str, programs: &Programs, trace: &Path, rounds: usize) -> Result<Vec<Row>> {
    let progress = Progress::of(what);
    let length = fs::metadata(trace).context("the trace")?.len() as f64;
    let (scan, subject) = (target_directory().join("release/examples/scan"), programs.subject());
    let (mut rates, mut peak) = (Rounds::default(), [0_u64; 3]);
    for round in 0..rounds {
        progress.show(round);
        let mut round = [0.0; 3];
        for (n, (program, command)) in
            [(&scan, None), (&subject, Some("stats")), (&subject, Some("calls"))].into_iter().enumerate()
        {
            let start = Instant::now();
            peak[n] = peak[n].max(run(program, command, trace)?);
            round[n] = length / start.elapsed().as_secs_f64();
        }
        rates.push(round);
    }
    let ratio = |n: usize| rates.median_of(|round| round[n] / round[0]);
    let speed = |n: usize| Row {
        what: format!("{what}: {}", SUBJECTS[n]),
        figures: show_all(rates.medians(), |rate| format!("{:.0} MB/s", rate / 1e6)),
        outcome: format!("{:.2}×", ratio(n)),
        target: format!("≥ {LEAST}×"),
        met: ratio(n) >= LEAST,
    };
    let most = peak[1].max(peak[2]) as f64;
    let memory = Row {
        what: format!("{what}: peak memory"),
        figures: peak.iter().map(|bytes| megabytes(*bytes as f64)).collect(),
        outcome: megabytes(most),
        target: format!("≤ {}", megabytes(MEMORY)),
        met: most <= MEMORY,
    };
    Ok(vec![speed(1), speed(2), memory])
}

/// Writes a trace of about `bytes` bytes.
pub(super) fn write(kind: Kind, bytes: u64, path: &Path) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    writeln!(
        out,
        r#"{{"v":1,"type":"meta","startedAt":"2026-05-12T23:00:00.000Z","label":"bench","command":["bench"]}}"#
    )?;
    let prose = prose();
    let mut written = 0;
    for id in 1.. {
        let (call, answer) = match kind {
            Kind::Usual => (call(id, &prose), answer(id, &prose)),
            Kind::Tiny => (
                format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t{}"}}}}"#,
                    id % 10
                ),
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
            ),
        };
        for (dir, seq, payload) in [("in", id * 2 - 1, call), ("out", id * 2, answer)] {
            let line = format!(
                r#"{{"t":"2026-05-12T23:00:00.123Z","dir":"{dir}","seq":{seq},"us":{},"raw":{payload}}}"#,
                seq * 7
            );
            writeln!(out, "{line}")?;
            written += line.len() as u64 + 1;
        }
        if written >= bytes {
            break;
        }
    }
    out.flush()
}

/// Runs a program on the trace, and returns its peak memory.
fn run(program: &Path, command: Option<&str>, trace: &Path) -> Result<u64> {
    const LOOK: Duration = Duration::from_millis(5);
    let mut reader = Command::new(program);
    reader.args(command).arg(trace).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = reader.spawn().context("a reader of traces")?;
    let mut peak = 0;
    loop {
        // Sampled while it runs: `/proc` has nothing of a process that was waited for.
        peak = peak.max(peak_of_tree(child.id(), "").unwrap_or(0));
        if let Some(status) = child.try_wait().context("a reader of traces")? {
            let failed = || Failure::new(format!("{} failed: {status}", program.display()));
            return if status.success() { Ok(peak) } else { Err(failed()) };
        }
        thread::sleep(LOOK);
    }
}
