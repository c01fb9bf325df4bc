//! The arguments of `verify`, and its dispatch.

use super::report::VerifyReport;
use super::text_view::{ShownCalls, TextView};
use super::{json_view, text_view};
use crate::commands::diff::{Slower, parse_pattern, parse_slower};
use crate::commands::replay::{RecordingFiles, check_report, report_damage};
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
use wiretape_analyze::verify::{Offers, Setting, TraceOutput, Writes};
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
/// Replays the recorded client: the handshake, the requests in order, and the responses to server requests. The server's
/// responses and definitions are compared with the recorded ones; values that differ between runs (times, ids, trace
/// contexts) are ignored. Tools that are not annotated with `readOnlyHint` are not called unless you use --allow-writes.
/// The exit code is 1 if anything differs, and 2 if the server can't be tested.
#[derive(Debug, Args)]
#[command(
    override_usage = "wiretape verify [OPTIONS] TRACE... -- COMMAND [ARGS]...\n       wiretape verify [OPTIONS] TRACE... --url URL [--header 'NAME: VALUE']...\n       wiretape verify [OPTIONS] TRACE... --dry-run",
    after_help = "\
FILTER has terms as for `wiretape calls`: tool:search* method:tools/* status:ok text:\"over quota\".
PATH is a JSON pointer as for `wiretape diff`: /content/*/text, result/**/etag.

Examples:
  wiretape verify weather.jsonl --dry-run                     list the calls only
  wiretape verify weather.jsonl -- npx my-server@next
  wiretape verify latest --allow-writes --url http://localhost:9000/mcp
  wiretape verify weather.jsonl --only 'tool:forecast' --ignore 'result/**/etag' -- ./server
  wiretape verify weather.jsonl --report verify.xml -- ./server     JUnit, for CI
  wiretape verify weather.jsonl --update weather.jsonl -- ./server  accept the new responses"
)]
pub(crate) struct VerifyArgs {
    /// Traces: paths, id prefixes as listed by `ls`, or `latest`. Several are replayed as one client, in order of start time
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<TraceSelector>,

    /// Connect to the HTTP server at URL instead of starting a command
    #[arg(long, value_name = "URL", value_parser = crate::url_arg::url::<ServerUrl>(), conflicts_with = "command")]
    url: Option<ServerUrl>,

    /// Send this header to the server (repeatable)
    #[arg(long, value_name = "NAME: VALUE", requires = "url", conflicts_with = "command")]
    header: Vec<String>,

    /// Make only calls that match FILTER; the handshake is always made
    #[arg(long, value_name = "FILTER")]
    only: Vec<String>,

    /// Ignore the value at PATH (repeatable)
    #[arg(long, value_name = "PATH", value_parser = parse_pattern)]
    ignore: Vec<PathPattern>,

    /// Ignore only the values given with --ignore, not the default ones (see docs/diff.md)
    #[arg(long)]
    no_default_ignores: bool,

    /// Which definition changes count: any, breaking or none
    #[arg(long, value_name = "CHANGES", value_enum, default_value_t, hide_possible_values = true)]
    definitions: Definitions,

    /// Also call tools without readOnlyHint: they may have side effects
    #[arg(long)]
    allow_writes: bool,

    /// List the calls without making them
    #[arg(long, conflicts_with_all = ["update", "report"])]
    dry_run: bool,

    /// Make N calls concurrently instead of one after the other
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    concurrency: u16,

    /// Timeout of a call; a call whose recorded duration is longer may take three times that duration
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = units::parse_duration)]
    timeout: Duration,

    /// Fail calls that are slower than recorded by more than this percentage: 200%
    #[arg(long, value_name = "PERCENT", value_parser = parse_slower)]
    slower: Option<Slower>,

    /// Ignore slowdowns smaller than this
    #[arg(long = "min-slowdown", alias = "slower-floor", value_name = "DURATION", default_value = "100ms", value_parser = units::parse_duration, requires = "slower")]
    min_slowdown: Duration,

    /// Write a new trace with the current responses; skipped calls are copied. FILE may be TRACE
    #[arg(long, value_name = "FILE")]
    update: Option<PathBuf>,

    /// Write a report to FILE: JUnit if its name ends in .xml, JSON otherwise
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Also show calls that are unchanged
    #[arg(long)]
    all: bool,

    /// Print one JSON object per line (schema: docs/json-output.md)
    #[arg(long, conflicts_with = "all")]
    json: bool,

    /// The server's command and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Which definition changes count as failures.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Definitions {
    #[default]
    Any,
    Breaking,
    None,
}

