//! How fast the store is written, against a bare loop of inserts of the same rows, and how fast a store of a million
//! rows is queried:
//! whole commands, including their startup.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::bench::Effort;
use crate::bench::figures::{Rounds, median, milliseconds, show_all, thousands_per_second, times};
use crate::bench::programs::Programs;
use crate::bench::progress::Progress;
use crate::bench::report::{Report, Row};
use crate::failure::{Context, Failure, Result};
use crate::sh::{cargo, run, target_directory};

/// A query: its name, its time limit in seconds, and the command.
const QUERIES: [(&str, f64, &[&str]); 3] = [
    ("logs", 0.030, &["logs", "--json"]),
    ("stats --since 30d", 0.500, &["stats", "--since", "30d", "--json"]),
    ("sessions", 0.050, &["sessions", "--json"]),
];

struct Plan {
    rounds: usize,
    /// The rows written in each round, and the rows in the store for queries.
    written: u64,
    asked: u64,
}

pub(super) fn measure(programs: &Programs, effort: Effort) -> Result<Report> {
    let mut plan = Plan { rounds: 7, written: 200_000, asked: 1_000_000 };
    if effort.quick {
        plan = Plan { rounds: 3, written: 50_000, asked: 200_000 };
    }
    plan.rounds = effort.rounds.unwrap_or(plan.rounds);
    run(&mut cargo(["build", "--release", "--package", "wiretape-events", "--example", "fill_store"]))?;
    let scratch = programs.scratch()?;
    let mut rows = vec![writing(scratch.path(), &plan)?];
    rows.extend(querying(&programs.subject(), scratch.path(), &plan)?);
    Ok(Report { section: "store", rounds: plan.rounds, subjects: &["bare inserts", "store"], rows })
}

fn writing(scratch: &Path, plan: &Plan) -> Result<Row> {
    let mut rates = Rounds::default();
    for round in 0..plan.rounds {
        Progress::of("rows written").show(round);
        let rate = |way: &str| -> Result<f64> {
            let path = scratch.join(format!("{way}-{round}.db"));
            Ok(plan.written as f64 / fill(way, &path, plan.written)?)
        };
        rates.push([rate("bare")?, rate("sink")?]);
    }
    let ratio = rates.median_of(|[bare, sink]| sink / bare);
    Ok(Row {
        what: "rows/s written: against a bare loop of inserts".to_owned(),
        figures: show_all(rates.medians(), thousands_per_second),
        outcome: times(ratio),
        target: "≥ 0.6×".to_owned(),
        met: ratio >= 0.6,
    })
}

/// Fills a store, and returns the duration in seconds, as the example program measured it.
fn fill(way: &str, path: &Path, rows: u64) -> Result<f64> {
    let program = target_directory().join("release/examples/fill_store");
    let output = Command::new(&program)
        .arg(way)
        .arg(path)
        .arg(rows.to_string())
        .output()
        .context(program.display())?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    stdout
        .trim()
        .parse()
        .map_err(|_| Failure::new(format!("fill_store: {}", String::from_utf8_lossy(&output.stderr))))
}

fn querying(wiretape: &Path, scratch: &Path, plan: &Plan) -> Result<Vec<Row>> {
    Progress::of("a store to be asked").show(0);
    let store: PathBuf = scratch.join("asked.db");
    fill("sink", &store, plan.asked)?;
    QUERIES
        .iter()
        .map(|(name, limit, arguments)| {
            let mut times = Vec::new();
            for round in 0..plan.rounds {
                Progress::of(name).show(round);
                let mut command = Command::new(wiretape);
                command.args(*arguments).arg("--store").arg(&store).stdout(Stdio::null());
                let start = Instant::now();
                let status = command.status().context(name)?;
                times.push(start.elapsed().as_secs_f64());
                if !status.success() {
                    return Err(Failure::new(format!("wiretape {name}: {status}")));
                }
            }
            let time = median(times);
            Ok(Row {
                what: format!("{name}, of {}k rows", plan.asked / 1000),
                figures: vec!["–".to_owned(), milliseconds(time)],
                outcome: milliseconds(time),
                target: format!("≤ {}", milliseconds(*limit)),
                met: time <= *limit,
            })
        })
        .collect()
}
