//! A server over HTTP for `replay` and `verify`, which send lines and get lines back on a callback.

use super::failure::Failure;
use super::options::{BridgeOptions, SecretHeader, ServerUrl};
use super::outgoing::ClientLine;
use super::run::relay;
use crate::warning::Warn;
use bytes::Bytes;
use std::io;
use std::thread::JoinHandle;
use tokio::sync::{mpsc, oneshot};
use wiretape_trace::format::Wire;

/// The capacity of the queue of lines to send: more than there can be requests in flight, so that sending never blocks.
const QUEUE_LINES: usize = 1 << 17;

/// A connection to a server, closed on drop.
pub(crate) struct Remote {
    lines: Option<mpsc::Sender<ClientLine>>,
    /// Dropped to end the bridge even while it waits for the server.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// An event of a remote server.
#[derive(Debug)]
pub(crate) enum RemoteEvent {
    /// The server sent a message.
    Line(Vec<u8>),
    /// The server can't be reached, for the given reason.
    Lost(String),
}

impl Remote {
    /// Starts the connection. `on_event` is called with each event, on another thread.
    pub(crate) fn connect(
        url: ServerUrl,
        headers: Vec<SecretHeader>,
        warn: Warn,
        on_event: impl Fn(RemoteEvent) + Send + 'static,
    ) -> io::Result<Self> {
        let options =
            BridgeOptions { url, headers, label: None, journal: None, redactor: None, live: None, warn };
        let (lines, receiver) = mpsc::channel(QUEUE_LINES);
        let (stop, stopped) = oneshot::channel();
        let on_line = move |line: Vec<u8>| {
            let line = line.trim_ascii_end();
            on_event(
                Failure::no_connection(line)
                    .map_or_else(|| RemoteEvent::Line(line.to_vec()), RemoteEvent::Lost),
            );
        };
        let run = move || drop(relay(options, receiver, stopped, on_line));
        let thread = std::thread::Builder::new().name("remote".to_owned()).spawn(run)?;
        Ok(Remote { lines: Some(lines), stop: Some(stop), thread: Some(thread) })
    }

    /// Queues a line without blocking. `false` if the connection has ended.
    pub(crate) fn send(&self, line: &[u8]) -> bool {
        let line = ClientLine { bytes: Bytes::copy_from_slice(line), wire: Wire::default() };
        self.lines.as_ref().is_some_and(|lines| lines.try_send(line).is_ok())
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // In this order: closing the queue lets the bridge finish on its own, the signal ends a wait, and then it can
        // be joined.
        drop(self.lines.take());
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Failures were already reported as events.
            let _ = thread.join();
        }
    }
}
