//! An open trace: its index, which grows in the background, and the results of its jobs.

use crate::api::types::Progress;
use crate::index::Index;
use crate::index::build::Builder;
use crate::jobs::{LintJob, TokensJob};
use parking_lot::{RwLock, RwLockReadGuard};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wiretape_analyze::reading::RecordingState;
use wiretape_library::{PlainReader, PlainTrace, TraceFileError, TraceState, TraceStateKind, running_now};
use wiretape_trace::format::{Notice, ReadError, TraceReader};

/// An open trace with its index.
pub(crate) struct OpenTrace {
    pub(crate) key: String,
    /// The file's name, for display.
    pub(crate) file: String,
    pub(crate) source: PlainTrace,
    index: RwLock<Index>,
    /// A counter of changes, for live updates.
    version: AtomicU64,
    read: AtomicU64,
    is_complete: AtomicBool,
    state: RwLock<TraceState>,
    notices: RwLock<Vec<String>>,
    pub(crate) lint: LintJob,
    pub(crate) tokens: TokensJob,
}

/// A function that determines the state of the recording.
pub(crate) type StateOf = Arc<dyn Fn() -> TraceState + Send + Sync>;

/// The number of lines added to the index at once: few enough that requests don't wait long for the write lock.
const LINES_AT_A_TIME: usize = 4096;
/// The poll interval for a trace that is being recorded.
const LIVE: Duration = Duration::from_millis(40);
/// The poll interval for a trace without a known recorder.
const QUIET: Duration = Duration::from_millis(500);
/// The time that opening a trace waits for its first lines.
const FIRST_LINES: Duration = Duration::from_millis(100);

impl OpenTrace {
    /// Opens a trace and starts its reader.
    pub(crate) fn open(
        key: String,
        file_name: String,
        path: &Path,
        state_of: StateOf,
    ) -> Result<Arc<Self>, TraceFileError> {
        let failed = |source| TraceFileError::Open { path: path.to_owned(), source };
        Self::of_source(key, file_name, PlainTrace::open(path)?, state_of).map_err(failed)
    }

    /// Starts the reader of a trace.
    pub(crate) fn of_source(
        key: String,
        file_name: String,
        source: PlainTrace,
        state_of: StateOf,
    ) -> io::Result<Arc<Self>> {
        let reader = source.reader();
        let trace = Arc::new(OpenTrace {
            key,
            file: file_name,
            index: RwLock::default(),
            version: AtomicU64::new(0),
            read: AtomicU64::new(0),
            is_complete: AtomicBool::new(false),
            state: RwLock::new(state_of()),
            notices: RwLock::default(),
            lint: LintJob::default(),
            tokens: TokensJob::default(),
            source,
        });
        // Weak, so that the thread ends when the trace is closed.
        let follower = Follower { trace: Arc::downgrade(&trace), state_of };
        thread::Builder::new().name("index".to_owned()).spawn(move || follower.run(reader))?;
        trace.wait_for_first_lines();
        Ok(trace)
    }

