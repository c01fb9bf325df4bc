//! Feeds the store from a recording, through a queue and a thread of its own, so that no call ever waits for the
//! store. The trace is the record of truth: whatever the store misses can be loaded from it later, so no failure here
//! affects the recording.

use super::load::LiveTrace;
use super::retention::Retention;
use crate::queue::{Queue, QueueLimits, TakeResult};
use crate::sink::SinkError;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Lines that don't fit into 1 MiB are counted and reported, so a slow store never costs memory or time. Lines are
/// collected for 20 ms before they are processed: the recording wakes the thread once per interval only.
const LINES: QueueLimits =
    QueueLimits { items: usize::MAX, weight: 1 << 20, gather: Duration::from_millis(20) };

/// The largest single write, accepted only while the queue is empty, in bytes. Without this, a line larger than the
/// queue could never be stored.
const LARGEST: usize = 8 << 20;

/// How long the store may take at the end of a recording. The client waits for our exit, so this is short.
const PATIENCE: Duration = Duration::from_secs(2);

/// Feeds the store with the lines of a trace while they are recorded.
#[derive(Debug)]
pub struct LiveFeed {
    lines: Arc<WaitingLines>,
    done: Receiver<()>,
}

/// What the store has missed of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedResult {
    /// Whether the store took too long to finish, so that the last lines may be missing.
    pub timed_out: bool,
    /// The number of writes, of one or more lines, that were dropped because they were too large or arrived too fast.
    pub dropped: u64,
}

impl LiveFeed {
    /// Starts the thread, for the store at `path`. `warn` is called on that thread, at most once, when the store can't be
    /// written; its message says why.
    pub fn start(
        path: &Path,
        retention: Retention,
        warn: impl FnOnce(&str) + Send + 'static,
    ) -> io::Result<Self> {
        let lines = Arc::new(WaitingLines::new());
        let (done_sender, done) = channel();
        let trace = LiveTrace::new(path, retention);
        let mut worker = Worker { lines: Arc::clone(&lines), trace, warn: Some(warn) };
        std::thread::Builder::new().name("store".to_owned()).spawn(move || {
            worker.run();
            // Also closes the store.
            drop(worker);
            // The receiver is gone if the recording did not wait.
            let _ = done_sender.send(());
        })?;
        Ok(LiveFeed { lines, done })
    }

    /// Where the recording hands over what it has written: whole lines, in pieces. It never blocks on the store.
    pub fn tee(&self) -> impl Fn(&[&[u8]]) + Send + Sync + use<> {
        let lines = Arc::clone(&self.lines);
        move |pieces: &[&[u8]]| lines.push(pieces)
    }

    /// Ends the recording: flushes the queue to the store, for at most 2 s.
    pub fn finish(self) -> FeedResult {
        self.finish_within(PATIENCE)
    }

    fn finish_within(self, patience: Duration) -> FeedResult {
        self.lines.queue.close();
        let timed_out = self.done.recv_timeout(patience).is_err();
        FeedResult { timed_out, dropped: self.lines.dropped() }
    }
}

/// The lines that the thread has not taken yet.
#[derive(Debug)]
struct WaitingLines {
    queue: Queue<Vec<u8>>,
    dropped: AtomicU64,
}

impl WaitingLines {
    fn new() -> Self {
        WaitingLines { queue: Queue::new(LINES), dropped: AtomicU64::new(0) }
    }