pub(crate) fn run(mut args: VerifyArgs) -> Result<ExitCode, CommandError> {
    let target = target(&mut args)?;
    let filter = filter(&args)?;
    check_report(args.report.as_deref())?;
    let recordings = RecordingFiles::find_all(&args.traces)?;
    let name = name(&recordings);
    let matching = Matching::default();
    let parts: Vec<Vec<PathBuf>> = recordings.into_iter().map(|recording| recording.parts).collect();
    let mut client = read(&parts, &matching).map_err(CommandError::failure)?;
    report_damage(&client.notices);
    if !filter.is_empty() && !client.script.select(&filter, &client.file) {
        let only: Vec<_> = args.only.iter().map(|words| printable(words)).collect();
        let message = format!("--only {} matches no recorded call", only.join(" --only "));
        return Err(
            CommandError::usage(message).hint("run `wiretape calls` with the same filter to list calls")
        );
    }
    if !args.allow_writes {
        client.script.skip_writes();
    }
    if !args.ignore.is_empty() {
        // Marks the patterns that match a recorded message, so that one that matches nothing at all can be reported.
        client.script.compare_with_itself(&ignored(&args), &client.file);
    }
    let redactor = Arc::new(redaction::redactor(Config::load(None)?.redact, &[])?);
    match target {
        None => list(&args, &name, &client, &redactor),
        Some(target) => check(&args, &name, client, &target, matching, &redactor),
    }
}

/// The display name of the traces.
fn name(recordings: &[RecordingFiles]) -> String {
    let first = recordings.first().map(|recording| recording.path.display().to_string()).unwrap_or_default();
    match recordings.len() {
        0 | 1 => first,
        n => format!("{first} and {} more", n - 1),
    }
}

/// The server to test; `None` for a dry run.
fn target(args: &mut VerifyArgs) -> Result<Option<Target>, CommandError> {
    // Parsed here instead of by clap, which would repeat an invalid value in its message: it may be a secret.
    let headers = args.header.iter().map(|header| header.parse::<SecretHeader>());
    let headers = headers.collect::<Result<_, _>>().map_err(CommandError::usage)?;
    let command = std::mem::take(&mut args.command);
    match (args.url.take(), command.is_empty()) {
        _ if args.dry_run => Ok(None),
        (Some(url), _) => Ok(Some(Target::Url { url, headers })),
        (None, false) => Ok(Some(Target::Command(command))),
        (None, true) => Err(CommandError::usage("no server to test")
            .hint("put its command after `--`, or use --url URL; --dry-run lists the calls only")),
    }
}

fn filter(args: &VerifyArgs) -> Result<Filter, CommandError> {
    let mut filter = Filter::default();
    for words in &args.only {
        let more = Filter::parse(words).map_err(|error| {
            CommandError::usage(format!("--only {}: {error}", printable(words)))
                .hint("see docs/calls.md for the filter syntax")
        })?;
        filter = filter.and(more);
    }
    Ok(filter)
}

