//! The overhead of `wiretape proxy`, against the same server without it (direct), behind the simplest possible proxy
//! (the floor, `wt-http-relay`), behind a well-known one (nginx), behind a relay that copies bytes (`wt-tcp-relay`), and
//! behind one that does so per HTTP message on paired connections (`wt-paired-relay`).
//!
//! | module | holds |
//! |---|---|
//! | [`rig`] | the subjects, and how each is started |
//! | [`nginx`] | nginx, configured to do the same |
//! | [`measures`] | the measurements: one function for each kind of row |

mod measures;
mod nginx;
pub(super) mod rig;

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
    Ok(Report {
        section: "HTTP",
        rounds: plan.rounds,
        subjects: &["direct", "TCP relay", "floor", "paired", "nginx", "wiretape"],
        rows,
    })
}
