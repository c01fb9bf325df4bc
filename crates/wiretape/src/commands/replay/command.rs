//! The arguments, and what is done with them.

use super::outcome::{Injects, Played, Playing, Unused};
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
use wiretape_proxy::replay::{self, Deck, HttpOptions, Opening, Overture, RealServers, Tell};
use wiretape_trace::format;
use wiretape_trace::name::clean_label;
use wiretape_trace::redact::Redactor;

/// Play a trace back as an MCP server
///
/// The recorded server answers again, offline and always the same: put `wiretape replay TRACE` where a client starts the
/// server. A request is answered as the recorded one that asks the same was; ids, progress tokens and what a client says of
/// itself don't count. A request that was not recorded fails loudly, and the exit code is 1 then.
#[derive(Debug, Args)]
#[command(
    override_usage = "wiretape replay [OPTIONS] TRACE\n       wiretape replay [OPTIONS] --merge TRACE...\n       wiretape replay [OPTIONS] --listen ADDR TRACE...\n       wiretape replay [OPTIONS] --on-miss passthrough TRACE -- COMMAND [ARGS]...",
    after_help = "\
FAULT is which calls (tool:NAME, method:NAME, with wildcards; all without), what goes wrong (error=CODE, delay=TIME, hang, drop,
truncate, disconnect), and how often (p=0.1; always without).

Examples:
  wiretape replay latest
  wiretape replay weather.jsonl --strict --require-all --report replay.xml
  wiretape replay --listen 127.0.0.1:8080 weather.jsonl files.jsonl     at /weather/mcp and /files/mcp
  wiretape replay weather.jsonl --ignore 'params/arguments/now'
  wiretape replay weather.jsonl --on-miss passthrough --record-new new.jsonl -- npx my-server
  wiretape replay weather.jsonl --fault 'tool:search* error=-32000 p=0.1' --seed 7

In a client's configuration:
  {\"mcpServers\": {\"weather\": {\"command\": \"wiretape\", \"args\": [\"replay\", \"/path/to/weather.jsonl\"]}}}"
)]
pub(crate) struct ReplayArgs {
    /// The trace: a path, the beginning of an id as `ls` shows it, or `latest`
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<TraceSelector>,

    /// Serve clients over HTTP at this address, at /mcp (streamable HTTP) and /sse (HTTP+SSE), instead of one on standard input
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    listen: Option<SocketAddr>,

    /// Play all traces as one server, in the order in which they began: a proxy writes one for each connection without a session
    #[arg(long)]
    merge: bool,

    /// Let pages of this site ask: `https://inspector.example`
    #[arg(long, value_name = "URL", requires = "listen")]
    allow_origin: Vec<Origin>,

    /// How much of a request must be as recorded: everything (exact), everything that matters (default), or as near as may be (loose)
    #[arg(long = "match", value_name = "MODE", value_enum, default_value_t, hide_possible_values = true)]
    mode: MatchMode,

    /// Leave out what stands at this path of a request, as `wiretape diff` does; may be given several times
    #[arg(long, value_name = "PATH", value_parser = parse_pattern)]
    ignore: Vec<PathPattern>,

    /// In which order calls may come: any (free), or as recorded
    #[arg(long, value_enum, default_value_t, hide_possible_values = true, value_name = "ORDER")]
    order: OrderChoice,

    /// A call that comes more often than it was recorded is missed; otherwise the last answer is given again
    #[arg(long)]
    strict: bool,

    /// How fast: 0 at once, 1 as recorded, 2 twice as fast
    #[arg(long, value_name = "N", default_value = "0", allow_negative_numbers = true)]
    speed: Speed,

    /// What becomes of a request that was not recorded: an error, an empty result (null), or the real server is asked (passthrough)
    #[arg(long, value_name = "WHAT", value_enum, default_value_t, hide_possible_values = true)]
    on_miss: OnMiss,

    /// Record what the real server says here; over HTTP each further session has a file of its own beside it
    #[arg(long, value_name = "OUT")]
    record_new: Option<PathBuf>,

    /// Let calls fail on purpose; may be given several times
    #[arg(long, value_name = "FAULT")]
    fault: Vec<Fault>,

    /// Decides which calls fail: the same in every run with the same seed
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    seed: u64,

    /// End with 1 if a recorded call was not asked for
    #[arg(long)]
    require_all: bool,

    /// Write what was used, unused and missed here at the end: as JUnit if the name ends in .xml, as JSON otherwise
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// The real server's command, for --on-miss passthrough
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How much of a request must be as recorded.
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

/// What becomes of a request that was not recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum OnMiss {
    #[default]
    Error,
    Null,
    Passthrough,
}

/// So long a client is waited for that was asked something.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is being played, for when a signal ends us.
static PLAYING: OnceLock<Playing> = OnceLock::new();

