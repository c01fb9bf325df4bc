//! The server under test: a child process, or one over HTTP.

use crate::bridge::{Remote, RemoteEvent, SecretHeader, ServerUrl};
use crate::child::{ProcessEnd, end_process, read_lines, write_lines};
use crate::platform::{Exit, Process, SpawnedServer, StderrMode};
use crate::warning::Warn;
use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::time::Duration;

/// The server under test.
#[derive(Debug, Clone)]
pub enum Target {
    /// A process that is started with this command.
    Command(Vec<OsString>),
    /// A running server over HTTP.
    Url {
        /// The server's MCP endpoint.
        url: ServerUrl,
        /// Headers that are sent with every request.
        headers: Vec<SecretHeader>,
    },
}

/// Why the server can't be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The process can't be started.
    #[error("can't start `{command}`")]
    Start {
        /// The name of the program that can't be started.
        command: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// The connection's thread could not be created.
    #[error("can't connect")]
    Connect(#[source] io::Error),
}

/// An event of the server.
#[derive(Debug)]
pub(super) enum Event {
    /// The server sent a line.
    Line(Vec<u8>),
    /// The server's output has ended.
    Ended,
    /// The server can't be reached, for the given reason.
    Lost(String),
}

/// The capacity of the event queue. When it is full, the reader waits: back-pressure instead of memory.
const QUEUE_EVENTS: usize = 256;

/// A connection to the server, ended on drop.
pub(super) struct Connection {
    /// Dropped before the server (fields drop in order): a reader that is blocked on the full queue could not end otherwise.
    events: Receiver<Event>,
    server: Server,
}

enum Server {
    Child(Child),
    Remote(Remote),
}

/// A child process and its input.
struct Child {
    process: Option<Process>,
    input: Option<Sender<Vec<u8>>>,
}

impl Connection {
    /// Starts a server, or connects to it.
    pub(super) fn begin(target: &Target, warn: &Warn) -> Result<Self, TargetError> {
        let (sender, events) = sync_channel(QUEUE_EVENTS);
        // Sending fails only when the run has ended.
        let send_event = move |event| drop(sender.send(event));
        let server = match target {
            Target::Command(command) => {
                let spawned = Process::spawn(command, StderrMode::Inherited);
                let name =
                    command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                let SpawnedServer { process, stdin, stdout, .. } =
                    spawned.map_err(|source| TargetError::Start { command: name, source })?;
                let (input, lines) = channel();
                let ended = send_event.clone();
                write_lines(stdin, lines, move || ended(Event::Ended));
                read_lines(stdout, move |line| send_event(line.map_or(Event::Ended, Event::Line)));
                Server::Child(Child { process: Some(process), input: Some(input) })
            }
            Target::Url { url, headers } => {
                let on_event = move |event| match event {
                    RemoteEvent::Line(line) => send_event(Event::Line(line)),
                    RemoteEvent::Lost(reason) => send_event(Event::Lost(reason)),
                };
                let remote = Remote::connect(url.clone(), headers.clone(), Arc::clone(warn), on_event);
                Server::Remote(remote.map_err(TargetError::Connect)?)
            }
        };
        Ok(Connection { events, server })
    }

    /// Sends a message. Returns `false` if the server's input is closed.
    pub(super) fn send(&self, message: &[u8]) -> bool {
        match &self.server {
            Server::Child(child) => child.send(message),
            Server::Remote(remote) => remote.send(message),
        }
    }

    /// Waits for the next event; `None` after `at_most`.
    pub(super) fn next_event(&self, at_most: Duration) -> Option<Event> {
        match self.events.recv_timeout(at_most) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Event::Ended),
        }
    }

    /// Ends the connection, and describes how the server ended.
    pub(super) fn describe_end(self) -> String {
        let Connection { events, server } = self;
        drop(events);
        match server {
            Server::Child(child) => child.describe_end(),
            Server::Remote(_) => "the connection has ended".to_owned(),
        }
    }
}

impl Child {
    fn send(&self, message: &[u8]) -> bool {
        self.input.as_ref().is_some_and(|input| input.send(message.to_vec()).is_ok())
    }

    fn describe_end(mut self) -> String {
        match self.end() {
            Some(ProcessEnd::ByItself(Exit { signal: Some(signal), .. })) => {
                format!("the server was ended by signal {signal}")
            }
            Some(ProcessEnd::ByItself(exit)) => {
                format!("the server has ended with exit status {}", exit.code)
            }
            _ => "the server has closed its standard output".to_owned(),
        }
    }

    fn end(&mut self) -> Option<ProcessEnd> {
        drop(self.input.take());
        self.process.take().map(end_process)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}
