//! The pump of one stream: read, record, forward.
//!
//! The bytes that complete a message are written to the trace *before* they are forwarded, for three reasons: what a peer has
//! seen is in the file even if we are killed the next moment; a response can't overtake its request in the file; and there is
//! no queue, no second thread and no wake-up, which would cost more than the write. Bytes that complete no message are
//! forwarded as they arrive. Design note 0001 has the alternatives.
//!
//! All lines of one read share a timestamp, a lock of the journal and a write: with pipelined messages that is one system call
//! for hundreds of lines (`cargo xtask bench --only stdio`, the rows "pipelined").

use super::Recorder;
use crate::journal::Observation;
use crate::warning::Warning;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use wiretape_trace::format::{Moment, Wire};
use wiretape_trace::framing::{LineFrame, LineFramer};
use wiretape_trace::json;
use wiretape_trace::message::Direction;
use wiretape_trace::redact::LineState;

/// Bytes per read: the capacity of a pipe on Linux.
const CHUNK: usize = 64 * 1024;

/// Lines of at least this size are handed to the journal directly instead of being copied into the batch first
/// (`cargo xtask bench --only stdio`, the rows "1 MiB each way").
const UNBATCHED_BYTES: usize = 16 * 1024;

/// The standard stream that a pump moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Stdin,
    Stdout,
    Stderr,
}

/// What a pump is doing, for the thread that waits for its end.
#[derive(Debug)]
pub(super) struct PumpState(AtomicU8);

impl PumpState {
    const READING: u8 = 0;
    const WRITING: u8 = 1;
    const DONE: u8 = 2;

    pub(super) fn new() -> Arc<Self> {
        Arc::new(PumpState(AtomicU8::new(Self::READING)))
    }

    pub(super) fn is_reading(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::READING
    }

    pub(super) fn is_done(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::DONE
    }

    fn set(&self, state: u8) {
        self.0.store(state, Ordering::Release);
    }
}

/// Why a pump ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PumpEnd {
    /// The source is at EOF or failed.
    SourceClosed,
    /// The sink's reader is gone.
    SinkClosed,
}

/// Records and forwards everything from `source` until either end closes.
pub(super) fn pump(
    mut source: impl Read,
    mut sink: impl Write,
    tap: &Mutex<Tap>,
    state: &PumpState,
) -> PumpEnd {
    let mut chunk = vec![0; CHUNK];
    let end = loop {
        state.set(PumpState::READING);
        let read = match source.read(&mut chunk) {
            Ok(0) => break PumpEnd::SourceClosed,
            Ok(read) => read,
            Err(error) if is_retryable(&error) => continue,
            Err(_) => break PumpEnd::SourceClosed,
        };
        state.set(PumpState::WRITING);
        // The lock is released before the write: `record` takes it to finish a stream whose pump still blocks.
        tap.lock().observe(&chunk[..read]);
        if write_all(&mut sink, &chunk[..read]).is_err() {
            break PumpEnd::SinkClosed;
        }
    };
    tap.lock().finish();
    // Closes the pipe before the pump counts as done: the peer sees EOF without waiting for us to exit.
    drop(sink);
    state.set(PumpState::DONE);
    end
}

/// Like [`Write::write_all`], but also for sinks that are non-blocking.
pub(crate) fn write_all(sink: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match sink.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if is_retryable(&error) => {}
            Err(error) => return Err(error),
        }
    }
    sink.flush()
}

/// Whether a system call only has to be retried. `O_NONBLOCK` belongs to the open file, not to the descriptor: another process
/// that shares our streams can set it, as Node does with inherited ones. Then this sleeps for a millisecond.
pub(crate) fn is_retryable(error: &io::Error) -> bool {
    const RETRY_DELAY: Duration = Duration::from_millis(1);
    match error.kind() {
        io::ErrorKind::Interrupted => true,
        io::ErrorKind::WouldBlock => {
            std::thread::sleep(RETRY_DELAY);
            true
        }
        _ => false,
    }
}

/// Splits a stream into lines, redacts them, and appends them to the journal.
pub(super) struct Tap {
    stream: Stream,
    framer: LineFramer,
    recorder: Arc<Recorder>,
    lines: u64,
    /// What the lines before the next one have left open, such as a private key.
    open: LineState,
    batch: Batch,
}

/// Redacted lines that wait for one common append, concatenated.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    entries: Vec<BatchedLine>,
}

/// A line without its secrets, ready for the journal.
struct RedactedLine<'l> {
    wire: Wire,
    clean: Cow<'l, [u8]>,
    is_json: bool,
}

