//! The measurements: one function for each kind of row.

use std::thread;
use std::time::{Duration, Instant};

use wiretape_testkit::load::{Amount, Clients, Outcome};

use crate::bench::figures::{
    Rounds, median, megabytes, microseconds, percent, tenths_of_thousands_per_second, times,
};
use crate::bench::http::rig::{Field, Placement, Rig, Started, Subject, SubjectResult};
use crate::bench::progress::Progress;
use crate::bench::report::Row;
use crate::failure::{Failure, Result};

const SUBJECTS: usize = Subject::ALL.len();
const SOME: usize = 16;
const MOST: usize = 64;
/// Excludes the first calls, which open connections and files.
const WARM_UP: Amount = Amount::Time(Duration::from_millis(50));
/// The time for connections to settle before idle CPU is measured.
const SETTLE: Duration = Duration::from_secs(1);
const MEMORY: f64 = 40_000_000.0;
const STREAMS: usize = 1000;
const STREAMS_MEMORY: f64 = 60_000_000.0;
/// The subjects of the streams: nginx would need another configuration for that many.
const STREAMING: [Subject; 4] = [Subject::Blind, Subject::Floor, Subject::Paired, Subject::Proxy];
/// The growth that still counts as none, in bytes: peaks are counted in pages, and an allocator may reserve more at
/// any time.
const GROWTH: f64 = 1_000_000.0;

/// The amount of work of each measurement.
pub(super) struct Plan {
    /// The number of rounds.
    pub(super) rounds: usize,
    /// The number of turns of each subject in a round.
    turns: usize,
    /// The duration of a turn.
    turn: Duration,
    /// The numbers of calls in one session after which memory is measured.
    session: [u64; 2],
    /// The duration of the idle measurement.
    idle: Duration,
    /// The duration of the measurement of streams.
    streams: Duration,
}

impl Plan {
    pub(super) const FULL: Self = Self {
        rounds: 9,
        turns: 4,
        turn: Duration::from_millis(250),
        session: [10_000, 60_000],
        idle: Duration::from_secs(10),
        streams: Duration::from_secs(30),
    };
    pub(super) const QUICK: Self = Self {
        rounds: 3,
        turns: 3,
        turn: Duration::from_millis(200),
        session: [2_000, 12_000],
        idle: Duration::from_secs(4),
        streams: Duration::from_secs(10),
    };
}

/// A figure for each subject; NaN where nothing is measured.
type Figures = [f64; SUBJECTS];

const NONE: Figures = [f64::NAN; SUBJECTS];

/// Runs every measurement; each returns one or more rows.
pub(super) fn all(rig: &Rig, plan: &Plan) -> Result<Vec<Row>> {
    let one = Busy::measure(rig, plan, Placement::Together, 1)?;
    let some = Busy::measure(rig, plan, Placement::Together, SOME)?;
    let most = Busy::measure(rig, plan, Placement::Together, MOST)?;
    let some_apart = Busy::measure(rig, plan, Placement::Apart, SOME)?;
    let most_apart = Busy::measure(rig, plan, Placement::Apart, MOST)?;
    let mut rows = Vec::new();
    // With one call at a time nothing runs concurrently, so a second processor changes nothing.
    rows.extend([&one, &some_apart, &most_apart].map(|busy| busy.rate_row(rig)));
    rows.extend([&one, &some, &most].map(|busy| busy.processor_row(rig)));
    rows.extend([&one, &some, &most].map(|busy| busy.latency_row(rig)));
    rows.push(most_apart.memory_row(rig));
    rows.extend(one_session(rig, plan)?);
    rows.push(missing_row(&[one, some, most, some_apart, most_apart]));
    rows.push(idle(rig, plan)?);
    rows.extend(streams(rig, plan)?);
    Ok(rows)
}

