//! The command: dispatches to traces or to the store.

use super::of_traces::Tokens;
use super::{StatsFormat, of_store, of_traces};
use crate::ask::{FilterArgs, StoreArgs};
use crate::error::CommandError;
use crate::selector::TraceSelector;
use clap::Args;

/// Count calls, errors, latencies and bytes, by tool
///
/// With TRACE, counts the calls of the traces together; otherwise, those in the store. Errors are protocol
/// errors, tool errors (`isError`) and HTTP errors, including timeouts and crashes. Percentiles use the
/// nearest rank and only calls with a response; without any, they are empty.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape stats                               all calls in the store
  wiretape stats --since 1h --server files     the last hour of one server
  wiretape stats latest                        the newest trace
  wiretape stats latest latest~1 old.jsonl.zst several traces, added up
  wiretape stats latest --json | jq '.rows[] | select(.latencyUs.p95 > 200000)'")]
pub(crate) struct StatsArgs {
    /// Traces: paths, id prefixes, `latest`, or `latest~1` for the one before
    #[arg(value_name = "TRACE")]
    traces: Vec<TraceSelector>,

    /// Print one JSON object (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,

    /// Also count the tokens of results (TRACE only; takes longer)
    #[arg(long, requires = "traces")]
    tokens: bool,

    /// Include transport requests: GET streams, DELETE, notifications (store only)
    #[arg(long, conflicts_with = "traces")]
    all: bool,

    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    filter: FilterArgs,
}

pub(crate) fn run(args: &StatsArgs) -> Result<(), CommandError> {
    let format = if args.json { StatsFormat::Json } else { StatsFormat::Text };
    if args.traces.is_empty() {
        let store = args.store.open()?;
        let mut filter = args.filter.checked(&store)?;
        // GET streams and DELETE are requests of the transport, and their durations would distort the latencies.
        filter.calls_only = !args.all && filter.method.is_none();
        return of_store::run(&store, &filter, format);
    }
    if !args.filter.is_empty() || args.store.store.is_some() {
        return Err(CommandError::usage("--store and filters can't be combined with TRACE")
            .hint("to filter, load the trace with `wiretape store load TRACE`, then omit TRACE"));
    }
    of_traces::run(&args.traces, format, if args.tokens { Tokens::Counted } else { Tokens::Skipped })
}
