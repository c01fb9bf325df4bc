//! `wiretape baseline`: the definitions of a server, pinned in a file.

use crate::commands::export::refuse_to_overwrite;
use crate::error::CommandError;
use crate::output;
use crate::selector::TraceSelector;
use crate::text::printable;
use crate::trace_file::{self, TraceFileError};
use crate::units;
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use wiretape_analyze::definitions::{Collector, Definitions, Extent, ListKind};
use wiretape_analyze::drift::Baseline;
use wiretape_analyze::reading::{Reading, RecordingState};
use wiretape_library::Draft;

/// Pin the definitions of a server in a file
///
/// Writes the tools, prompts, resources and capabilities in a trace to a file. Compare later traces with it (`lint
/// --baseline`) to find definitions that were added, removed, renamed or changed since, including their descriptions.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape baseline latest -o mcp-baseline.json
  wiretape baseline trace.jsonl -o -")]
pub(crate) struct BaselineArgs {
    /// A path, an id prefix, or `latest`
    #[arg(value_name = "TRACE")]
    trace: TraceSelector,

    /// Write to FILE; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,

    /// Overwrite an existing file
    #[arg(long)]
    force: bool,

    /// Print a summary as one JSON object (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &BaselineArgs) -> Result<(), CommandError> {
    let path = args.trace.resolve()?;
    let out = Some(args.out.as_path()).filter(|out| *out != Path::new("-"));
    refuse_to_overwrite(&path, out)?;
    // A baseline is a reviewed file; overwriting it by accident would approve every change since.
    if let Some(out) = out.filter(|out| !args.force && out.is_file()) {
        let message = format!("{} already exists", out.display());
        return Err(CommandError::failure(message).hint("use --force to overwrite it"));
    }
    if args.json && out.is_none() {
        return Err(CommandError::usage("--json and `-o -` both write to standard output")
            .hint("write the baseline to a file with -o FILE"));
    }
    // Reports a file that is not a trace, before a misleading "nothing to pin".
    trace_file::head(&path)?;
    let definitions = read(&path)?;
    if definitions.lists.is_empty() {
        let message = format!("nothing to pin: {} lists no tools, prompts or resources", path.display());
        return Err(CommandError::failure(message)
            .hint("record a session in which the client lists them; most clients do so when they connect"));
    }
    warn_about_parts(&definitions);
    let baseline = Baseline { definitions };
    write(&baseline.to_bytes(), out)?;
    print_summary(args, out, &baseline.definitions)
}

fn read(path: &Path) -> Result<Definitions, TraceFileError> {
    let mut reader = trace_file::open(path)?;
    let mut reading = Reading::new(Collector::new());
    loop {
        let line = reader.next_line();
        let line = line.map_err(|source| TraceFileError::Read { path: path.to_owned(), source })?;
        let Some(line) = line else { break };
        reading.observe(&line);
    }
    trace_file::report_damage(path, &reader);
    // Whether the recording continues doesn't matter for definitions that were listed.
    Ok(reading.finish(RecordingState::Over).finish())
}

fn warn_about_parts(definitions: &Definitions) {
    for (kind, _) in definitions.lists.iter().filter(|(_, list)| list.extent == Extent::Partial) {
        output::warn(format!(
            "the trace has only some pages of `{}`: missing items are not pinned, and added or removed ones are not reported",
            kind.method()
        ));
    }
}

fn write(bytes: &[u8], out: Option<&Path>) -> Result<(), CommandError> {
    let Some(target) = out else {
        let mut stdout = output::machine_stdout();
        stdout.write_all(bytes)?;
        return Ok(stdout.flush()?);
    };
    let failed = |error| CommandError::because(format!("can't write {}", target.display()), error);
    let mut draft = Draft::beside(target).map_err(failed)?;
    draft.write_all(bytes).map_err(failed)?;
    draft.publish().map_err(failed)
}

fn print_summary(
    args: &BaselineArgs,
    out: Option<&Path>,
    definitions: &Definitions,
) -> Result<(), CommandError> {
    let counts: Vec<String> = definitions
        .lists
        .iter()
        .map(|(kind, list)| units::count(list.entries.len() as u64, kind.noun()))
        .collect();
    let pinned = format!("pinned {}", counts.join(", "));
    match out {
        None => output::note(pinned),
        Some(out) if args.json => output::print_json(&PinnedJson::new(out, definitions))?,
        Some(out) => {
            let mut stdout = output::Output::stdout();
            writeln!(stdout, "{pinned} in {}", printable(&out.display().to_string()))?;
            stdout.flush()?;
        }
    }
    Ok(())
}

/// The object of `baseline --json`.
#[derive(Serialize)]
struct PinnedJson<'a> {
    path: &'a Path,
    pinned: BTreeMap<&'static str, usize>,
    incomplete: Vec<&'static str>,
}

impl<'a> PinnedJson<'a> {
    fn new(path: &'a Path, definitions: &Definitions) -> Self {
        let lists = || definitions.lists.iter();
        let count = |(kind, list): (&ListKind, &wiretape_analyze::definitions::Listing)| {
            (kind.member(), list.entries.len())
        };
        let partial = lists().filter(|(_, list)| list.extent == Extent::Partial);
        PinnedJson {
            path,
            pinned: lists().map(count).collect(),
            incomplete: partial.map(|(kind, _)| kind.member()).collect(),
        }
    }
}
