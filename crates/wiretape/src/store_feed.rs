//! Feeds the store from a recording, through a queue and a thread of its own, so that no call ever waits for the
//! store. The trace is the record of truth: whatever the store misses can be loaded from it later, so every failure
//! here is a warning.

use crate::output;
use crate::units;
use parking_lot::{Condvar, Mutex};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use wiretape_events::SinkError;
use wiretape_events::store::{LiveTrace, Retention};
use wiretape_proxy::journal::Tee;

/// The queue's limit, in bytes: 1 MiB. Lines that don't fit are counted and reported, so a slow store never costs
/// memory or time.
const MAX_WAITING: usize = 1 << 20;

/// The largest single line, accepted only while the queue is empty, in bytes. Without this, a line larger than the queue
/// could never be stored.
const LARGEST: usize = 8 << 20;

/// How long lines are collected before they are processed: the writer wakes the thread once per interval only.
const GATHER: Duration = Duration::from_millis(20);

/// How long the store may take at the end of a recording. The client waits for our exit, so this is short.
const PATIENCE: Duration = Duration::from_secs(2);

/// Feeds the store with the lines of a trace.
pub(crate) struct StoreFeed {
    queue: Arc<Queue>,
    done: Receiver<()>,
}

impl StoreFeed {
    /// Starts the thread. If that fails, the user is warned and nothing is stored.
    pub(crate) fn start(store: &Path, retention: Retention) -> Option<Self> {
        let queue = Arc::new(Queue::default());
        let (done_sender, done) = channel();
        let mut worker = Worker {
            queue: Arc::clone(&queue),
            trace: LiveTrace::new(store, retention),
            warned: WarningStatus::NotShown,
        };
        let spawned = std::thread::Builder::new().name("store".to_owned()).spawn(move || {
            worker.run();
            // Also closes the store.
            drop(worker);
            // The receiver is gone if the recording did not wait.
            let _ = done_sender.send(());
        });
        match spawned {
            Ok(_) => Some(StoreFeed { queue, done }),
            Err(error) => {
                warn(&error.to_string());
                None
            }
        }
    }

    /// Where the recording writes its lines.
    pub(crate) fn tee(&self) -> Tee {
        let queue = Arc::clone(&self.queue);
        Arc::new(move |pieces: &[&[u8]]| queue.push(pieces))
    }

    /// Ends the recording: flushes the queue to the store and reports what was not stored.
    pub(crate) fn finish(self) {
        self.queue.end();
        if self.done.recv_timeout(PATIENCE).is_err() {
            warn(&format!("writing is too slow: the end of this session may be missing; {REMEDY}"));
        }
        let dropped = self.queue.waiting.lock().dropped;
        if dropped > 0 {
            let dropped = units::count(dropped, "write");
            warn(&format!("{dropped} dropped because they were too large or arrived too fast; {REMEDY}"));
        }
    }
}

/// A trace that is not marked as complete is loaded again.
const REMEDY: &str = "run `wiretape store load TRACE` to load the whole trace";

fn warn(what: &str) {
    output::warn(format!("wiretape: store: {what}; the trace is not affected"));
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<QueuedLines>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct QueuedLines {
    lines: Vec<u8>,
    dropped: u64,
    ended: bool,
}

impl Queue {
    fn push(&self, pieces: &[&[u8]]) {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        let mut waiting = self.waiting.lock();
        let was_empty = waiting.lines.is_empty();
        if length > LARGEST || (!was_empty && waiting.lines.len() + length > MAX_WAITING) {
            waiting.dropped += 1;
            return;
        }
        pieces.iter().for_each(|piece| waiting.lines.extend_from_slice(piece));
        // Released before the wake-up, so that the thread doesn't wake into a held lock.
        drop(waiting);
        // A non-empty queue has already woken the thread; waking it again costs the pump a system call for each line.
        if was_empty {
            self.changed.notify_one();
        }
    }

    fn end(&self) {
        self.waiting.lock().ended = true;
        self.changed.notify_one();
    }

    /// Waits for lines, or for the timeout.
    fn wait(&self, patience: Option<Duration>) {
        let is_idle = |waiting: &mut QueuedLines| waiting.lines.is_empty() && !waiting.ended;
        let mut waiting = self.waiting.lock();
        match patience {
            // Whether it timed out doesn't matter: the caller looks at the queue either way.
            Some(patience) => {
                self.changed.wait_while_for(&mut waiting, is_idle, patience);
            }
            None => self.changed.wait_while(&mut waiting, is_idle),
        }
    }

    /// Waits to collect more lines, unless the recording has ended.
    fn gather(&self) {
        let until = Instant::now() + GATHER;
        let mut waiting = self.waiting.lock();
        while !waiting.ended {
            let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
            else {
                return;
            };
            self.changed.wait_for(&mut waiting, left);
        }
    }

    /// Takes the queued lines, and leaves an empty buffer.
    fn take(&self, taken: &mut Vec<u8>) {
        taken.clear();
        // Gives back the memory of a single large line.
        taken.shrink_to(MAX_WAITING);
        // Two buffers change places, so that the lock is held for a swap, not for a copy.
        std::mem::swap(&mut self.waiting.lock().lines, taken);
    }

    fn has_ended(&self) -> bool {
        let waiting = self.waiting.lock();
        waiting.ended && waiting.lines.is_empty()
    }
}

#[derive(Debug, PartialEq, Eq)]
enum WarningStatus {
    NotShown,
    Shown,
}

struct Worker {
    queue: Arc<Queue>,
    trace: LiveTrace,
    warned: WarningStatus,
}

impl Worker {
    fn run(&mut self) {
        let mut lines = Vec::new();
        while !self.queue.has_ended() {
            self.queue.wait(self.trace.wake_in());
            self.queue.gather();
            self.queue.take(&mut lines);
            for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                let result = self.trace.line(line);
                self.warn_once(result);
            }
            let result = self.trace.wake();
            self.warn_once(result);
        }
        let result =
            // A trace marked as complete is never loaded again, so one with dropped lines must not be marked.
            if self.queue.waiting.lock().dropped == 0 { self.trace.finish() } else { self.leave_incomplete() };
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
        if !error.message.is_empty() && self.warned == WarningStatus::NotShown {
            self.warned = WarningStatus::Shown;
            warn(&error.message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_counted_and_nobody_waits() {
        let queue = Queue::default();
        let mut taken = Vec::new();
        queue.push(&[&vec![b'x'; LARGEST]]);
        queue.push(&[b"a", b"b\n"]);
        assert_eq!(queue.waiting.lock().dropped, 1);
        queue.take(&mut taken);
        assert_eq!(taken.len(), LARGEST);
        queue.push(&[&vec![b'x'; LARGEST], b"\n"]);
        assert_eq!(queue.waiting.lock().dropped, 2);
        queue.push(&[b"a", b"b\n"]);
        queue.push(&[b"c\n"]);
        queue.take(&mut taken);
        assert_eq!(taken, b"ab\nc\n");
        assert!(!queue.has_ended());
        queue.end();
        assert!(queue.has_ended());
    }
}
