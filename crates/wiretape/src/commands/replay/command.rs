//! The arguments of `replay`, and its dispatch.
//!
//! Mistakes are reported before any trace is read, because indexing a large one takes a while. Over stdio,
//! `initialize` is answered from a preview of the trace meanwhile: clients give up on a server that starts slowly.

use super::outcome::{FaultInjection, ReplayRun, ReplayedTrace, UnusedPolicy};
use crate::commands::diff::parse_pattern;
use crate::config::Config;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::selector::TraceSelector;
use crate::text::printable;
use crate::{output, redaction, trace_file};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use wiretape_analyze::replay::{
    Fault, Faults, Matching, Mode, Notice, Order, Repeats, Secrets, Setting, Speed, WhenMissed,
};
use wiretape_analyze::volatile::PathPattern;
use wiretape_library::Draft;
use wiretape_library::Recording;
use wiretape_proxy::live::Origin;
use wiretape_proxy::platform;
use wiretape_proxy::replay::{
    self, HttpOptions, LoadedTape, NoticeCallback, PreviewOutcome, RealServers, TapePreview,
};
use wiretape_trace::format;
use wiretape_trace::name::clean_label;
use wiretape_trace::redact::Redactor;

/// Run a trace as an MCP server
///
/// Serves the recorded responses, offline and the same in every run: use `wiretape replay TRACE` as the
/// server command in a client. A request gets the response of the recorded request that it matches; ids,
/// progress tokens and client information are ignored. A request that was not recorded gets an error, and the
/// exit code is then 1.
#[derive(Debug, Args)]
#[command(
    override_usage = "wiretape replay [OPTIONS] TRACE\n       wiretape replay [OPTIONS] --merge TRACE...\n       wiretape replay [OPTIONS] --listen ADDR TRACE...\n       wiretape replay [OPTIONS] --on-miss passthrough TRACE -- COMMAND [ARGS]...",
    after_help = "\
FAULT has a filter (tool:NAME or method:NAME, wildcards allowed; default all calls), a kind
(error=CODE, delay=TIME, hang, drop, truncate, disconnect), and a probability (p=0.1; default 1).

Examples:
  wiretape replay latest
  wiretape replay weather.jsonl --strict --require-all --report replay.xml
  wiretape replay --listen 127.0.0.1:8080 weather.jsonl files.jsonl
      at /weather/mcp and /files/mcp
  wiretape replay weather.jsonl --ignore 'params/arguments/now'
  wiretape replay weather.jsonl --on-miss passthrough --record-new new.jsonl -- npx my-server
  wiretape replay weather.jsonl --fault 'tool:search* error=-32000 p=0.1' --seed 7

In a client's configuration:
  {\"mcpServers\": {\"weather\": {\"command\": \"wiretape\", \"args\": [\"replay\", \"/path/to/weather.jsonl\"]}}}"
)]
pub(crate) struct ReplayArgs {
    /// Traces: paths, id prefixes as listed by `ls`, or `latest`
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<TraceSelector>,

    /// Serve HTTP clients on ADDR, at /mcp (streamable HTTP) and /sse (HTTP+SSE), instead of one client on standard input
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    listen: Option<SocketAddr>,

    /// Replay all traces as one server, in order of start time (without sessions, a proxy writes one trace per connection)
    #[arg(long)]
    merge: bool,

    /// Let pages of this origin connect: `https://inspector.example`
    #[arg(long, value_name = "URL", requires = "listen")]
    allow_origin: Vec<Origin>,

    /// How requests are matched: all values (exact), all relevant values (default), or the closest one (loose)
    #[arg(long = "match", value_name = "MODE", value_enum, default_value_t, hide_possible_values = true)]
    mode: MatchMode,

    /// Ignore the value at PATH of a request, as `wiretape diff` does (repeatable)
    #[arg(long, value_name = "PATH", value_parser = parse_pattern)]
    ignore: Vec<PathPattern>,

