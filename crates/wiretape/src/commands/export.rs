//! `wiretape export`: a trace in another program's format.

use super::export_html as html;
use crate::config::Config;
use crate::error::CommandError;
use crate::redaction::TraceRedaction;
use crate::selector::TraceSelector;
use crate::trace_file::{self, FileReader};
use crate::{output, redaction};
use clap::{Args, Subcommand};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use wiretape_analyze::export::{self, ExportFormat, ExportOptions, Exporter, Survey};
use wiretape_library::Draft;
use wiretape_trace::format::{Line, parse_line};
use wiretape_trace::redact::Redactor;

/// Convert a trace to another format
///
/// Whether the source was recorded or imported, whether it was redacted, and whether it is complete is
/// printed to standard error, and written to the file if its format has a place for it.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Formats:
  assay-v2           episodes of steps and tool calls
  jsonrpc            the messages, one per line
  streamable-http    the canonical envelope of streamable HTTP
  http-sse           the canonical envelope of the older HTTP+SSE
  har                an HTTP archive, for browser developer tools
  perfetto           a timeline for ui.perfetto.dev and chrome://tracing
  csv                the calls, one per row

Examples:
  wiretape export latest --to csv
  wiretape export latest --to perfetto --out timeline.json
  wiretape export x.jsonl x.2.jsonl --to har --out session.har
  wiretape export trace.jsonl --to har --redact --out session.har
  wiretape export html latest -o report.html"
)]
pub(crate) struct ExportArgs {
    #[command(subcommand)]
    page: Option<ExportPage>,

    /// A path, an id prefix, or `latest`; for a rotated recording, its files in order
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<TraceSelector>,

    /// The format to write
    #[arg(long, value_name = "FORMAT", value_parser = parse_format, required = true)]
    to: Option<&'static ExportFormat>,

    /// Write to FILE instead of standard output (`-`)
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Redact again with the current rules
    #[arg(long)]
    redact: bool,

    #[command(flatten)]
    episode: EpisodeArgs,

    /// Read this configuration file instead of the default one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Subcommands for our own formats.
#[derive(Debug, Subcommand)]
enum ExportPage {
    Html(html::HtmlArgs),
}

/// Options of single formats.
#[derive(Debug, Clone, Args)]
pub(crate) struct EpisodeArgs {
    /// assay-v2: the episode id (default: the file name)
    #[arg(long, value_name = "ID")]
    episode_id: Option<String>,

    /// assay-v2: the test id
    #[arg(long, value_name = "ID")]
    test_id: Option<String>,

    /// assay-v2: the prompt of the episode
    #[arg(long, value_name = "TEXT", default_value = "<mcp:session>")]
    prompt: String,
}

impl EpisodeArgs {
    /// The export options for a source file.
    pub(crate) fn options(&self, source: &Path) -> ExportOptions {
        ExportOptions {
            episode_id: self.episode_id.clone().unwrap_or_else(|| plain_name(source)),
            test_id: self.test_id.clone(),
            prompt: self.prompt.clone(),
        }
    }
}

/// A file name without its extensions.
pub(crate) fn plain_name(path: &Path) -> String {
    let mut name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for extension in [".gz", ".zst", ".jsonl", ".ndjson", ".json", ".har", ".log", ".txt"] {
        if let Some(shorter) = name.strip_suffix(extension).filter(|shorter| !shorter.is_empty()) {
            name = shorter.to_owned();
        }
    }
    name
}

/// Parses the name of a format.
pub(crate) fn parse_format(name: &str) -> Result<&'static ExportFormat, String> {
    export::find(name).ok_or_else(|| {
        let names: Vec<&str> = export::FORMATS.iter().map(|format| format.name).collect();
        format!("unknown format; expected one of {}", names.join(", "))
    })
}

pub(crate) fn run(args: &ExportArgs) -> Result<(), CommandError> {
    let format = match (&args.page, args.traces.as_slice(), args.to) {
        (Some(ExportPage::Html(args)), ..) => return html::run(args),
        (None, [_, ..], Some(format)) => format,
        _ => {
            return Err(CommandError::usage(
                "TRACE and --to FORMAT are required, e.g. `wiretape export latest --to csv`",
            ));
        }
    };
    // Also before anything is written: a file that is not a trace, or not of the same recording, is reported.
    let files = files_of_recording(&args.traces)?;
    files.iter().try_for_each(|file| refuse_to_overwrite(file, args.out.as_deref()))?;
    let redactor = if args.redact {
        Some(redaction::redactor(Config::load(args.config.as_deref())?.redact, &[])?)
    } else {
        None
    };
    let survey = export_file(&Job {
        files: &files.iter().map(PathBuf::as_path).collect::<Vec<_>>(),
        format,
        options: &args.episode.options(&files[0]),
        redactor: redactor.as_ref(),
        out: args.out.as_deref().filter(|out| *out != Path::new("-")),
    })?;
    output::note(format!("source: {}", survey.words()));
    Ok(())
}

