//! The way from a recording to the store: a queue and a thread of its own, so that no call ever waits for the store.

use crate::output;
use crate::units;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use wiretape_events::SinkError;
use wiretape_events::store::{LiveTrace, Retention};
use wiretape_proxy::journal::Tee;

/// How much may wait.
const MAX_WAITING: usize = 1 << 20;

/// The largest that may wait, if nothing else does.
const LARGEST: usize = 8 << 20;

/// How long pieces are gathered: whoever writes wakes the thread only for the first.
const GATHER: Duration = Duration::from_millis(20);

/// How long the store may take at the end.
const PATIENCE: Duration = Duration::from_secs(2);

/// Feeds the store with the lines of a trace.
pub(crate) struct StoreFeed {
    queue: Arc<Queue>,
    done: Receiver<()>,
}

impl StoreFeed {
    /// Starts the thread. Without one there is nothing in the store, and the user is told.
    pub(crate) fn start(store: &Path, retention: Retention) -> Option<Self> {
        let queue = Arc::new(Queue::default());
        let (tell_done, done) = channel();
        let mut worker = Worker {
            queue: Arc::clone(&queue),
            trace: LiveTrace::new(store, retention),
            warned: Warned::NotYet,
        };
        let spawned = std::thread::Builder::new().name("store".to_owned()).spawn(move || {
            worker.run();
            // Closes the store, too.
            drop(worker);
            // If nobody waits for it, nobody needs to know.
            let _ = tell_done.send(());
        });
        match spawned {
            Ok(_) => Some(StoreFeed { queue, done }),
            Err(error) => {
                warn(&error.to_string());
                None
            }
        }
    }

    /// Where the recording hands its lines.
    pub(crate) fn tee(&self) -> Tee {
        let queue = Arc::clone(&self.queue);
        Arc::new(move |pieces: &[&[u8]]| queue.push(pieces))
    }

    /// The recording has ended: lets everything reach the store, and says what did not.
    pub(crate) fn finish(self) {
        self.queue.end();
        if self.done.recv_timeout(PATIENCE).is_err() {
            warn(&format!("it takes too long, so the end of this session may be missing there; {REMEDY}"));
        }
        let dropped = self.queue.lock().dropped;
        if dropped > 0 {
            let dropped = units::count(dropped, "write");
            warn(&format!("{dropped} too large or too fast for it are missing there; {REMEDY}"));
        }
    }
}

/// A trace that is not marked as complete is loaded anew.
const REMEDY: &str = "`wiretape store load TRACE` brings all of it in";

fn warn(what: &str) {
    output::warn(format!("wiretape: the store: {what}; the trace is not affected"));
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Whole lines.
    lines: Vec<u8>,
    dropped: u64,
    ended: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, pieces: &[&[u8]]) {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        let mut waiting = self.lock();
        let was_empty = waiting.lines.is_empty();
        if length > LARGEST || (!was_empty && waiting.lines.len() + length > MAX_WAITING) {
            waiting.dropped += 1;
            return;
        }
        pieces.iter().for_each(|piece| waiting.lines.extend_from_slice(piece));
        drop(waiting);
        if was_empty {
            self.changed.notify_one();
        }
    }

    fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_one();
    }

    /// Waits for lines, or until it is time for something else.
    fn wait(&self, patience: Option<Duration>) {
        let is_idle = |waiting: &mut Waiting| waiting.lines.is_empty() && !waiting.ended;
        let waiting = self.lock();
        match patience {
            Some(patience) => drop(self.changed.wait_timeout_while(waiting, patience, is_idle)),
            None => drop(self.changed.wait_while(waiting, is_idle)),
        }
    }

    /// Waits for more lines, unless there are none to come.
    fn gather(&self) {
        let until = Instant::now() + GATHER;
        let mut waiting = self.lock();
        while !waiting.ended {
            let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
            else {
                return;
            };
            waiting = self.changed.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes what waits, and leaves an empty buffer in its place.
    fn take(&self, taken: &mut Vec<u8>) {
        taken.clear();
        // What one large line took is given back.
        taken.shrink_to(MAX_WAITING);
        std::mem::swap(&mut self.lock().lines, taken);
    }

    fn has_ended(&self) -> bool {
        let waiting = self.lock();
        waiting.ended && waiting.lines.is_empty()
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Warned {
    NotYet,
    Once,
}

struct Worker {
    queue: Arc<Queue>,
    trace: LiveTrace,
    warned: Warned,
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
                self.tell(result);
            }
            let result = self.trace.wake();
            self.tell(result);
        }
        let result =
            if self.queue.lock().dropped == 0 { self.trace.finish() } else { self.leave_incomplete() };
        self.tell(result);
    }

    /// Writes what waits to be written, but not that this was all.
    fn leave_incomplete(&mut self) -> Result<(), SinkError> {
        std::thread::sleep(self.trace.wake_in().unwrap_or_default().min(PATIENCE / 4));
        self.trace.wake()
    }

    /// One warning is enough: a store in trouble costs nothing but the store.
    fn tell(&mut self, result: Result<(), SinkError>) {
        let Err(error) = result else { return };
        if !error.message.is_empty() && self.warned == Warned::NotYet {
            self.warned = Warned::Once;
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
        assert_eq!(queue.lock().dropped, 1);
        queue.take(&mut taken);
        assert_eq!(taken.len(), LARGEST);
        queue.push(&[&vec![b'x'; LARGEST], b"\n"]);
        assert_eq!(queue.lock().dropped, 2);
        queue.push(&[b"a", b"b\n"]);
        queue.push(&[b"c\n"]);
        queue.take(&mut taken);
        assert_eq!(taken, b"ab\nc\n");
        assert!(!queue.has_ended());
        queue.end();
        assert!(queue.has_ended());
    }
}
