//! `wiretape import`: another program's transcript, as a trace.

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
    self, Begun, Format, ImportError, ImportOptions, Report, SAMPLE, Severity, TraceSink,
};
use wiretape_trace::name;

use super::export::{
    EpisodeArgs, Job, export_file, is_same_file, parse_format, plain_name, refuse_to_overwrite,
};

/// Bring in a transcript of another program, as a trace
///
/// Every message that can be read is brought in. What can't is counted and named, with its line, and the exit code is 3
/// then. With --strict the first defect ends it, and nothing is written.
#[derive(Debug, Args)]
#[command(after_help = "\
Formats:
  jsonrpc                        JSON-RPC messages, one a line
  inspector                      the MCP Inspector's exports, arrays of messages
  streamable-http, http-sse      the canonical envelope of transcripts over HTTP
  har                            HTTP archives, of browsers and proxies
  vscode, claude-desktop         logs of VS Code and Claude Desktop
  claude-code                    sessions of Claude Code, the calls only
  mcporter, mcpsnoop, mcp-rec    recordings of these programs

Examples:
  wiretape import session.json                        recognized by its content
  wiretape import calls.jsonl --format jsonrpc --out trace.jsonl
  wiretape import session.json --to assay-v2 --out episode.jsonl
  zcat old.log.gz | wiretape import -

docs/import.md tells where the transcripts of each format come from.")]
pub(crate) struct ImportArgs {
    /// The transcript, plain or as .gz or .zst; `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    settings: ImportSettings,
}

/// How a transcript is brought in, whatever the command that names it is called.
#[derive(Debug, Args)]
pub(crate) struct ImportSettings {
    /// What it is, instead of what its content looks like
    #[arg(long, value_name = "FORMAT", value_parser = parse_source_format)]
    format: Option<&'static Format>,

    /// Write the trace to this file instead of your own traces; `-` for standard output
    #[arg(long, visible_alias = "out-trace", value_name = "TRACE")]
    out: Option<PathBuf>,

    /// Export at once instead of keeping a trace: assay-v2, har, csv … (see `wiretape export --help`)
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    to: Option<&'static ExportFormat>,

    /// Of several servers in one file, only this one
    #[arg(long, value_name = "NAME")]
    server: Option<String>,

    /// Refuse the whole file at its first defect
    #[arg(long)]
    strict: bool,

    /// Call the trace so, instead of by the file's name
    #[arg(long, value_name = "NAME")]
    label: Option<String>,

    #[command(flatten)]
    episode: EpisodeArgs,

    /// Take out what matches this regular expression, too (can be repeated)
    #[arg(long, value_name = "REGEX", conflicts_with = "no_redact")]
    redact: Vec<String>,

    /// Write everything as it is, secrets included; the trace says so
    #[arg(long)]
    no_redact: bool,

    /// Read this configuration instead of your own
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

fn parse_source_format(name: &str) -> Result<&'static Format, String> {
    import::find(name).ok_or_else(|| format!("there is no such format; there are {}", format_names()))
}

fn format_names() -> String {
    let names: Vec<&str> = import::FORMATS.iter().map(|format| format.name).collect();
    names.join(", ")
}

/// Runs the command.
pub(crate) fn run(args: &ImportArgs) -> Result<ExitCode, CommandError> {
    import_file(&args.file, &args.settings)
}

/// Brings a transcript in.
pub(crate) fn import_file(file: &Path, args: &ImportSettings) -> Result<ExitCode, CommandError> {
    refuse_to_overwrite(file, args.out.as_deref())?;
    let config = Config::load(args.config.as_deref())?;
    let mut source = Source::open(file)?;
    let format = source.format(args.format)?;
    let redactor =
        if args.no_redact { None } else { Some(redaction::redactor(config.redact, &args.redact)?) };
    let options = ImportOptions {
        format,
        redactor: redactor.as_ref(),
        strict: args.strict,
        workers: std::thread::available_parallelism().map_or(1, usize::from),
        meta: meta(args, &source.name),
        source: source.name.clone(),
    };
    let mut drafts = Drafts::new(file, args, &source)?;
    let (name, progress) = (source.name.clone(), source.progress.clone());
    let result = import::import(source.rest, &options, &mut drafts);
    progress.finish_and_clear();
    let report = result.map_err(|error| match (&args.server, &error) {
        (Some(wanted), ImportError::Empty { .. }) if !drafts.met.is_empty() => {
            no_such_server(wanted, &drafts.met, &name)
        }
        _ => explain(&name, format, error),
    })?;
    let written = drafts.finish(args, &name)?;
    tell(&name, format, &report, &written);
    Ok(if report.losses > 0 { ExitCode::INCOMPLETE } else { ExitCode::OK })
}

