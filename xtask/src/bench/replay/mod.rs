//! How fast `wiretape replay` answers, against the simplest possible server: one that echoes.
//!
//! | module | holds |
//! |---|---|
//! | [`tapes`] | traces to play |
//! | [`stdio`] | calls over stdio, startup time, and memory |
//! | [`http`] | calls over HTTP |

mod http;
mod stdio;
mod tapes;

use crate::bench::Effort;
use crate::bench::programs::Programs;
use crate::bench::report::Report;
use crate::failure::Result;

const SUBJECTS: [&str; 2] = ["bare server", "replay"];

/// The amount of work of each measurement.
struct Plan {
    rounds: usize,
    /// Calls without waiting for each answer, for each subject in each round.
    pipelined: u64,
    /// Calls one at a time, likewise.
    single: u64,
    /// Calls over HTTP on each connection, likewise.
    http: u64,
    /// Starts in each round.
    starts: usize,
    /// The length of the long trace.
    long: u64,
}

const FULL: Plan =
    Plan { rounds: 7, pipelined: 100_000, single: 5_000, http: 5_000, starts: 10, long: 1_000_000_000 };
const QUICK: Plan =
    Plan { rounds: 3, pipelined: 50_000, single: 2_000, http: 1_000, starts: 5, long: 100_000_000 };

/// Runs all measurements of this section.
pub(super) fn measure(programs: &Programs, effort: Effort) -> Result<Report> {
    let plan = if effort.quick { QUICK } else { FULL };
    let plan = Plan { rounds: effort.rounds.unwrap_or(plan.rounds), ..plan };
    let scratch = programs.scratch()?;
    let mut rows = stdio::measure(programs, &plan, scratch.path())?;
    rows.extend(http::measure(programs, &plan, scratch.path())?);
    Ok(Report { section: "replay", rounds: plan.rounds, subjects: &SUBJECTS, rows })
}
