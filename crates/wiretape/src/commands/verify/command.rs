//! The arguments, and what is done with them.

use super::report::Report;
use super::text_view::{Shows, TextView};
use super::{json_view, text_view};
use crate::commands::diff::{Slower, parse_pattern, parse_slower};
use crate::commands::replay::{Recorded, check_report, tell_damage};
use crate::config::Config;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::selector::TraceSelector;
use crate::text::printable;
use crate::{output, redaction, units};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wiretape_analyze::diff::{Ignored, Pace};
use wiretape_analyze::filter::Filter;
use wiretape_analyze::replay::Matching;
use wiretape_analyze::verify::{Keeps, Offers, Setting, Writes};
use wiretape_analyze::volatile::{PathPattern, Volatile};
use wiretape_library::Draft;
use wiretape_proxy::bridge::{SecretHeader, ServerUrl};
use wiretape_proxy::new_trace::NewTrace;
use wiretape_proxy::verify::{Progress, RecordedClient, Target, read, verify};
use wiretape_proxy::warning::{Warn, Warning};
use wiretape_trace::compress::{Compression, Compressor};
use wiretape_trace::redact::Redactor;

/// Test a server with the calls of a trace
///
/// The recorded client's side is said again: the handshake, the requests in their order, the answers to the server's own
/// questions. What the server answers is compared with what was recorded, and what it offers, too. Times of the run, ids and
/// trace contexts are left out. Tools that don't say that they only read (`readOnlyHint`) are not called unless --allow-writes
/// says so. The exit code is 1 if anything has changed, and 2 if the server can't be tested.
#[derive(Debug, Args)]
#[command(
    override_usage = "wiretape verify [OPTIONS] TRACE... -- COMMAND [ARGS]...\n       wiretape verify [OPTIONS] TRACE... --url URL [--header 'NAME: VALUE']...\n       wiretape verify [OPTIONS] TRACE... --dry-run",
    after_help = "\
FILTER is words as for `wiretape calls`: tool:search* method:tools/* status:ok text:\"over quota\".
PATH is a JSON pointer as for `wiretape diff`: /content/*/text, result/**/etag.

Examples:
  wiretape verify weather.jsonl --dry-run                     what would be called
  wiretape verify weather.jsonl -- npx my-server@next
  wiretape verify latest --allow-writes --url http://localhost:9000/mcp
  wiretape verify weather.jsonl --only 'tool:forecast' --ignore 'result/**/etag' -- ./server
  wiretape verify weather.jsonl --report verify.xml -- ./server     JUnit, for CI
  wiretape verify weather.jsonl --update weather.jsonl -- ./server  record anew what has changed"
)]
pub(crate) struct VerifyArgs {
    /// The trace: a path, the beginning of an id as `ls` shows it, or `latest`. Several are one client, in the order in which they began
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<TraceSelector>,

    /// Connect to the HTTP server at this URL instead of starting a command
    #[arg(long, value_name = "URL", value_parser = crate::url_arg::url::<ServerUrl>(), conflicts_with = "command")]
    url: Option<ServerUrl>,

    /// Send this header to the server (can be repeated)
    #[arg(long, value_name = "NAME: VALUE", requires = "url", conflicts_with = "command")]
    header: Vec<String>,

    /// Make only the calls that this filter lets through; the handshake is always made
    #[arg(long, value_name = "FILTER")]
    only: Vec<String>,

    /// Leave out what stands at this path; may be given several times
    #[arg(long, value_name = "PATH", value_parser = parse_pattern)]
    ignore: Vec<PathPattern>,

    /// Leave out no members by their names but those that --ignore says (docs/diff.md lists them)
    #[arg(long)]
    no_default_ignores: bool,

    /// Which changes of what the server offers count: any, breaking or none
    #[arg(long, value_name = "WHICH", value_enum, default_value_t, hide_possible_values = true)]
    definitions: Definitions,

    /// Call tools that are not annotated as readOnlyHint, too: they may change something
    #[arg(long)]
    allow_writes: bool,

    /// Say what would be called, and do nothing
    #[arg(long, conflicts_with_all = ["update", "report"])]
    dry_run: bool,

    /// Make so many calls at a time, instead of one after the other
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    concurrency: u16,

