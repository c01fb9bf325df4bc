//! Used, unused and missed calls as JUnit XML: a suite per trace, a case per recorded call, and a failed case per miss.

use super::outcome::{ReplayedTrace, UnusedPolicy};
use crate::junit::{self, Case, CaseOutcome, Failure, Suite};
use crate::units;
use std::collections::HashMap;
use std::io::{self, Write};
use wiretape_analyze::replay::{CallTally, MissNote, Recorded, Tape};

/// The message of an unused call.
const UNUSED: &str = "unused";

pub(crate) fn write(out: &mut impl Write, tapes: &[ReplayedTrace], unused: UnusedPolicy) -> io::Result<()> {
    let suites: Vec<Suite> = tapes.iter().map(|tape| suite(tape, unused)).collect();
    junit::write(out, "wiretape replay", &suites)
}

fn suite(tape: &ReplayedTrace, unused: UnusedPolicy) -> Suite {
    let (index, tally) = (tape.loaded.tape(), tape.loaded.tally());
    let calls = index.calls().iter().zip(tally.calls());
    let mut cases: Vec<Case> = calls.map(|(call, counted)| case(index, call, counted, unused)).collect();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for note in tally.misses() {
        let kind = note.miss.kind.to_string();
        let nth = seen.entry(kind.clone()).and_modify(|nth| *nth += 1).or_insert(1);
        let kind = if *nth > 1 { format!("{kind} ({nth})") } else { kind };
        cases.push(missed(note, &kind));
    }
    Suite { name: tape.path.display().to_string(), cases }
}

fn case(index: &Tape, call: &Recorded, counted: &CallTally, unused: UnusedPolicy) -> Case {
    let outcome = if counted.used > 0 {
        CaseOutcome::Passed
    } else if unused == UnusedPolicy::Fail && !index.may_be_left_out(call) {
        let (kind, message) = ("unused".to_owned(), UNUSED.to_owned());
        CaseOutcome::Failed(Failure { kind, message, body: String::new() })
    } else {
        CaseOutcome::Skipped(UNUSED.to_owned())
    };
    Case::new(format!("{} (line {})", index.kind(call), call.line), outcome)
}

fn missed(note: &MissNote, kind: &str) -> Case {
    let failure = Failure {
        kind: note.miss.reason.name().to_owned(),
        message: note.miss.to_string(),
        body: format!("requested {}", units::count(note.times, "time")),
    };
    Case::new(format!("missed: {kind}"), CaseOutcome::Failed(failure))
}
