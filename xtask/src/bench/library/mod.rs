//! How soon 100,000 traces are listed, on the terminal and on the page.
//!
//! The traces have 1 MB each, so 100 GB in total, but they are sparse: a few kilobytes of each are on disk. Reading a
//! trace for the first time still takes as long as for a file without holes.
//!
//! The floor is the least that any listing must do: read the directory, and the size and time of each file.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crate::bench::Effort;
use crate::bench::figures::{Rounds, milliseconds, times};
use crate::bench::programs::Programs;
use crate::bench::progress::Progress;
use crate::bench::report::{Report, Row};
use crate::bench::view::client::Client;
use crate::failure::{Context, Failure, Result};

const SUBJECTS: [&str; 2] = ["readdir + stat", "wiretape"];

/// The maximum time in seconds for a listing when nothing has changed.
const WARM: f64 = 0.150;
/// The size of a trace in bytes, holes included.
const TRACE: u64 = 1_000_000;

/// Runs all measurements of this section.
pub(super) fn measure(programs: &Programs, effort: Effort) -> Result<Report> {
    let rounds = effort.rounds.unwrap_or(if effort.quick { 3 } else { 9 });
    let count = if effort.quick { 10_000 } else { 100_000 };
    let scratch = programs.scratch()?;
    let library = Library { program: programs.subject(), data: scratch.path().to_owned() };
    eprintln!("writing {count} traces");
    library.fill(count)?;
    let mut rows = vec![library.cold(count)?];
    rows.push(library.warm("`ls`, nothing has changed", &["ls"], rounds)?);
    rows.push(library.warm("`ls --json`, nothing has changed", &["ls", "--json"], rounds)?);
    rows.push(library.changed(count, rounds)?);
    rows.extend(library.home(rounds)?);
    Ok(Report { section: "library", rounds, subjects: &SUBJECTS, rows })
}

/// A data directory full of traces, and the program that lists them.
struct Library {
    program: PathBuf,
    data: PathBuf,
}

impl Library {
    fn traces(&self) -> PathBuf {
        self.data.join("traces")
    }

    fn fill(&self, count: u64) -> Result {
        fs::create_dir(self.traces()).context("a directory for traces")?;
        (0..count).try_for_each(|number| self.write(number)).context("traces to list")
    }