/// The results of calling all subjects as fast as they answer.
struct Busy {
    placement: Placement,
    connections: usize,
    /// The number of calls per second, by subject and round.
    rates: Rounds<SUBJECTS>,
    /// CPU time per call, in seconds.
    processor: Rounds<SUBJECTS>,
    /// The 99th percentile, in seconds.
    latencies: Rounds<SUBJECTS>,
    /// Peak memory, in bytes.
    memory: Rounds<SUBJECTS>,
    /// The number of messages through the proxy, and of those that are missing from its traces or duplicated.
    messages: u64,
    wrong: u64,
}

impl Busy {
    fn measure(rig: &Rig, plan: &Plan, placement: Placement, connections: usize) -> Result<Self> {
        let placed = match placement {
            Placement::Together => "all on one processor",
            Placement::Apart => "on two processors",
        };
        let what = format!("calls on {}, {placed}", of_connections(connections));
        let progress = Progress::of(&what);
        let mut busy = Self {
            placement,
            connections,
            rates: Rounds::default(),
            processor: Rounds::default(),
            latencies: Rounds::default(),
            memory: Rounds::default(),
            messages: 0,
            wrong: 0,
        };
        for round in 0..plan.rounds {
            progress.show(round);
            busy.round(rig, plan)?;
        }
        Ok(busy)
    }

    fn round(&mut self, rig: &Rig, plan: &Plan) -> Result {
        let mut field = rig.start(&Subject::ALL, self.placement, Clients::Callers(self.connections))?;
        for subject in &mut field.subjects {
            subject.drive(WARM_UP)?;
        }
        let before = figures(&field, Started::processor_time)?;
        let turns = take_turns(&mut field.subjects, plan)?;
        let after = figures(&field, Started::processor_time)?;
        self.rates.push(turns.rates());
        self.processor.push(each(|column| (after[column] - before[column]) / turns.calls[column]));
        self.latencies.push(turns.latencies());
        self.memory.push(figures(&field, Started::peak_memory)?);
        for subject in field.subjects {
            self.count_messages(&subject.finish()?);
        }
        Ok(())
    }

    fn count_messages(&mut self, kept: &SubjectResult) {
        if kept.subject == Subject::Proxy {
            self.messages += kept.messages;
            self.wrong += kept.wrong;
        }
    }

    fn rate_row(&self, rig: &Rig) -> Row {
        let ratio = self.rates.median_of(against_floor);
        Row {
            what: format!("requests/s, {}: against the floor", of_connections(self.connections)),
            figures: cells(rig, self.rates.medians(), tenths_of_thousands_per_second),
            outcome: times(ratio),
            target: "≥ 0.85×".to_owned(),
            met: ratio >= 0.85,
        }
    }

    fn processor_row(&self, rig: &Rig) -> Row {
        let ratio = self.processor.median_of(against_floor);
        Row {
            what: format!("CPU per request, {}: against the floor", of_connections(self.connections)),
            figures: cells(rig, self.processor.medians(), microseconds),
            outcome: times(ratio),
            target: "≤ 1.4×".to_owned(),
            met: ratio <= 1.4,
        }
    }

    fn latency_row(&self, rig: &Rig) -> Row {
        // Differences, so that the latency of the server itself doesn't hide the proxy's.
        let ratio =
            self.latencies.median_of(|[direct, _, floor, .., proxy]| (proxy - direct) / (floor - direct));
        // One connection waits for every wake-up in turn, which is random by more than that.
        let most = if self.connections == 1 { 2.0 } else { 1.5 };
        Row {
            what: format!(
                "p99, {}: added to direct, against what the floor adds",
                of_connections(self.connections)
            ),
            figures: cells(rig, self.latencies.medians(), microseconds),
            outcome: times(ratio),
            target: format!("≤ {most}×"),
            met: ratio <= most,
        }
    }

    fn memory_row(&self, rig: &Rig) -> Row {
        memory_row(rig, &format!("calls on {}", of_connections(self.connections)), self.memory.highest())
    }
}

fn of_connections(number: usize) -> String {
    if number == 1 { "1 connection".to_owned() } else { format!("{number} connections") }
}

/// The results of the turns of one round.
struct Turns {
    calls: Figures,
    seconds: Figures,
    /// The 99th percentile of each turn.
    latencies: [Vec<f64>; SUBJECTS],
}

