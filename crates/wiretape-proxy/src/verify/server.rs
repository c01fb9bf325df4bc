//! The server that is looked at: a process of ours, or one that is reached over HTTP.

use crate::bridge::{Heard, Remote, SecretHeader, ServerUrl};
use crate::child::{End, end_process, read_lines, write_lines};
use crate::platform::{Exit, Process, Spawned, StderrMode};
use crate::warning::Warn;
use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::time::Duration;

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
    /// There is no talking to it.
    Lost(String),
}

/// So many events wait to be looked at. A server that says more than can be followed waits, and nobody's memory fills.
const WAITING: usize = 256;

/// A server that can be talked to. It ends when it is dropped.
pub(super) struct Connection {
    /// What it does. Let go of first: then nobody waits for room any more, and the server can end.
    events: Receiver<Event>,
    server: Server,
}

enum Server {
    Child(Child),
    Remote(Remote),
}

/// A process of ours, and its input.
struct Child {
    process: Option<Process>,
    input: Option<Sender<Vec<u8>>>,
}

impl Connection {
    /// Starts a server, or connects to it.
    pub(super) fn begin(target: &Target, warn: &Warn) -> Result<Self, TargetError> {
        let (sender, events) = sync_channel(WAITING);
        // When nobody listens any more, everything is over.
        let tell = move |event| drop(sender.send(event));
        let server = match target {
            Target::Command(command) => {
                let spawned = Process::spawn(command, StderrMode::Inherited);
                let name =
                    command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                let Spawned { process, stdin, stdout, .. } =
                    spawned.map_err(|source| TargetError::Start { command: name, source })?;
                let (input, lines) = channel();
                let ended = tell.clone();
                write_lines(stdin, lines, move || ended(Event::Ended));
                read_lines(stdout, move |line| tell(line.map_or(Event::Ended, Event::Line)));
                Server::Child(Child { process: Some(process), input: Some(input) })
            }
            Target::Url { url, headers } => {
                let hear = move |heard| match heard {
                    Heard::Line(line) => tell(Event::Line(line)),
                    Heard::Lost(reason) => tell(Event::Lost(reason)),
                };
                let remote = Remote::connect(url.clone(), headers.clone(), Arc::clone(warn), hear);
                Server::Remote(remote.map_err(TargetError::Connect)?)
            }
        };
        Ok(Connection { events, server })
    }

    /// Sends it a message; whether that could be.
    pub(super) fn send(&self, message: &[u8]) -> bool {
        match &self.server {
            Server::Child(child) => child.send(message),
            Server::Remote(remote) => remote.send(message),
        }
    }

    /// Waits until it does something; `None` if it doesn't.
    pub(super) fn next_event(&self, at_most: Duration) -> Option<Event> {
        match self.events.recv_timeout(at_most) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Event::Ended),
        }
    }

    /// How it ended, if it has.
    pub(super) fn last_words(self) -> String {
        let Connection { events, server } = self;
        drop(events);
        match server {
            Server::Child(child) => child.last_words(),
            Server::Remote(_) => "the connection has ended".to_owned(),
        }
    }
}

impl Child {
    fn send(&self, message: &[u8]) -> bool {
        self.input.as_ref().is_some_and(|input| input.send(message.to_vec()).is_ok())
    }

    fn last_words(mut self) -> String {
        match self.end() {
            Some(End::ByItself(Exit { signal: Some(signal), .. })) => {
                format!("the server was ended by signal {signal}")
            }
            Some(End::ByItself(exit)) => format!("the server has ended with exit status {}", exit.code),
            _ => "the server has closed its standard output".to_owned(),
        }
    }

    fn end(&mut self) -> Option<End> {
        drop(self.input.take());
        self.process.take().map(end_process)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}