    /// Writes a trace with a hole between its first and its last lines.
    fn write(&self, number: u64) -> std::io::Result<()> {
        let mut file = File::create(self.traces().join(format!("trace-{number:06}.jsonl")))?;
        let (minutes, seconds) = (number / 60 % 60, number % 60);
        let started = format!(
            "2026-{:02}-{:02}T{:02}:{minutes:02}:{seconds:02}.000Z",
            1 + number / 86_400,
            1,
            number / 3600 % 24
        );
        // Random like real ids, whose shortest unique prefixes differ in length.
        let id = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number;
        writeln!(
            file,
            "{{\"v\":1,\"type\":\"meta\",\"startedAt\":\"{started}\",\"label\":\"server {}\",\"command\":[\"npx\",\"server\"],\"id\":\"{id:016x}\",\"producer\":{{\"name\":\"wiretape\",\"version\":\"0.1.0\"}}}}",
            number % 100
        )?;
        for call in 0..4 {
            writeln!(
                file,
                r#"{{"t":"{started}","dir":"in","raw":{{"jsonrpc":"2.0","id":{call},"method":"tools/call","params":{{"name":"a"}}}}}}"#
            )?;
            writeln!(
                file,
                r#"{{"t":"{started}","dir":"out","raw":{{"jsonrpc":"2.0","id":{call},"result":{{"content":[]}}}}}}"#
            )?;
        }
        let end = b"\n{\"type\":\"end\",\"exitCode\":0,\"durationMs\":1000}\n";
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(TRACE - end.len() as u64))?;
        file.write_all(end)?;
        let age = Duration::from_millis(3_600_000 + number * 10);
        file.set_modified(SystemTime::now() - age)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).env("WIRETAPE_DATA_DIR", &self.data).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The duration of a command, in seconds.
    fn time(&self, args: &[&str]) -> Result<f64> {
        let start = Instant::now();
        let status = self.command(args).status().context("a listing")?;
        let took = start.elapsed().as_secs_f64();
        if status.success() { Ok(took) } else { Err(Failure::new(format!("{args:?} failed: {status}"))) }
    }

    /// Seconds for the names, sizes and times of all files.
    fn floor(&self) -> Result<f64> {
        let start = Instant::now();
        let mut bytes = 0;
        for file in fs::read_dir(self.traces()).context("the traces")? {
            bytes += file.and_then(|file| file.metadata()).context("the traces")?.len();
        }
        // Otherwise the compiler could remove the loop.
        std::hint::black_box(bytes);
        Ok(start.elapsed().as_secs_f64())
    }

    fn cold(&self, count: u64) -> Result<Row> {
        let (floor, first) = (self.floor()?, self.time(&["ls"])?);
        Ok(Row {
            what: format!("{count} traces: `ls` for the first time"),
            figures: [floor, first].map(milliseconds).to_vec(),
            outcome: format!("{:.1} µs a trace", first / count as f64 * 1e6),
            target: "≤ 200 µs a trace".to_owned(),
            met: first / count as f64 <= 200e-6,
        })
    }

    fn warm(&self, what: &str, args: &[&str], rounds: usize) -> Result<Row> {
        let mut measured = Rounds::default();
        let progress = Progress::of(what);
        for round in 0..rounds {
            progress.show(round);
            measured.push([self.floor()?, self.time(args)?]);
        }
        Ok(row(what, &measured))
    }

    /// In each round, one trace is new and one has grown.
    fn changed(&self, count: u64, rounds: usize) -> Result<Row> {
        let what = "`ls`, one trace is new and one has grown";
        let mut measured = Rounds::default();
        let progress = Progress::of(what);
        for round in 0..rounds {
            progress.show(round);
            self.write(count + round as u64).context("a new trace")?;
            let grown = self.traces().join(format!("trace-{:06}.jsonl", count - 1));
            let mut grown = File::options().append(true).open(grown).context("a trace that grows")?;
            grown.write_all(b"{\"type\":\"stderr\",\"text\":\"more\"}\n").context("a trace that grows")?;
            measured.push([self.floor()?, self.time(&["ls"])?]);
        }
        Ok(row(what, &measured))
    }

    fn home(&self, rounds: usize) -> Result<Vec<Row>> {
        let (mut first, mut again) = (Rounds::default(), Rounds::default());
        let progress = Progress::of("the page's first view");
        for round in 0..rounds {
            progress.show(round);
            let server = Server::start(self.command(&["view", "--no-open"]))?;
            first.push([self.floor()?, server.home()?]);
            // The traces of the first view are summarized in the background; afterwards, the summaries are in the
            // index.
            std::thread::sleep(Duration::from_secs(3));
            again.push([self.floor()?, server.home()?]);
        }
        Ok(vec![
            row("the page's Home, right after the start", &first),
            row("the page's Home, nothing has changed", &again),
        ])
    }
}

fn row(what: &str, measured: &Rounds<2>) -> Row {
    let took = measured.median_of(|[_, took]| took);
    let ratio = measured.median_of(|[floor, took]| took / floor);
    Row {
        what: what.to_owned(),
        figures: measured.medians().map(milliseconds).to_vec(),
        outcome: format!("{}, {}", milliseconds(took), times(ratio)),
        target: format!("≤ {:.0} ms", WARM * 1e3),
        met: took <= WARM,
    }
}

/// The page's server, killed on drop.
struct Server {
    child: Child,
    client: Client,
}

impl Server {
    fn start(mut command: Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn().context("the page's server")?;
        let mut line = String::new();
        let stdout = child.stdout.take().ok_or_else(|| Failure::new("the server has no output"))?;
        BufReader::new(stdout).read_line(&mut line).context("the page's address")?;
        let address = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap_or_default();
        Ok(Server { client: Client::of_page(address)?, child })
    }

    /// The response time of the first view, in seconds.
    fn home(&self) -> Result<f64> {
        let start = Instant::now();
        self.client.get("/api/home?search=")?;
        Ok(start.elapsed().as_secs_f64())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
