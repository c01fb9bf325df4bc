//! `wiretape import`: a transcript of another program, as a trace.
//!
//! The formats and the conversion are in `wiretape_trace::import`. Here are the files: the transcript is opened and
//! its format detected from its first bytes; traces are written as drafts, which get their names only when
//! everything was imported, so that a failed import leaves nothing behind. With `--to`, the drafts are exported
//! instead.

use crate::config::Config;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::text::printable;
use crate::{dirs, output, redaction, units};
use clap::Args;
use indicatif::ProgressBar;
use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use wiretape_analyze::export::ExportFormat;
use wiretape_library::Draft;
use wiretape_library::private;
use wiretape_trace::compress;
use wiretape_trace::format::{Meta, Producer, Record, parse_line};
use wiretape_trace::import::{
    self, Format, ImportError, ImportOptions, ImportReport, SAMPLE, Severity, SinkDecision, TraceSink,
};
use wiretape_trace::name;

use super::export::{
    EpisodeArgs, Job, export_file, is_same_file, parse_format, plain_name, refuse_to_overwrite,
};

/// Convert a transcript of another program to a trace
///
/// Imports every message that can be read. Anything else is counted and reported with its line, and the exit code is then
/// 3. With --strict, nothing is written if there is any defect.
#[derive(Debug, Args)]
#[command(after_help = "\
Formats:
  jsonrpc                        JSON-RPC messages, one per line
  inspector                      exports of the MCP Inspector, arrays of messages
  streamable-http, http-sse      the canonical envelope of transcripts over HTTP
  har                            HTTP archives of browsers and proxies
  vscode, claude-desktop         logs of VS Code and Claude Desktop
  claude-code                    sessions of Claude Code (tool calls only)
  mcporter, mcpsnoop, mcp-rec    recordings of these programs

Examples:
  wiretape import session.json                        detect the format
  wiretape import calls.jsonl --format jsonrpc --out trace.jsonl
  wiretape import session.json --to assay-v2 --out episode.jsonl
  zcat old.log.gz | wiretape import -

See docs/import.md for where to find the transcripts of each program.")]
pub(crate) struct ImportArgs {
    /// The transcript, plain or compressed (.gz, .zst); `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    settings: ImportSettings,
}

/// Import options that `wiretape import` and `wiretape trace import-mcp` share.
#[derive(Debug, Args)]
pub(crate) struct ImportSettings {
    /// The format of the transcript (default: detected from its content)
    #[arg(long, value_name = "FORMAT", value_parser = parse_source_format)]
    format: Option<&'static Format>,

    /// Write the trace to FILE instead of the default directory; `-` for standard output
    #[arg(long, visible_alias = "out-trace", value_name = "FILE")]
    out: Option<PathBuf>,

    /// Export to this format instead of writing a trace: assay-v2, har, csv … (see `wiretape export --help`)
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    to: Option<&'static ExportFormat>,

    /// Import only this server, if the file has several
    #[arg(long, value_name = "NAME")]
    server: Option<String>,

    /// Reject the whole file at its first defect
    #[arg(long)]
    strict: bool,

    /// Name the trace NAME (default: derived from the file name)
    #[arg(long, value_name = "NAME")]
    label: Option<String>,

    #[command(flatten)]
    episode: EpisodeArgs,

    /// Also redact matches of this regular expression (repeatable)
    #[arg(long, value_name = "REGEX", conflicts_with = "no_redact")]
    redact: Vec<String>,

    /// Import everything unchanged, including secrets; the trace is marked as not redacted
    #[arg(long)]
    no_redact: bool,

    /// Read this configuration file instead of the default one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

fn parse_source_format(name: &str) -> Result<&'static Format, String> {
    import::find(name).ok_or_else(|| format!("unknown format; expected one of {}", format_names()))
}

fn format_names() -> String {
    let names: Vec<&str> = import::FORMATS.iter().map(|format| format.name).collect();
    names.join(", ")
}

pub(crate) fn run(args: &ImportArgs) -> Result<ExitCode, CommandError> {
    import_file(&args.file, &args.settings)
}

