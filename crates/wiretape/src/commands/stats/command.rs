//! The command: whether traces are meant or the store.

use super::of_traces::Tokens;
use super::{Form, of_store, of_traces};
use crate::ask::{FilterArgs, StoreArgs};
use crate::error::CommandError;
use crate::selector::TraceSelector;
use clap::Args;

/// Count calls, errors, latencies and bytes, by tool
///
/// Given a TRACE, its calls are counted; several traces add up. Otherwise those are counted that the store knows of.
/// Errors are those of the protocol, those that a tool reports with `isError`, and in the store also those of HTTP.
/// Percentiles are by nearest rank, of calls that were answered, and empty where none was.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape stats                               all calls that the store knows of
  wiretape stats --since 1h --server files     those of the last hour at a server
  wiretape stats latest                        the newest trace
  wiretape stats latest latest~1 old.jsonl.zst several, added up
  wiretape stats latest --json | jq '.rows[] | select(.latencyUs.p95 > 200000)'")]
pub(crate) struct StatsArgs {
    /// The traces: each a path, the beginning of an id, `latest`, or `latest~1` for the one before
    #[arg(value_name = "TRACE")]
    traces: Vec<TraceSelector>,

    /// Print one JSON object (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,

    /// Count the tokens of results too, by TRACE; that takes longer
    #[arg(long, requires = "traces")]
    tokens: bool,

    /// Include the transport's own requests: GET streams, DELETE, notifications
    #[arg(long, conflicts_with = "traces")]
    all: bool,

    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    filter: FilterArgs,
}

/// Runs the command.
pub(crate) fn run(args: &StatsArgs) -> Result<(), CommandError> {
    let form = if args.json { Form::Json } else { Form::Text };
    if args.traces.is_empty() {
        let store = args.store.open()?;
        let mut filter = args.filter.checked(&store)?;
        filter.calls_only = !args.all && filter.method.is_none();
        return of_store::run(&store, &filter, form);
    }
    if !args.filter.is_empty() || args.store.store.is_some() {
        return Err(CommandError::usage(
            "a TRACE is counted as a whole: --store and filters are for the store",
        )
        .hint("`wiretape store load TRACE` brings it into the store; then leave TRACE out"));
    }
    of_traces::run(&args.traces, form, if args.tokens { Tokens::Counted } else { Tokens::Left })
}
