//! What came of a replay, and what the process ends with.

use super::{json_report, junit};
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::text::printable;
use crate::{output, units};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wiretape_analyze::replay::Tally;
use wiretape_analyze::volatile::PathPattern;
use wiretape_library::Draft;
use wiretape_proxy::replay::{Deck, RealServers};

/// A trace that is played.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) path: PathBuf,
    pub(crate) deck: Arc<Deck>,
}

/// Whether recorded calls may be left unused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unused {
    Allow,
    Fail,
}

/// Whether faults are injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Injects {
    Nothing,
    Faults,
}

/// All that is played, and what is to be said of it at the end.
#[derive(Debug)]
pub(crate) struct Playing {
    pub(crate) tapes: Vec<Played>,
    pub(crate) unused: Unused,
    pub(crate) report: Option<PathBuf>,
    pub(crate) real: Option<Arc<RealServers>>,
    /// What --ignore names.
    pub(crate) ignored: Vec<PathPattern>,
    /// Whether --fault is given.
    pub(crate) faults: Injects,
    /// Whether somebody is about to end everything.
    pub(crate) is_ending: AtomicBool,
}

/// So many unused calls and misses are told one by one.
const TOLD: usize = 10;

impl Playing {
    /// Tells what was used and what was missed, writes the report, and says how to end.
    pub(crate) fn finish(&self) -> Result<ExitCode, CommandError> {
        self.end_once();
        if let Some(real) = &self.real {
            real.end();
        }
        self.tapes.iter().for_each(|tape| self.tell(tape));
        let lost = self.real.as_ref().and_then(|real| real.lost());
        if let Some(reason) = &lost {
            output::warn(format!("wiretape: not all that the real server said is recorded: {reason}"));
        }
        for pattern in self.unmatched() {
            let pattern = pattern.to_string();
            output::warn(format!(
                "wiretape: --ignore {} matched nothing in any request",
                printable(&pattern)
            ));
        }
        if let Some(path) = &self.report {
            let failed = |error| CommandError::because(format!("can't write {}", path.display()), error);
            self.write_report(path).map_err(failed)?;
        }
        Ok(match lost {
            Some(_) => ExitCode::FAILURE,
            None if self.tapes.iter().any(|tape| self.has_findings(tape)) => ExitCode::FOUND,
            None if self.unmatched().next().is_some() => ExitCode::FOUND,
            None => ExitCode::OK,
        })
    }

    /// Paths that neither a recorded nor a live request has. A client may send what was not recorded, so that is known at the end.
    fn unmatched(&self) -> impl Iterator<Item = &PathPattern> {
        self.ignored.iter().filter(|pattern| !pattern.has_matched())
    }

    /// A client may go away while a signal comes. Whoever is first ends the process; the other waits for that.
    fn end_once(&self) {
        if self.is_ending.swap(true, Ordering::SeqCst) {
            loop {
                std::thread::park();
            }
        }
    }

    fn has_findings(&self, tape: &Played) -> bool {
        let tally = tape.deck.tally();
        let is_unused = || tally.unused(tape.deck.tape()).next().is_some();
        tally.missed() > 0 || (self.unused == Unused::Fail && is_unused())
    }

    fn write_report(&self, path: &Path) -> std::io::Result<()> {
        let mut draft = Draft::beside(path)?;
        if path.extension().is_some_and(|extension| extension == "xml") {
            junit::write(&mut draft, &self.tapes, self.unused)?;
        } else {
            json_report::write(&mut draft, &self.tapes)?;
        }
        draft.flush()?;
        draft.publish()
    }

    fn tell(&self, tape: &Played) {
        let tally = tape.deck.tally();
        output::note(format!("wiretape: {}", summary(tape, &tally, self.faults)));
        if self.unused == Unused::Fail {
            let unused: Vec<_> = tally.unused(tape.deck.tape()).collect();
            for call in unused.iter().take(TOLD) {
                let kind = tape.deck.tape().kind(call).to_string();
                output::warn(format!("wiretape: never asked for: line {}, {}", call.line, printable(&kind)));
            }
            if unused.len() > TOLD {
                output::warn(format!("wiretape: and {} more", unused.len() - TOLD));
            }
        }
    }
}

/// What was used and what was missed, in one line.
fn summary(tape: &Played, tally: &Tally, faults: Injects) -> String {
    let index = tape.deck.tape();
    let all = index.calls().len();
    let mut summary = format!(
        "replayed {}: {} of {} used, {}, {} missed",
        printable(&tape.path.file_name().unwrap_or(tape.path.as_os_str()).to_string_lossy()),
        tally.used(),
        units::count(all as u64, "recorded call"),
        unused(all - tally.used(), tally.unused(index).count()),
        tally.missed()
    );
    let inexact: u64 = tally.calls().iter().map(|call| u64::from(call.inexact)).sum();
    for (count, what) in [
        (inexact, "not asked as recorded"),
        (tally.other_replies(), "answered otherwise by the client"),
        (tally.passed_on(), "passed on to the real server"),
    ] {
        if count > 0 {
            summary.push_str(&format!(", {count} {what}"));
        }
    }
    if faults == Injects::Faults {
        summary.push_str(&format!(", {} injected", units::count(tally.struck(), "fault")));
    }
    summary
}

/// How many calls were not used, and how many of them --require-all would let pass.
fn unused(all: usize, required: usize) -> String {
    match all - required {
        0 => format!("{all} unused"),
        optional => format!("{all} unused ({optional} optional)"),
    }
}
