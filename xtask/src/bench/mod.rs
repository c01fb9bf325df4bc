//! The benchmarks: what the recorder adds, measured in one run against the same server without it (direct) and
//! behind the least a recorder can be (the floor, `wt-tee`).
//!
//! Only ratios count. The three take turns within a second of each other, several rounds long; each round gives one
//! ratio, and the median of these is reported, so that a busy machine slows all three alike.
//!
//! | module | holds |
//! |---|---|
//! | [`rig`] | what is measured, and how each is started |
//! | [`measures`] | what is done with it: one function for each kind of row |
//! | [`figures`] | medians, and numbers as people read them |
//! | [`report`] | the table, on the terminal and in `docs/benchmarks.md` |

mod figures;
mod measures;
mod report;
mod rig;

use std::path::PathBuf;

use clap::Args;

use crate::bench::measures::Plan;
use crate::bench::rig::Rig;
use crate::failure::{Failure, Result};

#[derive(Args)]
pub(crate) struct Options {
    /// A short run: rougher figures, a smaller flood
    #[arg(long)]
    quick: bool,
    /// Write the table to docs/benchmarks.md too
    #[arg(long)]
    write: bool,
    /// Fail if a target is missed
    #[arg(long)]
    strict: bool,
    /// How often everything is repeated
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Measure this program instead of building `wiretape`; it must take the same arguments
    #[arg(long, value_name = "PATH", hide = true, conflicts_with = "write")]
    subject: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result {
    let mut plan = if options.quick { Plan::QUICK } else { Plan::FULL };
    plan.rounds = options.rounds.unwrap_or(plan.rounds).max(1);
    let rig = Rig::build(options.subject.as_deref())?;
    let rows = measures::all(&rig, &plan)?;
    let report = report::render(&rows, &plan);
    println!("{report}");
    if options.write {
        report::write(&report)?;
    }
    let missed = rows.iter().filter(|row| !row.met).count();
    if options.strict && missed > 0 {
        return Err(Failure::new(format!("{missed} of {} targets missed", rows.len())));
    }
    Ok(())
}