/// Runs the command.
pub(crate) fn run(args: ReplayArgs) -> Result<ExitCode, CommandError> {
    check(&args)?;
    check_report(args.report.as_deref())?;
    let setting = setting(&args);
    let recordings = find(&args)?;
    let unused = if args.require_all { Unused::Fail } else { Unused::Allow };
    let (report, ignored) = (args.report.clone(), args.ignore.clone());
    let faults = if args.fault.is_empty() { Injects::Nothing } else { Injects::Faults };
    let is_ending = AtomicBool::new(false);
    let begin = |tapes, real| Playing { tapes, unused, report, real, ignored, faults, is_ending };
    if let Some(listen) = args.listen {
        let real = real_servers(&args)?;
        let tapes = load(recordings, &setting)?;
        check_faults(&args.fault, &tapes)?;
        let playing = PLAYING.get_or_init(|| begin(tapes, real));
        serve(playing, HttpOptions { listen, allowed_origins: args.allow_origin })?;
        return playing.finish();
    }
    platform::on_termination(end_now);
    let real = real_servers(&args)?;
    let (opening, tapes) = open(recordings, &setting)?;
    check_faults(&args.fault, &tapes)?;
    let playing = PLAYING.get_or_init(|| begin(tapes, real));
    let tape = playing.tapes.first().ok_or_else(|| CommandError::usage("there is no trace"))?;
    replay::play(&tape.deck, &opening, &tell(), playing.real.as_ref()).map_err(cannot_talk)?;
    playing.finish()
}

fn cannot_talk(error: std::io::Error) -> CommandError {
    CommandError::because("can't talk with the client", error)
}

/// Reads the traces; if that takes its time, the client's first word is answered meanwhile.
fn open(recordings: Vec<Vec<Recorded>>, setting: &Setting) -> Result<(Opening, Vec<Played>), CommandError> {
    let first =
        recordings.first().and_then(|tape| tape.first()).and_then(|recording| recording.parts.first());
    let Some(overture) = first.and_then(|path| Overture::read(path, setting)) else {
        return Ok((Opening::default(), load(recordings, setting)?));
    };
    std::thread::scope(|scope| {
        let loading = scope.spawn(|| load(recordings, setting));
        let opening = overture.greet().map_err(cannot_talk)?;
        let tapes = loading.join().map_err(|_| CommandError::failure("the trace could not be read"))??;
        Ok((opening, tapes))
    })
}

fn serve(playing: &Playing, options: HttpOptions) -> Result<(), CommandError> {
    let prefixes = prefixes(&playing.tapes);
    let decks = prefixes.iter().cloned().zip(playing.tapes.iter().map(|tape| Arc::clone(&tape.deck)));
    replay::listen(options, decks.collect(), &tell(), playing.real.clone(), |address| {
        for (prefix, tape) in prefixes.iter().zip(&playing.tapes) {
            let name = shown(Path::new(tape.path.file_name().unwrap_or(tape.path.as_os_str())));
            output::note(format!("wiretape: {name} is listening on http://{address}{prefix}/mcp"));
        }
    })
    .map_err(CommandError::failure)
}

/// Under which path each trace is found: its own name, if there are several.
fn prefixes(tapes: &[Played]) -> Vec<String> {
    if tapes.len() == 1 {
        return vec![String::new()];
    }
    let mut prefixes: Vec<String> = Vec::new();
    for tape in tapes {
        let stem = tape.path.file_name().unwrap_or_default().to_string_lossy();
        let name = clean_label(stem.split(".jsonl").next().unwrap_or_default());
        let name = if name.is_empty() { "trace".to_owned() } else { name };
        let numbered = (2..).map(|number| format!("/{name}-{number}"));
        let mut candidates = std::iter::once(format!("/{name}")).chain(numbered);
        prefixes.extend(candidates.find(|prefix| !prefixes.contains(prefix)));
    }
    prefixes
}

fn check(args: &ReplayArgs) -> Result<(), CommandError> {
    if args.traces.len() > 1 && args.listen.is_none() && !args.merge {
        let error = CommandError::usage("one client on standard input can be played one trace only");
        return Err(
            error.hint("--merge makes one of them; --listen serves several, each at a path of its own")
        );
    }
    let asks = args.on_miss == OnMiss::Passthrough;
    if asks && args.traces.len() > 1 && !args.merge {
        let error =
            CommandError::usage("--on-miss passthrough asks one server, which stands behind one trace");
        return Err(error.hint("--merge makes one of them"));
    }
    match (asks, args.command.is_empty()) {
        (true, true) => Err(CommandError::usage("--on-miss passthrough needs a server to ask")
            .hint("put its command behind `--`: wiretape replay TRACE --on-miss passthrough -- COMMAND")),
        (false, false) => {
            Err(CommandError::usage("the real server is asked only with --on-miss passthrough"))
        }
        (false, true) if args.record_new.is_some() => Err(CommandError::usage(
            "--record-new records what a real server says: it needs --on-miss passthrough",
        )),
        _ => Ok(()),
    }
}

/// A fault that no recorded call can meet is a slip: a test of how a client copes with it would pass without one.
fn check_faults(faults: &[Fault], tapes: &[Played]) -> Result<(), CommandError> {
    let meets_a_call = |fault: &Fault| {
        let tapes = tapes.iter().map(|tape| tape.deck.tape());
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
        .hint("`wiretape calls TRACE` lists the recorded calls")),
    }
}

