//! `wiretape store`: what is in the store, what goes, and what comes from traces.

use crate::ask::StoreArgs;
use crate::calls::Look;
use crate::catalog::TraceState;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::output::{self, Output};
use crate::selector::TraceSelector;
use crate::text::printable;
use crate::trace_file::{self, TraceFileError};
use crate::units;
use clap::{Args, Subcommand};
use serde::Serialize;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wiretape_events::store::query::Info;
use wiretape_events::store::{self, LoadError, Loaded, PruneResult, Retention, Store, Writer};
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
/// A trace that is in the store already is left as it is. Exit code 3 says that something could not be brought in.
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
    for trace in traces {
        load_file(&trace.resolve()?, &mut writer)?;
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
    let mut brought_in = Vec::new();
    for trace in &args.traces {
        brought_in.push(bring_in(trace, &mut writer));
    }
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

fn bring_in(trace: &TraceSelector, writer: &mut Writer) -> Load {
    let path = match trace.resolve() {
        Ok(path) => path,
        Err(error) => return refused(None, &error),
    };
    match ended(&path).and_then(|()| load_file(&path, writer)) {
        Ok((loaded, damaged_lines)) => {
            Load { path: Some(path), outcome: Outcome::Done(loaded), damaged_lines }
        }
        Err(error) => refused(Some(path), &error),
    }
}

fn refused(path: Option<PathBuf>, error: &CommandError) -> Load {
    error.print();
    let outcome = Outcome::Refused(Refused { error: error.to_string() });
    Load { path, outcome, damaged_lines: 0 }
}

/// Half a trace would be taken for the whole later.
fn ended(path: &Path) -> Result<(), CommandError> {
    match TraceState::new(path, &trace_file::ending(path)?) {
        TraceState::Running => {
            let message = format!("{} is still being recorded", path.display());
            Err(CommandError::failure(message)
                .hint("load it when it has ended; `wiretape record` feeds the store itself"))
        }
        _ => Ok(()),
    }
}

/// Loads a file, and says how many of its lines are damaged.
fn load_file(path: &Path, writer: &mut Writer) -> Result<(Loaded, u64), CommandError> {
    trace_file::head(path)?;
    let mut reader = trace_file::open(path)?;
    let loaded = store::load_from(&mut reader, writer).map_err(|error| match error {
        LoadError::Read(source) => TraceFileError::Read { path: path.to_owned(), source }.into(),
        LoadError::Store(error) => CommandError::from(error),
    })?;
    let is_damage =
        |notice: &&Notice| matches!(notice, Notice::DamagedLine { .. } | Notice::TruncatedCompression { .. });
    let damaged = reader.notices().iter().filter(is_damage);
    damaged.clone().for_each(|notice| output::note(format!("{}: {notice}", path.display())));
    Ok((loaded, damaged.count() as u64))
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
