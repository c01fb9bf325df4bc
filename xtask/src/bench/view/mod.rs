//! How soon `wiretape view` shows a large trace, how much memory that needs, and the size of the page.

pub(super) mod client;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use wiretape_testkit::memory::peak_of_tree;

use crate::bench::Effort;
use crate::bench::analyze::{self, Kind};
use crate::bench::figures::{Rounds, megabytes};
use crate::bench::programs::Programs;
use crate::bench::progress::Progress;
use crate::bench::report::{Report, Row};
use crate::failure::{Context, Failure, Result};
use crate::sh::{command, root};
use client::Client;

const SUBJECTS: [&str; 2] = ["envelope scan", "view"];

/// The maximum time from the start of the program until the first screen is answered, in seconds.
const FIRST_SCREEN: f64 = 2.0;
const MEMORY: f64 = 300_000_000.0;
const PAGE: f64 = 250_000.0;
/// The maximum size of a report, as a multiple of its trace's.
const REPORT: f64 = 1.5;
const FIRST_PAINT_MS: f64 = 300.0;

/// Runs all measurements of this section.
pub(super) fn measure(programs: &Programs, effort: Effort) -> Result<Report> {
    let rounds = effort.rounds.unwrap_or(if effort.quick { 1 } else { 3 });
    let shrink = if effort.quick { 10 } else { 1 };
    analyze::build_scan()?;
    let scratch = programs.scratch()?;
    let trace = scratch.path().join("trace.jsonl");
    let mut rows = Vec::new();
    let cases = [
        ("messages of 1.6 kB", Kind::Usual, 1_000_000_000 / shrink),
        ("tiny messages", Kind::Tiny, 200_000_000 / shrink),
    ];
    for (name, kind, bytes) in cases {
        analyze::write(kind, bytes, &trace).context("a trace to look at")?;
        rows.extend(case(&format!("{} of {name}", megabytes(bytes as f64)), programs, &trace, rounds)?);
    }
    analyze::write(Kind::Usual, 10_000_000, &trace).context("a trace for a report")?;
    rows.push(report(programs, &trace, scratch.path())?);
    rows.extend(page(programs, &trace, scratch.path())?);
    Ok(Report { section: "view", rounds, subjects: &SUBJECTS, rows })
}

fn case(what: &str, programs: &Programs, trace: &Path, rounds: usize) -> Result<Vec<Row>> {
    let progress = Progress::of(what);
    let (mut first, mut index, mut peak) = (Rounds::default(), Rounds::default(), 0);
    for round in 0..rounds {
        progress.show(round);
        let start = Instant::now();
        analyze::scan(trace)?;
        let scanned = start.elapsed().as_secs_f64();
        let server = Server::start(&programs.subject(), trace)?;
        server.first_screen()?;
        first.push([scanned, server.started.elapsed().as_secs_f64()]);
        peak = peak.max(server.wait_for_index()?);
        index.push([scanned, server.started.elapsed().as_secs_f64()]);
    }
    let seconds = |figures: [f64; 2]| figures.map(|figure| format!("{figure:.2} s")).to_vec();
    let screen = first.median_of(|round| round[1]);
    let ratio = index.median_of(|round| round[0] / round[1]);
    Ok(vec![
        Row {
            what: format!("{what}: the first screen"),
            figures: seconds(first.medians()),
            outcome: format!("{screen:.2} s"),
            target: format!("≤ {FIRST_SCREEN} s"),
            met: screen <= FIRST_SCREEN,
        },
        Row {
            what: format!("{what}: all of it indexed"),
            figures: seconds(index.medians()),
            outcome: format!("{ratio:.2}×"),
            target: "≥ 0.5×".to_owned(),
            met: ratio >= 0.5,
        },
        Row {
            what: format!("{what}: peak memory"),
            figures: vec![String::new(), megabytes(peak as f64)],
            outcome: megabytes(peak as f64),
            target: format!("≤ {}", megabytes(MEMORY)),
            met: peak as f64 <= MEMORY,
        },
    ])
}