    /// The order in which calls may be made: any (free), or as recorded
    #[arg(long, value_enum, default_value_t, hide_possible_values = true, value_name = "ORDER")]
    order: OrderChoice,

    /// Use each recorded call only once, instead of repeating the last response
    #[arg(long)]
    strict: bool,

    /// Speed: 0 immediately, 1 as recorded, 2 twice as fast
    #[arg(long, value_name = "N", default_value = "0", allow_negative_numbers = true)]
    speed: Speed,

    /// What to do about a request that was not recorded: return an error, an empty result (null), or ask the
    /// real server (passthrough)
    #[arg(long, value_name = "ACTION", value_enum, default_value_t, hide_possible_values = true)]
    on_miss: OnMiss,

    /// Record the real server's responses to FILE; over HTTP, each further session gets its own file next to it
    #[arg(long, value_name = "FILE")]
    record_new: Option<PathBuf>,

    /// Inject faults into calls (repeatable)
    #[arg(long, value_name = "FAULT")]
    fault: Vec<Fault>,

    /// The random seed for faults: the same seed selects the same calls
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    seed: u64,

    /// Exit with 1 if a recorded call was not requested
    #[arg(long)]
    require_all: bool,

    /// Write a report of used, unused and missed calls to FILE: JUnit if its name ends in .xml, JSON otherwise
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// The real server's command, for --on-miss passthrough
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How requests are matched.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum MatchMode {
    Exact,
    #[default]
    Default,
    Loose,
}

/// In which order calls may come.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum OrderChoice {
    #[default]
    Free,
    Recorded,
}

/// What to do with a request that was not recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum OnMiss {
    #[default]
    Error,
    Null,
    Passthrough,
}

/// How long to wait for a client's response to a server request.
const PATIENCE: Duration = Duration::from_secs(60);

/// The running replay, for the report when a signal ends the process.
static CURRENT_RUN: OnceLock<ReplayRun> = OnceLock::new();

pub(crate) fn run(args: ReplayArgs) -> Result<ExitCode, CommandError> {
    check(&args)?;
    // Before anything is served: a report that can't be written after an hour of tests would lose their result.
    check_report(args.report.as_deref())?;
    let setting = setting(&args);
    let recordings = find(&args)?;
    let unused = if args.require_all { UnusedPolicy::Fail } else { UnusedPolicy::Allow };
    let (report, ignored) = (args.report.clone(), args.ignore.clone());
    let faults = if args.fault.is_empty() { FaultInjection::Nothing } else { FaultInjection::Faults };
    let is_ending = AtomicBool::new(false);
    let begin = |tapes, real| ReplayRun { tapes, unused, report, real, ignored, faults, is_ending };
    if let Some(listen) = args.listen {
        // The tapes are read after the command was checked: a typo in the command is reported at once, a long trace
        // takes a while.
        let real = real_servers(&args)?;
        let tapes = load(recordings, &setting)?;
        check_faults(&args.fault, &tapes)?;
        let replay_run = CURRENT_RUN.get_or_init(|| begin(tapes, real));
        serve(replay_run, HttpOptions { listen, allowed_origins: args.allow_origin })?;
        return replay_run.finish();
    }
    // Only here: the HTTP listener stops on a signal by itself, but reading standard input blocks.
    platform::on_termination(end_now);
    let real = real_servers(&args)?;
    let (preview_outcome, tapes) = open(recordings, &setting)?;
    check_faults(&args.fault, &tapes)?;
    let replay_run = CURRENT_RUN.get_or_init(|| begin(tapes, real));
    let tape = replay_run.tapes.first().ok_or_else(|| CommandError::usage("no trace to replay"))?;
    replay::play(&tape.loaded, &preview_outcome, &warning_printer(), replay_run.real.as_ref())
        .map_err(client_error)?;
    replay_run.finish()
}

fn client_error(error: std::io::Error) -> CommandError {
    CommandError::because("can't communicate with the client", error)
}

