//! The overhead of `wiretape record`, against the same server without it (direct) and behind the simplest possible
//! recorder (the floor, `wt-tee`).
//!
//! | module | holds |
//! |---|---|
//! | [`rig`] | the subjects, and how each is started |
//! | [`measures`] | the measurements: one function for each kind of row |

mod measures;
mod rig;

use crate::bench::Effort;
use crate::bench::programs::Programs;
use crate::bench::report::Report;
use crate::failure::Result;

use self::measures::Plan;
use self::rig::Rig;

pub(super) fn measure(programs: &Programs, effort: Effort) -> Result<Report> {
    let mut plan = if effort.quick { Plan::QUICK } else { Plan::FULL };
    plan.rounds = effort.rounds.unwrap_or(plan.rounds);
    let rows = measures::all(&Rig::new(programs)?, &plan)?;
    Ok(Report { section: "stdio", rounds: plan.rounds, subjects: &["direct", "floor", "wiretape"], rows })
}