impl Turns {
    fn rates(&self) -> Figures {
        each(|column| self.calls[column] / self.seconds[column])
    }

    fn latencies(&self) -> Figures {
        each(|column| match &self.latencies[column] {
            none if none.is_empty() => f64::NAN,
            some => median(some.clone()),
        })
    }
}

/// All subjects run side by side and take turns, so that other load on the machine affects all of them. The first
/// subject changes with each turn.
fn take_turns(started: &mut [Started], plan: &Plan) -> Result<Turns> {
    let mut turns = Turns { calls: [0.0; SUBJECTS], seconds: [0.0; SUBJECTS], latencies: Default::default() };
    for turn in 0..plan.turns {
        for place in 0..started.len() {
            let subject = (turn + place) % started.len();
            let column = started[subject].subject.column();
            let outcome = started[subject].drive(Amount::Time(plan.turn))?;
            turns.calls[column] += outcome.calls as f64;
            turns.seconds[column] += outcome.seconds;
            turns.latencies[column].push(outcome.p99);
        }
    }
    Ok(turns)
}

/// One session for each subject, with memory measured early and late: state that is kept per call shows up as growth.
fn one_session(rig: &Rig, plan: &Plan) -> Result<[Row; 2]> {
    let [early, late] = plan.session;
    let what = format!("{}k calls in one session", late / 1000);
    Progress::of(&what).show(0);
    let mut field = rig.start(&Subject::ALL, Placement::Together, Clients::Callers(1))?;
    let mut peaks = [NONE; 2];
    for (peaks, calls) in peaks.iter_mut().zip([early, late - early]) {
        for subject in &mut field.subjects {
            subject.drive(Amount::Calls(calls))?;
        }
        *peaks = figures(&field, Started::peak_memory)?;
    }
    for subject in field.subjects {
        subject.finish()?;
    }
    let [at_first, at_last] = peaks;
    let growth = each(|column| at_last[column] - at_first[column]);
    Ok([memory_row(rig, &what, at_last), growth_row(rig, plan, growth)])
}

fn memory_row(rig: &Rig, during: &str, peaks: Figures) -> Row {
    let peak = peaks[Subject::Proxy.column()];
    Row {
        what: format!("peak memory: {during}"),
        figures: cells(rig, peaks, megabytes),
        outcome: megabytes(peak),
        target: format!("≤ {}", megabytes(MEMORY)),
        met: peak <= MEMORY,
    }
}

fn growth_row(rig: &Rig, plan: &Plan, growth: Figures) -> Row {
    let [early, late] = plan.session.map(|calls| calls / 1000);
    let grown = growth[Subject::Proxy.column()];
    Row {
        what: format!("growth of peak memory from {early}k to {late}k calls in one session"),
        figures: cells(rig, growth, megabytes),
        outcome: megabytes(grown),
        target: format!("≤ {}", megabytes(GROWTH)),
        met: grown <= GROWTH,
    }
}

fn missing_row(busy: &[Busy]) -> Row {
    let messages: u64 = busy.iter().map(|busy| busy.messages).sum();
    let wrong: u64 = busy.iter().map(|busy| busy.wrong).sum();
    let highest = busy.iter().map(|busy| busy.rates.highest()[Subject::Proxy.column()]).fold(0.0, f64::max);
    Row {
        what: format!(
            "messages missing from the traces, or there twice, of {messages} at up to {}",
            tenths_of_thousands_per_second(highest)
        ),
        figures: Subject::ALL
            .map(|subject| if subject == Subject::Proxy { wrong.to_string() } else { "–".to_owned() })
            .into(),
        outcome: wrong.to_string(),
        target: "0".to_owned(),
        met: wrong == 0,
    }
}