/// The place of a line in [`Batch::bytes`].
#[derive(Debug, Clone, Copy)]
struct BatchedLine {
    start: usize,
    end: usize,
    wire: Wire,
    is_json: bool,
}

impl Tap {
    pub(super) fn new(stream: Stream, recorder: Arc<Recorder>) -> Self {
        Tap {
            stream,
            framer: LineFramer::new(),
            recorder,
            lines: 0,
            open: LineState::default(),
            batch: Batch::default(),
        }
    }

    fn observe(&mut self, bytes: &[u8]) {
        // One timestamp for all lines of a read: they were observed together.
        let at = self.recorder.clock.now();
        self.framer.push(bytes);
        while let Some(frame) = self.framer.next_frame() {
            self.lines += 1;
            let (clean, is_json) = self.recorder.redact(self.stream, &frame, &mut self.open);
            self.batch.push_line(
                &self.recorder,
                self.stream,
                self.lines,
                RedactedLine { wire: frame.into(), clean, is_json },
                at,
            );
        }
        self.batch.flush(&self.recorder, self.stream, at);
    }

    /// Records an incomplete last line as it is.
    pub(super) fn finish(&mut self) {
        let at = self.recorder.clock.now();
        if let Some(frame) = self.framer.finish() {
            let (clean, is_json) = self.recorder.redact(self.stream, &frame, &mut self.open);
            self.batch.push_line(
                &self.recorder,
                self.stream,
                self.lines + 1,
                RedactedLine { wire: frame.into(), clean, is_json },
                at,
            );
        }
        self.batch.flush(&self.recorder, self.stream, at);
    }
}

impl Batch {
    /// Adds a line. A long one is appended to the journal at once, without a copy.
    fn push_line(
        &mut self,
        recorder: &Recorder,
        stream: Stream,
        number: u64,
        line: RedactedLine<'_>,
        at: Moment,
    ) {
        let RedactedLine { wire, clean, is_json } = line;
        if !is_json && stream == Stream::Stdout && !clean.trim_ascii().is_empty() {
            recorder.warn_not_json_once(number, &clean);
        }
        if clean.len() >= UNBATCHED_BYTES {
            // Earlier lines first: the trace keeps the order of the stream.
            self.flush(recorder, stream, at);
            let observations = std::iter::once(observation(stream, wire, is_json, &clean));
            return recorder.journal.lock().append(at, observations);
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&clean);
        self.entries.push(BatchedLine { start, end: self.bytes.len(), wire, is_json });
    }

    fn flush(&mut self, recorder: &Recorder, stream: Stream, at: Moment) {
        if self.entries.is_empty() {
            return;
        }
        let bytes = &self.bytes;
        let observations = self
            .entries
            .iter()
            .map(|entry| observation(stream, entry.wire, entry.is_json, &bytes[entry.start..entry.end]));
        recorder.journal.lock().append(at, observations);
        self.bytes.clear();
        self.entries.clear();
    }
}

fn observation(stream: Stream, wire: Wire, is_json: bool, bytes: &[u8]) -> Observation<'_> {
    let dir = match stream {
        Stream::Stdin => Direction::ClientToServer,
        Stream::Stdout => Direction::ServerToClient,
        Stream::Stderr => return Observation::Stderr { text: bytes },
    };
    if is_json {
        Observation::Message { dir, context: wire.into(), raw: bytes }
    } else {
        Observation::Text { dir, context: wire.into(), text: bytes }
    }
}

impl Recorder {
    /// The redacted line, and whether it is JSON.
    fn redact<'f>(
        &self,
        stream: Stream,
        frame: &LineFrame<'f>,
        open: &mut LineState,
    ) -> (Cow<'f, [u8]>, bool) {
        let may_be_json = stream != Stream::Stderr && frame.is_utf8();
        match &self.redactor {
            Some(redactor) if may_be_json => match redactor.json_with(frame.bytes, &self.memory) {
                Ok(clean) => (clean, true),
                // Redaction parses the line anyway, so its failure is also the check whether the line is JSON.
                Err(_) => (redactor.line(frame.bytes, open, Some(&self.memory)), false),
            },
            Some(redactor) => (redactor.line(frame.bytes, open, Some(&self.memory)), false),
            None => (Cow::Borrowed(frame.bytes), may_be_json && json::validate(frame.bytes).is_ok()),
        }
    }

    fn warn_not_json_once(&self, line: u64, text: &[u8]) {
        use std::sync::atomic::Ordering::Relaxed;
        if self.warned_not_json.swap(true, Relaxed) {
            return;
        }
        let text = String::from_utf8_lossy(text).chars().take(100).collect();
        (self.warn)(Warning::NotJson { line, text });
    }
}
