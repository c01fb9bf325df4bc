//! What was used, unused and missed, as JUnit's XML: a suite for each trace, a case for each recorded call, and one that fails for
//! each miss.

use super::outcome::{Played, Unused};
use crate::junit::{self, Case, CaseOutcome, Failure, Suite};
use crate::units;
use std::collections::HashMap;
use std::io::{self, Write};
use wiretape_analyze::replay::{CallTally, MissNote, Recorded, Tape};

/// What is said of a call that no request asked for.
const UNUSED: &str = "never asked for";

/// Writes the document.
pub(crate) fn write(out: &mut impl Write, tapes: &[Played], unused: Unused) -> io::Result<()> {
    let suites: Vec<Suite> = tapes.iter().map(|tape| suite(tape, unused)).collect();
    junit::write(out, "wiretape replay", &suites)
}

fn suite(tape: &Played, unused: Unused) -> Suite {
    let (index, tally) = (tape.deck.tape(), tape.deck.tally());
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

fn case(index: &Tape, call: &Recorded, counted: &CallTally, unused: Unused) -> Case {
    let outcome = if counted.used > 0 {
        CaseOutcome::Passed
    } else if unused == Unused::Fail && !index.may_be_left_out(call) {
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
        body: format!("asked {}", units::count(note.times, "time")),
    };
    Case::new(format!("missed: {kind}"), CaseOutcome::Failed(failure))
}