/// Reads the traces. If that takes long, the client's first message is answered first.
fn open(
    recordings: Vec<Vec<RecordingFiles>>,
    setting: &Setting,
) -> Result<(PreviewOutcome, Vec<ReplayedTrace>), CommandError> {
    // Only the first part: the handshake is at the beginning of the recording.
    let first =
        recordings.first().and_then(|tape| tape.first()).and_then(|recording| recording.parts.first());
    let Some(preview) = first.and_then(|path| TapePreview::read(path, setting)) else {
        return Ok((PreviewOutcome::default(), load(recordings, setting)?));
    };
    std::thread::scope(|scope| {
        // Clients give up on a server that doesn't answer `initialize` soon; a large trace takes longer to index.
        let loading = scope.spawn(|| load(recordings, setting));
        let preview_outcome = preview.answer_initialize().map_err(client_error)?;
        let tapes = loading.join().map_err(|_| CommandError::failure("can't read the trace"))??;
        Ok((preview_outcome, tapes))
    })
}

fn serve(replay_run: &ReplayRun, options: HttpOptions) -> Result<(), CommandError> {
    let prefixes = prefixes(&replay_run.tapes);
    let loaded_tapes =
        prefixes.iter().cloned().zip(replay_run.tapes.iter().map(|tape| Arc::clone(&tape.loaded)));
    replay::listen(options, loaded_tapes.collect(), &warning_printer(), replay_run.real.clone(), |address| {
        for (prefix, tape) in prefixes.iter().zip(&replay_run.tapes) {
            let name = shown(Path::new(tape.path.file_name().unwrap_or(tape.path.as_os_str())));
            output::note(format!("wiretape: {name} is listening on http://{address}{prefix}/mcp"));
        }
    })
    .map_err(CommandError::failure)
}

/// The path prefix of each trace: its name, if there are several.
fn prefixes(tapes: &[ReplayedTrace]) -> Vec<String> {
    if tapes.len() == 1 {
        return vec![String::new()];
    }
    let mut prefixes: Vec<String> = Vec::new();
    for tape in tapes {
        let stem = tape.path.file_name().unwrap_or_default().to_string_lossy();
        let name = clean_label(stem.split(".jsonl").next().unwrap_or_default());
        let name = if name.is_empty() { "trace".to_owned() } else { name };
        // Traces in different directories may have the same file name.
        let numbered = (2..).map(|number| format!("/{name}-{number}"));
        let mut candidates = std::iter::once(format!("/{name}")).chain(numbered);
        prefixes.extend(candidates.find(|prefix| !prefixes.contains(prefix)));
    }
    prefixes
}

fn check(args: &ReplayArgs) -> Result<(), CommandError> {
    if args.traces.len() > 1 && args.listen.is_none() && !args.merge {
        let error = CommandError::usage("a client on standard input can use only one trace");
        return Err(error.hint("use --merge to combine them, or --listen to serve each at its own path"));
    }
    // One real server can't replace several recorded ones.
    let asks = args.on_miss == OnMiss::Passthrough;
    if asks && args.traces.len() > 1 && !args.merge {
        let error = CommandError::usage("--on-miss passthrough needs exactly one trace");
        return Err(error.hint("use --merge to combine them"));
    }
    match (asks, args.command.is_empty()) {
        (true, true) => Err(CommandError::usage("--on-miss passthrough needs a server")
            .hint("put its command after `--`: wiretape replay TRACE --on-miss passthrough -- COMMAND")),
        (false, false) => Err(CommandError::usage("a server command needs --on-miss passthrough")),
        (false, true) if args.record_new.is_some() => {
            Err(CommandError::usage("--record-new needs --on-miss passthrough"))
        }
        _ => Ok(()),
    }
}