/// The files of one recording, each the continuation of the one before it.
fn files_of_recording(traces: &[TraceSelector]) -> Result<Vec<PathBuf>, CommandError> {
    let mut files: Vec<PathBuf> = Vec::new();
    for trace in traces {
        let path = trace.resolve()?;
        let head = trace_file::head(&path)?;
        if let Some(before) = files.last().filter(|before| !trace_file::goes_on(&head, before)) {
            let message = format!("{} doesn't continue {}", path.display(), before.display());
            let hint = "export one recording at a time; give the files of a rotated one in order";
            return Err(CommandError::usage(message).hint(hint));
        }
        files.push(path);
    }
    Ok(files)
}

/// Rejects an output that is the input.
pub(crate) fn refuse_to_overwrite(input: &Path, out: Option<&Path>) -> Result<(), CommandError> {
    let Some(out) = out else { return Ok(()) };
    if is_same_file(input, out) {
        let message = format!("{} is the input and would be overwritten", out.display());
        return Err(CommandError::usage(message).hint("choose another file with --out"));
    }
    Ok(())
}

/// Whether both paths are the same file.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

pub(crate) struct Job<'j> {
    /// The trace, or the files of a rotated recording in order.
    pub(crate) files: &'j [&'j Path],
    pub(crate) format: &'j ExportFormat,
    pub(crate) options: &'j ExportOptions,
    pub(crate) redactor: Option<&'j Redactor>,
    pub(crate) out: Option<&'j Path>,
}

/// Exports a trace to a file, or to standard output.
pub(crate) fn export_file(job: &Job<'_>) -> Result<Survey, CommandError> {
    let mut survey = Survey::new();
    let mut redaction = job.redactor.map(TraceRedaction::new);
    for file in job.files {
        each_line(file, redaction.as_mut(), |line| {
            survey.observe(line);
            Ok(())
        })?;
    }
    // Two passes: formats with a header need to know what the whole trace holds before its first line.
    survey.redacted |= job.redactor.is_some();
    if let Some(redaction) = &redaction {
        // The header is written from the survey, which was taken before later lines named their secrets.
        survey.meta = survey.meta.as_ref().and_then(|meta| redaction.redact_meta(meta));
        survey.context = survey.context.as_deref().map(|context| redaction.redact_json(context));
    }
    // The second pass knows all secrets that the first one found by name, also where they occur before that.
    let redaction = redaction.map(TraceRedaction::restarted);
    let mut exporter = job.format.begin(job.options, &survey);
    match job.out {
        None => {
            let mut out = BufWriter::new(output::machine_stdout());
            write_all(job, redaction, exporter.as_mut(), &mut out)?;
        }
        Some(target) => {
            let failed = |error| CommandError::because(format!("can't write {}", target.display()), error);
            let mut out = BufWriter::new(Draft::beside(target).map_err(failed)?);
            write_all(job, redaction, exporter.as_mut(), &mut out)?;
            // Not by dropping the buffer, which would ignore an error of its last write.
            let draft = out.into_inner().map_err(|error| failed(error.into_error()))?;
            draft.publish().map_err(failed)?;
        }
    }
    Ok(survey)
}

fn write_all(
    job: &Job<'_>,
    mut redaction: Option<TraceRedaction<'_>>,
    exporter: &mut dyn Exporter,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    exporter.begin(out)?;
    for file in job.files {
        let reader = each_line(file, redaction.as_mut(), |line| exporter.line(line, out))?;
        trace_file::report_damage(file, &reader);
    }
    let last = job.files.last().expect("an export has at least one file");
    exporter.finish(trace_file::recording_state(last), out)?;
    out.flush()?;
    Ok(())
}

/// Passes on the lines of a file, redacted if asked to.
fn each_line(
    path: &Path,
    mut redaction: Option<&mut TraceRedaction<'_>>,
    mut each: impl FnMut(&Line<'_>) -> io::Result<()>,
) -> Result<FileReader, CommandError> {
    let mut reader = trace_file::open(path)?;
    while let Some(line) = trace_file::next_line(&mut reader, path)? {
        match &mut redaction {
            None => each(&line)?,
            Some(redaction) => {
                // The line as a whole, not its known parts: an exporter may use any of its members.
                let bytes: &[u8] = &redaction.line(line.bytes);
                let Line { number, offset, .. } = line;
                each(&Line { number, offset, bytes, record: parse_line(bytes) })?;
            }
        }
    }
    Ok(reader)
}
