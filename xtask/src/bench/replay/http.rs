//! The rate of calls to a replay over HTTP, against `wt-http-echo`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use wiretape_testkit::load::{Amount, Clients, Driver};
use wiretape_testkit::service::Service;

use super::{Plan, tapes};
use crate::bench::figures::{Rounds, show_all, tenths_of_thousands_per_second, times};
use crate::bench::programs::Programs;
use crate::bench::progress::Progress;
use crate::bench::report::Row;
use crate::failure::{Context, Result};

/// The minimum rate, as a share of the bare server's.
const LEAST: f64 = 0.6;

/// A time limit far above any single measurement, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

pub(super) fn measure(programs: &Programs, plan: &Plan, scratch: &Path) -> Result<Vec<Row>> {
    [1, 16].into_iter().map(|connections| calls(programs, plan, scratch, connections)).collect()
}

fn calls(programs: &Programs, plan: &Plan, scratch: &Path, connections: usize) -> Result<Row> {
    let what = match connections {
        1 => "HTTP, one connection".to_owned(),
        n => format!("HTTP, {n} connections"),
    };
    let progress = Progress::of(&what);
    let trace = scratch.join("http.jsonl");
    tapes::marked_calls(&trace, connections, plan.http)?;
    let mut rounds = Rounds::default();
    for round in 0..plan.rounds {
        progress.show(round);
        let bare = Command::new(programs.testkit("wt-http-echo"));
        let mut replay = Command::new(programs.subject());
        replay.args(["replay", "--listen", "127.0.0.1:0"]).arg(&trace);
        let mut rates = [0.0; 2];
        for (rate, command) in rates.iter_mut().zip([bare, replay]) {
            let service = Service::spawn(command, LIMIT).context("a server")?;
            let load = programs.testkit("wt-http-load");
            let mut driver = Driver::spawn(&load, &service.url(), Clients::Callers(connections), LIMIT)
                .context("the load")?;
            let outcome = driver.run(Amount::Calls(plan.http)).context("the load")?;
            *rate = outcome.rate();
            driver.finish().context("the load")?;
        }
        rounds.push(rates);
    }
    let ratio = rounds.median_of(|[bare, replay]| replay / bare);
    Ok(Row {
        what: format!("{what}: rate against the bare server"),
        figures: show_all(rounds.medians(), tenths_of_thousands_per_second),
        outcome: times(ratio),
        target: format!("≥ {LEAST}×"),
        met: ratio >= LEAST,
    })
}