    /// How long an answer may take; what took long when it was recorded may take three times as long
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = units::parse_duration)]
    timeout: Duration,

    /// A call that takes so much longer than when it was recorded has failed: 200%
    #[arg(long, value_name = "PERCENT", value_parser = parse_slower)]
    slower: Option<Slower>,

    /// What is slower by less has not
    #[arg(long, value_name = "DURATION", default_value = "100ms", value_parser = units::parse_duration, requires = "slower")]
    slower_floor: Duration,

    /// Write a new trace of what the server says now; calls that were skipped stay as they were. FILE may be TRACE
    #[arg(long, value_name = "FILE")]
    update: Option<PathBuf>,

    /// Write what came of it here: as JUnit if the name ends in .xml, as JSON otherwise
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Show the calls that are the same, too
    #[arg(long)]
    all: bool,

    /// Print one JSON object a line (schema: docs/json-output.md)
    #[arg(long, conflicts_with = "all")]
    json: bool,

    /// The server's command and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Which changes of what a server offers count.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Definitions {
    #[default]
    Any,
    Breaking,
    None,
}

/// Runs the command.
pub(crate) fn run(mut args: VerifyArgs) -> Result<ExitCode, CommandError> {
    let target = target(&mut args)?;
    let filter = filter(&args)?;
    check_report(args.report.as_deref())?;
    let recordings = Recorded::find_all(&args.traces)?;
    let name = name(&recordings);
    let matching = Matching::default();
    let parts: Vec<Vec<PathBuf>> = recordings.into_iter().map(|recording| recording.parts).collect();
    let mut client = read(&parts, &matching).map_err(CommandError::failure)?;
    tell_damage(&client.notices);
    if !filter.is_empty() && !client.script.select(&filter, &client.file) {
        let only: Vec<_> = args.only.iter().map(|words| printable(words)).collect();
        let message = format!("--only {} lets none of the recorded calls through", only.join(" --only "));
        return Err(CommandError::usage(message).hint("`wiretape calls` with the same words lists the calls"));
    }
    if !args.allow_writes {
        client.script.skip_writes();
    }
    if !args.ignore.is_empty() {
        client.script.compare_with_itself(&ignored(&args), &client.file);
    }
    let redactor = Arc::new(redaction::redactor(Config::load(None)?.redact, &[])?);
    match target {
        None => list(&args, &name, &client, &redactor),
        Some(target) => check(&args, &name, client, &target, matching, &redactor),
    }
}

/// What the traces are called.
fn name(recordings: &[Recorded]) -> String {
    let first = recordings.first().map(|recording| recording.path.display().to_string()).unwrap_or_default();
    match recordings.len() {
        0 | 1 => first,
        n => format!("{first} and {} more", n - 1),
    }
}

/// Where the server is; `None` if nothing is to be done.
fn target(args: &mut VerifyArgs) -> Result<Option<Target>, CommandError> {
    // Clap would repeat a value that it can't read, and this one is a secret.
    let headers = args.header.iter().map(|header| header.parse::<SecretHeader>());
    let headers = headers.collect::<Result<_, _>>().map_err(CommandError::usage)?;
    let command = std::mem::take(&mut args.command);
    match (args.url.take(), command.is_empty()) {
        _ if args.dry_run => Ok(None),
        (Some(url), _) => Ok(Some(Target::Url { url, headers })),
        (None, false) => Ok(Some(Target::Command(command))),
        (None, true) => Err(CommandError::usage("there is no server to test").hint(
            "put its command behind `--`, or give its address with --url; --dry-run says what would be called",
        )),
    }
}

fn filter(args: &VerifyArgs) -> Result<Filter, CommandError> {
    let mut filter = Filter::default();
    for words in &args.only {
        let more = Filter::parse(words).map_err(|error| {
            CommandError::usage(format!("--only {}: {error}", printable(words)))
                .hint("docs/calls.md explains filters")
        })?;
        filter = filter.and(more);
    }
    Ok(filter)
}

/// Says what would be called.
fn list(
    args: &VerifyArgs,
    name: &str,
    client: &RecordedClient,
    redactor: &Redactor,
) -> Result<ExitCode, CommandError> {
    if args.json {
        json_view::print_plan(client)?;
    } else {
        text_view::print_plan(name, client, redactor)?;
    }
    Ok(ExitCode::OK)
}

