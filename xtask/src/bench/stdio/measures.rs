//! The measurements: one function for each kind of row.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use wiretape_testkit::payload::{self, MARKER, SMALL, Texture};
use wiretape_testkit::peer::{Peer, Pipeline, Writes};

use crate::bench::figures::{
    Rounds, median, megabytes, microseconds, milliseconds, percent, show_all, thousands_per_second, times,
};
use crate::bench::progress::Progress;
use crate::bench::report::Row;
use crate::bench::stdio::rig::{Rig, Started, Subject};
use crate::failure::{Failure, Result};

const SUBJECTS: [Subject; 3] = [Subject::Direct, Subject::Floor, Subject::Recorder];
/// The number of turns of each subject in a round of round trips.
const TURNS: usize = 20;
/// The number of turns in a round of pipelined messages. Each turn sends all of them, so fewer are needed.
const PIPELINED_TURNS: usize = 4;
const LARGE: usize = 1 << 20;
/// The number of messages in flight of a pipelining client: more than all pipes on the way can hold.
const WINDOW: usize = 4096;
const PAUSE: Duration = Duration::from_secs(2);
const NO_ARGUMENTS: [&str; 0] = [];

/// The amount of work of each measurement.
pub(super) struct Plan {
    /// The number of rounds.
    pub(super) rounds: usize,
    /// Round trips of a small message, for each subject in each round.
    pub(super) small: u64,
    /// Round trips of a large message, likewise.
    pub(super) large: u64,
    /// The number of pipelined messages; fewer with `--quick`.
    pub(super) pipelined: u64,
    /// Messages before the kill.
    pub(super) killed: u64,
    /// Starts, for each subject in each round.
    pub(super) starts: usize,
    /// The size of the flood for a client that doesn't read, in bytes.
    pub(super) flood: u64,
}

impl Plan {
    pub(super) const FULL: Self = Self {
        rounds: 9,
        small: 2000,
        large: 20,
        pipelined: 100_000,
        killed: 10_000,
        starts: 10,
        flood: 400_000_000,
    };
    pub(super) const QUICK: Self = Self {
        rounds: 3,
        small: 1000,
        large: 10,
        pipelined: 50_000,
        killed: 10_000,
        starts: 5,
        flood: 100_000_000,
    };
}

/// Runs every measurement; each returns one or two rows.
pub(super) fn all(rig: &Rig, plan: &Plan) -> Result<Vec<Row>> {
    let mut memory = Vec::new();
    let mut rows = vec![
        small_round_trips(rig, plan, &mut memory)?,
        pipelined(rig, plan, Writes::EachMessage, &mut memory)?,
        pipelined(rig, plan, Writes::Bulk, &mut memory)?,
    ];
    for texture in Texture::ALL {
        rows.push(large_round_trips(rig, plan, texture, &mut memory)?);
    }
    flood(rig, plan, &mut memory)?;
    rows.append(&mut memory);
    rows.push(kept_after_kill(rig, plan)?);
    rows.push(start(rig, plan)?);
    rows.push(exit(rig, plan)?);
    Ok(rows)
}

fn small_round_trips(rig: &Rig, plan: &Plan, memory: &mut Vec<Row>) -> Result<Row> {
    let progress = Progress::of("200 B round trips");
    let messages: Vec<_> = (0..plan.small).map(payload::small_call).collect();
    let mut peaks = Peaks::default();
    let mut rounds = Rounds::default();
    for round in 0..plan.rounds {
        progress.show(round);
        rounds.push(one_at_a_time(rig, &messages, &mut peaks)?);
    }
    memory.push(peaks.row("200 B round trips", SMALL));
    // Differences, so that the round trip itself doesn't hide the recorder's part.
    let ratio = rounds.median_of(|[direct, floor, recorder]| (recorder - direct) / (floor - direct));
    Ok(Row {
        what: "200 B round trip: added to direct, against what the floor adds".to_owned(),
        figures: show_all(rounds.medians(), microseconds),
        outcome: times(ratio),
        target: "≤ 2×".to_owned(),
        met: ratio <= 2.0,
    })
}

fn large_round_trips(rig: &Rig, plan: &Plan, texture: Texture, memory: &mut Vec<Row>) -> Result<Row> {
    let what = format!("1 MiB each way, {}", texture.name());
    let progress = Progress::of(&what);
    let messages: Vec<_> = (0..plan.large).map(|id| payload::large_message(id, texture, LARGE)).collect();
    let mut peaks = Peaks::default();
    let mut rounds = Rounds::default();
    for round in 0..plan.rounds {
        progress.show(round);
        rounds.push(one_at_a_time(rig, &messages, &mut peaks)?);
    }
    memory.push(peaks.row(&what, messages.iter().map(Vec::len).max().unwrap_or(LARGE)));
    let ratio = rounds.median_of(|[_, floor, recorder]| recorder / floor);
    let most = if texture == Texture::Json { 2.5 } else { 3.0 };
    Ok(Row {
        what: format!("{what}: against the floor"),
        figures: show_all(rounds.medians(), milliseconds),
        outcome: times(ratio),
        target: format!("≤ {most}×"),
        met: ratio <= most,
    })
}

