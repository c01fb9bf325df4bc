//! The bounded queue between two threads: from a producer to the bus, to a sink, or to the store's feed.

use parking_lot::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// Moves what producers append to a buffer `B` to one consumer, bounded by the number of items and their weight.
///
/// Producers never wait. The consumer lets items gather for a moment ([`QueueLimits::gather`]), so that under
/// load it is woken a few hundred times a second and not once per item: at 20,000 requests a second, waking
/// costs more than the rest of the hand-over (`docs/design/0007-events-and-the-store.md`). The channels of
/// `std::sync::mpsc` bound neither the weight nor the wake-ups.
///
/// The buffer is a `Vec<T>` of items, or a `Vec<u8>` to which lines are appended: a line of a recording then costs no
/// allocation, and the lock is held for a copy of the line only.
#[derive(Debug)]
pub(crate) struct Queue<B> {
    state: Mutex<QueueState<B>>,
    news: Condvar,
    limits: QueueLimits,
}

/// The bounds of a queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueLimits {
    pub(crate) items: usize,
    /// For bytes, their number; for other items, about what they keep allocated.
    pub(crate) weight: usize,
    /// How long the consumer waits for more once there is an item. Events are late by at most this per queue.
    pub(crate) gather: Duration,
}

#[derive(Debug)]
struct QueueState<B> {
    buffer: B,
    items: usize,
    weight: usize,
    /// The consumer is waiting for the first item, and has to be notified when it arrives.
    asleep: bool,
    closed: bool,
}

/// The reason why [`Queue::take`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakeResult {
    /// At least one item was taken.
    Items,
    /// The deadline passed, and the queue was empty.
    Nothing,
    /// The queue is closed and empty: there will be no more items.
    Closed,
}

impl<B> QueueState<B> {
    fn has_room(&self, limits: &QueueLimits, weight: usize) -> bool {
        // An item heavier than the limit is accepted by an empty queue. Otherwise one large message could
        // never pass.
        let is_full = self.items >= limits.items || (self.weight + weight > limits.weight && self.items > 0);
        !is_full && !self.closed
    }

    fn append(&mut self, weight: usize, append: impl FnOnce(&mut B)) {
        append(&mut self.buffer);
        self.items += 1;
        self.weight += weight;
    }
}

impl<B: Default> Queue<B> {
    pub(crate) fn new(limits: QueueLimits) -> Self {
        let state = QueueState { buffer: B::default(), items: 0, weight: 0, asleep: false, closed: false };
        Queue { state: Mutex::new(state), news: Condvar::new(), limits }
    }

    /// Appends an item with a function that is called under the lock; `false`, without calling it, if the queue is full
    /// or closed. It never blocks on the consumer.
    pub(crate) fn offer_with(&self, weight: usize, append: impl FnOnce(&mut B)) -> bool {
        let mut state = self.state.lock();
        if !state.has_room(&self.limits, weight) {
            return false;
        }
        state.append(weight, append);
        if std::mem::take(&mut state.asleep) {
            // Unlocked first: the woken consumer would otherwise run into the lock and sleep again.
            drop(state);
            self.news.notify_one();
        }
        true
    }

    /// Takes all items, waiting for the first one until `deadline`. `into` has to be empty: it is swapped with the
    /// queue's buffer, so that the memory of both is reused and nothing is copied under the lock.
    pub(crate) fn take(&self, into: &mut B, deadline: Option<Instant>) -> TakeResult {
        let mut state = self.state.lock();
        while state.items == 0 && !state.closed {
            state.asleep = true;
            match deadline {
                None => self.news.wait(&mut state),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        // Nothing was taken, so the next producer must not pay for a wake-up.
                        state.asleep = false;
                        return TakeResult::Nothing;
                    }
                    self.news.wait_for(&mut state, left);
                }
            }
        }
        if !state.closed {
            // `asleep` was reset by the producer of the first item, so further items don't notify. Only
            // `close` cuts the wait short.
            self.news.wait_for(&mut state, self.limits.gather);
        }
        state.asleep = false;
        state.weight = 0;
        if std::mem::take(&mut state.items) == 0 {
            return TakeResult::Closed;
        }
        std::mem::swap(&mut state.buffer, into);
        TakeResult::Items
    }

    /// Rejects further items; those in the queue can still be taken.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.news.notify_all();
    }

    pub(crate) fn len(&self) -> usize {
        self.state.lock().items
    }
}

