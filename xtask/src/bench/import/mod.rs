//! The throughput of `wiretape import`, against a bare count of lines and against `jq`.

mod files;

pub(super) use files::{answer, call, prose};

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use wiretape_testkit::memory::peak_of_tree;

use crate::bench::Effort;
use crate::bench::figures::{Rounds, megabytes, show_all};
use crate::bench::import::files::Kind;
use crate::bench::programs::Programs;
use crate::bench::progress::Progress;
use crate::bench::report::{Report, Row};
use crate::failure::{Context, Failure, Result};

const SUBJECTS: [&str; 3] = ["line count", "jq -c .", "wiretape"];

/// The maximum memory in bytes, for a source of any length.
const MEMORY: f64 = 100_000_000.0;

/// A source, and its target.
struct Case {
    kind: Kind,
    bytes: u64,
    /// The minimum throughput in bytes per second: a multiple of the reference importer's best per second of CPU
    /// time.
    least: f64,
}

/// Runs all measurements of this section.
pub(super) fn measure(programs: &Programs, effort: Effort) -> Result<Report> {
    let rounds = effort.rounds.unwrap_or(if effort.quick { 2 } else { 5 });
    let shrink = if effort.quick { 10 } else { 1 };
    let cases = [
        Case { kind: Kind::Messages, bytes: 1_000_000_000 / shrink, least: 6.0 * 43e6 },
        Case { kind: Kind::Tiny, bytes: 100_000_000 / shrink, least: 10.0 * 9e6 },
        Case { kind: Kind::Envelope, bytes: 100_000_000 / shrink, least: 4.0 * 46e6 },
    ];
    let scratch = programs.scratch()?;
    let mut rows = Vec::new();
    for case in &cases {
        let source = scratch.path().join("source");
        files::write(case.kind, case.bytes, &source).context("a source to import")?;
        rows.extend(case.measure(&programs.subject(), &source, scratch.path(), rounds)?);
    }
    Ok(Report { section: "import", rounds, subjects: &SUBJECTS, rows })
}

impl Case {
    fn measure(&self, subject: &Path, source: &Path, dir: &Path, rounds: usize) -> Result<Vec<Row>> {
        let what = format!("{} of {}", megabytes(self.bytes as f64), self.kind.name());
        let progress = Progress::of(&what);
        let length = fs::metadata(source).context("the source")?.len() as f64;
        let (mut rates, mut peak) = (Rounds::default(), 0_u64);
        for round in 0..rounds {
            progress.show(round);
            let count = rate(length, || count_lines(source).map(|_| ()))?;
            let jq = rate(length, || run_jq(source))?;
            let import = rate(length, || {
                peak = peak.max(run_import(subject, self.kind.format(), source, dir)?);
                Ok(())
            })?;
            rates.push([count, jq, import]);
        }
        let achieved = rates.medians()[2];
        let shown = |rate: f64| if rate.is_nan() { "–".to_owned() } else { per_second(rate) };
        let speed = Row {
            what: format!("{what}: speed"),
            figures: show_all(rates.medians(), shown),
            outcome: per_second(achieved),
            target: format!("≥ {}", per_second(self.least)),
            met: achieved >= self.least,
        };
        let memory = Row {
            what: format!("{what}: peak memory"),
            figures: vec!["–".to_owned(), "–".to_owned(), megabytes(peak as f64)],
            outcome: megabytes(peak as f64),
            target: format!("≤ {}", megabytes(MEMORY)),
            met: peak as f64 <= MEMORY,
        };
        Ok(vec![speed, memory])
    }
}

fn per_second(rate: f64) -> String {
    format!("{:.0} MB/s", rate / 1e6)
}

fn rate(bytes: f64, work: impl FnOnce() -> Result) -> Result<f64> {
    let start = Instant::now();
    match work() {
        Ok(()) => Ok(bytes / start.elapsed().as_secs_f64()),
        // A program that is not installed is not measured.
        Err(error) if error.to_string().contains(NO_JQ) => Ok(f64::NAN),
        Err(error) => Err(error),
    }
}

/// The floor: every byte is read and scanned once.
fn count_lines(source: &Path) -> Result<usize> {
    let mut file = File::open(source).context("the source")?;
    let mut chunk = vec![0; 256 * 1024];
    let mut lines = 0;
    loop {
        match file.read(&mut chunk).context("the source")? {
            0 => return Ok(lines),
            length => lines += memchr::memchr_iter(b'\n', &chunk[..length]).count(),
        }
    }
}

const NO_JQ: &str = "there is no jq";

fn run_jq(source: &Path) -> Result {
    let mut jq = Command::new("jq");
    let status = jq.args(["-c", "."]).arg(source).stdout(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(format!("jq failed: {status}"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Failure::new(NO_JQ)),
        Err(error) => Err(Failure::new(format!("jq: {error}"))),
    }
}

/// Imports to a file, and returns the peak memory.
fn run_import(subject: &Path, format: &str, source: &Path, dir: &Path) -> Result<u64> {
    const LOOK: Duration = Duration::from_millis(10);
    let out: PathBuf = dir.join("trace.jsonl");
    let mut import = Command::new(subject);
    import.arg("import").arg(source).args(["--format", format, "--out"]).arg(&out);
    import.env("WIRETAPE_DATA_DIR", dir.join("data")).stderr(Stdio::null());
    let mut child = import.spawn().context("wiretape import")?;
    let mut peak = 0;
    loop {
        // Sampled while it runs: `/proc` has nothing of a process that was waited for.
        peak = peak.max(peak_of_tree(child.id(), "").unwrap_or(0));
        if let Some(status) = child.try_wait().context("wiretape import")? {
            fs::remove_file(&out).context("the trace")?;
            let failed = || Failure::new(format!("wiretape import failed: {status}"));
            return if status.success() { Ok(peak) } else { Err(failed()) };
        }
        thread::sleep(LOOK);
    }
}
