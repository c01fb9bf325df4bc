//! The rate of calls to a replay over stdio against `wt-echo`, startup time, and memory.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Instant;

use memchr::memchr_iter;
use wiretape_testkit::memory::peak_of_tree;
use wiretape_testkit::{cpu, payload};

use super::{Plan, tapes};
use crate::bench::figures::{
    Rounds, median, megabytes, microseconds, milliseconds, show_all, thousands_per_second, times,
};
use crate::bench::programs::Programs;
use crate::bench::progress::Progress;
use crate::bench::report::Row;
use crate::failure::{Context, Failure, Result};

/// The minimum rate, as a share of the bare server's.
const LEAST: f64 = 0.5;

/// The size of the trace for measuring startup, in bytes.
const START_BYTES: u64 = 10_000_000;

/// The maximum time from start to the first answer, in seconds.
const START: f64 = 0.020;

/// The maximum memory of the index, as a share of the trace's size.
const INDEX: f64 = 0.15;

const INITIALIZE: &[u8] =
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\
    \"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n";

pub(super) fn measure(programs: &Programs, plan: &Plan, scratch: &Path) -> Result<Vec<Row>> {
    let trace = scratch.join("calls.jsonl");
    tapes::small_calls(&trace, plan.pipelined)?;
    let rows = vec![pipelined(programs, plan, &trace)?, one_at_a_time(programs, plan, &trace)?];
    tapes::long(&trace, START_BYTES)?;
    let start = start(programs, plan, &trace)?;
    tapes::long(&trace, plan.long)?;
    let memory = memory(programs, plan, &trace)?;
    Ok(rows.into_iter().chain([start, memory]).collect())
}

/// The bare server, and the replay.
fn commands(programs: &Programs, trace: &Path) -> [Command; 2] {
    let mut replay = Command::new(programs.subject());
    replay.arg("replay").arg(trace);
    [Command::new(programs.testkit("wt-echo")), replay]
}

fn pipelined(programs: &Programs, plan: &Plan, trace: &Path) -> Result<Row> {
    let what = format!("{}k pipelined calls", plan.pipelined / 1000);
    let progress = Progress::of(&what);
    let calls = payload::small_calls(plan.pipelined);
    let mut rounds = Rounds::default();
    for round in 0..plan.rounds {
        progress.show(round);
        let mut rates = [0.0; 2];
        for (rate, command) in rates.iter_mut().zip(commands(programs, trace)) {
            *rate = rate_of(command, &calls, plan.pipelined)?;
        }
        rounds.push(rates);
    }
    Ok(rate_row(&what, &rounds))
}

fn rate_row(what: &str, rounds: &Rounds<2>) -> Row {
    let ratio = rounds.median_of(|[bare, replay]| replay / bare);
    Row {
        what: format!("{what}: rate against the bare server"),
        figures: show_all(rounds.medians(), thousands_per_second),
        outcome: times(ratio),
        target: format!("≥ {LEAST}×"),
        met: ratio >= LEAST,
    }
}

/// Calls per second. The time until the first answer doesn't count.
fn rate_of(mut command: Command, calls: &[u8], count: u64) -> Result<f64> {
    let mut started = Started::spawn(&mut command)?;
    started.exchange(&payload::small_call(1))?;
    let mut stdin = started.child.stdin.take().ok_or_else(|| Failure::new("no standard input"))?;
    let start = Instant::now();
    thread::scope(|scope| {
        // One write per message, as MCP clients do.
        scope.spawn(move || calls.chunks(payload::SMALL).try_for_each(|call| stdin.write_all(call)));
        started.read_lines(count)
    })?;
    let elapsed = start.elapsed().as_secs_f64();
    started.child.wait().context("a server")?;
    Ok(count as f64 / elapsed)
}

/// Client and server share a processor. Without pinning, the scheduler sometimes separates them, whichever server it
/// is; then waking the other processor takes ten times as long as everything else, and would dominate the result.
fn one_at_a_time(programs: &Programs, plan: &Plan, trace: &Path) -> Result<Row> {
    let what = "one call at a time, on one core";
    let progress = Progress::of(what);
    let calls: Vec<_> = (1..=plan.single).map(payload::small_call).collect();
    let mut rounds = Rounds::default();
    for round in 0..plan.rounds {
        progress.show(round);
        let mut medians = [0.0; 2];
        for (figure, command) in medians.iter_mut().zip(commands(programs, trace)) {
            let measured = thread::scope(|scope| scope.spawn(|| time_of(command, &calls)).join());
            *figure = measured.map_err(|_| Failure::new("a measurement panicked"))??;
        }
        rounds.push(medians);
    }
    let ratio = rounds.median_of(|[bare, replay]| bare / replay);
    Ok(Row {
        what: format!("{what}: rate against the bare server"),
        figures: show_all(rounds.medians(), microseconds),
        outcome: times(ratio),
        target: format!("≥ {LEAST}×"),
        met: ratio >= LEAST,
    })
}

