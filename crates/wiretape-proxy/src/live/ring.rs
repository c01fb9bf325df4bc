//! The backlog: the newest lines of the recording, bounded by bytes. Each viewer reads it with its own cursor.
//!
//! A ring shared by all viewers, not a channel for each: memory stays within the backlog however many viewers there are and
//! however slow they read, and a push costs one copy of the line.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

use tokio::sync::Notify;

/// The cost of a held line beyond its bytes: the queue's entry and the allocation's header.
const LINE_OVERHEAD: usize = 48;

/// The limit of bytes that one [`Ring::read_after`] returns (always at least one line).
const BATCH_BYTES: usize = 64 * 1024;

/// A line with its `_seq`.
pub(super) type SeqLine = (u64, Arc<[u8]>);

/// The shared backlog. Its mutex is held for a push or for cloning handles, never for I/O.
pub(super) struct Ring {
    backlog: Mutex<Backlog>,
    capacity: usize,
    changed: Notify,
    ended: Notify,
}

struct Backlog {
    lines: VecDeque<Arc<[u8]>>,
    /// `_seq` of the oldest held line, or of the next one when none is held.
    first: u64,
    cost: usize,
    finished: bool,
}

/// The result of reading the backlog at a cursor.
#[derive(Debug, PartialEq)]
pub(super) enum BacklogRead {
    Lines(Vec<SeqLine>),
    CaughtUp,
    /// Lines after the cursor have been evicted.
    Behind,
    /// Everything was read, and the recording has ended.
    Finished,
}

/// The held lines after `since`, at one moment.
pub(super) struct Snapshot {
    pub(super) last: u64,
    pub(super) dropped: u64,
    pub(super) lines: Vec<SeqLine>,
}

impl Backlog {
    fn last(&self) -> u64 {
        self.first + self.lines.len() as u64 - 1
    }

    /// Evicts the oldest lines, but keeps the newest whatever its length.
    fn evict(&mut self, capacity: usize) {
        let newest = self.lines.back().map_or(0, |line| cost(line));
        // The newest line is exempt, or a viewer could never see a line that is larger than the backlog.
        while self.cost - newest > capacity {
            let Some(line) = self.lines.pop_front() else {
                return;
            };
            self.cost -= cost(&line);
            self.first += 1;
        }
    }

    /// The held lines whose `_seq` is greater than `cursor`.
    fn after(&self, cursor: u64) -> impl Iterator<Item = SeqLine> {
        let skipped = cursor.saturating_add(1).saturating_sub(self.first);
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let lines = self.lines.iter().enumerate().skip(skipped);
        lines.map(|(index, line)| (self.first + index as u64, Arc::clone(line)))
    }
}

fn cost(line: &[u8]) -> usize {
    line.len() + LINE_OVERHEAD
}

impl Ring {
    pub(super) fn new(capacity: usize) -> Self {
        let backlog = Backlog { lines: VecDeque::new(), first: 1, cost: 0, finished: false };
        Self { backlog: Mutex::new(backlog), capacity, changed: Notify::new(), ended: Notify::new() }
    }

    /// Adds a line and wakes the readers. Lines after [`Ring::finish`] are ignored.
    pub(super) fn push(&self, line: &[u8]) {
        // Copied before the lock, which viewers also take: a long line must not delay them.
        let line: Arc<[u8]> = Arc::from(line);
        let mut state = self.backlog.lock();
        if state.finished {
            return;
        }
        state.cost += cost(&line);
        state.lines.push_back(line);
        state.evict(self.capacity);
        // Woken readers take the lock at once; they would only wait for it.
        drop(state);
        self.changed.notify_waiters();
    }

    pub(super) fn finish(&self) {
        self.backlog.lock().finished = true;
        self.changed.notify_waiters();
        self.ended.notify_waiters();
    }

    pub(super) fn snapshot(&self, since: u64) -> Snapshot {
        let state = self.backlog.lock();
        Snapshot {
            last: state.last(),
            dropped: (state.first - 1).saturating_sub(since),
            lines: state.after(since).collect(),
        }
    }

    pub(super) fn is_behind(&self, cursor: u64) -> bool {
        cursor + 1 < self.backlog.lock().first
    }