/// Whoever can't be told at the end is told at the beginning.
pub(crate) fn check_report(report: Option<&Path>) -> Result<(), CommandError> {
    let Some(path) = report else { return Ok(()) };
    let failed = |error| CommandError::because(format!("can't write {}", shown(path)), error);
    Draft::check_beside(path).map_err(failed)
}

fn parse_address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "an address is an IP address and a port: 127.0.0.1:8080")
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
    let repeats = if args.strict { Repeats::Never } else { Repeats::Last };
    Setting {
        matching: Matching::new(mode, order, repeats, &args.ignore)
            .keeping(Secrets::new(redactor_of_notices)),
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

/// The recordings of each server: one of them, or all.
fn find(args: &ReplayArgs) -> Result<Vec<Vec<Recorded>>, CommandError> {
    if args.merge {
        return Ok(vec![Recorded::find_all(&args.traces)?]);
    }
    let recordings = args.traces.iter().map(|selector| Recorded::find(selector.resolve()?));
    recordings.map(|recording| recording.map(|recording| vec![recording])).collect()
}

/// Reads them.
fn load(recordings: Vec<Vec<Recorded>>, setting: &Setting) -> Result<Vec<Played>, CommandError> {
    recordings.into_iter().map(|recordings| tape(recordings, setting)).collect()
}

fn tape(recordings: Vec<Recorded>, setting: &Setting) -> Result<Played, CommandError> {
    let path = recordings.first().map(|recording| recording.path.clone()).unwrap_or_default();
    let parts: Vec<Vec<PathBuf>> = recordings.into_iter().map(|recording| recording.parts).collect();
    let deck = Deck::load(&parts, setting.clone()).map_err(CommandError::failure)?;
    tell_damage(deck.notices());
    if deck.tape().calls().is_empty() {
        output::warn(format!("wiretape: {} has no calls: everything will be missed", shown(&path)));
    }
    Ok(Played { path, deck: Arc::new(deck) })
}

/// A recording, with all its parts.
pub(crate) struct Recorded {
    pub(crate) path: PathBuf,
    started_ms: Option<i64>,
    pub(crate) parts: Vec<PathBuf>,
}

impl Recorded {
    /// All of them, in the order in which they began.
    pub(crate) fn find_all(selectors: &[TraceSelector]) -> Result<Vec<Self>, CommandError> {
        let recordings = selectors.iter().map(|selector| Recorded::find(selector.resolve()?));
        let mut recordings = recordings.collect::<Result<Vec<_>, _>>()?;
        recordings.sort_by_key(|recording| recording.started_ms);
        recordings.dedup_by(|one, other| one.parts == other.parts);
        Ok(recordings)
    }

    fn find(path: PathBuf) -> Result<Self, CommandError> {
        // What is no file can't be looked into first: it may never end.
        if !path.is_file() {
            return Ok(Recorded { parts: vec![path.clone()], path, started_ms: None });
        }
        let head = trace_file::head(&path)?;
        let started_ms = head.started_ms;
        let mut recordings = Recording::of_traces(vec![(path.clone(), head)]);
        let mut parts = Vec::new();
        if let Some(recording) = recordings.first_mut() {
            recording.find_parts()?;
            parts.extend(recording.parts.iter().map(|part| part.path.clone()));
        }
        Ok(Recorded { path, started_ms, parts })
    }
}

/// Tells of what could not be read.
pub(crate) fn tell_damage(notices: &[(PathBuf, format::Notice)]) {
    for (path, notice) in notices {
        if notice.is_damage() || matches!(notice, format::Notice::NewerVersion { .. }) {
            output::note(format!("wiretape: {}: {notice}", shown(path)));
        }
    }
}

fn shown(path: &Path) -> String {
    printable(&path.display().to_string()).into_owned()
}

/// The redactor for what is told of requests that differ. If the configuration has none that works, no values are told.
fn redactor_of_notices() -> Option<Redactor> {
    let redactor = Config::load(None).and_then(|config| redaction::redactor(config.redact, &[]));
    redactor.inspect_err(|error| output::warn(format!("wiretape: values are not shown: {error}"))).ok()
}

fn real_servers(args: &ReplayArgs) -> Result<Option<Arc<RealServers>>, CommandError> {
    if args.on_miss != OnMiss::Passthrough {
        return Ok(None);
    }
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
            error.hint("a trace is never overwritten: name another file, or delete it")
        } else {
            error
        }
    })
}

/// Standard output belongs to the client.
fn tell() -> Tell {
    Arc::new(|notice: &Notice| {
        let text = format!("wiretape: {}", printable(&notice.to_string()));
        match notice {
            Notice::Struck { .. } | Notice::MadeUp { .. } => output::note(text),
            _ => output::warn(text),
        }
    })
}

/// A signal wants to end us: what was played until now is told.
fn end_now(_: i32) {
    let code = PLAYING.get().map_or(Ok(ExitCode::OK), Playing::finish);
    code.unwrap_or_else(|error| {
        error.print();
        error.exit_code()
    })
    .exit()
}
