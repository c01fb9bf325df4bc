//! A server that is reached over HTTP, for whoever has lines to send to it and wants to know what it says.

use super::failure::Failure;
use super::options::{BridgeOptions, SecretHeader, ServerUrl};
use super::outgoing::Line;
use super::run::relay;
use crate::warning::Warn;
use bytes::Bytes;
use std::io;
use std::thread::JoinHandle;
use tokio::sync::{mpsc, oneshot};
use wiretape_trace::format::Wire;

/// So many lines wait to be sent: more than there are requests under way.
const WAITING: usize = 1 << 17;

/// A connection to a server. It ends when it is dropped.
pub(crate) struct Remote {
    lines: Option<mpsc::Sender<Line>>,
    /// Tells that nobody wants to know any more.
    leave: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What is heard from a server.
#[derive(Debug)]
pub(crate) enum Heard {
    /// It said something.
    Line(Vec<u8>),
    /// There is no talking to it.
    Lost(String),
}

impl Remote {
    /// Connects. What is heard is handed to `hear`, from another thread.
    pub(crate) fn connect(
        url: ServerUrl,
        headers: Vec<SecretHeader>,
        warn: Warn,
        hear: impl Fn(Heard) + Send + 'static,
    ) -> io::Result<Self> {
        let options =
            BridgeOptions { url, headers, label: None, journal: None, redactor: None, live: None, warn };
        let (lines, receiver) = mpsc::channel(WAITING);
        let (leave, left) = oneshot::channel();
        let said = move |line: Vec<u8>| {
            let line = line.trim_ascii_end();
            hear(Failure::no_connection(line).map_or_else(|| Heard::Line(line.to_vec()), Heard::Lost));
        };
        let run = move || drop(relay(options, receiver, left, said));
        let thread = std::thread::Builder::new().name("remote".to_owned()).spawn(run)?;
        Ok(Remote { lines: Some(lines), leave: Some(leave), thread: Some(thread) })
    }

    /// Sends a line, without waiting; whether somebody took it.
    pub(crate) fn send(&self, line: &[u8]) -> bool {
        let line = Line { bytes: Bytes::copy_from_slice(line), wire: Wire::default() };
        self.lines.as_ref().is_some_and(|lines| lines.try_send(line).is_ok())
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        drop(self.lines.take());
        drop(self.leave.take());
        if let Some(thread) = self.thread.take() {
            // What went wrong in there has been told.
            let _ = thread.join();
        }
    }
}
