//! Bytes from one end to the other: read, record, pass on.
//!
//! What completes a message is written to the trace *before* it is passed on, for three reasons: what a peer has
//! seen is in the file even if we are killed the next moment; a response can't overtake its request in the file; and
//! it needs no queue, no other thread and no wake-up, which would cost more than the write. Bytes that complete
//! nothing are passed on as they come.

use super::Recorder;
use crate::journal::Observation;
use crate::warning::Warning;
use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use wiretape_trace::format::{Moment, Wire};
use wiretape_trace::framing::{LineFrame, LineFramer};
use wiretape_trace::json;
use wiretape_trace::message::Direction;

/// As much as a pipe holds.
const CHUNK: usize = 64 * 1024;

/// From this size on a line is written on its own, from where it lies.
const ALONE: usize = 16 * 1024;

/// Which stream is being pumped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Stdin,
    Stdout,
    Stderr,
}

/// What a pump is doing, for those who wait for it.
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

/// How a pump ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PumpEnd {
    /// There is nothing more to read.
    SourceClosed,
    /// Nobody reads what we write.
    SinkClosed,
}

/// Passes on everything that `source` gives, and records it.
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
            Err(error) if is_passing(&error) => continue,
            Err(_) => break PumpEnd::SourceClosed,
        };
        state.set(PumpState::WRITING);
        lock(tap).observe(&chunk[..read]);
        if write_all(&mut sink, &chunk[..read]).is_err() {
            break PumpEnd::SinkClosed;
        }
    };
    lock(tap).finish();
    drop(sink);
    state.set(PumpState::DONE);
    end
}

pub(crate) fn write_all(sink: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match sink.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    sink.flush()
}

/// Whether a call only has to be made again. Our streams may be shared with somebody who made them non-blocking, as
/// Node does with those that it inherits; then there is nothing for it but to come back later.
pub(crate) fn is_passing(error: &io::Error) -> bool {
    const LATER: Duration = Duration::from_millis(1);
    match error.kind() {
        io::ErrorKind::Interrupted => true,
        io::ErrorKind::WouldBlock => {
            std::thread::sleep(LATER);
            true
        }
        _ => false,
    }
}

/// Cuts a stream into lines, takes the secrets out, and hands them to the journal.
pub(super) struct Tap {
    stream: Stream,
    framer: LineFramer,
    recorder: Arc<Recorder>,
    lines: u64,
    batch: Batch,
}

/// Lines that are ready to be written, one behind the other.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: usize,
    end: usize,
    wire: Wire,
    is_json: bool,
}

impl Tap {
    pub(super) fn new(stream: Stream, recorder: Arc<Recorder>) -> Self {
        Tap { stream, framer: LineFramer::new(), recorder, lines: 0, batch: Batch::default() }
    }

    fn observe(&mut self, bytes: &[u8]) {
        let at = self.recorder.clock.now();
        self.framer.push(bytes);
        while let Some(frame) = self.framer.next_frame() {
            self.lines += 1;
            self.batch.take(&self.recorder, self.stream, self.lines, frame, at);
        }
        self.batch.hand_over(&self.recorder, self.stream, at);
    }

    /// Records what waits for its newline as it is.
    pub(super) fn finish(&mut self) {
        let at = self.recorder.clock.now();
        if let Some(frame) = self.framer.finish() {
            self.batch.take(&self.recorder, self.stream, self.lines + 1, frame, at);
        }
        self.batch.hand_over(&self.recorder, self.stream, at);
    }
}

impl Batch {
    /// Redacts a line and makes it ready; a long one is handed over at once, without a copy.
    fn take(&mut self, recorder: &Recorder, stream: Stream, line: u64, frame: LineFrame<'_>, at: Moment) {
        let wire = Wire::from(frame);
        let (clean, is_json) = recorder.redact(stream, &frame);
        if !is_json && stream == Stream::Stdout && !frame.bytes.trim_ascii().is_empty() {
            recorder.warn_of_pollution(line, &clean);
        }
        if clean.len() >= ALONE {
            self.hand_over(recorder, stream, at);
            let observations = std::iter::once(observation(stream, wire, is_json, &clean));
            return lock(&recorder.journal).append(at, observations);
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&clean);
        self.entries.push(Entry { start, end: self.bytes.len(), wire, is_json });
    }

    fn hand_over(&mut self, recorder: &Recorder, stream: Stream, at: Moment) {
        if self.entries.is_empty() {
            return;
        }
        let bytes = &self.bytes;
        let observations = self
            .entries
            .iter()
            .map(|entry| observation(stream, entry.wire, entry.is_json, &bytes[entry.start..entry.end]));
        lock(&recorder.journal).append(at, observations);
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

/// A pump that panicked has lost its own stream only: the others go on.
pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    /// The line without its secrets, and whether it is JSON.
    fn redact<'f>(&self, stream: Stream, frame: &LineFrame<'f>) -> (Cow<'f, [u8]>, bool) {
        let may_be_json = stream != Stream::Stderr && frame.is_utf8();
        match &self.redactor {
            Some(redactor) if may_be_json => match redactor.json(frame.bytes) {
                Ok(clean) => (clean, true),
                Err(_) => (redactor.text(frame.bytes), false),
            },
            Some(redactor) => (redactor.text(frame.bytes), false),
            None => (Cow::Borrowed(frame.bytes), may_be_json && json::validate(frame.bytes).is_ok()),
        }
    }

    fn warn_of_pollution(&self, line: u64, text: &[u8]) {
        use std::sync::atomic::Ordering::Relaxed;
        if self.polluted.swap(true, Relaxed) {
            return;
        }
        let text = String::from_utf8_lossy(text).chars().take(100).collect();
        (self.warn)(Warning::NotJson { line, text });
    }
}