    /// The next batch of lines after `cursor`.
    pub(super) fn read_after(&self, cursor: u64) -> BacklogRead {
        let state = self.backlog.lock();
        if cursor + 1 < state.first {
            return BacklogRead::Behind;
        }
        let mut bytes = 0;
        let batch: Vec<_> = state
            .after(cursor)
            .take_while(|(_, line)| {
                let fits = bytes < BATCH_BYTES;
                bytes += line.len();
                fits
            })
            .collect();
        match batch.is_empty() {
            false => BacklogRead::Lines(batch),
            true if state.finished => BacklogRead::Finished,
            true => BacklogRead::CaughtUp,
        }
    }

    /// Like [`Ring::read_after`], but waits while the cursor is caught up.
    pub(super) async fn wait_after(&self, cursor: u64) -> BacklogRead {
        loop {
            let mut changed = pin!(self.changed.notified());
            // Registered before reading, so that a push in between is not missed.
            changed.as_mut().enable();
            match self.read_after(cursor) {
                BacklogRead::CaughtUp => changed.await,
                next => return next,
            }
        }
    }

    /// Waits until the recording ends. It has a separate `Notify`, so that a push wakes no thread while there are no viewers: a
    /// wake-up would cost the recorder a system call per line.
    pub(super) async fn until_finished(&self) {
        let mut ended = pin!(self.ended.notified());
        ended.as_mut().enable();
        if !self.backlog.lock().finished {
            ended.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seqs(lines: &[SeqLine]) -> Vec<u64> {
        lines.iter().map(|(seq, _)| *seq).collect()
    }

    fn ring(capacity_lines: usize, pushed: usize) -> Ring {
        let ring = Ring::new(capacity_lines * cost(b"{}"));
        (0..pushed).for_each(|_| ring.push(b"{}"));
        ring
    }

    #[test]
    fn empty_ring_has_last_seq_zero() {
        let snapshot = ring(3, 0).snapshot(0);
        assert_eq!((snapshot.last, snapshot.dropped), (0, 0));
        assert!(snapshot.lines.is_empty());
    }

    #[test]
    fn oldest_lines_leave_and_are_counted() {
        let ring = ring(3, 10);
        let snapshot = ring.snapshot(0);
        assert_eq!((snapshot.last, snapshot.dropped), (10, 6));
        assert_eq!(seqs(&snapshot.lines), [7, 8, 9, 10]);
        assert_eq!(ring.snapshot(4).dropped, 2);
        assert_eq!(ring.snapshot(8).dropped, 0);
        assert_eq!(seqs(&ring.snapshot(8).lines), [9, 10]);
    }

    #[test]
    fn since_beyond_the_end_yields_nothing() {
        for since in [10, 11, u64::MAX] {
            let snapshot = ring(3, 10).snapshot(since);
            assert!(snapshot.lines.is_empty());
            assert_eq!((snapshot.last, snapshot.dropped), (10, 0));
        }
    }

    #[test]
    fn a_line_above_the_capacity_costs_at_most_itself() {
        let ring = ring(3, 3);
        ring.push(&[b' '; 100_000]);
        assert_eq!(seqs(&ring.snapshot(0).lines), [1, 2, 3, 4]);
        ring.push(b"{}");
        assert_eq!(seqs(&ring.snapshot(0).lines), [5]);
        assert_eq!(ring.backlog.lock().cost, cost(b"{}"));
    }

    #[test]
    fn cursors_see_lines_then_rest_then_the_end() {
        let ring = ring(3, 10);
        assert_eq!(ring.read_after(5), BacklogRead::Behind);
        assert!(ring.is_behind(5) && !ring.is_behind(6));
        assert!(matches!(ring.read_after(6), BacklogRead::Lines(lines) if seqs(&lines) == [7, 8, 9, 10]));
        assert_eq!(ring.read_after(10), BacklogRead::CaughtUp);
        ring.finish();
        assert!(matches!(ring.read_after(8), BacklogRead::Lines(_)));
        assert_eq!(ring.read_after(10), BacklogRead::Finished);
        ring.push(b"{}");
        assert_eq!(ring.snapshot(0).last, 10);
    }

    #[test]
    fn batches_are_bounded() {
        let ring = Ring::new(10 * BATCH_BYTES);
        (0..4).for_each(|_| ring.push(&[b' '; BATCH_BYTES / 2]));
        assert!(matches!(ring.read_after(0), BacklogRead::Lines(lines) if seqs(&lines) == [1, 2]));
    }
}
