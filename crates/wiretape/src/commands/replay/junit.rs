//! What was used, unused and missed, as JUnit's XML, for CI: a suite for each trace, a case for each recorded call, and one that
//! fails for each miss.

use super::outcome::{Played, Unused};
use crate::units;
use crate::xml::escape;
use std::collections::HashMap;
use std::io::{self, Write};
use wiretape_analyze::replay::{MissNote, Recorded, Tally, Tape};

/// Writes the document.
pub(crate) fn write(out: &mut impl Write, tapes: &[Played], unused: Unused) -> io::Result<()> {
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    let counts: Vec<Counts> = tapes.iter().map(|tape| Counts::of(tape, unused)).collect();
    let sum = |count: fn(&Counts) -> usize| counts.iter().map(count).sum::<usize>();
    let (tests, failures) = (sum(|counts| counts.tests), sum(|counts| counts.failures));
    writeln!(out, r#"<testsuites name="wiretape replay" tests="{tests}" failures="{failures}" errors="0">"#)?;
    for (tape, counts) in tapes.iter().zip(&counts) {
        write_suite(out, tape, counts, unused)?;
    }
    writeln!(out, "</testsuites>")
}

struct Counts {
    tests: usize,
    failures: usize,
    skipped: usize,
}

impl Counts {
    fn of(tape: &Played, unused: Unused) -> Self {
        let (index, tally) = (tape.deck.tape(), tape.deck.tally());
        let missed = tally.misses().len();
        let never = tally.unused(index).count();
        let failed = if unused == Unused::Fail { never } else { 0 };
        let skipped = tally.calls().iter().filter(|call| call.used == 0).count() - failed;
        Counts { tests: index.calls().len() + missed, failures: missed + failed, skipped }
    }
}

fn write_suite(out: &mut impl Write, tape: &Played, counts: &Counts, unused: Unused) -> io::Result<()> {
    let (index, tally) = (tape.deck.tape(), tape.deck.tally());
    let name = escape(&tape.path.display().to_string());
    let Counts { tests, failures, skipped } = counts;
    writeln!(
        out,
        r#"  <testsuite name="{name}" tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}">"#
    )?;
    write_calls(out, index, &tally, &name, unused)?;
    let mut seen: HashMap<String, usize> = HashMap::new();
    for note in tally.misses() {
        let kind = note.miss.kind.to_string();
        let nth = seen.entry(kind.clone()).and_modify(|nth| *nth += 1).or_insert(1);
        // Programs that read it take cases of one name for one.
        let case = if *nth > 1 { format!("{kind} ({nth})") } else { kind };
        write_miss(out, note, &escape(&case), &name)?;
    }
    writeln!(out, "  </testsuite>")
}

fn write_calls(
    out: &mut impl Write,
    index: &Tape,
    tally: &Tally,
    class: &str,
    unused: Unused,
) -> io::Result<()> {
    for (call, counted) in index.calls().iter().zip(tally.calls()) {
        let name = case(index, call);
        write!(out, r#"    <testcase name="{name}" classname="{class}""#)?;
        if counted.used > 0 {
            writeln!(out, "/>")?;
        } else if unused == Unused::Fail && !index.may_be_left_out(call) {
            writeln!(out, r#"><failure type="unused" message="never asked for"/></testcase>"#)?;
        } else {
            writeln!(out, r#"><skipped message="never asked for"/></testcase>"#)?;
        }
    }
    Ok(())
}

fn case(index: &Tape, call: &Recorded) -> String {
    escape(&format!("{} (line {})", index.kind(call), call.line))
}

fn write_miss(out: &mut impl Write, note: &MissNote, case: &str, class: &str) -> io::Result<()> {
    let message = escape(&note.miss.to_string());
    let (reason, times) = (note.miss.reason.name(), units::count(note.times, "time"));
    writeln!(out, r#"    <testcase name="missed: {case}" classname="{class}">"#)?;
    writeln!(out, r#"      <failure type="{reason}" message="{message}">asked {times}</failure>"#)?;
    writeln!(out, "    </testcase>")
}