fn meta(args: &ImportSettings, source: &str) -> Meta {
    let label = args.label.clone().unwrap_or_else(|| plain_name(Path::new(source)));
    Meta {
        label: name::clean_label(&label),
        producer: Some(Producer {
            name: "wiretape".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }),
        ..Meta::default()
    }
}

/// A transcript that has been looked into.
struct Source {
    /// What it is called.
    name: String,
    beginning: Vec<u8>,
    rest: Box<dyn Read + Send>,
    progress: ProgressBar,
}

impl Source {
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
        // What can't be read will be told when it is read again.
        let _ = reader.by_ref().take(SAMPLE as u64).read_to_end(&mut beginning);
        let rest = Box::new(Cursor::new(beginning.clone()).chain(reader));
        let name = if is_stdin {
            "standard input".into()
        } else {
            path.file_name().unwrap_or_default().to_string_lossy()
        };
        Ok(Source { name: name.into_owned(), beginning, rest, progress })
    }

    /// The format that the user names, or that the content looks like.
    fn format(&mut self, named: Option<&'static Format>) -> Result<&'static Format, CommandError> {
        if let Some(format) = named {
            return Ok(format);
        }
        let beginning = std::mem::take(&mut self.beginning);
        if beginning.trim_ascii().is_empty() {
            return Err(CommandError::failure(format!("{} is empty", self.name)));
        }
        let first = beginning.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
        let is_trace = matches!(first.map(parse_line), Some(Record::Meta(_) | Record::Message(_)));
        import::detect(&beginning).filter(|_| !is_trace).ok_or_else(|| {
            let error = CommandError::failure(format!("can't tell what {} is", self.name));
            if is_trace {
                error.hint(
                    "it looks like a trace already: `wiretape show` and `wiretape export` read it as it is",
                )
            } else {
                error.hint(format!("say so with --format: {}", format_names()))
            }
        })
    }
}

/// The traces that are being written.
struct Drafts {
    target: Target,
    /// What must not be overwritten.
    input: PathBuf,
    /// The only server that is wanted.
    server: Option<String>,
    /// The servers that were met.
    met: Vec<String>,
    /// Traces are only a step on the way to something else.
    is_export: bool,
    drafts: Vec<Option<Written>>,
}

/// A trace that is being written.
struct Written {
    draft: Draft,
    /// Where it is to go, or what is made of it; standard output if nowhere.
    target: Option<PathBuf>,
}

/// Where traces, or what is made of them, are to stand.
enum Target {
    /// In the user's own traces.
    Dir { dir: PathBuf, stem: String },
    /// In this file.
    File(PathBuf),
    /// On standard output, when they are whole.
    Stdout,
}

