//! `wiretape store`: what is in the store, what goes, and what comes from traces.

use crate::ask::StoreArgs;
use crate::calls::Look;
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

/// Look after the store that `logs`, `stats`, `sessions` and the others ask
///
/// The store has a row for each call and no payloads. `proxy` and `record` fill it as they run. It is made from traffic
/// and is never the truth: that is in the traces.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape store info                           where it is, and how much is in it
  wiretape store load traces/*.jsonl            bring traces in
  wiretape store prune --older-than 30d         let old calls go
  wiretape store prune --max-bytes 500MB        let the oldest go until it is no larger
  wiretape store vacuum                         give free room back to the disk")]
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

/// Say where the store is, and how much is in it
#[derive(Debug, Args)]
struct InfoArgs {
    /// Print one JSON object (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

/// Bring traces into the store
///
/// A trace that is in the store already is left as it is. Of a rotated recording all parts are brought in, as one, whichever of them
/// is named. Exit code 3 says that something could not be brought in.
#[derive(Debug, Args)]
struct LoadArgs {
    /// The traces: each a path, the beginning of an id, `latest`, or `latest~1` for the one before
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<TraceSelector>,

    /// Print one JSON object a line, one for each trace (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

/// Let old calls go
///
/// Traces stay. What went can be brought back from them with `wiretape store load`, if there are any.
#[derive(Debug, Args)]
struct PruneArgs {
    /// Let go what began longer ago than this: 30d, 2w, 12h
    #[arg(long, value_name = "AGE", value_parser = units::parse_age)]
    older_than: Option<Duration>,

    /// Let the oldest go until the store takes no more than this: 500MB, 2GB, 1GiB
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    max_bytes: Option<u64>,

    /// Print one JSON object (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

/// Give the store's free room back to the disk
///
/// The store is written anew, which takes as much room again meanwhile, and nobody can write to it until that is done.
#[derive(Debug, Args)]
struct VacuumArgs {
    /// Print one JSON object (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

/// Runs the command.
pub(crate) fn run(args: &StoreCommandArgs) -> Result<ExitCode, CommandError> {
    match &args.command {
        StoreCommand::Info(args) => info(args)?,
        StoreCommand::Load(args) => return load(args),
        StoreCommand::Prune(args) => prune(args)?,
        StoreCommand::Vacuum(args) => vacuum(args)?,
    }
    Ok(ExitCode::OK)
}

/// The sessions and calls of traces, as if they were a store.
pub(crate) fn of_traces(traces: &[TraceSelector]) -> Result<Store, CommandError> {
    let mut writer = Writer::in_memory()?;
    let mut found = Vec::new();
    for trace in traces {
        found.push(named(trace).map_err(|(_, error)| error)?);
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
    let (styles, look) = (out.styles, Look::of(&out));
    for (name, value) in facts(&info, &look) {
        writeln!(out, "{} {value}", styles.dim.paint(format!("{name:<8}")))?;
    }
    Ok(out.flush()?)
}

fn facts(info: &Info, look: &Look) -> Vec<(&'static str, String)> {
    let rows = &info.rows;
    let when = |ms: Option<i64>| ms.map_or_else(|| "-".to_owned(), |ms| look.when(ms));
    vec![
        ("store", info.path.display().to_string()),
        ("version", info.version.to_string()),
        ("size", format!("{}, {} of it free", units::bytes(info.bytes), units::bytes(info.free_bytes))),
        ("calls", format!("{}, {} methods and tools", units::count(rows.calls, "call"), rows.operations)),
        ("sessions", rows.sessions.to_string()),
        ("schema", format!("{} entries, {}", rows.schema_items, units::count(rows.schema_changes, "change"))),
        ("blocked", units::count(rows.violations, "violation")),
        ("traces", format!("{} loaded", rows.traces)),
        ("oldest", when(info.oldest)),
        ("newest", when(info.newest)),
    ]
}

fn prune(args: &PruneArgs) -> Result<(), CommandError> {
    let retention = Retention { max_age: args.older_than, max_bytes: args.max_bytes };
    if retention.keeps_all() {
        return Err(CommandError::usage("nothing says what is to go")
            .hint("give --older-than AGE (30d, 2w) or --max-bytes SIZE (500MB), or both"));
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
        return "There was nothing to let go.".to_owned();
    }
    let things = [
        (result.calls, "call"),
        (result.sessions, "session"),
        (result.schema_changes, "schema change"),
        (result.violations, "violation"),
    ];
    let gone: Vec<String> =
        things.into_iter().filter(|(n, _)| *n > 0).map(|(n, thing)| units::count(n, thing)).collect();
    let gone = if gone.is_empty() { "names that nothing used".to_owned() } else { gone.join(", ") };
    format!("Gone: {gone}. The store is {} smaller.", units::bytes(result.bytes_freed))
}

fn vacuum(args: &VacuumArgs) -> Result<(), CommandError> {
    let result = args.store.open_to_write()?.vacuum()?;
    if args.json {
        return Ok(output::print_json(&result)?);
    }
    let mut out = Output::stdout();
    let (before, after) = (units::bytes(result.before_bytes), units::bytes(result.after_bytes));
    writeln!(out, "The store had {before}, and has {after} now.")?;
    Ok(out.flush()?)
}

fn load(args: &LoadArgs) -> Result<ExitCode, CommandError> {
    let mut writer = args.store.open_or_make()?;
    let brought_in = bring_in(&args.traces, &mut writer);
    if args.json {
        output::print_json_lines(&brought_in)?;
    } else {
        print_loads(&brought_in)?;
    }
    let is_loaded = |load: &Load| matches!(load.outcome, Outcome::Done(_));
    Ok(if brought_in.iter().all(|load| is_loaded(load) && load.damaged_lines == 0) {
        ExitCode::OK
    } else if brought_in.iter().any(is_loaded) {
        ExitCode::INCOMPLETE
    } else {
        ExitCode::FAILURE
    })
}

/// What came of bringing a trace in; one line of `store load --json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Load {
    path: Option<PathBuf>,
    #[serde(flatten)]
    outcome: Outcome,
    damaged_lines: u64,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Outcome {
    Done(Loaded),
    Refused(Refused),
}

#[derive(Serialize)]
#[serde(tag = "outcome", rename = "refused")]
struct Refused {
    error: String,
}

/// Brings in the recordings that traces belong to, each as one.
fn bring_in(traces: &[TraceSelector], writer: &mut Writer) -> Vec<Load> {
    let mut loads = Vec::new();
    let mut found = Vec::new();
    for trace in traces {
        match named(trace) {
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

fn named(trace: &TraceSelector) -> Result<(PathBuf, Head), (Option<PathBuf>, CommandError)> {
    let path = trace.resolve().map_err(|error| (None, error))?;
    match trace_file::head(&path) {
        Ok(head) => Ok((path, head)),
        Err(error) => Err((Some(path), error.into())),
    }
}

fn refused(path: Option<PathBuf>, error: &CommandError) -> Load {
    error.print();
    let outcome = Outcome::Refused(Refused { error: error.to_string() });
    Load { path, outcome, damaged_lines: 0 }
}

/// Half a trace would be taken for the whole later.
fn ended(part: &Part) -> Result<(), CommandError> {
    match TraceState::new(&part.path, &trace_file::ending(&part.path)?) {
        TraceState::Running => {
            let message = format!("{} is still being recorded", part.path.display());
            Err(CommandError::failure(message)
                .hint("load it when it has ended; `wiretape record` feeds the store itself"))
        }
        _ => Ok(()),
    }
}

fn load_recording(recording: &Recording, writer: &mut Writer) -> Result<Vec<Load>, CommandError> {
    let mut loader = Loader::new(writer);
    if recording.is_whole() {
        let ids: Vec<&str> = recording.parts.iter().filter_map(|part| part.id.as_deref()).collect();
        let failed = |error| load_error(Path::new(""), error);
        loader.forget_half_loaded(&ids).map_err(failed)?;
        if loader.is_told(&ids).map_err(failed)? {
            loader.forget_if_fewer(&ids, count_calls(recording)?).map_err(failed)?;
        }
    }
    let mut loads = Vec::new();
    for part in &recording.parts {
        let (loaded, damaged_lines) = load_part(&part.path, &mut loader)?;
        let path = Some(part.path.clone());
        loads.push(Load { path, outcome: Outcome::Done(loaded), damaged_lines });
    }
    let unanswered = loader.finish().map_err(|error| load_error(Path::new(""), error))?;
    let last = loads.iter_mut().rev().find_map(|load| match &mut load.outcome {
        Outcome::Done(Loaded::Loaded { calls, .. }) => Some(calls),
        _ => None,
    });
    if let Some(calls) = last {
        *calls += unanswered;
    }
    Ok(loads)
}

/// How many calls a recording has.
fn count_calls(recording: &Recording) -> Result<u64, CommandError> {
    let mut counter = CallCounter::default();
    for part in &recording.parts {
        let mut reader = trace_file::open(&part.path)?;
        counter.part(&mut reader).map_err(|error| load_error(&part.path, error.into()))?;
    }
    Ok(counter.finish())
}

/// Loads a part, and says how many of its lines are damaged.
fn load_part(path: &Path, loader: &mut Loader<'_>) -> Result<(Loaded, u64), CommandError> {
    let mut reader = trace_file::open(path)?;
    let loaded = loader.part(&mut reader).map_err(|error| load_error(path, error))?;
    if matches!(loaded, Loaded::AlreadyThere { .. }) {
        return Ok((loaded, 0));
    }
    Ok((loaded, tell_notices(path, &reader)))
}

fn load_error(path: &Path, error: LoadError) -> CommandError {
    match error {
        LoadError::Read(source) => TraceFileError::Read { path: path.to_owned(), source }.into(),
        LoadError::Store(error) => CommandError::from(error),
    }
}

/// Tells what is odd about a trace, and returns how many of its lines could not be read.
fn tell_notices(path: &Path, reader: &FileReader) -> u64 {
    /// More would bury the rest.
    const TOLD: usize = 10;
    // What no call is in needs no word; nor does a recorder that was killed.
    let is_told = |notice: &&Notice| {
        !matches!(notice, Notice::UnknownType { .. } | Notice::UnknownDirection { .. } | Notice::MissingEnd)
    };
    let told: Vec<&Notice> = reader.notices().iter().filter(is_told).collect();
    for notice in told.iter().take(TOLD) {
        output::note(format!("{}: {notice}", path.display()));
    }
    let more = reader.more_notices() + told.len().saturating_sub(TOLD) as u64;
    if more > 0 {
        output::note(format!("{}: and {more} more", path.display()));
    }
    told.iter().filter(|notice| notice.is_damage()).count() as u64
}

fn print_loads(loads: &[Load]) -> Result<(), CommandError> {
    let mut out = Output::stdout();
    for load in loads {
        let path = load.path.as_deref().unwrap_or(Path::new("")).display().to_string();
        let path = printable(&path);
        match &load.outcome {
            Outcome::Done(Loaded::Loaded { calls, .. }) => {
                writeln!(out, "{path}: loaded {}", units::count(*calls, "call"))?;
            }
            Outcome::Done(Loaded::AlreadyThere { .. }) => writeln!(out, "{path}: already there")?,
            Outcome::Refused(_) => {}
        }
    }
    Ok(out.flush()?)
}
