//! Our standard streams, each with a thread of its own, and the signals that end us.

use super::outgoing::Line;
use crate::platform::StandardStreams;
use crate::record::pump::{is_passing, write_all};
use bytes::Bytes;
use std::fs::File;
use std::io::{self, Read};
use tokio::sync::{mpsc, oneshot, watch};
use wiretape_trace::format::Wire;
use wiretape_trace::framing::LineFramer;

/// As many lines wait, in each direction.
const WAITING: usize = 16;
/// As much as a pipe holds.
const CHUNK: usize = 64 * 1024;

/// The client's lines.
pub(super) fn input() -> io::Result<mpsc::Receiver<Line>> {
    let stdin = StandardStreams::stdin()?;
    let (sender, receiver) = mpsc::channel(WAITING);
    std::thread::spawn(move || read_lines(stdin, &sender));
    Ok(receiver)
}

fn read_lines(mut stdin: File, lines: &mpsc::Sender<Line>) {
    let mut framer = LineFramer::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        match stdin.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => framer.push(&chunk[..read]),
            Err(error) if is_passing(&error) => continue,
            Err(_) => break,
        }
        while let Some(frame) = framer.next_frame() {
            let line = Line { bytes: Bytes::copy_from_slice(frame.bytes), wire: Wire::from(frame) };
            if lines.blocking_send(line).is_err() {
                return;
            }
        }
    }
    if let Some(frame) = framer.finish() {
        let line = Line { bytes: Bytes::copy_from_slice(frame.bytes), wire: Wire::from(frame) };
        // If nobody wants it, we are ending.
        let _ = lines.blocking_send(line);
    }
}

/// What the client reads.
pub(super) struct Output {
    lines: mpsc::Sender<Vec<u8>>,
}

/// Knows when the client's output has come to its end.
pub(super) struct OutputEnd {
    closed: watch::Receiver<bool>,
    written: oneshot::Receiver<()>,
}

impl Output {
    pub(super) fn start() -> io::Result<(Self, OutputEnd)> {
        let stdout = StandardStreams::stdout()?;
        let (lines, receiver) = mpsc::channel(WAITING);
        let (tell_closed, closed) = watch::channel(false);
        let (tell_written, written) = oneshot::channel();
        std::thread::spawn(move || {
            write_lines(stdout, receiver, &tell_closed);
            // If nobody waits for it, nobody needs to know.
            let _ = tell_written.send(());
        });
        Ok((Output { lines }, OutputEnd { closed, written }))
    }

    /// What is said goes to whoever has the other end of a channel, a line each, as it would go to a client.
    pub(super) fn to_channel() -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (lines, receiver) = mpsc::channel(WAITING);
        (Output { lines }, receiver)
    }

    /// Hands a line to the client; waits for as long as it does not read.
    pub(super) async fn line(&self, line: &[u8]) {
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
        // A client that has gone is noticed by whoever watches over the end.
        let _ = self.lines.send(bytes).await;
    }
}

fn write_lines(mut stdout: File, mut lines: mpsc::Receiver<Vec<u8>>, closed: &watch::Sender<bool>) {
    while let Some(line) = lines.blocking_recv() {
        if write_all(&mut stdout, &line).is_err() {
            let _ = closed.send(true);
            return;
        }
    }
}

impl OutputEnd {
    /// Waits until the client does not read any more.
    pub(super) async fn closed(&mut self) {
        if self.closed.wait_for(|closed| *closed).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until all is written, once nobody can write any more.
    pub(super) async fn written(self) {
        let _ = self.written.await;
    }
}

/// The signals that end us.
pub(super) struct Signals {
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 3],
}

impl Signals {
    #[cfg(unix)]
    pub(super) fn catch() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
        let [terminate, interrupt, hangup] = kinds.map(signal);
        Ok(Signals { signals: [terminate?, interrupt?, hangup?] })
    }

    #[cfg(not(unix))]
    pub(super) fn catch() -> io::Result<Self> {
        Ok(Signals {})
    }

    #[cfg(unix)]
    pub(super) async fn next(&mut self) {
        let [terminate, interrupt, hangup] = &mut self.signals;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    }

    #[cfg(not(unix))]
    pub(super) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