    /// Waits briefly for the first lines, so that the first response about a trace is not empty.
    fn wait_for_first_lines(&self) {
        let began = Instant::now();
        while self.version() == 0 && began.elapsed() < FIRST_LINES {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The index so far. Don't block while holding it, and don't call this again on the same thread: if
    /// the reader waits for the write lock in between, both wait for ever.
    pub(crate) fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read()
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub(crate) fn state(&self) -> TraceState {
        self.state.read().clone()
    }

    /// Whether the recording may still grow.
    pub(crate) fn recording_state(&self) -> RecordingState {
        if self.is_live() { running_now() } else { RecordingState::Over }
    }

    pub(crate) fn is_live(&self) -> bool {
        self.state() == TraceState::Running
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        let mut notices = self.notices.read().clone();
        if let Some(torn) = self.torn() {
            let bytes = usize::try_from(torn.end - torn.start).unwrap_or(usize::MAX);
            notices.push(Notice::TornLine { line: self.index().lines() as u64 + 1, bytes }.to_string());
        }
        notices
    }

    /// A short name for people.
    pub(crate) fn label(&self) -> String {
        let label =
            self.index().meta.as_ref().map(|meta| meta.label.clone()).filter(|label| !label.is_empty());
        label.unwrap_or_else(|| self.file.clone())
    }

    pub(crate) fn progress(&self) -> Progress {
        let is_complete = self.is_complete.load(Ordering::Acquire);
        let done = self.read.load(Ordering::Acquire);
        Progress { done, total: self.source.len().max(done), is_complete }
    }

    /// At most `most` bytes of a line, with its total length.
    pub(crate) fn line(&self, number: u64, most: u64) -> io::Result<Option<(Vec<u8>, u64)>> {
        let Some(span) = self.index().span(number) else { return Ok(None) };
        let length = span.end - span.start;
        let bytes = self.source.read_span(span, most)?;
        let is_whole = bytes.len() as u64 == length;
        let trimmed = if is_whole { trim_line(&bytes).len() } else { bytes.len() };
        let whole = if is_whole { trimmed as u64 } else { length.saturating_sub(1) };
        let mut bytes = bytes;
        bytes.truncate(trimmed);
        Ok(Some((bytes, whole)))
    }

    /// The range of an incomplete last line; `None` while it may still be completed.
    pub(crate) fn torn(&self) -> Option<Range<u64>> {
        let progress = self.progress();
        let is_torn = progress.is_complete && progress.done < progress.total && !self.is_live();
        is_torn.then_some(progress.done..progress.total)
    }

    fn changed(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}

/// Reads a trace in the background for as long as it is open.
struct Follower {
    trace: std::sync::Weak<OpenTrace>,
    state_of: StateOf,
}

impl Follower {
    fn run(&self, source: PlainReader) {
        let mut reader = TraceReader::following(source);
        let mut builder = Builder::default();
        loop {
            let Some(trace) = self.trace.upgrade() else { return };
            let read = read_on(&trace, &mut reader, &mut builder);
            let is_over = self.publish_state(&trace, &mut builder, &reader, read);
            if is_over {
                return;
            }
            let pause = if trace.is_live() { LIVE } else { QUIET };
            // Not held while sleeping: a closed trace is freed at once.
            drop(trace);
            thread::sleep(pause);
        }
    }

    /// Updates the state after everything was read: whether the recording has ended and can't grow.
    ///
    /// The index is marked complete last, so that a request that waits for it sees final outcomes and all notices.
    fn publish_state(
        &self,
        trace: &OpenTrace,
        builder: &mut Builder,
        reader: &TraceReader<PlainReader>,
        read: Result<bool, ReadError>,
    ) -> bool {
        let state = (self.state_of)();
        let is_first = !trace.is_complete.load(Ordering::Acquire);
        let is_new = read.as_ref().is_ok_and(|is_new| *is_new);
        let is_over = read.is_err() || trace.index().ending.is_some() || !trace.source.may_grow();
        if !(is_new || is_over || is_first || state != trace.state()) {
            return false;
        }
        // While the recording runs, open calls are pending, with a duration up to now.
        let is_running = !is_over && state.kind() == TraceStateKind::Running;
        builder.update_open_calls(if is_running { running_now() } else { RecordingState::Over });
        add(trace, builder);
        *trace.state.write() = state;
        *trace.notices.write() = notices_of(reader, read.err());
        trace.is_complete.store(true, Ordering::Release);
        trace.changed();
        is_over
    }
}

/// Reads all available lines. Returns whether there were any.
fn read_on(
    trace: &OpenTrace,
    reader: &mut TraceReader<PlainReader>,
    builder: &mut Builder,
) -> Result<bool, ReadError> {
    let mut is_new = false;
    while let Some(line) = reader.next_line()? {
        is_new = true;
        builder.observe(&line);
        // The first lines are published immediately, because a request waits for them.
        let enough = if line.number <= 256 { 64 } else { LINES_AT_A_TIME };
        if builder.waiting() >= enough {
            add(trace, builder);
        }
    }
    if is_new {
        builder.reached(reader.offset());
        add(trace, builder);
    }
    Ok(is_new)
}

fn add(trace: &OpenTrace, builder: &mut Builder) {
    let batch = builder.take();
    let end = batch.end;
    trace.index.write().add(batch);
    // `fetch_max`, because a batch without lines (only updated calls) has an end of 0.
    trace.read.fetch_max(end, Ordering::AcqRel);
    // After the index was changed: who sees the new version also sees the new lines.
    trace.changed();
}

/// A line without its terminator.
fn trim_line(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

/// The notices about a trace, and the error that ended reading.
fn notices_of(reader: &TraceReader<PlainReader>, failure: Option<ReadError>) -> Vec<String> {
    let mut notices: Vec<String> = reader.notices().iter().map(ToString::to_string).collect();
    if reader.more_notices() > 0 {
        notices.push(format!("and {} more notices", reader.more_notices()));
    }
    notices.extend(failure.map(|error| format!("{error}: {}", error.source)));
    notices
}