/// A fault that matches no recorded call is a typo: a test of the client's error handling would pass without any error.
fn check_faults(faults: &[Fault], tapes: &[ReplayedTrace]) -> Result<(), CommandError> {
    let meets_a_call = |fault: &Fault| {
        let tapes = tapes.iter().map(|tape| tape.loaded.tape());
        tapes.flat_map(|tape| tape.calls().iter().map(|call| tape.kind(call))).any(|kind| {
            let tool = kind.name.as_deref().filter(|_| &*kind.method == "tools/call");
            fault.is_for(&kind.method, tool)
        })
    };
    match faults.iter().find(|fault| !meets_a_call(fault)) {
        None => Ok(()),
        Some(fault) => Err(CommandError::usage(format!(
            "--fault '{}' matches no recorded call",
            printable(&fault.to_string())
        ))
        .hint("run `wiretape calls TRACE` to list the recorded calls")),
    }
}

/// Checks that a file can be written, so that the error comes at the start.
pub(crate) fn check_report(report: Option<&Path>) -> Result<(), CommandError> {
    let Some(path) = report else { return Ok(()) };
    let failed = |error| CommandError::because(format!("can't write {}", shown(path)), error);
    Draft::check_beside(path).map_err(failed)
}

fn parse_address(text: &str) -> Result<SocketAddr, &'static str> {
    // No host names: `localhost` may resolve to two addresses, and a test needs to know which one.
    text.parse().map_err(|_| "expected an IP address with a port, e.g. 127.0.0.1:8080")
}

fn setting(args: &ReplayArgs) -> Setting {
    let mode = match args.mode {
        MatchMode::Exact => Mode::Exact,
        MatchMode::Default => Mode::Default,
        MatchMode::Loose => Mode::Loose,
    };
    let order = match args.order {
        OrderChoice::Free => Order::Free,
        OrderChoice::Recorded => Order::Recorded,
    };
    // An agent that retries would otherwise miss although nothing is wrong, so repeating the last response is the
    // default.
    let repeats = if args.strict { Repeats::Never } else { Repeats::Last };
    Setting {
        matching: Matching::new(mode, order, repeats, &args.ignore)
            .with_secrets(Secrets::new(redactor_of_notices)),
        speed: args.speed,
        when_missed: match args.on_miss {
            OnMiss::Error => WhenMissed::Error,
            OnMiss::Null => WhenMissed::Empty,
            OnMiss::Passthrough => WhenMissed::PassOn,
        },
        faults: Faults { list: args.fault.clone(), seed: args.seed },
        patience_us: u64::try_from(PATIENCE.as_micros()).ok(),
    }
}

/// The recordings of each server: one, or several merged.
fn find(args: &ReplayArgs) -> Result<Vec<Vec<RecordingFiles>>, CommandError> {
    if args.merge {
        return Ok(vec![RecordingFiles::find_all(&args.traces)?]);
    }
    let recordings = args.traces.iter().map(|selector| RecordingFiles::find(selector.resolve()?));
    recordings.map(|recording| recording.map(|recording| vec![recording])).collect()
}

fn load(recordings: Vec<Vec<RecordingFiles>>, setting: &Setting) -> Result<Vec<ReplayedTrace>, CommandError> {
    recordings.into_iter().map(|recordings| tape(recordings, setting)).collect()
}

fn tape(recordings: Vec<RecordingFiles>, setting: &Setting) -> Result<ReplayedTrace, CommandError> {
    let path = recordings.first().map(|recording| recording.path.clone()).unwrap_or_default();
    let parts: Vec<Vec<PathBuf>> = recordings.into_iter().map(|recording| recording.parts).collect();
    let loaded = LoadedTape::load(&parts, setting.clone()).map_err(CommandError::failure)?;
    report_damage(loaded.notices());
    // Not an error: the handshake and pings are served, which may be all that a test needs.
    if loaded.tape().calls().is_empty() {
        output::warn(format!("wiretape: {} has no calls: no request will be answered", shown(&path)));
    }
    Ok(ReplayedTrace { path, loaded: Arc::new(loaded) })
}