/// One round of messages sent one at a time. Returns the median round trip of each subject, in seconds.
fn one_at_a_time(rig: &Rig, messages: &[Vec<u8>], peaks: &mut Peaks) -> Result<[f64; 3]> {
    let mut started = start_all(rig)?;
    let turns = messages.chunks(messages.len().div_ceil(TURNS));
    let times = take_turns(&mut started, turns, |peer, messages| {
        // Not counted: the process has been idle since its last turn, and the first round trip wakes it.
        peer.round_trip(&messages[0])?;
        messages.iter().map(|message| Ok(peer.round_trip(message)?.as_secs_f64())).collect()
    })?;
    peaks.update(&started)?;
    for subject in started {
        subject.finish(MARKER)?;
    }
    Ok(times)
}

/// The three subjects run side by side and take turns, so that other load on the machine affects all of them. The
/// first one changes with each turn, since the machine behaves differently after an idle moment. Returns the median
/// of each subject's figures.
fn take_turns<T>(
    started: &mut [Started; 3],
    turns: impl Iterator<Item = T>,
    work: impl Fn(&mut Peer, &T) -> io::Result<Vec<f64>>,
) -> Result<[f64; 3]> {
    let mut figures: [Vec<f64>; 3] = Default::default();
    for (number, turn) in turns.enumerate() {
        for place in 0..SUBJECTS.len() {
            let subject = (number + place) % SUBJECTS.len();
            figures[subject].extend(started[subject].drive(|peer| work(peer, &turn))?);
        }
    }
    Ok(figures.map(median))
}

fn start_all(rig: &Rig) -> Result<[Started; 3]> {
    let started =
        SUBJECTS.iter().map(|subject| rig.start(*subject, &NO_ARGUMENTS)).collect::<Result<Vec<_>>>()?;
    Ok(started.try_into().unwrap_or_else(|_| unreachable!("one for each subject")))
}

fn pipelined(rig: &Rig, plan: &Plan, writes: Writes, memory: &mut Vec<Row>) -> Result<Row> {
    let what = match writes {
        Writes::EachMessage => format!("{}k pipelined messages of 200 B", plan.pipelined / 1000),
        Writes::Bulk => format!("{}k pipelined, written 64 kB at a time", plan.pipelined / 1000),
    };
    let progress = Progress::of(&what);
    let messages = payload::small_calls(plan.pipelined);
    let mut peaks = Peaks::default();
    let mut rounds = Rounds::default();
    for round in 0..plan.rounds {
        progress.show(round);
        rounds.push(all_at_once(rig, &pipeline(&messages, writes), &mut peaks)?);
    }
    memory.push(peaks.row(&what, SMALL));
    let ratio = rounds.median_of(|[_, floor, recorder]| recorder / floor);
    Ok(Row {
        what: format!("{what}: rate against the floor"),
        figures: show_all(rounds.medians(), thousands_per_second),
        outcome: times(ratio),
        target: "≥ 0.6×".to_owned(),
        met: ratio >= 0.6,
    })
}

/// One round of pipelined messages, all of them in each turn. Returns the median rate of each subject, in messages
/// per second.
fn all_at_once(rig: &Rig, pipeline: &Pipeline<'_>, peaks: &mut Peaks) -> Result<[f64; 3]> {
    let count = pipeline.messages.len() / pipeline.length;
    let mut started = start_all(rig)?;
    let rates = take_turns(&mut started, 0..PIPELINED_TURNS, |peer, _| {
        Ok(vec![count as f64 / peer.pipeline(pipeline)?.as_secs_f64()])
    })?;
    peaks.update(&started)?;
    let [_, floor, recorder] = started.map(|subject| subject.finish(MARKER));
    check_complete(floor?, count * PIPELINED_TURNS)?;
    check_complete(recorder?, count * PIPELINED_TURNS)?;
    Ok(rates)
}

fn pipeline(messages: &[u8], writes: Writes) -> Pipeline<'_> {
    Pipeline { messages, length: SMALL, window: WINDOW, writes }
}

/// Fails if the trace isn't complete: a rate achieved by losing messages means nothing.
fn check_complete(lines: usize, messages: usize) -> Result {
    if lines == 2 * messages {
        return Ok(());
    }
    Err(Failure::new(format!("a trace of {} messages both ways holds {lines}", 2 * messages)))
}

fn flood(rig: &Rig, plan: &Plan, memory: &mut Vec<Row>) -> Result {
    let what = format!("{} MB flooding a client that pauses", plan.flood / 1_000_000);
    Progress::of(&what).show(0);
    let [floor, recorder] =
        [Subject::Floor, Subject::Recorder].map(|subject| flood_through(rig, plan, subject));
    let peaks = Peaks { floor: floor?, recorder: recorder? };
    memory.push(peaks.row(&what, payload::flood_line(0).len()));
    Ok(())
}

fn flood_through(rig: &Rig, plan: &Plan, subject: Subject) -> Result<u64> {
    let mut started = rig.start(subject, &["--flood", &plan.flood.to_string()])?;
    thread::sleep(PAUSE);
    started.drive(|peer| peer.drain(plan.flood))?;
    let peak = started.peak_memory()?;
    started.finish(MARKER)?;
    Ok(peak)
}