impl<T> Queue<Vec<T>> {
    /// Appends an item; `false` if the queue is full or closed.
    pub(crate) fn offer(&self, item: T, weight: usize) -> bool {
        self.offer_with(weight, |items| items.push(item))
    }

    /// Appends items as [`offer`](Self::offer) does, under one lock and with at most one wake-up. Returns how many were
    /// not accepted.
    pub(crate) fn offer_all(&self, items: impl Iterator<Item = (T, usize)>) -> u64 {
        let mut state = self.state.lock();
        let mut refused = 0;
        for (item, weight) in items {
            if state.has_room(&self.limits, weight) {
                state.append(weight, |items| items.push(item));
            } else {
                refused += 1;
            }
        }
        let wakes = state.items > 0 && std::mem::take(&mut state.asleep);
        drop(state);
        if wakes {
            self.news.notify_one();
        }
        refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(items: usize, weight: usize) -> Queue<Vec<u32>> {
        Queue::new(QueueLimits { items, weight, gather: Duration::from_millis(1) })
    }

    #[test]
    fn there_is_room_for_so_many_and_so_much() {
        let full = queue(2, 100);
        assert!(full.offer(1, 1) && full.offer(2, 1) && !full.offer(3, 1));
        let heavy = queue(10, 100);
        assert!(heavy.offer(1, 200), "one always has room, however heavy it is");
        assert!(!heavy.offer(2, 1));
        let mut taken = Vec::new();
        assert_eq!(heavy.take(&mut taken, None), TakeResult::Items);
        assert!(heavy.offer(3, 1));
        assert_eq!(taken, [1]);
    }

    #[test]
    fn several_are_taken_as_far_as_there_is_room() {
        let queue = queue(3, 100);
        assert_eq!(queue.offer_all([(1, 1), (2, 1)].into_iter()), 0);
        assert_eq!(queue.offer_all([(3, 1), (4, 1), (5, 1)].into_iter()), 2);
        let mut taken = Vec::new();
        queue.take(&mut taken, None);
        assert_eq!(taken, [1, 2, 3]);
        queue.close();
        assert_eq!(queue.offer_all([(6, 1)].into_iter()), 1);
    }

    #[test]
    fn what_is_there_at_the_end_is_taken() {
        let queue = queue(10, 100);
        queue.offer(1, 1);
        queue.close();
        assert!(!queue.offer(2, 1));
        let mut taken = Vec::new();
        assert_eq!(queue.take(&mut taken, None), TakeResult::Items);
        taken.clear();
        assert_eq!(queue.take(&mut taken, None), TakeResult::Closed);
    }

    #[test]
    fn nothing_may_come_in_time() {
        let mut taken = Vec::new();
        assert_eq!(queue(1, 1).take(&mut taken, Some(Instant::now())), TakeResult::Nothing);
    }

    #[test]
    fn a_sleeper_is_woken() {
        let queue = queue(1000, 100_000);
        std::thread::scope(|scope| {
            let taker = scope.spawn(|| {
                let (mut all, mut taken) = (Vec::new(), Vec::new());
                while all.len() < 100 && queue.take(&mut taken, None) == TakeResult::Items {
                    all.append(&mut taken);
                }
                all
            });
            for n in 0..100 {
                assert!(queue.offer(n, 1));
                std::thread::yield_now();
            }
            assert_eq!(taker.join().unwrap(), (0..100).collect::<Vec<_>>());
        });
    }
}