    fn push(&self, pieces: &[&[u8]]) {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        let append = |lines: &mut Vec<u8>| pieces.iter().for_each(|piece| lines.extend_from_slice(piece));
        if length > LARGEST || !self.queue.offer_with(length, append) {
            // Read by the thread only after the queue is closed, whose lock orders the two.
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes the waiting lines into a buffer, whose former lines are removed.
    fn take(&self, lines: &mut Vec<u8>, deadline: Option<Instant>) -> TakeResult {
        lines.clear();
        // Gives back the memory of a single large line.
        lines.shrink_to(LINES.weight);
        self.queue.take(lines, deadline)
    }

    fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

struct Worker<W> {
    lines: Arc<WaitingLines>,
    trace: LiveTrace,
    /// Taken by the first warning.
    warn: Option<W>,
}

impl<W: FnOnce(&str)> Worker<W> {
    fn run(&mut self) {
        let mut lines = Vec::new();
        loop {
            let deadline = self.trace.wake_in().map(|time| Instant::now() + time);
            if self.lines.take(&mut lines, deadline) == TakeResult::Closed {
                break;
            }
            for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                let result = self.trace.line(line);
                self.warn_once(result);
            }
            let result = self.trace.wake();
            self.warn_once(result);
        }
        // A trace marked as complete is never loaded again, so one with dropped lines must not be marked.
        let is_complete = self.lines.dropped() == 0;
        let result = if is_complete { self.trace.finish() } else { self.leave_incomplete() };
        self.warn_once(result);
    }

    /// Writes the pending rows without marking the trace as complete.
    fn leave_incomplete(&mut self) -> Result<(), SinkError> {
        // Rows are written in batches; this waits for the batch that is due, within the patience of `finish`.
        std::thread::sleep(self.trace.wake_in().unwrap_or_default().min(PATIENCE / 4));
        self.trace.wake()
    }

    /// Warns once: a failing store does not affect the recording.
    fn warn_once(&mut self, result: Result<(), SinkError>) {
        let Err(error) = result else { return };
        // An empty message is a failure that needs no warning of its own.
        if !error.message.is_empty()
            && let Some(warn) = self.warn.take()
        {
            warn(&error.message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Store, Writer};
    use std::collections::BTreeSet;

    const TRACE: &str = include_str!("../../../../fixtures/traces/wiretape.jsonl");

    fn take(lines: &WaitingLines, buffer: &mut Vec<u8>) {
        assert_eq!(lines.take(buffer, None), TakeResult::Items);
    }

    #[test]
    fn one_large_line_has_room_and_what_has_none_is_counted() {
        let lines = WaitingLines::new();
        let mut taken = Vec::new();
        lines.push(&[&vec![b'x'; LARGEST]]);
        lines.push(&[b"a", b"b\n"]);
        assert_eq!(lines.dropped(), 1);
        take(&lines, &mut taken);
        assert_eq!(taken.len(), LARGEST);
        lines.push(&[&vec![b'x'; LARGEST], b"\n"]);
        assert_eq!(lines.dropped(), 2);
        lines.push(&[b"a", b"b\n"]);
        lines.push(&[b"c\n"]);
        lines.queue.close();
        take(&lines, &mut taken);
        assert_eq!(taken, b"ab\nc\n");
        assert_eq!(lines.take(&mut taken, None), TakeResult::Closed);
    }

    /// The recording pays for the copy of a line, not for an allocation.
    #[test]
    fn two_buffers_change_places() {
        let lines = WaitingLines::new();
        let mut taken = Vec::new();
        let mut buffers = BTreeSet::new();
        for round in 0..6 {
            for _ in 0..100 {
                lines.push(&[&[b'x'; 999], b"\n"]);
            }
            take(&lines, &mut taken);
            assert_eq!(taken.len(), 100_000);
            // The first two rounds allocate the buffers.
            if round >= 2 {
                buffers.insert((taken.as_ptr(), taken.capacity()));
            }
        }
        assert_eq!(buffers.len(), 2);
        lines.push(&[&vec![b'x'; LARGEST]]);
        take(&lines, &mut taken);
        for _ in 0..2 {
            lines.push(&[b"a\n"]);
            take(&lines, &mut taken);
        }
        assert!(taken.capacity() <= LINES.weight, "{}", taken.capacity());
    }

    fn start(path: &Path) -> LiveFeed {
        LiveFeed::start(path, Retention::default(), |message| panic!("{message}")).unwrap()
    }

    #[test]
    fn a_recording_is_in_the_store_when_it_has_finished() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("store.db");
        let feed = start(&path);
        let tee = feed.tee();
        TRACE.lines().for_each(|line| tee(&[line.as_bytes(), b"\n"]));
        assert_eq!(feed.finish(), FeedResult { timed_out: false, dropped: 0 });
        assert!(Store::open_read(&path).unwrap().info().unwrap().rows.calls > 0);
    }

    /// Another process has locked the store for longer than the client should have to wait.
    #[test]
    fn the_end_waits_only_so_long() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("store.db");
        drop(Writer::open(&path).unwrap());
        let lock = rusqlite::Connection::open(&path).unwrap();
        lock.execute_batch("BEGIN IMMEDIATE").unwrap();
        let feed = LiveFeed::start(&path, Retention::default(), |_| ()).unwrap();
        let tee = feed.tee();
        TRACE.lines().for_each(|line| tee(&[line.as_bytes(), b"\n"]));
        tee(&[&vec![b'x'; LARGEST + 1]]);
        let patience = Duration::from_millis(10);
        assert_eq!(feed.finish_within(patience), FeedResult { timed_out: true, dropped: 1 });
    }
}