/// Measures all subjects at once, since idle ones don't disturb each other.
fn idle(rig: &Rig, plan: &Plan) -> Result<Row> {
    let what = format!("idle with {}", of_connections(MOST));
    Progress::of(&what).show(0);
    let mut field = rig.start(&Subject::ALL, Placement::Apart, Clients::Callers(MOST))?;
    for subject in &mut field.subjects {
        subject.drive(WARM_UP)?;
    }
    thread::sleep(SETTLE);
    let start = Instant::now();
    let before = figures(&field, Started::processor_time)?;
    thread::sleep(plan.idle);
    let after = figures(&field, Started::processor_time)?;
    let elapsed = start.elapsed().as_secs_f64();
    for mut subject in field.subjects {
        // Checks that the connections are still open; otherwise nothing was idle.
        subject.drive(Amount::Calls(1))?;
        subject.finish()?;
    }
    let shares = each(|column| (after[column] - before[column]) / elapsed);
    let share = shares[Subject::Proxy.column()];
    Ok(Row {
        what: format!("CPU of a core while {what}"),
        figures: cells(rig, shares, percent),
        outcome: percent(share),
        target: "< 0.5 %".to_owned(),
        met: share < 0.005,
    })
}

/// A thousand open streams with an event per second each: the work is one small event at a time on connections that
/// are mostly idle, and the memory is that of open connections. All subjects at once, since they are mostly idle, too.
fn streams(rig: &Rig, plan: &Plan) -> Result<[Row; 2]> {
    let what = format!("{STREAMS} streams with an event per second each");
    Progress::of(&what).show(0);
    let mut field = rig.start(&STREAMING, Placement::Apart, Clients::Listeners(STREAMS))?;
    let before = figures(&field, Started::processor_time)?;
    let amount = Amount::Time(plan.streams);
    let outcomes: Vec<_> = thread::scope(|scope| {
        let runs = field.subjects.iter_mut().map(|subject| scope.spawn(move || subject.drive(amount)));
        let runs: Vec<_> = runs.collect();
        runs.into_iter().map(|run| run.join().expect("driving a subject doesn't panic")).collect()
    });
    let after = figures(&field, Started::processor_time)?;
    let peaks = figures(&field, Started::peak_memory)?;
    for outcome in outcomes {
        expect_events(outcome?)?;
    }
    for subject in field.subjects {
        subject.end()?;
    }
    let shares = each(|column| (after[column] - before[column]) / plan.streams.as_secs_f64());
    let ratio = against_floor(shares);
    let peak = peaks[Subject::Proxy.column()];
    Ok([
        Row {
            what: format!("CPU of a core, {what}: against the floor"),
            figures: cells(rig, shares, percent),
            outcome: times(ratio),
            target: "≤ 1.5×".to_owned(),
            met: ratio <= 1.5,
        },
        Row {
            what: format!("peak memory: {what}"),
            figures: cells(rig, peaks, megabytes),
            outcome: megabytes(peak),
            target: format!("≤ {}", megabytes(STREAMS_MEMORY)),
            met: peak <= STREAMS_MEMORY,
        },
    ])
}

/// A subject that drops or delays events would be cheap.
fn expect_events(outcome: Outcome) -> Result {
    let expected = STREAMS as f64 * (outcome.seconds - 1.0);
    if outcome.calls as f64 >= expected {
        return Ok(());
    }
    Err(Failure::new(format!("{} events have arrived of {expected:.0}", outcome.calls)))
}

fn against_floor(figures: Figures) -> f64 {
    figures[Subject::Proxy.column()] / figures[Subject::Floor.column()]
}

fn each(of: impl Fn(usize) -> f64) -> Figures {
    std::array::from_fn(of)
}

/// The figure that `of` returns for each started subject.
fn figures(field: &Field, of: impl Fn(&Started) -> Result<f64>) -> Result<Figures> {
    let mut figures = NONE;
    for subject in &field.subjects {
        figures[subject.subject.column()] = of(subject)?;
    }
    Ok(figures)
}

/// Formats figures for people; a missing subject is a dash.
fn cells(rig: &Rig, figures: Figures, shown: impl Fn(f64) -> String) -> Vec<String> {
    let cell = |subject: Subject| match figures[subject.column()] {
        figure if !figure.is_nan() => shown(figure),
        _ if subject == Subject::Nginx && !rig.nginx => "not installed".to_owned(),
        _ => "–".to_owned(),
    };
    Subject::ALL.map(cell).into()
}