/// A recording with all its parts.
pub(crate) struct RecordingFiles {
    pub(crate) path: PathBuf,
    started_ms: Option<i64>,
    pub(crate) parts: Vec<PathBuf>,
}

impl RecordingFiles {
    /// All recordings, in order of their start.
    pub(crate) fn find_all(selectors: &[TraceSelector]) -> Result<Vec<Self>, CommandError> {
        let recordings = selectors.iter().map(|selector| RecordingFiles::find(selector.resolve()?));
        let mut recordings = recordings.collect::<Result<Vec<_>, _>>()?;
        // Selectors come in the order of a shell's glob, which is alphabetical and says nothing about time.
        recordings.sort_by_key(|recording| recording.started_ms);
        // Two selectors may name parts of the same recording.
        recordings.dedup_by(|one, other| one.parts == other.parts);
        Ok(recordings)
    }

    fn find(path: PathBuf) -> Result<Self, CommandError> {
        // Only regular files can be read twice: a pipe may never end.
        if !path.is_file() {
            return Ok(RecordingFiles { parts: vec![path.clone()], path, started_ms: None });
        }
        let head = trace_file::head(&path)?;
        let started_ms = head.started_ms;
        let mut recordings = Recording::of_traces(vec![(path.clone(), head)]);
        let mut parts = Vec::new();
        if let Some(recording) = recordings.first_mut() {
            recording.find_parts()?;
            parts.extend(recording.parts.iter().map(|part| part.path.clone()));
        }
        Ok(RecordingFiles { path, started_ms, parts })
    }
}

/// Reports lines that could not be read.
pub(crate) fn report_damage(notices: &[(PathBuf, format::Notice)]) {
    for (path, notice) in notices {
        // Other notices are about the recording, not about what can be replayed.
        if notice.is_damage() || matches!(notice, format::Notice::NewerVersion { .. }) {
            output::note(format!("wiretape: {}: {notice}", shown(path)));
        }
    }
}

fn shown(path: &Path) -> String {
    printable(&path.display().to_string()).into_owned()
}

/// The redactor for reports on mismatched requests. Without a valid configuration, values are omitted.
fn redactor_of_notices() -> Option<Redactor> {
    let redactor = Config::load(None).and_then(|config| redaction::redactor(config.redact, &[]));
    redactor.inspect_err(|error| output::warn(format!("wiretape: values are omitted: {error}"))).ok()
}

fn real_servers(args: &ReplayArgs) -> Result<Option<Arc<RealServers>>, CommandError> {
    if args.on_miss != OnMiss::Passthrough {
        return Ok(None);
    }
    // Without a trace to write, nothing of the real server's traffic reaches the disk.
    let redactor = match args.record_new {
        Some(_) => Some(redaction::redactor(Config::load(None)?.redact, &[])?),
        None => None,
    };
    let real = RealServers::new(args.command.clone(), args.record_new.as_deref(), redactor);
    real.map(Arc::new).map(Some).map_err(|error| {
        let path = args.record_new.as_deref().map(shown).unwrap_or_default();
        let exists = error.kind() == std::io::ErrorKind::AlreadyExists;
        let error = CommandError::because(format!("can't write {path}"), error);
        if exists {
            error.hint("a trace is never overwritten: choose another file, or delete it")
        } else {
            error
        }
    })
}

/// Prints a warning. Standard output belongs to the client.
fn warning_printer() -> NoticeCallback {
    Arc::new(|notice: &Notice| {
        let text = format!("wiretape: {}", printable(&notice.to_string()));
        match notice {
            Notice::Struck { .. } | Notice::MadeUp { .. } => output::note(text),
            _ => output::warn(text),
        }
    })
}

/// Reports on the replay when a signal ends the process.
fn end_now(_: i32) {
    let code = CURRENT_RUN.get().map_or(Ok(ExitCode::OK), ReplayRun::finish);
    code.unwrap_or_else(|error| {
        error.print();
        error.exit_code()
    })
    .exit()
}
