//! `wiretape record`: wraps a stdio server and records both directions and its standard error.
//!
//! Three pumps, each a plain thread over raw pipes, move bytes between the client and the server. `pump` decides the order of
//! reading, recording and forwarding; [`crate::journal`] writes the file. The main thread waits for the server to exit.

pub(crate) mod pump;

use crate::journal::{Clock, Journal, JournalOptions};
use crate::live::{LiveHub, LiveOptions};
use crate::platform::{Exit, Process, Signals, SpawnedServer, StandardStreams, StderrMode};
use crate::warning::{Warn, Warning};
use parking_lot::Mutex;
use pump::{PumpEnd, PumpState, Stream, Tap, pump};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wiretape_analyze::glance::signal_name;
use wiretape_trace::format::{LineEnd, Meta, Producer, STOPPED};
use wiretape_trace::name;
use wiretape_trace::redact::{Redactor, SecretMemory};

/// How long the server's pipes may stay open after it has exited: a grandchild may have inherited them.
const PIPE_GRACE: Duration = Duration::from_secs(3);

/// The options of `wiretape record`.
pub struct RecordOptions {
    /// The server's command line.
    pub command: Vec<OsString>,
    /// The trace's label; derived from the command if there is none.
    pub label: Option<String>,
    /// The trace's directory, rotation and tee.
    pub journal: JournalOptions,
    /// Redacts secrets; without one everything is written as it is.
    pub redactor: Option<Redactor>,
    /// Whether the server's standard error is recorded.
    pub stderr: StderrMode,
    /// Serves the live view, if given.
    pub live: Option<LiveOptions>,
    /// Receives warnings while the recording runs.
    pub warn: Warn,
}

/// The result of a recording.
#[derive(Debug)]
pub struct RecordOutcome {
    /// The server's exit code, for our own exit; [`CANNOT_START`] if it could not be started.
    pub exit_code: i32,
    /// The path of the trace, or of its last part.
    pub trace: Option<PathBuf>,
    /// The number of lines that could not be written.
    pub lost: u64,
    /// The error if the server could not be started.
    pub spawn_error: Option<io::Error>,
}

/// The state that the pumps share.
struct Recorder {
    clock: Clock,
    redactor: Option<Redactor>,
    /// What the session has named as a secret: the streams share it.
    memory: SecretMemory,
    journal: Mutex<Journal>,
    warn: Warn,
    warned_not_json: AtomicBool,
}

/// The exit code for a command that could not be started, the same as in shells.
pub const CANNOT_START: i32 = 127;

/// Runs and records a server until it exits. The client is at the other end of our standard streams.
pub fn record(options: RecordOptions) -> io::Result<RecordOutcome> {
    // Before the server starts: a Ctrl-C in between would otherwise leave it running without us.
    let signals = Signals::catch()?;
    let (command, stderr) = (options.command.clone(), options.stderr);
    let recorder = Arc::new(Recorder::begin(options));
    match Process::spawn(&command, stderr) {
        Ok(spawned) => run(&recorder, spawned, signals),
        Err(error) => Ok(recorder.finish_unstarted(error)),
    }
}

fn run(recorder: &Arc<Recorder>, spawned: SpawnedServer, signals: Signals) -> io::Result<RecordOutcome> {
    let SpawnedServer { process, stdin, stdout, stderr } = spawned;
    let stop_signal = signals.forward_to(process.group());
    let tap = |stream| Tap::new(stream, Arc::clone(recorder));
    let input = Arc::new(Mutex::new(tap(Stream::Stdin)));
    spawn_input_pump(StandardStreams::stdin(), stdin, Arc::clone(&input));
    let mut pumps = vec![spawn_output_pump(stdout, StandardStreams::stdout(), tap(Stream::Stdout))];
    if let Some(stderr) = stderr {
        pumps.push(spawn_output_pump(stderr, StandardStreams::stderr(), tap(Stream::Stderr)));
    }
    // The process stays a zombie until `reap`, so that its group can still be signaled safely.
    process.wait()?;
    wait_for_last_bytes(&pumps);
    // After its last bytes were read, and before our own exit: nothing of the server may outlive us (invariant 9).
    process.end_group();
    wait_for_written_bytes(&pumps);
    // The input pump may still block on the client; a partial line that it has forwarded belongs in the trace, too.
    input.lock().finish();
    let exit = process.reap()?;
    Ok(recorder.finish_exited(&exit, stop_signal.load(Ordering::Acquire)))
}

