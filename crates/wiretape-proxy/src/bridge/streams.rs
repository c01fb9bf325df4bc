//! Our standard streams, each on a separate thread, and the signals that end the bridge.
//!
//! Threads with blocking reads and writes: a stdin that is a file or a terminal can't be polled, so the runtime would
//! use a thread, too, with a buffer of its own.

use super::outgoing::ClientLine;
use crate::platform::StandardStreams;
use crate::record::pump::{is_retryable, write_all};
use bytes::Bytes;
use std::fs::File;
use std::io::{self, Read};
use tokio::sync::{mpsc, oneshot, watch};
use wiretape_trace::format::Wire;
use wiretape_trace::framing::LineFramer;

/// The capacity of the queue in each direction, in lines. Small: back-pressure should reach the peers.
const QUEUE_LINES: usize = 16;
/// Bytes per read: the capacity of a pipe on Linux.
const CHUNK: usize = 64 * 1024;

/// Reads the client's lines on a thread.
pub(super) fn input() -> io::Result<mpsc::Receiver<ClientLine>> {
    let stdin = StandardStreams::stdin()?;
    let (sender, receiver) = mpsc::channel(QUEUE_LINES);
    std::thread::spawn(move || read_lines(stdin, &sender));
    Ok(receiver)
}

fn read_lines(mut stdin: File, lines: &mpsc::Sender<ClientLine>) {
    let mut framer = LineFramer::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        match stdin.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => framer.push(&chunk[..read]),
            Err(error) if is_retryable(&error) => continue,
            Err(_) => break,
        }
        while let Some(frame) = framer.next_frame() {
            let line = ClientLine { bytes: Bytes::copy_from_slice(frame.bytes), wire: Wire::from(frame) };
            if lines.blocking_send(line).is_err() {
                return;
            }
        }
    }
    if let Some(frame) = framer.finish() {
        let line = ClientLine { bytes: Bytes::copy_from_slice(frame.bytes), wire: Wire::from(frame) };
        // Fails only when the bridge is already ending.
        let _ = lines.blocking_send(line);
    }
}

/// The lines to the client.
pub(super) struct Output {
    lines: mpsc::Sender<Vec<u8>>,
}

/// The end of the output to the client.
pub(super) struct OutputEnd {
    closed: watch::Receiver<bool>,
    written: oneshot::Receiver<()>,
}

impl Output {
    pub(super) fn start() -> io::Result<(Self, OutputEnd)> {
        let stdout = StandardStreams::stdout()?;
        let (lines, receiver) = mpsc::channel(QUEUE_LINES);
        let (closed_sender, closed) = watch::channel(false);
        let (written_sender, written) = oneshot::channel();
        std::thread::spawn(move || {
            write_lines(stdout, receiver, &closed_sender);
            // The receiver is gone if the bridge ended without waiting.
            let _ = written_sender.send(());
        });
        Ok((Output { lines }, OutputEnd { closed, written }))
    }

    /// An output to a channel instead of a client.
    pub(super) fn to_channel() -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (lines, receiver) = mpsc::channel(QUEUE_LINES);
        (Output { lines }, receiver)
    }

    /// Writes a line to the client. Waits while the client doesn't read.
    pub(super) async fn line(&self, line: &[u8]) {
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
        // Fails when the client is gone, which `OutputEnd` reports.
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
    /// Waits until the client closes its end.
    pub(super) async fn closed(&mut self) {
        if self.closed.wait_for(|closed| *closed).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until everything is written, after all senders are dropped.
    pub(super) async fn written(self) {
        let _ = self.written.await;
    }
}

/// The signals that end the bridge.
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