fn check(
    args: &VerifyArgs,
    name: &str,
    client: RecordedClient,
    target: &Target,
    matching: Matching,
    redactor: &Arc<Redactor>,
) -> Result<ExitCode, CommandError> {
    let mut update =
        args.update.as_deref().map(|file| Update::begin(file, &client, target, redactor)).transpose()?;
    let setting = setting(args, matching, Arc::clone(redactor));
    let file = Arc::clone(&client.file);
    let shows = match (args.json, args.all) {
        (true, _) => Shows::Nothing,
        (false, true) => Shows::All,
        (false, false) => Shows::Changes,
    };
    let mut view = TextView::new(name, target, &file, redactor, shows);
    let new_trace = update.as_mut().map(|update| &mut update.trace);
    let outcome = verify(client, target, setting, new_trace, &warn(), |progress| match progress {
        Progress::Judged { script, checked } => view.judged(script, checked),
        Progress::Notice(notice) => output::warn(format!("wiretape: {}", printable(&notice.to_string()))),
    });
    let (verified, script, kept) = outcome.map_err(|error| {
        CommandError::failure(error).hint("check that the command is on your PATH, or give its full path")
    })?;
    let offers = match args.definitions {
        Definitions::Any => Offers::Any,
        Definitions::Breaking => Offers::Breaking,
        Definitions::None => Offers::None,
    };
    let report = Report { name, script: &script, verified: &verified, offers };
    let shown = if args.json { json_view::print(&report) } else { view.finish(&report) };
    if let Some(file) = &args.report {
        report
            .write(file)
            .map_err(|error| CommandError::because(format!("can't write {}", file.display()), error))?;
    }
    if let Some(update) = update {
        update.end(kept, &report)?;
    }
    let mut code = if verified.is_failure(offers) { ExitCode::FOUND } else { ExitCode::OK };
    // The new server may answer with something that the recorded one did not, so a slip shows only now.
    for pattern in args.ignore.iter().filter(|pattern| !pattern.has_matched()) {
        let pattern = pattern.to_string();
        output::warn(format!("wiretape: --ignore {} matched nothing in any answer", printable(&pattern)));
        code = ExitCode::FOUND;
    }
    // Whoever has read enough still wants to know how it ended.
    shown.map(|()| code).or_else(|error| if error.is_output_closed() { Ok(code) } else { Err(error) })
}

/// What doesn't count.
fn ignored(args: &VerifyArgs) -> Ignored {
    let mut volatile = if args.no_default_ignores { Volatile::nothing() } else { Volatile::defaults() };
    args.ignore.iter().for_each(|pattern| volatile.add(pattern));
    Ignored::new(volatile)
}

fn setting(args: &VerifyArgs, matching: Matching, redactor: Arc<Redactor>) -> Setting {
    let us = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let floor_us = us(args.slower_floor);
    Setting {
        ignored: ignored(args),
        matching,
        concurrency: usize::from(args.concurrency),
        timeout_us: us(args.timeout),
        pace: args.slower.and_then(|slower| slower.0).map(|ratio| Pace { ratio, floor_us }),
        writes: if args.allow_writes { Writes::Allow } else { Writes::Skip },
        redactor: Some(redactor),
        started_ms: i64::try_from(now.as_millis()).unwrap_or(i64::MAX),
        keeps: if args.update.is_some() { Keeps::NewTrace } else { Keeps::Nothing },
    }
}

fn warn() -> Warn {
    Arc::new(|warning: Warning| output::warn(format!("wiretape: {warning}")))
}

/// A new trace, beside its place until it is whole.
struct Update {
    draft: Draft,
    trace: NewTrace,
    path: PathBuf,
}

impl Update {
    fn begin(
        path: &Path,
        client: &RecordedClient,
        target: &Target,
        redactor: &Arc<Redactor>,
    ) -> Result<Self, CommandError> {
        let failed = |error| CommandError::because(format!("can't write {}", path.display()), error);
        let draft = Draft::beside(path).map_err(failed)?;
        let file = File::options().append(true).open(draft.path()).map_err(failed)?;
        let server = match target {
            Target::Command(command) => command.clone(),
            Target::Url { url, .. } => vec![redactor.url(&url.to_string()).into_owned().into()],
        };
        let label = Some(client.script.tape().label()).filter(|label| !label.is_empty());
        let trace = NewTrace::begin(file, &server, label, Some(Arc::clone(redactor))).map_err(failed)?;
        Ok(Update { draft, trace, path: path.to_owned() })
    }

    /// Puts it into its place, unless there is less in it than was recorded.
    fn end(self, kept: io::Result<()>, report: &Report<'_>) -> Result<(), CommandError> {
        let path = self.path.display();
        let failed = |error| CommandError::because(format!("can't write {path}"), error);
        kept.and_then(|()| self.trace.end(None)).map_err(failed)?;
        if report.is_cut_short() {
            output::warn(format!("wiretape: {path} was not written: not every call was answered"));
            return Ok(());
        }
        publish(self.draft, &self.path).map_err(failed)?;
        output::note(format!("wiretape: what the server says now is in {path}"));
        Ok(())
    }
}

/// Puts a trace into its place, compressed if its name says so.
fn publish(draft: Draft, path: &Path) -> io::Result<()> {
    let compression = Compression::of_path(path);
    if compression == Compression::None {
        return draft.publish();
    }
    let mut packed = Compressor::new(Draft::beside(path)?, compression)?;
    io::copy(&mut File::open(draft.path())?, &mut packed)?;
    packed.finish()?.publish()
}