fn spawn_input_pump(source: io::Result<std::fs::File>, sink: std::process::ChildStdin, tap: Arc<Mutex<Tap>>) {
    std::thread::spawn(move || {
        let Ok(source) = source else { return };
        // A server that closed its stdin while the client is still writing: the client should notice, as without us.
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
        // Our stdout is closed, but the server's pipe has to be read, or the server would block on it; and it is
        // still recorded.
        Err(_) => pump(source, io::sink(), &tap, &shared),
    });
    state
}

/// Waits until the pumps have read EOF, or until only a grandchild can still hold the pipes open. A client that reads slowly
/// gets all the time that it needs: those bytes are the server's last.
fn wait_for_last_bytes(pumps: &[Arc<PumpState>]) {
    let deadline = Instant::now() + PIPE_GRACE;
    while pumps.iter().any(|pump| !pump.is_done()) {
        // Only reading pumps can be held up by a grandchild; a writing one waits for the client.
        let held_open = pumps.iter().all(|pump| pump.is_done() || pump.is_reading());
        if Instant::now() > deadline && held_open {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits briefly for what the group wrote last: once its processes are gone, the pumps reach EOF at once.
fn wait_for_written_bytes(pumps: &[Arc<PumpState>]) {
    // Bounded, because a process that has left the group may hold a pipe open forever.
    const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);
    let deadline = Instant::now() + DRAIN_TIMEOUT;
    while pumps.iter().any(|pump| !pump.is_done()) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl Recorder {
    fn begin(options: RecordOptions) -> Self {
        let clock = Clock::start();
        let live = options.live.and_then(|live| start_live(live, &options.warn));
        let memory = SecretMemory::default();
        let meta = meta(&options.command, options.label.as_deref(), options.redactor.as_ref(), &memory);
        let journal = Journal::begin(options.journal, meta, clock.now(), live, Arc::clone(&options.warn));
        Recorder {
            clock,
            redactor: options.redactor,
            memory,
            journal: Mutex::new(journal),
            warn: options.warn,
            warned_not_json: AtomicBool::new(false),
        }
    }

    fn finish_unstarted(&self, error: io::Error) -> RecordOutcome {
        let end = LineEnd {
            exit_code: CANNOT_START,
            reason: Some(format!("the command could not be started: {error}")),
            ..LineEnd::default()
        };
        RecordOutcome { spawn_error: Some(error), ..self.finish(end) }
    }

    /// Ends the trace of a server that has exited; `stop_signal` is the one that was forwarded to it, or 0.
    fn finish_exited(&self, exit: &Exit, stop_signal: i32) -> RecordOutcome {
        let reason = (stop_signal != 0).then(|| format!("{STOPPED} by {}", signal_name(stop_signal)));
        self.finish(LineEnd { exit_code: exit.code, signal: exit.signal, reason, ..LineEnd::default() })
    }

    fn finish(&self, end: LineEnd) -> RecordOutcome {
        let at = self.clock.now();
        let mut journal = self.journal.lock();
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

/// The `meta` of a stdio server's trace, with a redacted command line.
pub(crate) fn meta(
    command: &[OsString],
    label: Option<&str>,
    redactor: Option<&Redactor>,
    memory: &SecretMemory,
) -> Meta {
    let command: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let command =
        redactor.map_or_else(|| command.clone(), |redactor| redactor.command_with(&command, memory));
    let label = label.map(|label| redacted_label(label, redactor)).filter(|label| !label.is_empty());
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

/// The label that the user chose, redacted if anything is.
pub(crate) fn redacted_label(label: &str, redactor: Option<&Redactor>) -> String {
    redactor.map_or_else(|| name::clean_label(label), |redactor| redactor.label(label))
}

/// Starts the live view. If that fails, the user is warned, and the recording continues without it.
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
