//! The result of a replay, and its exit code.

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
use wiretape_proxy::replay::{LoadedTape, RealServers};

/// A trace that is replayed.
#[derive(Debug)]
pub(crate) struct ReplayedTrace {
    pub(crate) path: PathBuf,
    pub(crate) loaded: Arc<LoadedTape>,
}

/// Whether recorded calls may stay unused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnusedPolicy {
    Allow,
    Fail,
}

/// Whether faults are injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultInjection {
    Nothing,
    Faults,
}

/// Everything that is replayed, with the options for the final report.
#[derive(Debug)]
pub(crate) struct ReplayRun {
    pub(crate) tapes: Vec<ReplayedTrace>,
    pub(crate) unused: UnusedPolicy,
    pub(crate) report: Option<PathBuf>,
    pub(crate) real: Option<Arc<RealServers>>,
    /// The paths of --ignore.
    pub(crate) ignored: Vec<PathPattern>,
    /// Whether --fault is used.
    pub(crate) faults: FaultInjection,
    /// Whether the process is about to end.
    pub(crate) is_ending: AtomicBool,
}

/// The most unused calls and misses to list.
const MAX_LISTED: usize = 10;

impl ReplayRun {
    /// Reports used and missed calls, writes the report, and returns the exit code.
    pub(crate) fn finish(&self) -> Result<ExitCode, CommandError> {
        self.end_once();
        if let Some(real) = &self.real {
            // First: only then is it known whether its recording is complete.
            real.end();
        }
        self.tapes.iter().for_each(|tape| self.report(tape));
        let lost = self.real.as_ref().and_then(|real| real.lost());
        if let Some(reason) = &lost {
            output::warn(format!("wiretape: the recording of the real server is incomplete: {reason}"));
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

    /// Paths that match neither a recorded nor a live request. Clients may send members that were not recorded, so this is only
    /// known at the end.
    fn unmatched(&self) -> impl Iterator<Item = &PathPattern> {
        self.ignored.iter().filter(|pattern| !pattern.has_matched())
    }

    /// A client may disconnect while a signal arrives. The first of both ends the process; the other waits for that.
    fn end_once(&self) {
        if self.is_ending.swap(true, Ordering::SeqCst) {
            loop {
                std::thread::park();
            }
        }
    }

    fn has_findings(&self, tape: &ReplayedTrace) -> bool {
        let tally = tape.loaded.tally();
        let is_unused = || tally.unused(tape.loaded.tape()).next().is_some();
        tally.missed() > 0 || (self.unused == UnusedPolicy::Fail && is_unused())
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

    fn report(&self, tape: &ReplayedTrace) {
        let tally = tape.loaded.tally();
        output::note(format!("wiretape: {}", summary(tape, &tally, self.faults)));
        if self.unused == UnusedPolicy::Fail {
            let unused: Vec<_> = tally.unused(tape.loaded.tape()).collect();
            for call in unused.iter().take(MAX_LISTED) {
                let kind = tape.loaded.tape().kind(call).to_string();
                output::warn(format!("wiretape: unused: line {}, {}", call.line, printable(&kind)));
            }
            if unused.len() > MAX_LISTED {
                output::warn(format!("wiretape: and {} more", unused.len() - MAX_LISTED));
            }
        }
    }
}

/// Used and missed calls, in one line.
fn summary(tape: &ReplayedTrace, tally: &Tally, faults: FaultInjection) -> String {
    let index = tape.loaded.tape();
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
        (inexact, "matched inexactly"),
        (tally.other_replies(), "answered differently by the client"),
        (tally.passed_on(), "passed to the real server"),
    ] {
        if count > 0 {
            summary.push_str(&format!(", {count} {what}"));
        }
    }
    if faults == FaultInjection::Faults {
        summary.push_str(&format!(", {} injected", units::count(tally.struck(), "fault")));
    }
    summary
}

/// Unused calls, and how many of them --require-all permits.
fn unused(all: usize, required: usize) -> String {
    match all - required {
        0 => format!("{all} unused"),
        optional => format!("{all} unused ({optional} optional)"),
    }
}