/// Lists the calls that would be made.
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
    let shown_calls = match (args.json, args.all) {
        (true, _) => ShownCalls::Nothing,
        (false, true) => ShownCalls::All,
        (false, false) => ShownCalls::Changes,
    };
    let mut view = TextView::new(name, target, &file, redactor, shown_calls);
    let new_trace = update.as_mut().map(|update| &mut update.trace);
    let outcome = verify(client, target, setting, new_trace, &warn(), |progress| match progress {
        Progress::Judged { script, checked } => view.judged(script, checked),
        Progress::Notice(notice) => output::warn(format!("wiretape: {}", printable(&notice.to_string()))),
    });
    let (verified, script, kept) = outcome.map_err(|error| {
        CommandError::failure(error).hint("check that the command is in your PATH, or use its full path")
    })?;
    let offers = match args.definitions {
        Definitions::Any => Offers::Any,
        Definitions::Breaking => Offers::Breaking,
        Definitions::None => Offers::None,
    };
    let report = VerifyReport { name, script: &script, verified: &verified, offers };
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
    // Known only now: the new server may send members that the recorded one did not.
    for pattern in args.ignore.iter().filter(|pattern| !pattern.has_matched()) {
        let pattern = pattern.to_string();
        output::warn(format!("wiretape: --ignore {} matched nothing in any response", printable(&pattern)));
        code = ExitCode::FOUND;
    }
    // The exit code counts even if the reader has closed the output.
    shown.map(|()| code).or_else(|error| if error.is_output_closed() { Ok(code) } else { Err(error) })
}

/// Values that are ignored in comparisons.
fn ignored(args: &VerifyArgs) -> Ignored {
    let mut volatile = if args.no_default_ignores { Volatile::nothing() } else { Volatile::defaults() };
    args.ignore.iter().for_each(|pattern| volatile.add(pattern));
    Ignored::new(volatile)
}

fn setting(args: &VerifyArgs, matching: Matching, redactor: Arc<Redactor>) -> Setting {
    let us = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let floor_us = us(args.min_slowdown);
    Setting {
        ignored: ignored(args),
        matching,
        concurrency: usize::from(args.concurrency),
        timeout_us: us(args.timeout),
        pace: args.slower.and_then(|slower| slower.0).map(|ratio| Pace { ratio, floor_us }),
        writes: if args.allow_writes { Writes::Allow } else { Writes::Skip },
        redactor: Some(redactor),
        started_ms: i64::try_from(now.as_millis()).unwrap_or(i64::MAX),
        keeps: if args.update.is_some() { TraceOutput::NewTrace } else { TraceOutput::Nothing },
    }
}

fn warn() -> Warn {
    Arc::new(|warning: Warning| output::warn(format!("wiretape: {warning}")))
}

/// A new trace, written to a temporary file until it is complete.
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
        // A second handle: the trace writes the file, and the draft renames it.
        let file = File::options().append(true).open(draft.path()).map_err(failed)?;
        let server = match target {
            Target::Command(command) => command.clone(),
            Target::Url { url, .. } => vec![redactor.url(&url.to_string()).into_owned().into()],
        };
        let label = Some(client.script.tape().label()).filter(|label| !label.is_empty());
        let trace = NewTrace::begin(file, &server, label, Some(Arc::clone(redactor))).map_err(failed)?;
        Ok(Update { draft, trace, path: path.to_owned() })
    }

    /// Publishes the trace, unless it has fewer calls than the recorded one.
    fn end(self, kept: io::Result<()>, report: &VerifyReport<'_>) -> Result<(), CommandError> {
        let path = self.path.display();
        let failed = |error| CommandError::because(format!("can't write {path}"), error);
        kept.and_then(|()| self.trace.end(None)).map_err(failed)?;
        if report.is_cut_short() {
            output::warn(format!("wiretape: {path} was not written: some calls have no response"));
            return Ok(());
        }
        publish(self.draft, &self.path).map_err(failed)?;
        output::note(format!("wiretape: wrote the new responses to {path}"));
        Ok(())
    }
}

/// Publishes a trace, compressed according to its extension.
fn publish(draft: Draft, path: &Path) -> io::Result<()> {
    let compression = Compression::of_path(path);
    if compression == Compression::None {
        return draft.publish();
    }
    let mut packed = Compressor::new(Draft::beside(path)?, compression)?;
    io::copy(&mut File::open(draft.path())?, &mut packed)?;
    packed.finish()?.publish()
}