/// The size of a report.
fn report(programs: &Programs, trace: &Path, scratch: &Path) -> Result<Row> {
    let file = scratch.join("report.html");
    let mut export = Command::new(programs.subject());
    export.args(["export", "html"]).arg(trace).arg("--out").arg(&file).env("WIRETAPE_DATA_DIR", scratch);
    let status = export.stderr(Stdio::null()).status().context("a report")?;
    if !status.success() {
        return Err(Failure::new(format!("the report failed: {status}")));
    }
    let length = |path: &Path| Ok::<f64, Failure>(fs::metadata(path).context("the report")?.len() as f64);
    let (of_trace, of_report) = (length(trace)?, length(&file)?);
    Ok(Row {
        what: format!("a report of a trace of {}", megabytes(of_trace)),
        figures: vec![String::new(), megabytes(of_report)],
        outcome: format!("{:.2}× the trace", of_report / of_trace),
        target: format!("≤ {REPORT}×"),
        met: of_report <= REPORT * of_trace,
    })
}

/// The size of the page, and its first paint in a browser.
fn page(programs: &Programs, trace: &Path, scratch: &Path) -> Result<Vec<Row>> {
    let server = Server::start(&programs.subject(), trace)?;
    let mut weight = 0;
    for path in ["/", "/app.js", "/app.css"] {
        weight += gzipped_size(&server.client.get(path)?)?;
    }
    let mut browser = command("node");
    browser.arg(root().join("ui/tests/browser/measure.mjs")).arg(&server.address).env("TMPDIR", scratch);
    let told = browser.output().context("a browser")?;
    let told: Value = serde_json::from_slice(&told.stdout)
        .map_err(|error| Failure::new(format!("the browser told nothing: {error}")))?;
    let paint = told["firstPaintMs"].as_f64().unwrap_or(f64::MAX);
    Ok(vec![
        Row {
            what: "the page, gzipped".to_owned(),
            figures: vec![String::new(), format!("{:.0} kB", weight as f64 / 1e3)],
            outcome: format!("{:.0} kB", weight as f64 / 1e3),
            target: format!("≤ {:.0} kB", PAGE / 1e3),
            met: weight as f64 <= PAGE,
        },
        Row {
            what: "the page's first paint, in Chromium".to_owned(),
            figures: vec![String::new(), format!("{paint:.0} ms")],
            outcome: format!("{paint:.0} ms"),
            target: format!("≤ {FIRST_PAINT_MS} ms"),
            met: paint <= FIRST_PAINT_MS,
        },
    ])
}

fn gzipped_size(bytes: &[u8]) -> Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).context("packing")?;
    Ok(encoder.finish().context("packing")?.len())
}

/// A server with a trace, killed on drop.
struct Server {
    child: Child,
    started: Instant,
    address: String,
    client: Client,
}

impl Server {
    fn start(program: &Path, trace: &Path) -> Result<Self> {
        let started = Instant::now();
        let mut server = Command::new(program);
        server.args(["view", "--no-open"]).arg(trace).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = server.spawn().context("the page's server")?;
        let mut line = String::new();
        let stdout = child.stdout.take().ok_or_else(|| Failure::new("the server has no output"))?;
        BufReader::new(stdout).read_line(&mut line).context("the page's address")?;
        let address = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap_or_default();
        let client = Client::of_page(address)?;
        Ok(Server { child, started, address: address.to_owned(), client })
    }

    /// The requests that the page makes before it shows anything.
    fn first_screen(&self) -> Result {
        for question in ["set", "density?buckets=400&", "timeline?limit=2000&", "messages?limit=200&"] {
            self.client.ask(question)?;
        }
        Ok(())
    }

    /// Waits until the trace is indexed, and returns the peak memory in bytes.
    fn wait_for_index(&self) -> Result<u64> {
        loop {
            let set: Value = serde_json::from_slice(&self.client.ask("set")?)
                .map_err(|error| Failure::new(format!("the server's answer: {error}")))?;
            if set["traces"][0]["progress"]["isComplete"] == true {
                // Scrolls to the end and filters, as users do.
                self.client.ask("messages?from=1000000&limit=200&")?;
                self.client.ask("calls?filter=latency%3E5us&limit=200&")?;
                return peak_of_tree(self.child.id(), "")
                    .ok_or_else(|| Failure::new("the server has no memory"));
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
