//! `wiretape store`: inspects and maintains the store, and loads traces into it.
//!
//! The tables and queries are in `wiretape-events`. Here is what loading needs to know about files: which traces
//! are parts of one recording, and that a trace which is still being written, or that the proxy has already stored
//! call by call, must not be counted twice. `of_traces` loads traces into a store in memory, so that `sessions` and
//! `stats` answer for traces with the same queries.

use crate::ask::StoreArgs;
use crate::calls::DisplayFormat;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::output::{self, Output};
use crate::selector::TraceSelector;
use crate::text::printable;
use crate::trace_file::{self, FileReader, Head, TraceFileError};
use crate::units;
use clap::{Args, Subcommand};
use serde::Serialize;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wiretape_events::store::query::Info;
use wiretape_events::store::{CallCounter, LoadError, Loaded, Loader, PruneResult, Retention, Store, Writer};
use wiretape_library::TraceState;
use wiretape_library::{Part, Recording};
use wiretape_trace::format::Notice;

/// Inspect and maintain the store
///
/// The store holds one row per call, without payloads, and answers `logs`, `stats`, `sessions` and the other queries.
/// `proxy` and `record` fill it as they run. It is derived from traffic and can be rebuilt from traces.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape store info                           show its path and size
  wiretape store load traces/*.jsonl            load traces
  wiretape store prune --older-than 30d         delete old rows
  wiretape store prune --max-bytes 500MB        delete the oldest rows until it fits
  wiretape store vacuum                         return free space to the disk")]
pub(crate) struct StoreCommandArgs {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, Subcommand)]
enum StoreCommand {
    Info(InfoArgs),
    Load(LoadArgs),
    Prune(PruneArgs),
    Vacuum(VacuumArgs),
}

/// Show the path, the size and the contents of the store
#[derive(Debug, Args)]
struct InfoArgs {
    /// Print one JSON object (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

/// Load traces into the store
///
/// Traces that are already in the store are skipped. All parts of a rotated recording are loaded together, whichever part is
/// named. The exit code is 3 if only part of the input could be loaded.
#[derive(Debug, Args)]
struct LoadArgs {
    /// Traces: paths, id prefixes, `latest`, or `latest~1` for the one before
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<TraceSelector>,

    /// Print one JSON object per trace, one per line (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

/// Delete old rows
///
/// Traces are not deleted: `wiretape store load` can restore the rows from them.
#[derive(Debug, Args)]
struct PruneArgs {
    /// Delete rows of calls that started longer ago than AGE: 30d, 2w, 12h
    #[arg(long, value_name = "AGE", value_parser = units::parse_age)]
    older_than: Option<Duration>,

    /// Delete the oldest rows until the store is at most SIZE: 500MB, 2GB, 1GiB
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    max_bytes: Option<u64>,

    /// Print one JSON object (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

/// Return the store's free space to the disk
///
/// Rewrites the store, which temporarily needs as much free space as the store takes. While it runs, the
/// store can't be written to.
#[derive(Debug, Args)]
struct VacuumArgs {
    /// Print one JSON object (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &StoreCommandArgs) -> Result<ExitCode, CommandError> {
    match &args.command {
        StoreCommand::Info(args) => info(args)?,
        StoreCommand::Load(args) => return load(args),
        StoreCommand::Prune(args) => prune(args)?,
        StoreCommand::Vacuum(args) => vacuum(args)?,
    }
    Ok(ExitCode::OK)
}

/// An in-memory store with the sessions and calls of traces.
pub(crate) fn of_traces(traces: &[TraceSelector]) -> Result<Store, CommandError> {
    // So that a trace and the store answer the same queries with the same code.
    let mut writer = Writer::in_memory()?;
    let mut found = Vec::new();
    for trace in traces {
        found.push(resolve(trace).map_err(|(_, error)| error)?);
    }
    for recording in Recording::of_traces(found) {
        load_recording(&recording, &mut writer)?;
    }
    Ok(Store::of(writer))
}

fn info(args: &InfoArgs) -> Result<(), CommandError> {
    let info = args.store.open()?.info()?;
    if args.json {
        return Ok(output::print_json(&info)?);
    }
    let mut out = Output::stdout();
    let (styles, look) = (out.styles, DisplayFormat::of(&out));
    for (name, value) in facts(&info, &look) {
        writeln!(out, "{} {value}", styles.dim.paint(format!("{name:<8}")))?;
    }
    Ok(out.flush()?)
}

fn facts(info: &Info, look: &DisplayFormat) -> Vec<(&'static str, String)> {
    let rows = &info.rows;
    let when = |ms: Option<i64>| ms.map_or_else(|| "-".to_owned(), |ms| look.when(ms));
    vec![
        ("store", info.path.display().to_string()),
        ("version", info.version.to_string()),
        ("size", format!("{}, {} free", units::bytes(info.bytes), units::bytes(info.free_bytes))),
        (
            "calls",
            format!(
                "{}, {} methods and tools",
                units::count(rows.calls, "call"),
                units::number(rows.operations)
            ),
        ),
        ("sessions", units::number(rows.sessions)),
        (
            "schema",
            format!(
                "{} entries, {}",
                units::number(rows.schema_items),
                units::count(rows.schema_changes, "change")
            ),
        ),
        ("blocked", units::count(rows.violations, "violation")),
        ("traces", format!("{} loaded", units::number(rows.traces))),
        ("oldest", when(info.oldest)),
        ("newest", when(info.newest)),
    ]
}

fn prune(args: &PruneArgs) -> Result<(), CommandError> {
    let retention = Retention { max_age: args.older_than, max_bytes: args.max_bytes };
    if retention.keeps_all() {
        return Err(CommandError::usage("no pruning criteria")
            .hint("use --older-than AGE (30d, 2w), --max-bytes SIZE (500MB), or both"));
    }
    let now = jiff::Timestamp::now().as_millisecond();
    let result = args.store.open_to_write()?.prune(retention, now)?;
    if args.json {
        return Ok(output::print_json(&result)?);
    }
    let mut out = Output::stdout();
    writeln!(out, "{}", describe(&result))?;
    Ok(out.flush()?)
}

fn describe(result: &PruneResult) -> String {
    if (PruneResult { bytes_freed: 0, ..*result }) == PruneResult::default() {
        return "Nothing to delete.".to_owned();
    }
    let things = [
        (result.calls, "call"),
        (result.sessions, "session"),
        (result.schema_changes, "schema change"),
        (result.violations, "violation"),
    ];
    let deleted: Vec<String> =
        things.into_iter().filter(|(n, _)| *n > 0).map(|(n, thing)| units::count(n, thing)).collect();
    let deleted = if deleted.is_empty() { "unused names".to_owned() } else { deleted.join(", ") };
    format!("Deleted {deleted}. Freed {}.", units::bytes(result.bytes_freed))
}

fn vacuum(args: &VacuumArgs) -> Result<(), CommandError> {
    let result = args.store.open_to_write()?.vacuum()?;
    if args.json {
        return Ok(output::print_json(&result)?);
    }
    let mut out = Output::stdout();
    let (before, after) = (units::bytes(result.before_bytes), units::bytes(result.after_bytes));
    writeln!(out, "Reduced the store from {before} to {after}.")?;
    Ok(out.flush()?)
}

fn load(args: &LoadArgs) -> Result<ExitCode, CommandError> {
    let mut writer = args.store.open_or_make()?;
    let loads = load_recordings(&args.traces, &mut writer);
    if args.json {
        output::print_json_lines(&loads)?;
    } else {
        print_loads(&loads)?;
    }
    let is_loaded = |load: &LoadResult| matches!(load.outcome, LoadOutcome::Done(_));
    Ok(if loads.iter().all(|load| is_loaded(load) && load.damaged_lines == 0) {
        ExitCode::OK
    } else if loads.iter().any(is_loaded) {
        ExitCode::INCOMPLETE
    } else {
        ExitCode::FAILURE
    })
}

/// The result of loading a trace; one line of `store load --json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LoadResult {
    path: Option<PathBuf>,
    #[serde(flatten)]
    outcome: LoadOutcome,
    damaged_lines: u64,
}

#[derive(Serialize)]
#[serde(untagged)]
enum LoadOutcome {
    Done(Loaded),
    Refused(LoadRefusal),
}

#[derive(Serialize)]
#[serde(tag = "outcome", rename = "refused")]
struct LoadRefusal {
    error: String,
}

/// Loads the recordings that the traces belong to, each once.
fn load_recordings(traces: &[TraceSelector], writer: &mut Writer) -> Vec<LoadResult> {
    let mut loads = Vec::new();
    let mut found = Vec::new();
    for trace in traces {
        match resolve(trace) {
            Ok(trace) => found.push(trace),
            Err((path, error)) => loads.push(refused(path, &error)),
        }
    }
    for mut recording in Recording::of_traces(found) {
        let ready = recording
            .find_parts()
            .map_err(CommandError::from)
            .and_then(|()| recording.parts.iter().try_for_each(ended));
        match ready.and_then(|()| load_recording(&recording, writer)) {
            Ok(loaded) => loads.extend(loaded),
            Err(error) => loads.push(refused(recording.parts.first().map(|part| part.path.clone()), &error)),
        }
    }
    loads
}

fn resolve(trace: &TraceSelector) -> Result<(PathBuf, Head), (Option<PathBuf>, CommandError)> {
    let path = trace.resolve().map_err(|error| (None, error))?;
    match trace_file::head(&path) {
        Ok(head) => Ok((path, head)),
        Err(error) => Err((Some(path), error.into())),
    }
}

fn refused(path: Option<PathBuf>, error: &CommandError) -> LoadResult {
    // At once: the results follow when all traces are loaded.
    error.print();
    let outcome = LoadOutcome::Refused(LoadRefusal { error: error.to_string() });
    LoadResult { path, outcome, damaged_lines: 0 }
}

/// A partly loaded trace would be taken for a complete one later.
fn ended(part: &Part) -> Result<(), CommandError> {
    match TraceState::new(&part.path, &trace_file::ending(&part.path)?) {
        TraceState::Running => {
            let message = format!("{} is still being recorded", part.path.display());
            Err(CommandError::failure(message)
                .hint("load it after it has ended; `wiretape record` writes to the store by itself"))
        }
        _ => Ok(()),
    }
}

fn load_recording(recording: &Recording, writer: &mut Writer) -> Result<Vec<LoadResult>, CommandError> {
    let mut loader = Loader::new(writer);
    if recording.is_whole() {
        let ids: Vec<&str> = recording.parts.iter().filter_map(|part| part.id.as_deref()).collect();
        let failed = |error| load_error(Path::new(""), error);
        // A load or a recording that was interrupted has left rows behind; loading on top of them would count calls
        // twice.
        loader.forget_half_loaded(&ids).map_err(failed)?;
        if loader.is_reported_by_proxy(&ids).map_err(failed)? {
            // The proxy has stored these calls as they happened, and may have dropped some: then the trace replaces
            // them.
            loader.forget_if_fewer(&ids, count_calls(recording)?).map_err(failed)?;
        }
    }
    let mut loads = Vec::new();
    for part in &recording.parts {
        let (loaded, damaged_lines) = load_part(&part.path, &mut loader)?;
        let path = Some(part.path.clone());
        loads.push(LoadResult { path, outcome: LoadOutcome::Done(loaded), damaged_lines });
    }
    let unanswered = loader.finish().map_err(|error| load_error(Path::new(""), error))?;
    let last = loads.iter_mut().rev().find_map(|load| match &mut load.outcome {
        LoadOutcome::Done(Loaded::Loaded { calls, .. }) => Some(calls),
        _ => None,
    });
    if let Some(calls) = last {
        // Calls without an answer are only known at the end, and counted with the last part.
        *calls += unanswered;
    }
    Ok(loads)
}

/// The number of calls in a recording.
fn count_calls(recording: &Recording) -> Result<u64, CommandError> {
    let mut counter = CallCounter::default();
    for part in &recording.parts {
        let mut reader = trace_file::open(&part.path)?;
        counter.part(&mut reader).map_err(|error| load_error(&part.path, error.into()))?;
    }
    Ok(counter.finish())
}

/// Loads a part, and returns the number of damaged lines.
fn load_part(path: &Path, loader: &mut Loader<'_>) -> Result<(Loaded, u64), CommandError> {
    let mut reader = trace_file::open(path)?;
    let loaded = loader.part(&mut reader).map_err(|error| load_error(path, error))?;
    if matches!(loaded, Loaded::AlreadyThere { .. }) {
        return Ok((loaded, 0));
    }
    Ok((loaded, report_notices(path, &reader)))
}

fn load_error(path: &Path, error: LoadError) -> CommandError {
    match error {
        LoadError::Read(source) => TraceFileError::Read { path: path.to_owned(), source }.into(),
        LoadError::Store(error) => CommandError::from(error),
    }
}

/// Reports notices about a trace, and returns the number of lines that could not be read.
fn report_notices(path: &Path, reader: &FileReader) -> u64 {
    /// More notices would hide the result.
    const MAX_NOTICES: usize = 10;
    // A notice that affects no call is not reported, nor is a killed recorder.
    let is_reported = |notice: &&Notice| {
        !matches!(notice, Notice::UnknownType { .. } | Notice::UnknownDirection { .. } | Notice::MissingEnd)
    };
    let notices: Vec<&Notice> = reader.notices().iter().filter(is_reported).collect();
    for notice in notices.iter().take(MAX_NOTICES) {
        output::note(format!("{}: {notice}", path.display()));
    }
    let more = reader.more_notices() + notices.len().saturating_sub(MAX_NOTICES) as u64;
    if more > 0 {
        output::note(format!("{}: and {more} more", path.display()));
    }
    notices.iter().filter(|notice| notice.is_damage()).count() as u64
}

fn print_loads(loads: &[LoadResult]) -> Result<(), CommandError> {
    let mut out = Output::stdout();
    for load in loads {
        let path = load.path.as_deref().unwrap_or(Path::new("")).display().to_string();
        let path = printable(&path);
        match &load.outcome {
            LoadOutcome::Done(Loaded::Loaded { calls, .. }) => {
                writeln!(out, "{path}: loaded {}", units::count(*calls, "call"))?;
            }
            LoadOutcome::Done(Loaded::AlreadyThere { .. }) => writeln!(out, "{path}: already loaded")?,
            LoadOutcome::Refused(_) => {}
        }
    }
    Ok(out.flush()?)
}
