//! The command: finds the call and its trace. The trace is read twice: once to find the call, and again for its
//! payloads, since keeping those of all calls could take too much memory.

use super::parts::{CallCollector, CallDetail};
use crate::ask::StoreArgs;
use crate::error::CommandError;
use crate::output::Output;
use crate::selector::TraceSelector;
use crate::{dirs, trace_file, units};
use clap::Args;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use wiretape_analyze::call::Call;
use wiretape_analyze::filter::Filter;
use wiretape_analyze::listing::CallLister;
use wiretape_analyze::reading::Reading;
use wiretape_events::store::query::CallRecord;
use wiretape_library::Catalog;
use wiretape_trace::message::{Direction, Id};

/// Show one call in full
///
/// Shows the request, its progress, server requests during the call, the response and the timing.
///
/// CALL is the number listed by `wiretape calls TRACE`. Without TRACE, it is a row of the store as printed by `wiretape
/// calls --json` and `wiretape logs --json`, and the call is read from the trace that it was recorded in.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape call 17 latest              call 17 of the newest trace
  wiretape call 17 a.jsonl --json      for scripts
  wiretape call 123456                 row 123456 of the store, in its trace")]
pub(crate) struct CallArgs {
    /// The call's number in the trace, or its row in the store
    #[arg(value_name = "CALL")]
    number: u64,

    /// The trace: a path, an id prefix, `latest`, or `latest~1` for the one before
    trace: Option<TraceSelector>,

    /// Print one JSON object, payloads verbatim (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &CallArgs) -> Result<(), CommandError> {
    let (path, target) = match &args.trace {
        Some(trace) => (trace.resolve()?, CallTarget::Number(args.number)),
        None => of_store(args)?,
    };
    trace_file::head(&path)?;
    let detail = read(&path, &target)?;
    if args.json {
        return Ok(detail.write_json(&path)?);
    }
    let mut out = Output::stdout();
    detail.write(&mut out, &path)?;
    Ok(out.flush()?)
}

/// How a call is identified in a trace.
enum CallTarget {
    Number(u64),
    /// A row of the store.
    Row(Box<CallRecord>),
}

fn of_store(args: &CallArgs) -> Result<(PathBuf, CallTarget), CommandError> {
    let row = i64::try_from(args.number).unwrap_or(i64::MAX);
    let call = args.store.open()?.call(row)?.ok_or_else(|| {
        CommandError::failure(format!("no row {} in the store", args.number)).hint(
            "run `wiretape logs --json` to list rows; for a call in a trace, use `wiretape call N TRACE`",
        )
    })?;
    let gone = || {
        CommandError::failure(format!(
            "the trace of row {} does not exist any more, or was never written",
            args.number
        ))
        .hint("run `wiretape logs --json` for what the store has of this call")
    };
    let trace = call.trace.clone().ok_or_else(gone)?;
    let entries = Catalog::open(&dirs::traces_dir()?, &dirs::index_dir()?)?.entries;
    let entry = entries.into_iter().find(|entry| entry.id() == trace).ok_or_else(gone)?;
    Ok((entry.path, CallTarget::Row(Box::new(call))))
}

fn read(path: &Path, target: &CallTarget) -> Result<CallDetail, CommandError> {
    let call = find(path, target)?;
    let mut reader = trace_file::open(path)?;
    let mut reading = Reading::new(CallCollector::new(call.number));
    // Until the call is complete; the rest of a large trace need not be read.
    while reading.analysis().call.is_none()
        && let Some(line) = trace_file::next_line(&mut reader, path)?
    {
        reading.observe(&line);
    }
    let parts = reading.finish(trace_file::recording_state(path));
    Ok(CallDetail {
        call: parts.call.unwrap_or(call),
        request: parts.request,
        response: parts.response,
        events: parts.events,
        more: parts.more,
    })
}

fn find(path: &Path, target: &CallTarget) -> Result<Call, CommandError> {
    let mut reader = trace_file::open_with_progress(path)?;
    let mut lister = CallLister::new(Filter::default());
    let mut best: Option<(u64, Call)> = None;
    let mut last = 0;
    let mut consider = |call: Call| {
        last = call.number.max(last);
        if let Some(distance) = target.distance(&call)
            // Ids are reused across sessions and after a restart: of several calls with the same id, the nearest in
            // time.
            && best.as_ref().is_none_or(|(nearest, _)| distance < *nearest)
        {
            best = Some((distance, call));
        }
    };
    while let Some(line) = trace_file::next_line(&mut reader, path)? {
        lister.observe(&line, &mut consider);
    }
    lister.finish(trace_file::recording_state(path), consider);
    best.map(|(_, call)| call).ok_or_else(|| match target {
        CallTarget::Number(number) => CommandError::failure(format!(
            "no call {number} in {}, which has {}",
            path.display(),
            units::count(last, "call")
        ))
        .hint("run `wiretape calls TRACE` to list calls"),
        CallTarget::Row(_) => {
            CommandError::failure(format!("{} does not contain the call any more", path.display()))
        }
    })
}

/// Whether the store has an id as this text. It keeps the spelling of the request, calls have the value.
fn is_stored_as(id: &Id<'_>, text: &str) -> bool {
    id.text() == text || id.is_same(&Id::Number(text.into()))
}

impl CallTarget {
    /// How much a call's time differs from the row's; `None` if it is another call.
    fn distance(&self, call: &Call) -> Option<u64> {
        match self {
            CallTarget::Number(number) => (call.number == *number).then_some(0),
            CallTarget::Row(row) => {
                let same = call.direction == Direction::ClientToServer
                    && *call.method == row.method
                    && call.id.as_ref().is_some_and(|id| is_stored_as(id, &row.request_id));
                same.then(|| call.asked.wall_ms.map_or(u64::MAX, |ms| ms.abs_diff(row.time)))
            }
        }
    }
}