/// The duration of a call in seconds, on the last processor, since the first one serves interrupts. Pins the calling
/// thread.
fn time_of(mut command: Command, calls: &[Vec<u8>]) -> Result<f64> {
    if let Some(last) = cpu::processors().ok().and_then(|processors| processors.last().copied()) {
        cpu::pin_thread(last).context("pinning a thread")?;
    }
    let mut started = Started::spawn(&mut command)?;
    started.exchange(&calls[0])?;
    let taken = calls.iter().map(|call| started.exchange(call)).collect::<Result<Vec<_>>>()?;
    started.finish()?;
    Ok(median(taken))
}

fn start(programs: &Programs, plan: &Plan, trace: &Path) -> Result<Row> {
    let what = format!("start to the first initialize answer, trace of {}", megabytes(START_BYTES as f64));
    let progress = Progress::of(&what);
    let mut rounds = Rounds::default();
    for round in 0..plan.rounds {
        progress.show(round);
        let mut taken: [Vec<f64>; 2] = Default::default();
        for _ in 0..plan.starts {
            for (taken, mut command) in taken.iter_mut().zip(commands(programs, trace)) {
                let start = Instant::now();
                let mut started = Started::spawn(&mut command)?;
                started.exchange(INITIALIZE)?;
                taken.push(start.elapsed().as_secs_f64());
                started.finish()?;
            }
        }
        rounds.push(taken.map(median));
    }
    let [_, replay] = rounds.medians();
    Ok(Row {
        what,
        figures: show_all(rounds.medians(), milliseconds),
        outcome: milliseconds(replay),
        target: format!("≤ {}", milliseconds(START)),
        met: replay <= START,
    })
}

fn memory(programs: &Programs, plan: &Plan, trace: &Path) -> Result<Row> {
    let what = format!("peak memory, trace of {}", megabytes(plan.long as f64));
    Progress::of(&what).show(0);
    let mut peaks = [0.0; 2];
    for (peak, mut command) in peaks.iter_mut().zip(commands(programs, trace)) {
        let mut started = Started::spawn(&mut command)?;
        started.exchange(INITIALIZE)?;
        // Unlike `initialize`, this is answered only after the whole trace was read.
        started.exchange(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n")?;
        *peak = peak_of_tree(started.child.id(), "").unwrap_or(0) as f64;
        started.finish()?;
    }
    // 20 MB for the process itself.
    let limit = INDEX * plan.long as f64 + 20e6;
    Ok(Row {
        what,
        figures: show_all(peaks, megabytes),
        outcome: megabytes(peaks[1]),
        target: format!("≤ {}", megabytes(limit)),
        met: peaks[1] <= limit,
    })
}

/// A server that was started for one measurement.
struct Started {
    child: Child,
    stdout: ChildStdout,
}

impl Started {
    fn spawn(command: &mut Command) -> Result<Self> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("a server")?;
        let stdout = child.stdout.take().ok_or_else(|| Failure::new("no standard output"))?;
        Ok(Started { child, stdout })
    }

    /// Sends a line and reads one. Returns the duration in seconds.
    fn exchange(&mut self, line: &[u8]) -> Result<f64> {
        let start = Instant::now();
        let stdin = self.child.stdin.as_mut().ok_or_else(|| Failure::new("no standard input"))?;
        stdin.write_all(line).context("a server")?;
        self.read_lines(1)?;
        Ok(start.elapsed().as_secs_f64())
    }

    fn read_lines(&mut self, count: u64) -> Result {
        let mut chunk = vec![0; 64 * 1024];
        let mut lines = 0;
        while lines < count {
            let n = self.stdout.read(&mut chunk).context("a server")?;
            if n == 0 {
                return Err(Failure::new("the server ended early"));
            }
            lines += memchr_iter(b'\n', &chunk[..n]).count() as u64;
        }
        Ok(())
    }

    fn finish(mut self) -> Result {
        drop(self.child.stdin.take());
        self.child.wait().context("a server").map(drop)
    }
}
