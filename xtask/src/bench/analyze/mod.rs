//! The throughput of `wiretape stats` and `wiretape calls`, against a bare scan of the same trace's envelopes; and what
//! calls that are never answered cost, against answered ones.

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
    rows.extend(pending(programs, 1_000_000 / shrink, rounds)?);
    Ok(Report { section: "analyze", rounds, subjects: &SUBJECTS, rows })
}

/// The commands that a trace of pending calls is read with.
const READERS: [&str; 3] = ["stats", "calls", "lint"];

/// How much longer a trace of pending calls may take than one of answered calls.
const LONGEST: f64 = 2.0;

/// The maximum memory in bytes for each pending call.
const MEMORY_PER_CALL: f64 = 300.0;

/// `calls` requests that are never answered, against as many with an answer.
fn pending(programs: &Programs, calls: u64, rounds: usize) -> Result<Vec<Row>> {
    let progress = Progress::of("pending calls");
    let scratch = programs.scratch()?;
    let (answered, open) = (scratch.path().join("answered.jsonl"), scratch.path().join("pending.jsonl"));
    write_until(Kind::Tiny, &answered, |id, _| id >= calls).context("a trace of answered calls")?;
    write_requests(calls, &open).context("a trace of pending calls")?;
    let (mut ratios, mut peaks) = (Rounds::default(), Rounds::default());
    for round in 0..rounds {
        progress.show(round);
        let (mut ratio, mut peak) = ([0.0; READERS.len()], [0.0; READERS.len()]);
        for (n, command) in READERS.into_iter().enumerate() {
            let start = Instant::now();
            let base = run(&programs.subject(), Some(command), &answered)?;
            let middle = Instant::now();
            let most = run(&programs.subject(), Some(command), &open)?;
            ratio[n] = middle.elapsed().as_secs_f64() / (middle - start).as_secs_f64();
            peak[n] = most.saturating_sub(base) as f64 / calls as f64;
        }
        ratios.push(ratio);
        peaks.push(peak);
    }
    let figures = || vec!["–".to_owned(); SUBJECTS.len()];
    let time = |n: usize| {
        let ratio = ratios.medians()[n];
        Row {
            what: format!("{calls} pending calls, {}: time against as many answered ones", READERS[n]),
            figures: figures(),
            outcome: format!("{ratio:.2}×"),
            target: format!("≤ {LONGEST}×"),
            met: ratio <= LONGEST,
        }
    };
    let memory = |n: usize| {
        let most = peaks.highest()[n];
        Row {
            what: format!("{calls} pending calls, {}: memory per call", READERS[n]),
            figures: figures(),
            outcome: format!("{most:.0} B"),
            target: format!("≤ {MEMORY_PER_CALL} B"),
            met: most <= MEMORY_PER_CALL,
        }
    };
    Ok((0..READERS.len()).map(time).chain((0..READERS.len()).map(memory)).collect())
}

/// Builds the program that only scans envelopes, the floor of the comparison.
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
    write_until(kind, path, |_, written| written >= bytes)
}

/// Writes a trace of answered calls, until `is_enough` of the number of calls and of bytes so far.
fn write_until(kind: Kind, path: &Path, is_enough: impl Fn(u64, u64) -> bool) -> io::Result<()> {
    let mut out = begin(path)?;
    let prose = prose();
    let mut written = 0;
    for id in 1.. {
        let (call, answer) = match kind {
            Kind::Usual => (call(id, &prose), answer(id, &prose)),
            Kind::Tiny => (tiny_call(id), format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)),
        };
        for (dir, seq, payload) in [("in", id * 2 - 1, call), ("out", id * 2, answer)] {
            written += write_line(&mut out, dir, seq, &payload)?;
        }
        if is_enough(id, written) {
            break;
        }
    }
    out.flush()
}

/// Writes a trace of requests without answers.
fn write_requests(calls: u64, path: &Path) -> io::Result<()> {
    let mut out = begin(path)?;
    for id in 1..=calls {
        write_line(&mut out, "in", id, &tiny_call(id))?;
    }
    out.flush()
}

fn begin(path: &Path) -> io::Result<BufWriter<File>> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    writeln!(
        out,
        r#"{{"v":1,"type":"meta","startedAt":"2026-05-12T23:00:00.000Z","label":"bench","command":["bench"]}}"#
    )?;
    Ok(out)
}

fn tiny_call(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t{}"}}}}"#, id % 10)
}

/// Writes a line with this payload, and returns its length.
fn write_line(out: &mut impl Write, dir: &str, seq: u64, payload: &str) -> io::Result<u64> {
    let line = format!(
        r#"{{"t":"2026-05-12T23:00:00.123Z","dir":"{dir}","seq":{seq},"us":{},"raw":{payload}}}"#,
        seq * 7
    );
    writeln!(out, "{line}")?;
    Ok(line.len() as u64 + 1)
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
            // 1: `lint` has found something.
            let is_read = status.success() || (command == Some("lint") && status.code() == Some(1));
            return if is_read { Ok(peak) } else { Err(failed()) };
        }
        thread::sleep(LOOK);
    }
}
