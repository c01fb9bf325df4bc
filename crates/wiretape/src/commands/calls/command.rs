//! The command: dispatches to traces or to the store.

use super::{of_store, of_traces};
use crate::ask::StoreArgs;
use crate::error::CommandError;
use crate::selector::TraceSelector;
use crate::words::{FILTER_HELP, Words};
use clap::Args;
use std::ffi::OsString;

/// List calls: requests with their outcomes
///
/// With TRACE, lists its calls in the order of their requests; calls of several traces are merged by time. Otherwise lists
/// the newest calls in the store. Requests from the server during a call are listed below it.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub(crate) struct CallsArgs {
    /// Traces (paths, id prefixes, `latest`, or `latest~1`) and filter terms
    #[arg(value_name = "TRACE|FILTER")]
    words: Vec<OsString>,

    /// List at most N calls: the first of traces, the newest of the store (default 50)
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<u64>,

    /// Print one JSON object per line (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

fn after_help() -> String {
    format!(
        "\
Examples:
  wiretape calls latest                                   all calls of the newest trace
  wiretape calls latest tool:search* status:error         failed calls of some tools
  wiretape calls a.jsonl b.jsonl latency>200ms            slow calls of two servers
  wiretape calls latest 'text:\"over quota\" !method:ping'  calls with this text
  wiretape calls status:error                             recent failures, from the store
  wiretape call 17 latest                                 one call in full

{FILTER_HELP}"
    )
}

/// The default limit for the store.
const NEWEST: u64 = 50;

pub(crate) fn run(args: &CallsArgs) -> Result<(), CommandError> {
    let words = Words::parse(&args.words)?;
    if words.traces.is_empty() {
        return of_store::run(&args.store.open()?, &words.filter, args.limit.unwrap_or(NEWEST), args.json);
    }
    if args.store.store.is_some() {
        return Err(CommandError::usage("TRACE and --store can't be combined"));
    }
    let limit = args.limit.unwrap_or(u64::MAX);
    let paths = words.traces.iter().map(TraceSelector::resolve).collect::<Result<Vec<_>, _>>()?;
    of_traces::run(&paths, &words.filter, limit, args.json)
}
