//! The bounded queue between two threads of the bus.

use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Moves items from producers to one consumer, bounded by their number and their weight.
///
/// Producers never wait. The consumer lets items gather for a moment ([`QueueLimits::gather`]), so that under
/// load it is woken a few hundred times a second and not once per item: at 20,000 requests a second, waking
/// costs more than the rest of the hand-over (`docs/design/0007-events-and-the-store.md`). The channels of
/// `std::sync::mpsc` bound neither the weight nor the wake-ups.
#[derive(Debug)]
pub(super) struct Queue<T> {
    state: Mutex<QueueState<T>>,
    news: Condvar,
    limits: QueueLimits,
}

/// The bounds of a queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueueLimits {
    pub(super) items: usize,
    pub(super) weight: usize,
    /// How long the consumer waits for more once there is an item. Events are late by at most this per queue.
    pub(super) gather: Duration,
}

#[derive(Debug)]
struct QueueState<T> {
    items: VecDeque<(T, usize)>,
    weight: usize,
    /// The consumer is waiting for the first item, and has to be notified when it arrives.
    asleep: bool,
    closed: bool,
}

/// The reason why [`Queue::take`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TakeResult {
    /// At least one item was taken.
    Items,
    /// The deadline passed, and the queue was empty.
    Nothing,
    /// The queue is closed and empty: there will be no more items.
    Closed,
}

impl<T> QueueState<T> {
    fn has_room(&self, limits: &QueueLimits, weight: usize) -> bool {
        // An item heavier than the limit is accepted by an empty queue. Otherwise one large message could
        // never pass.
        let is_full = self.items.len() >= limits.items
            || (self.weight + weight > limits.weight && !self.items.is_empty());
        !is_full && !self.closed
    }

    fn push(&mut self, item: T, weight: usize) {
        self.items.push_back((item, weight));
        self.weight += weight;
    }
}

impl<T> Queue<T> {
    pub(super) fn new(limits: QueueLimits) -> Self {
        let state = QueueState { items: VecDeque::new(), weight: 0, asleep: false, closed: false };
        Queue { state: Mutex::new(state), news: Condvar::new(), limits }
    }

    /// Appends an item; `false` if the queue is full or closed. It never blocks on the consumer.
    pub(super) fn offer(&self, item: T, weight: usize) -> bool {
        let mut state = self.state.lock();
        if !state.has_room(&self.limits, weight) {
            return false;
        }
        state.push(item, weight);
        if std::mem::take(&mut state.asleep) {
            // Unlocked first: the woken consumer would otherwise run into the lock and sleep again.
            drop(state);
            self.news.notify_one();
        }
        true
    }

    /// Appends items as [`offer`](Self::offer) does, under one lock and with at most one wake-up. Returns how many were
    /// not accepted.
    pub(super) fn offer_all(&self, items: impl Iterator<Item = (T, usize)>) -> u64 {
        let mut state = self.state.lock();
        let mut refused = 0;
        for (item, weight) in items {
            if state.has_room(&self.limits, weight) {
                state.push(item, weight);
            } else {
                refused += 1;
            }
        }
        let wakes = !state.items.is_empty() && std::mem::take(&mut state.asleep);
        drop(state);
        if wakes {
            self.news.notify_one();
        }
        refused
    }

    /// Takes all items, waiting for the first one until `deadline`.
    pub(super) fn take(&self, into: &mut Vec<T>, deadline: Option<Instant>) -> TakeResult {
        let mut state = self.state.lock();
        while state.items.is_empty() && !state.closed {
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
        into.extend(state.items.drain(..).map(|(item, _)| item));
        if into.is_empty() { TakeResult::Closed } else { TakeResult::Items }
    }

    /// Rejects further items; those in the queue can still be taken.
    pub(super) fn close(&self) {
        self.state.lock().closed = true;
        self.news.notify_all();
    }

    pub(super) fn len(&self) -> usize {
        self.state.lock().items.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(items: usize, weight: usize) -> Queue<u32> {
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
                let mut all = Vec::new();
                while queue.take(&mut all, None) == TakeResult::Items && all.len() < 100 {}
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
