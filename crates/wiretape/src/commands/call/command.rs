//! The command: which call is meant, and where it is.

use super::parts::{Parts, Whole};
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
use wiretape_trace::message::Direction;

/// Show one call whole: request, progress, what the server asked meanwhile, response, timing
///
/// CALL is the number that `wiretape calls TRACE` lists. Without a TRACE it is a row of the store, as `wiretape calls
/// --json` and `wiretape logs --json` have it, and the trace that it came from is looked into.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape call 17 latest              call 17 of the newest trace
  wiretape call 17 a.jsonl --json      for programs
  wiretape call 123456                 row 123456 of the store, in its trace")]
pub(crate) struct CallArgs {
    /// The call's number in the trace, or its row in the store
    #[arg(value_name = "CALL")]
    number: u64,

    /// The trace: a path, the beginning of its id, `latest`, or `latest~1` for the one before
    trace: Option<TraceSelector>,

    /// Print one JSON object, payloads verbatim (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

/// Runs the command.
pub(crate) fn run(args: &CallArgs) -> Result<(), CommandError> {
    let (path, wanted) = match &args.trace {
        Some(trace) => (trace.resolve()?, Wanted::Number(args.number)),
        None => of_store(args)?,
    };
    trace_file::head(&path)?;
    let whole = read(&path, &wanted)?;
    if args.json {
        return Ok(whole.write_json(&path)?);
    }
    let mut out = Output::stdout();
    whole.write(&mut out, &path)?;
    Ok(out.flush()?)
}

/// Which call is looked for in a trace.
enum Wanted {
    Number(u64),
    /// One that the store knows of.
    Row(Box<CallRecord>),
}

fn of_store(args: &CallArgs) -> Result<(PathBuf, Wanted), CommandError> {
    let row = i64::try_from(args.number).unwrap_or(i64::MAX);
    let call = args.store.open()?.call(row)?.ok_or_else(|| {
        CommandError::failure(format!("there is no row {} in the store", args.number)).hint(
            "`wiretape logs --json` tells the rows; to look into a trace, name it: `wiretape call N TRACE`",
        )
    })?;
    let gone = || {
        CommandError::failure(format!(
            "the trace of row {} is not here any more, or was never written",
            args.number
        ))
        .hint("`wiretape logs --json` tells what the store knows of it")
    };
    let trace = call.trace.clone().ok_or_else(gone)?;
    let entries = Catalog::open(&dirs::traces_dir()?, &dirs::index_dir()?)?.entries;
    let entry = entries.into_iter().find(|entry| entry.id() == trace).ok_or_else(gone)?;
    Ok((entry.path, Wanted::Row(Box::new(call))))
}

fn read(path: &Path, wanted: &Wanted) -> Result<Whole, CommandError> {
    let call = find(path, wanted)?;
    let mut reader = trace_file::open(path)?;
    let mut reading = Reading::new(Parts::new(call.number));
    while reading.analysis().call.is_none()
        && let Some(line) = trace_file::next_line(&mut reader, path)?
    {
        reading.observe(&line);
    }
    let parts = reading.finish(trace_file::recording_state(path));
    Ok(Whole {
        call: parts.call.unwrap_or(call),
        request: parts.request,
        response: parts.response,
        meanwhile: parts.meanwhile,
        more: parts.more,
    })
}

/// The call that is meant.
fn find(path: &Path, wanted: &Wanted) -> Result<Call, CommandError> {
    let mut reader = trace_file::open_with_progress(path)?;
    let mut lister = CallLister::new(Filter::default());
    let mut best: Option<(u64, Call)> = None;
    let mut last = 0;
    let mut consider = |call: Call| {
        last = call.number.max(last);
        if let Some(distance) = wanted.distance(&call)
            && best.as_ref().is_none_or(|(nearest, _)| distance < *nearest)
        {
            best = Some((distance, call));
        }
    };
    while let Some(line) = trace_file::next_line(&mut reader, path)? {
        lister.observe(&line, &mut consider);
    }
    lister.finish(trace_file::recording_state(path), consider);
    best.map(|(_, call)| call).ok_or_else(|| match wanted {
        Wanted::Number(number) => CommandError::failure(format!(
            "there is no call {number} in {}: it has {}",
            path.display(),
            units::count(last, "call")
        ))
        .hint("`wiretape calls TRACE` lists them"),
        Wanted::Row(_) => CommandError::failure(format!("the call is not in {} any more", path.display())),
    })
}

impl Wanted {
    /// How far a call is from the one that is meant; `None` if it can't be it.
    fn distance(&self, call: &Call) -> Option<u64> {
        match self {
            Wanted::Number(number) => (call.number == *number).then_some(0),
            Wanted::Row(row) => {
                let same = call.direction == Direction::ClientToServer
                    && *call.method == row.method
                    && call.id.as_ref().is_some_and(|id| id.text() == row.request_id);
                same.then(|| call.asked.wall_ms.map_or(u64::MAX, |ms| ms.abs_diff(row.time)))
            }
        }
    }
}
