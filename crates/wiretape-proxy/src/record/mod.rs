//! `wiretape record`: a stdio server, wrapped.
//!
//! Three pumps, each a plain thread over raw pipes, pass bytes between the client and the server; `pump` says in
//! which order things happen, [`crate::journal`] how they reach the disk. The main thread waits for the server to end.

pub(crate) mod pump;

use crate::journal::{Clock, Journal, JournalOptions};
use crate::live::{LiveHub, LiveOptions};
use crate::platform::{Exit, Process, Signals, Spawned, StandardStreams, StderrMode};
use crate::warning::{Warn, Warning};
use pump::{PumpEnd, PumpState, Stream, Tap, lock, pump};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wiretape_analyze::glance::signal_name;
use wiretape_trace::format::{LineEnd, Meta, Producer, STOPPED};
use wiretape_trace::name;
use wiretape_trace::redact::Redactor;

/// How long the server's pipes may stay open after it has ended: a grandchild may hold them.
const AFTERGLOW: Duration = Duration::from_secs(3);

/// What to record, and how.
pub struct RecordOptions {
    /// The server's command line.
    pub command: Vec<OsString>,
    /// A name for the trace; made from the command if there is none.
    pub label: Option<String>,
    /// Where the trace is written.
    pub journal: JournalOptions,
    /// Takes the secrets out; without it everything is written as it is.
    pub redactor: Option<Redactor>,
    /// Whether standard error is recorded.
    pub stderr: StderrMode,
    /// Shows the trace live.
    pub live: Option<LiveOptions>,
    /// Called with what the user should know while the recording runs.
    pub warn: Warn,
}

/// How a recording ended.
#[derive(Debug)]
pub struct RecordOutcome {
    /// The exit code to pass on.
    pub exit_code: i32,
    /// The file, or its last part.
    pub trace: Option<PathBuf>,
    /// Lines that could not be written.
    pub lost: u64,
    /// Why the server could not be started.
    pub spawn_error: Option<io::Error>,
}

/// What the pumps share.
struct Recorder {
    clock: Clock,
    redactor: Option<Redactor>,
    journal: Mutex<Journal>,
    warn: Warn,
    polluted: AtomicBool,
}

/// Exit code of a command that could not be started, as shells have it.
pub const CANNOT_START: i32 = 127;

/// Runs a server, with our standard streams as the client's, until it ends.
pub fn record(options: RecordOptions) -> io::Result<RecordOutcome> {
    let signals = Signals::catch()?;
    let (command, stderr) = (options.command.clone(), options.stderr);
    let recorder = Arc::new(Recorder::begin(options));
    match Process::spawn(&command, stderr) {
        Ok(spawned) => run(&recorder, spawned, signals),
        Err(error) => Ok(recorder.cannot_start(error)),
    }
}

fn run(recorder: &Arc<Recorder>, spawned: Spawned, signals: Signals) -> io::Result<RecordOutcome> {
    let Spawned { process, stdin, stdout, stderr } = spawned;
    let stopped = signals.forward_to(process.group());
    let tap = |stream| Tap::new(stream, Arc::clone(recorder));
    let input = Arc::new(Mutex::new(tap(Stream::Stdin)));
    spawn_input_pump(StandardStreams::stdin(), stdin, Arc::clone(&input));
    let mut pumps = vec![spawn_output_pump(stdout, StandardStreams::stdout(), tap(Stream::Stdout))];
    if let Some(stderr) = stderr {
        pumps.push(spawn_output_pump(stderr, StandardStreams::stderr(), tap(Stream::Stderr)));
    }
    process.wait()?;
    wait_for_last_bytes(&pumps);
    process.end_group();
    wait_for_written_bytes(&pumps);
    // Its pump may still wait for the client; half a line that was passed on belongs to the trace all the same.
    lock(&input).finish();
    let exit = process.reap()?;
    Ok(recorder.end(&exit, stopped.load(Ordering::Acquire)))
}

fn spawn_input_pump(source: io::Result<std::fs::File>, sink: std::process::ChildStdin, tap: Arc<Mutex<Tap>>) {
    std::thread::spawn(move || {
        let Ok(source) = source else { return };
        if pump(source, sink, &tap, &PumpState::new()) == PumpEnd::SinkClosed {
            StandardStreams::close_stdin();
        }
    });
}

