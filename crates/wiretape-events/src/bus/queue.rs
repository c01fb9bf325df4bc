//! A queue that is never full for long, and never grows.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Holds what one thread gives and another takes, up to a number and a weight.
///
/// Whoever gives never waits. Whoever takes lets a little gather first, so that under load it is woken a few hundred times a
/// second and not for each item: waking costs the giver more than giving does.
#[derive(Debug)]
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    news: Condvar,
    limits: QueueLimits,
}

/// How much a queue holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueueLimits {
    pub(super) items: usize,
    pub(super) weight: usize,
    /// How long is waited for more, once something is there.
    pub(super) gather: Duration,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<(T, usize)>,
    weight: usize,
    /// The taker sleeps until something comes.
    asleep: bool,
    closed: bool,
}

/// Why [`Queue::take`] has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// There is something.
    Items,
    /// Nothing came in time.
    Nothing,
    /// Nothing will come any more.
    Closed,
}

impl<T> Queue<T> {
    pub(super) fn new(limits: QueueLimits) -> Self {
        let state = State { items: VecDeque::new(), weight: 0, asleep: false, closed: false };
        Queue { state: Mutex::new(state), news: Condvar::new(), limits }
    }

    /// Gives an item; `false` if there is no room for it.
    pub(super) fn give(&self, item: T, weight: usize) -> bool {
        let mut state = self.lock();
        let is_full = state.items.len() >= self.limits.items
            || (state.weight + weight > self.limits.weight && !state.items.is_empty());
        if is_full || state.closed {
            return false;
        }
        state.items.push_back((item, weight));
        state.weight += weight;
        if std::mem::take(&mut state.asleep) {
            drop(state);
            self.news.notify_one();
        }
        true
    }

    /// Takes all that is there, waiting for it until `deadline`.
    pub(super) fn take(&self, into: &mut Vec<T>, deadline: Option<Instant>) -> Taken {
        let mut state = self.lock();
        while state.items.is_empty() && !state.closed {
            state.asleep = true;
            state = match deadline {
                None => self.news.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        state.asleep = false;
                        return Taken::Nothing;
                    }
                    self.news.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        if !state.closed {
            // Nobody wakes us here but the end: only a sleeper is woken by what comes.
            let gather = self.limits.gather;
            state = self.news.wait_timeout(state, gather).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.asleep = false;
        state.weight = 0;
        into.extend(state.items.drain(..).map(|(item, _)| item));
        if into.is_empty() { Taken::Closed } else { Taken::Items }
    }

    /// Nothing may be given any more; what is there can still be taken.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.news.notify_all();
    }

    pub(super) fn len(&self) -> usize {
        self.lock().items.len()
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        assert!(full.give(1, 1) && full.give(2, 1) && !full.give(3, 1));
        let heavy = queue(10, 100);
        assert!(heavy.give(1, 200), "one always has room, however heavy it is");
        assert!(!heavy.give(2, 1));
        let mut taken = Vec::new();
        assert_eq!(heavy.take(&mut taken, None), Taken::Items);
        assert!(heavy.give(3, 1));
        assert_eq!(taken, [1]);
    }

    #[test]
    fn what_is_there_at_the_end_is_taken() {
        let queue = queue(10, 100);
        queue.give(1, 1);
        queue.close();
        assert!(!queue.give(2, 1));
        let mut taken = Vec::new();
        assert_eq!(queue.take(&mut taken, None), Taken::Items);
        taken.clear();
        assert_eq!(queue.take(&mut taken, None), Taken::Closed);
    }

    #[test]
    fn nothing_may_come_in_time() {
        let mut taken = Vec::new();
        assert_eq!(queue(1, 1).take(&mut taken, Some(Instant::now())), Taken::Nothing);
    }

    #[test]
    fn a_sleeper_is_woken() {
        let queue = queue(1000, 100_000);
        std::thread::scope(|scope| {
            let taker = scope.spawn(|| {
                let mut all = Vec::new();
                while queue.take(&mut all, None) == Taken::Items && all.len() < 100 {}
                all
            });
            for n in 0..100 {
                assert!(queue.give(n, 1));
                std::thread::yield_now();
            }
            assert_eq!(taker.join().unwrap(), (0..100).collect::<Vec<_>>());
        });
    }
}
