//! The overhead of `wiretape proxy` with traces, store and NDJSON, against the floor; the same proxy without any of them
//! is a column beside it. And whether events are lost at the maximum rate.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use wiretape_testkit::load::{Amount, Clients};

use crate::bench::Effort;
use crate::bench::figures::{
    Rounds, megabytes, microseconds, show_all, tenths_of_thousands_per_second, times,
};
use crate::bench::http::rig::{EVENTS, Placement, Rig, STORE, Started, Subject};
use crate::bench::programs::Programs;
use crate::bench::progress::Progress;
use crate::bench::report::{Report, Row};
use crate::failure::{Context, Failure, Result};

const SUBJECTS: [Subject; 3] = [Subject::Floor, Subject::Silent, Subject::Full];
const CONNECTIONS: [usize; 2] = [16, 64];
const MEMORY: f64 = 40_000_000.0;
/// Excludes the first calls, which open connections and files.
const WARM_UP: Amount = Amount::Time(Duration::from_millis(50));

struct Plan {
    rounds: usize,
    /// The number of turns of each subject in a round, and their duration.
    turns: usize,
    turn: Duration,
    /// The duration of the flood.
    flood: Duration,
}

pub(super) fn measure(programs: &Programs, effort: Effort) -> Result<Report> {
    let mut plan =
        Plan { rounds: 7, turns: 4, turn: Duration::from_millis(250), flood: Duration::from_secs(60) };
    if effort.quick {
        plan = Plan { rounds: 3, flood: Duration::from_secs(10), ..plan };
    }
    plan.rounds = effort.rounds.unwrap_or(plan.rounds);
    let rig = Rig::new(programs)?;
    let mut rows = Vec::new();
    for connections in CONNECTIONS {
        rows.push(rates(&rig, &plan, connections)?);
    }
    for connections in CONNECTIONS {
        rows.push(processor(&rig, &plan, connections)?);
    }
    for connections in CONNECTIONS {
        rows.extend(flood(&rig, &programs.subject(), &plan, connections)?);
    }
    Ok(Report { section: "events", rounds: plan.rounds, subjects: &["floor", "no sinks", "all sinks"], rows })
}

/// One figure of each subject, taken in turns within a round.
fn rounds(
    rig: &Rig,
    plan: &Plan,
    placement: Placement,
    connections: usize,
    figure: impl Fn(&mut Started, &Plan, usize) -> Result<f64>,
) -> Result<Rounds<3>> {
    let mut rounds = Rounds::default();
    for round in 0..plan.rounds {
        Progress::of(&format!("{connections} connections, with sinks and without")).show(round);
        let mut field = rig.start(&SUBJECTS, placement, Clients::Callers(connections))?;
        for subject in &mut field.subjects {
            subject.drive(WARM_UP)?;
        }
        let mut sums = [0.0; 3];
        for turn in 0..plan.turns {
            for place in 0..SUBJECTS.len() {
                let at = (turn + place) % SUBJECTS.len();
                sums[at] += figure(&mut field.subjects[at], plan, turn)?;
            }
        }
        rounds.push(sums.map(|sum| sum / plan.turns as f64));
    }
    Ok(rounds)
}

fn rates(rig: &Rig, plan: &Plan, connections: usize) -> Result<Row> {
    let rates = rounds(rig, plan, Placement::Apart, connections, |subject, plan, _| {
        let outcome = subject.drive(Amount::Time(plan.turn))?;
        Ok(outcome.calls as f64 / outcome.seconds)
    })?;
    let ratio = rates.median_of(|[floor, _, full]| full / floor);
    Ok(Row {
        what: format!(
            "requests/s, {connections} connections: with traces, store and NDJSON, against the floor"
        ),
        figures: show_all(rates.medians(), tenths_of_thousands_per_second),
        outcome: times(ratio),
        target: "≥ 0.65×".to_owned(),
        met: ratio >= 0.65,
    })
}

fn processor(rig: &Rig, plan: &Plan, connections: usize) -> Result<Row> {
    let costs = rounds(rig, plan, Placement::Together, connections, |subject, plan, _| {
        let before = subject.processor_time()?;
        let outcome = subject.drive(Amount::Time(plan.turn))?;
        // Waits for the sinks: the work that they have queued belongs to these calls.
        std::thread::sleep(Duration::from_millis(150));
        Ok((subject.processor_time()? - before) / outcome.calls as f64)
    })?;
    let ratio = costs.median_of(|[floor, _, full]| full / floor);
    Ok(Row {
        what: format!(
            "CPU per request, {connections} connections: with traces, store and NDJSON, against the floor"
        ),
        figures: show_all(costs.medians(), microseconds),
        outcome: times(ratio),
        target: "≤ 2.0×".to_owned(),
        met: ratio <= 2.0,
    })
}

/// Makes as many calls as possible, and looks for each of them in the store and in the NDJSON.
fn flood(rig: &Rig, wiretape: &Path, plan: &Plan, connections: usize) -> Result<[Row; 2]> {
    Progress::of(&format!("{connections} connections for {} s", plan.flood.as_secs())).show(0);
    let mut field = rig.start(&[Subject::Full], Placement::Apart, Clients::Callers(connections))?;
    let mut subject = field.subjects.remove(0);
    let outcome = subject.drive(Amount::Time(plan.flood))?;
    let memory = subject.peak_memory()?;
    let (directory, calls) = subject.end()?;
    let stored = stored_calls(wiretape, &directory.path().join(STORE))?;
    let written = lines(&directory.path().join(EVENTS), b"\"type\":\"tool_call\"")?;
    let lost = calls.abs_diff(stored).max(calls.abs_diff(written));
    let nothing = || vec!["–".to_owned(), "–".to_owned()];
    let rate = tenths_of_thousands_per_second(outcome.calls as f64 / outcome.seconds);
    Ok([
        Row {
            what: format!(
                "events lost of {calls}, {connections} connections for {} s at {rate}",
                plan.flood.as_secs()
            ),
            figures: [nothing(), vec![lost.to_string()]].concat(),
            outcome: lost.to_string(),
            target: "0".to_owned(),
            met: lost == 0,
        },
        Row {
            what: format!("peak memory meanwhile, {connections} connections"),
            figures: [nothing(), vec![megabytes(memory)]].concat(),
            outcome: megabytes(memory),
            target: format!("≤ {}", megabytes(MEMORY)),
            met: memory <= MEMORY,
        },
    ])
}

/// The number of tool calls in the store.
fn stored_calls(wiretape: &Path, store: &Path) -> Result<u64> {
    let mut command = Command::new(wiretape);
    let output =
        command.args(["stats", "--json", "--store"]).arg(store).output().context("wiretape stats")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let stats: serde_json::Value = serde_json::from_str(&text).map_err(|error| {
        Failure::new(format!("wiretape stats: {error}: {}", String::from_utf8_lossy(&output.stderr)))
    })?;
    let rows = stats["rows"].as_array().cloned().unwrap_or_default();
    let calls =
        rows.iter().filter(|row| row["method"] == "tools/call").filter_map(|row| row["calls"].as_u64());
    Ok(calls.sum())
}

/// The number of lines that contain a text.
fn lines(path: &Path, wanted: &[u8]) -> Result<u64> {
    let bytes = fs::read(path).context(path.display())?;
    Ok(memchr::memmem::find_iter(&bytes, wanted).count() as u64)
}