fn spawn_output_pump(
    source: impl io::Read + Send + 'static,
    sink: io::Result<std::fs::File>,
    tap: Tap,
) -> Arc<PumpState> {
    let state = PumpState::new();
    let shared = Arc::clone(&state);
    let tap = Mutex::new(tap);
    std::thread::spawn(move || match sink {
        Ok(sink) => pump(source, sink, &tap, &shared),
        Err(_) => pump(source, io::sink(), &tap, &shared),
    });
    state
}

/// Waits until the pumps have seen the end of the server's output, or until only a grandchild can still hold it open.
/// A client that reads slowly is waited for as long as it takes: those bytes are the server's last.
fn wait_for_last_bytes(pumps: &[Arc<PumpState>]) {
    let deadline = Instant::now() + AFTERGLOW;
    while pumps.iter().any(|pump| !pump.is_done()) {
        let held_open = pumps.iter().all(|pump| pump.is_done() || pump.is_reading());
        if Instant::now() > deadline && held_open {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Once the group is gone, what it wrote last comes through at once.
fn wait_for_written_bytes(pumps: &[Arc<PumpState>]) {
    const MOMENT: Duration = Duration::from_millis(200);
    let deadline = Instant::now() + MOMENT;
    while pumps.iter().any(|pump| !pump.is_done()) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl Recorder {
    fn begin(options: RecordOptions) -> Self {
        let clock = Clock::start();
        let live = options.live.and_then(|live| start_live(live, &options.warn));
        let meta = meta(&options.command, options.label.as_deref(), options.redactor.as_ref());
        let journal = Journal::begin(options.journal, meta, clock.now(), live, Arc::clone(&options.warn));
        Recorder {
            clock,
            redactor: options.redactor,
            journal: Mutex::new(journal),
            warn: options.warn,
            polluted: AtomicBool::new(false),
        }
    }

    fn cannot_start(&self, error: io::Error) -> RecordOutcome {
        let end = LineEnd {
            exit_code: CANNOT_START,
            reason: Some(format!("the command could not be started: {error}")),
            ..LineEnd::default()
        };
        RecordOutcome { spawn_error: Some(error), ..self.finish(end) }
    }

    /// The server has ended; `stopped` is the signal to stop that was passed on to it, or 0.
    fn end(&self, exit: &Exit, stopped: i32) -> RecordOutcome {
        let reason = (stopped != 0).then(|| format!("{STOPPED} by {}", signal_name(stopped)));
        self.finish(LineEnd { exit_code: exit.code, signal: exit.signal, reason, ..LineEnd::default() })
    }

    fn finish(&self, end: LineEnd) -> RecordOutcome {
        let at = self.clock.now();
        let mut journal = lock(&self.journal);
        let exit_code = end.exit_code;
        journal.end(at, end);
        RecordOutcome {
            exit_code,
            trace: journal.path().map(PathBuf::from),
            lost: journal.lost(),
            spawn_error: None,
        }
    }
}

pub(crate) fn meta(command: &[OsString], label: Option<&str>, redactor: Option<&Redactor>) -> Meta {
    let command: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let command = redactor.map_or_else(|| command.clone(), |redactor| redactor.command(&command));
    let label = label.map(name::clean_label).filter(|label| !label.is_empty());
    Meta {
        label: label.unwrap_or_else(|| name::label_of(&command)),
        command,
        id: Some(uuid::Uuid::new_v4().to_string()),
        producer: Some(Producer {
            name: "wiretape".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }),
        transport: Some("stdio".to_owned()),
        redacted: Some(redactor.is_some()),
        ..Meta::default()
    }
}

pub(crate) fn start_live(options: LiveOptions, warn: &Warn) -> Option<LiveHub> {
    match LiveHub::start(options) {
        Ok(hub) => {
            warn(Warning::Live { url: hub.url() });
            Some(hub)
        }
        Err(error) => {
            warn(Warning::CannotServe(error));
            None
        }
    }
}