/// Kills each subject at the last reply, and counts the lines on disk. The worst round counts.
fn kept_after_kill(rig: &Rig, plan: &Plan) -> Result<Row> {
    let progress = Progress::of("kill -9 at the last reply");
    let messages = payload::small_calls(plan.killed);
    let mut kept = [f64::INFINITY; 2];
    for round in 0..plan.rounds {
        progress.show(round);
        for (subject, worst) in [Subject::Floor, Subject::Recorder].into_iter().zip(&mut kept) {
            let mut started = rig.start(subject, &NO_ARGUMENTS)?;
            started.drive(|peer| peer.pipeline(&pipeline(&messages, Writes::EachMessage)))?;
            let lines = started.kill(MARKER)?;
            *worst = worst.min(lines as f64 / (2 * plan.killed) as f64);
        }
    }
    let [floor, recorder] = kept;
    Ok(Row {
        what: format!(
            "on disk after kill -9 at the last reply, of {} messages each way, worst round",
            plan.killed
        ),
        figures: vec!["–".to_owned(), percent(floor), percent(recorder)],
        outcome: percent(recorder),
        target: "≥ 99.9 %".to_owned(),
        met: recorder >= 0.999,
    })
}

fn start(rig: &Rig, plan: &Plan) -> Result<Row> {
    let progress = Progress::of("start");
    let mut rounds = Rounds::default();
    for round in 0..plan.rounds {
        progress.show(round);
        let mut times: [Vec<f64>; 3] = Default::default();
        for _ in 0..plan.starts {
            for (subject, times) in SUBJECTS.into_iter().zip(&mut times) {
                times.push(time_to_first_answer(rig, subject)?);
            }
        }
        rounds.push(times.map(median));
    }
    let added = rounds.median_of(|[direct, _, recorder]| recorder - direct);
    Ok(Row {
        what: "start to the first initialize answer: added to direct".to_owned(),
        figures: show_all(rounds.medians(), milliseconds),
        outcome: milliseconds(added),
        target: "≤ 15 ms".to_owned(),
        met: added <= 0.015,
    })
}

/// How long a client waits for the process to exit after the last response: until then the recorder finishes its trace
/// and its store.
fn exit(rig: &Rig, plan: &Plan) -> Result<Row> {
    let what = format!("{}k pipelined messages", plan.killed / 1000);
    let shown = format!("exit after {what}");
    let progress = Progress::of(&shown);
    let messages = payload::small_calls(plan.killed);
    let mut rounds = Rounds::default();
    for round in 0..plan.rounds {
        progress.show(round);
        let mut times = [0.0; 3];
        for (subject, time) in SUBJECTS.into_iter().zip(&mut times) {
            let mut started = rig.start(subject, &NO_ARGUMENTS)?;
            started.drive(|peer| peer.pipeline(&pipeline(&messages, Writes::EachMessage)))?;
            *time = started.time_to_exit()?.as_secs_f64();
        }
        rounds.push(times);
    }
    let added = rounds.median_of(|[direct, _, recorder]| recorder - direct);
    Ok(Row {
        what: format!("exit after the last response of {what}: added to direct"),
        figures: show_all(rounds.medians(), milliseconds),
        outcome: milliseconds(added),
        target: "≤ 20 ms".to_owned(),
        met: added <= 0.02,
    })
}

fn time_to_first_answer(rig: &Rig, subject: Subject) -> Result<f64> {
    const INITIALIZE: &[u8] =
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\
        \"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n";
    let start = Instant::now();
    let mut started = rig.start(subject, &["--mcp"])?;
    let answer = started.drive(|peer| peer.send(INITIALIZE).and_then(|()| peer.receive_line()))?;
    let elapsed = start.elapsed();
    if !answer.ends_with(b"\n") {
        return Err(Failure::new(format!("{subject:?}: no answer to initialize")));
    }
    started.finish(MARKER)?;
    Ok(elapsed.as_secs_f64())
}

/// The highest peaks of memory seen, in bytes.
#[derive(Default)]
struct Peaks {
    floor: u64,
    recorder: u64,
}

impl Peaks {
    fn update(&mut self, [_, floor, recorder]: &[Started; 3]) -> Result {
        self.floor = self.floor.max(floor.peak_memory()?);
        self.recorder = self.recorder.max(recorder.peak_memory()?);
        Ok(())
    }

    fn row(&self, during: &str, largest_message: usize) -> Row {
        // Memory is bounded by the largest line (ARCHITECTURE.md, invariant 6): a constant, and a few copies of that
        // line.
        let limit = 20_000_000 + 4 * largest_message as u64;
        Row {
            what: format!("peak memory: {during}"),
            figures: vec!["–".to_owned(), megabytes(self.floor as f64), megabytes(self.recorder as f64)],
            outcome: megabytes(self.recorder as f64),
            target: format!("≤ {}", megabytes(limit as f64)),
            met: self.recorder <= limit,
        }
    }
}