pub(crate) fn import_file(file: &Path, args: &ImportSettings) -> Result<ExitCode, CommandError> {
    refuse_to_overwrite(file, args.out.as_deref())?;
    let config = Config::load(args.config.as_deref())?;
    let mut source = Transcript::open(file)?;
    let format = source.format(args.format)?;
    let redactor =
        if args.no_redact { None } else { Some(redaction::redactor(config.redact, &args.redact)?) };
    let label = args.label.clone().unwrap_or_else(|| plain_name(Path::new(&source.name)));
    let label =
        redactor.as_ref().map_or_else(|| name::clean_label(&label), |redactor| redactor.label(&label));
    let options = ImportOptions {
        format,
        redactor: redactor.as_ref(),
        strict: args.strict,
        workers: std::thread::available_parallelism().map_or(1, usize::from),
        meta: meta(&label),
        source: source.name.clone(),
    };
    let mut drafts = ImportedTraces::new(file, args, &label)?;
    let (name, progress) = (source.name.clone(), source.progress.clone());
    let result = import::import(source.rest, &options, &mut drafts);
    // Before anything is printed: messages would be written into the bar.
    progress.finish_and_clear();
    let report = result.map_err(|error| match (&args.server, &error) {
        (Some(wanted), ImportError::Empty { .. }) if !drafts.servers_found.is_empty() => {
            no_such_server(wanted, &drafts.servers_found, &name)
        }
        _ => explain(&name, format, error),
    })?;
    let written = drafts.finish(args, &name)?;
    report_import(&name, format, &report, &written);
    Ok(if report.losses > 0 { ExitCode::INCOMPLETE } else { ExitCode::OK })
}

fn meta(label: &str) -> Meta {
    Meta {
        label: label.to_owned(),
        producer: Some(Producer {
            name: "wiretape".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }),
        ..Meta::default()
    }
}

/// A transcript whose beginning has been read.
struct Transcript {
    name: String,
    beginning: Vec<u8>,
    rest: Box<dyn Read + Send>,
    progress: ProgressBar,
}

impl Transcript {
    fn open(path: &Path) -> Result<Self, CommandError> {
        let failed = |error| CommandError::because(format!("can't read {}", path.display()), error);
        let is_stdin = path == Path::new("-");
        let (raw, length): (Box<dyn Read + Send>, Option<u64>) = if is_stdin {
            (Box::new(io::stdin()), None)
        } else {
            let file = File::open(path).map_err(failed)?;
            let metadata = file.metadata().map_err(failed)?;
            if metadata.is_dir() {
                return Err(failed(io::ErrorKind::IsADirectory.into()));
            }
            (Box::new(file), Some(metadata.len()))
        };
        let progress = output::progress_bar(length);
        let mut reader = compress::reader(progress.wrap_read(raw)).map_err(failed)?;
        let mut beginning = Vec::new();
        // A read error is reported when the source is read again.
        let _ = reader.by_ref().take(SAMPLE as u64).read_to_end(&mut beginning);
        let rest = Box::new(Cursor::new(beginning.clone()).chain(reader));
        let name = if is_stdin {
            "standard input".into()
        } else {
            path.file_name().unwrap_or_default().to_string_lossy()
        };
        Ok(Transcript { name: name.into_owned(), beginning, rest, progress })
    }

    /// The format given by the user, or detected from the content.
    fn format(&mut self, named: Option<&'static Format>) -> Result<&'static Format, CommandError> {
        if let Some(format) = named {
            return Ok(format);
        }
        let beginning = std::mem::take(&mut self.beginning);
        if beginning.trim_ascii().is_empty() {
            return Err(CommandError::failure(format!("{} is empty", self.name)));
        }
        let first = beginning.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
        // One of our own traces may pass for another format of JSON lines, but it needs no import.
        let is_trace = matches!(first.map(parse_line), Some(Record::Meta(_) | Record::Message(_)));
        import::detect(&beginning).filter(|_| !is_trace).ok_or_else(|| {
            let error = CommandError::failure(format!("can't detect the format of {}", self.name));
            if is_trace {
                error.hint("it looks like a trace: `wiretape show` and `wiretape export` read it directly")
            } else {
                error.hint(format!("choose one with --format: {}", format_names()))
            }
        })
    }
}

/// The traces that are being written.
struct ImportedTraces {
    target: Target,
    /// Input files, which must not be overwritten.
    input: PathBuf,
    /// The only server to import.
    server: Option<String>,
    /// The servers found so far.
    servers_found: Vec<String>,
    /// Intermediate traces of an export.
    is_export: bool,
    drafts: Vec<Option<TraceDraft>>,
}

/// A trace that is being written.
struct TraceDraft {
    draft: Draft,
    /// The destination of the trace, or of its export; standard output if `None`.
    target: Option<PathBuf>,
}

/// Where the traces, or their exports, are written.
enum Target {
    /// To the default directory.
    Dir {
        dir: PathBuf,
        stem: String,
    },
    File(PathBuf),
    /// To standard output, once complete.
    Stdout,
}

impl ImportedTraces {
    fn new(file: &Path, args: &ImportSettings, label: &str) -> Result<Self, CommandError> {
        let is_stdout =
            args.out.as_deref() == Some(Path::new("-")) || (args.to.is_some() && args.out.is_none());
        let target = match &args.out {
            _ if is_stdout => Target::Stdout,
            Some(out) => Target::File(out.clone()),
            None => {
                let dir = dirs::traces_dir()?;
                private::create_dir(&dir).map_err(|error| {
                    CommandError::because(format!("can't create {}", dir.display()), error)
                })?;
                let now = units::iso(jiff::Timestamp::now().as_millisecond()).unwrap_or_default();
                Target::Dir { dir, stem: name::file_stem(&now, label) }
            }
        };
        Ok(ImportedTraces {
            target,
            input: file.to_owned(),
            server: args.server.clone(),
            servers_found: Vec::new(),
            is_export: args.to.is_some(),
            drafts: Vec::new(),
        })
    }

