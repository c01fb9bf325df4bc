//! `wiretape slow`: the slowest calls.

use crate::ask::AskArgs;
use crate::calls::{self, DisplayFormat};
use crate::error::CommandError;
use crate::output::{self, Output};
use crate::units;
use clap::Args;
use std::io::Write as _;
use std::time::Duration;
use wiretape_events::store::query::Order;

/// Show the slowest calls
///
/// For calls that timed out or were cancelled, the duration is the time until then. Calls that failed because the server
/// could not be reached or disconnected are not listed: use `logs --errors`. The calls are those in the store.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape slow                          the slowest calls
  wiretape slow --since 1h --over 200ms  of the last hour, calls longer than 200 ms
  wiretape slow --tool search -n 5       the five slowest calls of one tool
  wiretape slow --json | jq .latencyUs   for scripts")]
pub(crate) struct SlowArgs {
    /// Show at most the N slowest calls
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: u32,

    /// Only calls longer than this: 200ms, 5s
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration)]
    over: Option<Duration>,

    /// Include transport requests: GET streams, DELETE, notifications
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    ask: AskArgs,
}

pub(crate) fn run(args: &SlowArgs) -> Result<(), CommandError> {
    let store = args.ask.store.open()?;
    let mut filter = args.ask.filter.checked(&store)?;
    // A GET stream stays open for the whole session and would always be the slowest.
    filter.calls_only = !args.all && filter.method.is_none();
    let mut calls = store.calls(&filter, Order::Slowest, args.limit)?;
    if let Some(over) = args.over {
        calls.retain(|call| call.latency_us.is_some_and(|us| u128::from(us) > over.as_micros()));
    }
    if args.ask.json {
        return Ok(output::print_json_lines(&calls)?);
    }
    let mut out = Output::stdout();
    if calls.is_empty() {
        writeln!(out, "No calls in the store match this filter.")?;
        return Ok(out.flush()?);
    }
    let (styles, width) = (out.styles, out.width);
    let names = calls::names(&store, &calls)?;
    calls::table(&calls, &names, &DisplayFormat::of(&out), &styles).write(&mut out, &styles, width)?;
    Ok(out.flush()?)
}
