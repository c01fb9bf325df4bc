//! The benchmarks: what Wiretape adds, measured in one run against the same server without it (direct) and behind the
//! simplest possible replacement (the floor).
//!
//! Only ratios count. All subjects take turns within a second of each other, for several rounds; each round gives one
//! ratio, and their median is reported, so that a busy machine slows all subjects alike.
//!
//! | module | holds |
//! |---|---|
//! | [`stdio`] | the overhead of `wiretape record` |
//! | [`http`] | the overhead of `wiretape proxy` |
//! | [`import`] | how fast `wiretape import` is |
//! | [`events`] | the overhead of the proxy's sinks, and whether they lose events |
//! | [`redaction`] | what redaction costs per byte |
//! | [`store`] | how fast the store is written and queried |
//! | [`analyze`] | how fast traces are analyzed |
//! | [`view`] | how soon `wiretape view` shows a large trace |
//! | [`library`] | how soon many traces are listed |
//! | [`replay`] | how fast `wiretape replay` answers |
//! | [`programs`] | builds the programs |
//! | [`figures`] | medians, and the formatting of figures |
//! | [`report`] | the tables, on the terminal and in `docs/benchmarks.md` |
//! | [`progress`] | prints what is being measured |

mod analyze;
mod events;
mod figures;
mod http;
mod import;
mod library;
mod programs;
mod progress;
mod redaction;
mod replay;
mod report;
mod stdio;
mod store;
mod view;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::bench::programs::Programs;
use crate::bench::report::Report;
use crate::failure::{Failure, Result};

#[derive(Args)]
pub(crate) struct Options {
    /// A short run: rougher figures, a smaller flood
    #[arg(long)]
    quick: bool,
    /// Write the tables to docs/benchmarks.md too
    #[arg(long)]
    write: bool,
    /// Fail if a target is missed
    #[arg(long)]
    strict: bool,
    /// How often everything is repeated
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Measure only these subjects, separated by commas
    #[arg(long, value_name = "SUBJECT", value_delimiter = ',')]
    only: Vec<Subject>,
    /// Measure this program instead of building `wiretape`; it must take the same arguments
    #[arg(long, value_name = "PATH", hide = true, conflicts_with = "write", requires = "only")]
    subject: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Subject {
    Stdio,
    Redaction,
    Http,
    Import,
    Events,
    Store,
    Analyze,
    View,
    Library,
    Replay,
}

/// The effort of a run.
#[derive(Clone, Copy)]
struct Effort {
    quick: bool,
    rounds: Option<usize>,
}

pub(crate) fn run(options: &Options) -> Result {
    let programs = Programs::build(options.subject.as_deref())?;
    let effort = Effort { quick: options.quick, rounds: options.rounds.map(|rounds| rounds.max(1)) };
    let mut reports = Vec::new();
    for subject in Subject::value_variants() {
        if options.only.is_empty() || options.only.contains(subject) {
            let report = subject.measure(&programs, effort)?;
            // Printed at once: the next subject takes minutes, and may fail.
            println!("{}: {}", report.section, report.render());
            if options.write {
                report.write()?;
            }
            reports.push(report);
        }
    }
    if options.strict { all_met(&reports) } else { Ok(()) }
}

impl Subject {
    fn measure(self, programs: &Programs, effort: Effort) -> Result<Report> {
        match self {
            Self::Stdio => stdio::measure(programs, effort),
            Self::Redaction => redaction::measure(effort),
            Self::Http => http::measure(programs, effort),
            Self::Import => import::measure(programs, effort),
            Self::Events => events::measure(programs, effort),
            Self::Store => store::measure(programs, effort),
            Self::Analyze => analyze::measure(programs, effort),
            Self::View => view::measure(programs, effort),
            Self::Library => library::measure(programs, effort),
            Self::Replay => replay::measure(programs, effort),
        }
    }
}

fn all_met(reports: &[Report]) -> Result {
    let missed: usize = reports.iter().map(Report::missed).sum();
    if missed == 0 {
        return Ok(());
    }
    let targets: usize = reports.iter().map(|report| report.rows.len()).sum();
    Err(Failure::new(format!("{missed} of {targets} targets missed")))
}
