//! The server that is looked at: a process of ours, or one that is reached over HTTP.

use crate::bridge::{Remote, SecretHeader, ServerUrl};
use crate::platform::{Exit, Process, Spawned, StderrMode};
use crate::warning::Warn;
use std::ffi::OsString;
use std::io::{self, Read, Write as _};
use std::process::ChildStdin;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use wiretape_trace::framing::LineFramer;

/// How long a server may take to end when its input has ended.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// How much is read at a time.
const CHUNK: usize = 64 * 1024;

/// Where a server is.
#[derive(Debug, Clone)]
pub enum Target {
    /// It is started by this command.
    Command(Vec<OsString>),
    /// It runs already.
    Url {
        /// Where.
        url: ServerUrl,
        /// Sent with every request.
        headers: Vec<SecretHeader>,
    },
}

/// A server can't be had.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// It can't be started.
    #[error("can't start `{command}`")]
    Start {
        /// What.
        command: String,
        /// Why.
        source: io::Error,
    },
    /// The system doesn't give what is needed.
    #[error("can't connect")]
    Connect(#[source] io::Error),
}

/// Something that a server did.
#[derive(Debug)]
pub(super) enum Event {
    /// It said something.
    Line(Vec<u8>),
    /// It says no more.
    Ended,
}

/// A server that can be talked to. It ends when it is dropped.
pub(super) enum Server {
    Child(Child),
    Remote(Remote),
}

/// A process of ours, and its input.
pub(super) struct Child {
    process: Option<Arc<Process>>,
    stdin: Option<ChildStdin>,
}

impl Server {
    /// Starts it, or connects to it. What it does is told under a number: there may be one after the other.
    pub(super) fn begin(
        target: &Target,
        number: u64,
        events: &Sender<(u64, Event)>,
        warn: &Warn,
    ) -> Result<Self, TargetError> {
        let events = events.clone();
        // When nobody listens any more, everything is over.
        let tell = move |event| drop(events.send((number, event)));
        match target {
            Target::Command(command) => {
                let spawned = Process::spawn(command, StderrMode::Inherited);
                let name =
                    command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                let Spawned { process, stdin, stdout, .. } =
                    spawned.map_err(|source| TargetError::Start { command: name, source })?;
                read_lines(stdout, tell);
                Ok(Server::Child(Child { process: Some(Arc::new(process)), stdin: Some(stdin) }))
            }
            Target::Url { url, headers } => {
                let said = move |line: Vec<u8>| tell(Event::Line(line.trim_ascii_end().to_vec()));
                let remote = Remote::connect(url.clone(), headers.clone(), Arc::clone(warn), said);
                remote.map(Server::Remote).map_err(TargetError::Connect)
            }
        }
    }

    /// Sends it a message; whether that could be.
    pub(super) fn send(&mut self, message: &[u8]) -> bool {
        match self {
            Server::Child(child) => child.send(message),
            Server::Remote(remote) => remote.send(message),
        }
    }

    /// How it ended, if it has.
    pub(super) fn last_words(self) -> String {
        match self {
            Server::Child(child) => child.last_words(),
            Server::Remote(_) => "the connection has ended".to_owned(),
        }
    }
}

impl Child {
    fn send(&mut self, message: &[u8]) -> bool {
        let line = [message, b"\n"].concat();
        self.stdin.as_mut().is_some_and(|stdin| stdin.write_all(&line).and_then(|()| stdin.flush()).is_ok())
    }

    fn last_words(mut self) -> String {
        drop(self.stdin.take());
        let process = self.process.take();
        let Some(exit) = process.and_then(|process| ended(process).ok()) else {
            return "the server has closed its standard output".to_owned();
        };
        match exit.signal {
            Some(signal) => format!("the server was ended by signal {signal}"),
            None => format!("the server has ended with exit status {}", exit.code),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.stdin.take());
        if let Some(process) = self.process.take() {
            // It ends one way or the other.
            let _ = ended(process);
        }
    }
}

/// Waits for a process to end, but not for ever: then it is ended. Tells how it ended by itself.
fn ended(process: Arc<Process>) -> Result<Exit, StillThere> {
    let (sender, told) = channel();
    let waiting = Arc::clone(&process);
    std::thread::spawn(move || {
        let waited = waiting.wait();
        drop(waiting);
        // Nobody may want to know any more.
        let _ = sender.send(waited);
    });
    let is_over = matches!(told.recv_timeout(LAST_MOMENT), Ok(Ok(())));
    process.end_group();
    let exit = Arc::into_inner(process).filter(|_| is_over).and_then(|process| process.reap().ok());
    exit.ok_or(StillThere)
}

/// A process had to be ended.
struct StillThere;

fn read_lines(mut stdout: impl Read + Send + 'static, tell: impl Fn(Event) + Send + 'static) {
    std::thread::spawn(move || {
        let mut framer = LineFramer::new();
        let mut chunk = vec![0; CHUNK];
        while let Ok(n @ 1..) = stdout.read(&mut chunk) {
            framer.push(&chunk[..n]);
            while let Some(frame) = framer.next_frame() {
                tell(Event::Line(frame.bytes.to_vec()));
            }
        }
        tell(Event::Ended);
    });
}