    /// The path of a trace. Each server has its own file, unless only one is imported.
    fn target(&self, server: Option<&str>) -> io::Result<Option<PathBuf>> {
        let suffix =
            server.filter(|_| self.server.is_none()).map(|server| format!("-{}", name::clean_label(server)));
        let suffix = suffix.unwrap_or_default();
        let path = |number: String| match &self.target {
            Target::Stdout => None,
            Target::Dir { dir, stem } => Some(dir.join(format!("{stem}{suffix}{number}.jsonl"))),
            Target::File(path) if suffix.is_empty() && number.is_empty() => Some(path.clone()),
            Target::File(path) => {
                let extension = path.extension().map(|extension| format!(".{}", extension.to_string_lossy()));
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                Some(path.with_file_name(format!("{stem}{suffix}{number}{}", extension.unwrap_or_default())))
            }
        };
        // Different names can become the same file name when they are sanitized.
        let numbers = std::iter::once(String::new()).chain((2..).map(|number| format!("-{number}")));
        let free = numbers.map(path).find(|path| path.as_ref().is_none_or(|path| self.is_free(path)));
        let target = free.flatten();
        if target.as_deref().is_some_and(|target| is_same_file(target, &self.input)) {
            let message = format!("{} is the input and would be overwritten", self.input.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        Ok(target)
    }

    fn is_free(&self, path: &Path) -> bool {
        let taken = self.drafts.iter().flatten().any(|other| other.target.as_deref() == Some(path));
        let is_own = matches!(self.target, Target::Dir { .. });
        // A file that the user named may be overwritten; one in the directory of traces never is.
        !(taken || is_own && path.exists())
    }

    /// Publishes the traces, or prints them.
    fn finish(self, args: &ImportSettings, source: &str) -> Result<Vec<PathBuf>, CommandError> {
        let written: Vec<TraceDraft> = self.drafts.into_iter().flatten().collect();
        // Known only at the end: the servers of a transcript are found while it is read.
        if written.len() > 1 && matches!(self.target, Target::Stdout) {
            let servers = self.servers_found.join(", ");
            let message = format!("{source} has {} servers, and standard output takes one", written.len());
            return Err(CommandError::usage(message).hint(format!(
                "choose one with --server ({}), or write files with --out",
                printable(&servers)
            )));
        }
        let mut paths = Vec::new();
        for one in written {
            paths.extend(one.finish(args, source)?);
        }
        Ok(paths)
    }
}

impl TraceDraft {
    fn finish(self, args: &ImportSettings, source: &str) -> Result<Option<PathBuf>, CommandError> {
        match (args.to, &self.target) {
            (Some(format), target) => {
                let survey = export_file(&Job {
                    files: &[self.draft.path()],
                    format,
                    options: &args.episode.options(Path::new(source)),
                    redactor: None,
                    out: target.as_deref(),
                })?;
                output::note(format!("source: {}", survey.words()));
            }
            (None, None) => {
                let failed = |error| CommandError::because("can't re-read the trace", error);
                // TraceDraft to a file first, so that a transcript that is rejected halfway prints nothing.
                let mut file = File::open(self.draft.path()).map_err(failed)?;
                io::copy(&mut file, &mut output::machine_stdout())?;
            }
            (None, Some(target)) => {
                let message = format!("can't write {}", target.display());
                self.draft.publish().map_err(|error| CommandError::because(message, error))?;
            }
        }
        Ok(self.target)
    }
}

impl TraceSink for ImportedTraces {
    fn begin(&mut self, server: Option<&str>) -> io::Result<SinkDecision> {
        self.servers_found.extend(server.map(str::to_owned));
        if self.server.as_deref().is_some_and(|wanted| server != Some(wanted)) {
            self.drafts.push(None);
            return Ok(SinkDecision::Unwanted);
        }
        let target = self.target(server)?;
        // An intermediate trace is kept in the system's temporary directory.
        let is_step = target.is_none() || self.is_export;
        let place = target.clone().filter(|_| !is_step).unwrap_or_else(|| {
            std::env::temp_dir().join(format!("wiretape-import-{}.jsonl", self.drafts.len()))
        });
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", place.display()));
        let draft = Draft::beside(&place).map_err(named)?;
        self.drafts.push(Some(TraceDraft { draft, target }));
        Ok(SinkDecision::Wanted { id: Some(uuid::Uuid::new_v4().to_string()) })
    }

    fn write(&mut self, trace: usize, lines: &[u8]) -> io::Result<()> {
        match self.drafts.get_mut(trace) {
            Some(Some(written)) => written.draft.write_all(lines),
            _ => Ok(()),
        }
    }
}

fn no_such_server(wanted: &str, servers_found: &[String], source: &str) -> CommandError {
    let servers: Vec<String> = servers_found.iter().map(|server| printable(server).to_string()).collect();
    CommandError::failure(format!("no server `{}` in {source}", printable(wanted)))
        .hint(format!("servers: {}", servers.join(", ")))
}

fn explain(source: &str, format: &Format, error: ImportError) -> CommandError {
    match error {
        ImportError::Refused(flaw) => {
            let hint = match flaw.defect.severity() {
                Severity::Fatal => format!("the format is {}: see docs/import.md for its rules", format.name),
                _ => "without --strict, everything else is imported".to_owned(),
            };
            CommandError::failure(format!("{source}, {flaw}")).hint(hint)
        }
        ImportError::Empty { report } => {
            for flaw in report.flaws.iter().take(SHOWN_FLAWS) {
                output::warn(format!("{source}, {flaw}"));
            }
            CommandError::failure(format!("no messages in {source}")).hint(format!(
                "it was read as {}; use --format for another one: {}",
                format.name,
                format_names()
            ))
        }
        ImportError::Read(error) => CommandError::because(format!("can't read all of {source}"), error),
        ImportError::Write(error) => CommandError::because("can't write the trace", error),
    }
}

/// The most defects to show.
const SHOWN_FLAWS: usize = 20;

fn report_import(source: &str, format: &Format, report: &ImportReport, written: &[PathBuf]) {
    for flaw in report.flaws.iter().take(SHOWN_FLAWS) {
        match flaw.defect.severity() {
            Severity::Note => output::note(format!("{source}, {flaw}")),
            Severity::Loss | Severity::Fatal => output::warn(format!("{source}, {flaw}")),
        }
    }
    let more = (report.notes + report.losses).saturating_sub(SHOWN_FLAWS as u64);
    if more > 0 {
        output::note(format!("and {more} more like these"));
    }
    if report.guessed > 0 {
        let messages = units::count(report.guessed, "message");
        output::note(format!(
            "the sender of {messages} is unknown; the more likely side was chosen, and the lines are marked"
        ));
    }
    let messages = units::count(report.messages, "message");
    let mut summary = format!("imported {messages} from {source} ({})", format.name);
    if report.losses > 0 {
        summary.push_str(&format!("; incomplete: {}", units::count(report.losses, "defect")));
    }
    for path in written {
        summary.push_str(&format!("\n  {}", path.display()));
    }
    output::note(summary);
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_format_is_in_the_help_and_in_the_documentation() {
        let help = include_str!("import.rs");
        let import = include_str!("../../../../docs/import.md");
        let export = include_str!("../../../../docs/export.md");
        for format in wiretape_trace::import::FORMATS {
            assert!(import.contains(&format!("`{}`", format.name)), "docs/import.md lacks {}", format.name);
            assert!(
                help.contains(&format!("{} ", format.name)) || help.contains(&format!("{},", format.name))
            );
        }
        for format in wiretape_analyze::export::FORMATS {
            assert!(export.contains(&format!("`{}`", format.name)), "docs/export.md lacks {}", format.name);
            assert!(include_str!("export.rs").contains(&format!("\n  {} ", format.name)), "{}", format.name);
        }
    }
}
