//! The command: whether traces are meant or the store.

use super::{of_store, of_traces};
use crate::ask::StoreArgs;
use crate::error::CommandError;
use crate::selector::TraceSelector;
use crate::words::{FILTER_HELP, Words};
use clap::Args;
use std::ffi::OsString;

/// List calls: each request with what became of it
///
/// Given a TRACE, its calls are listed in the order of their requests; those of several traces in one order of time.
/// Otherwise the newest are listed that the store knows of. Requests that a server made during a call stand below it.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub(crate) struct CallsArgs {
    /// Traces (each a path, the beginning of an id, `latest`, or `latest~1`) and words of a filter
    #[arg(value_name = "TRACE|FILTER")]
    words: Vec<OsString>,

    /// List at most N: the first of traces, the newest of the store (50 unless told)
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<u64>,

    /// Print one JSON object a line (schema: docs/json-output.md)
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
  wiretape calls latest tool:search* status:error         what failed of some tools
  wiretape calls a.jsonl b.jsonl latency>200ms            what was slow, at two servers
  wiretape calls latest 'text:\"over quota\" !method:ping'  by what was said
  wiretape calls status:error                             what failed lately, by the store
  wiretape call 17 latest                                 one of them, whole

{FILTER_HELP}"
    )
}

/// The most that is listed of the store, unless told.
const NEWEST: u64 = 50;

/// Runs the command.
pub(crate) fn run(args: &CallsArgs) -> Result<(), CommandError> {
    let words = Words::parse(&args.words)?;
    if words.traces.is_empty() {
        return of_store::run(&args.store.open()?, &words.filter, args.limit.unwrap_or(NEWEST), args.json);
    }
    if args.store.store.is_some() {
        return Err(CommandError::usage("either a TRACE is meant or the store: leave out one of them"));
    }
    let limit = args.limit.unwrap_or(u64::MAX);
    let paths = words.traces.iter().map(TraceSelector::resolve).collect::<Result<Vec<_>, _>>()?;
    of_traces::run(&paths, &words.filter, limit, args.json)
}