impl Drafts {
    fn new(file: &Path, args: &ImportSettings, source: &Source) -> Result<Self, CommandError> {
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
                let label = args.label.clone().unwrap_or_else(|| plain_name(Path::new(&source.name)));
                let now = units::iso(jiff::Timestamp::now().as_millisecond()).unwrap_or_default();
                Target::Dir { dir, stem: name::file_stem(&now, &name::clean_label(&label)) }
            }
        };
        Ok(Drafts {
            target,
            input: file.to_owned(),
            server: args.server.clone(),
            met: Vec::new(),
            is_export: args.to.is_some(),
            drafts: Vec::new(),
        })
    }

    /// Where a trace is to go. Each server has a file of its own, unless only one is wanted.
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
        // Names that differ may become the same when they are made fit for files.
        let numbers = std::iter::once(String::new()).chain((2..).map(|number| format!("-{number}")));
        let free = numbers.map(path).find(|path| path.as_ref().is_none_or(|path| self.is_free(path)));
        let target = free.flatten();
        if target.as_deref().is_some_and(|target| is_same_file(target, &self.input)) {
            let message = format!("{} is the input: it would be overwritten", self.input.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        Ok(target)
    }

    fn is_free(&self, path: &Path) -> bool {
        let taken = self.drafts.iter().flatten().any(|other| other.target.as_deref() == Some(path));
        let is_own = matches!(self.target, Target::Dir { .. });
        !(taken || is_own && path.exists())
    }

    /// Puts everything in its place, or hands it out.
    fn finish(self, args: &ImportSettings, source: &str) -> Result<Vec<PathBuf>, CommandError> {
        let written: Vec<Written> = self.drafts.into_iter().flatten().collect();
        if written.len() > 1 && matches!(self.target, Target::Stdout) {
            let servers = self.met.join(", ");
            let message = format!("there are {} servers in {source}, and one standard output", written.len());
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

impl Written {
    fn finish(self, args: &ImportSettings, source: &str) -> Result<Option<PathBuf>, CommandError> {
        match (args.to, &self.target) {
            (Some(format), target) => {
                let survey = export_file(&Job {
                    trace: self.draft.path(),
                    format,
                    options: &args.episode.options(Path::new(source)),
                    redactor: None,
                    out: target.as_deref(),
                })?;
                output::note(format!("the source was {}", survey.words()));
            }
            (None, None) => {
                let failed = |error| CommandError::because("can't read the trace again", error);
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

impl TraceSink for Drafts {
    fn begin(&mut self, server: Option<&str>) -> io::Result<Begun> {
        self.met.extend(server.map(str::to_owned));
        if self.server.as_deref().is_some_and(|wanted| server != Some(wanted)) {
            self.drafts.push(None);
            return Ok(Begun::Unwanted);
        }
        let target = self.target(server)?;
        // What is only a step on the way lies where such things lie.
        let is_step = target.is_none() || self.is_export;
        let place = target.clone().filter(|_| !is_step).unwrap_or_else(|| {
            std::env::temp_dir().join(format!("wiretape-import-{}.jsonl", self.drafts.len()))
        });
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", place.display()));
        let draft = Draft::beside(&place).map_err(named)?;
        self.drafts.push(Some(Written { draft, target }));
        Ok(Begun::Wanted { id: Some(uuid::Uuid::new_v4().to_string()) })
    }

    fn write(&mut self, trace: usize, lines: &[u8]) -> io::Result<()> {
        match self.drafts.get_mut(trace) {
            Some(Some(written)) => written.draft.write_all(lines),
            _ => Ok(()),
        }
    }
}

fn no_such_server(wanted: &str, met: &[String], source: &str) -> CommandError {
    let servers: Vec<String> = met.iter().map(|server| printable(server).to_string()).collect();
    CommandError::failure(format!("there is no server `{}` in {source}", printable(wanted)))
        .hint(format!("there are {}", servers.join(", ")))
}

fn explain(source: &str, format: &Format, error: ImportError) -> CommandError {
    match error {
        ImportError::Refused(flaw) => {
            let hint = match flaw.defect.severity() {
                Severity::Fatal => format!("the format is {}: docs/import.md has its rules", format.name),
                _ => "without --strict everything else is brought in".to_owned(),
            };
            CommandError::failure(format!("{source}, {flaw}")).hint(hint)
        }
        ImportError::Empty { report } => {
            for flaw in report.flaws.iter().take(SHOWN_FLAWS) {
                output::warn(format!("{source}, {flaw}"));
            }
            CommandError::failure(format!("there is no message in {source}")).hint(format!(
                "it was read as {}; if it is something else, say so with --format: {}",
                format.name,
                format_names()
            ))
        }
        ImportError::Read(error) => CommandError::because(format!("can't read {source} to its end"), error),
        ImportError::Write(error) => CommandError::because("can't write the trace", error),
    }
}

/// As many flaws are shown in full.
const SHOWN_FLAWS: usize = 20;

fn tell(source: &str, format: &Format, report: &Report, written: &[PathBuf]) {
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
            "nothing says who sent {messages}; the more likely side was taken, and the lines say so"
        ));
    }
    let messages = units::count(report.messages, "message");
    let mut summary = format!("imported {messages} from {source} ({})", format.name);
    if report.losses > 0 {
        summary.push_str(&format!("; not all of it: {}", units::count(report.losses, "defect")));
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
