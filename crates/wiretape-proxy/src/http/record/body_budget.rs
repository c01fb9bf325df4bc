//! The limits of what bodies may take while they are recorded or rewritten: memory, in all exchanges together, and what each may
//! decompress to.
//!
//! A body becomes a message only once it is complete, so until then its bytes are held. Each is limited, but clients decide how
//! many there are, and how slowly they send them. Beyond the limits, bodies pass unrecorded and unchanged.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The size of the budget in bytes, unless one body alone may be larger.
const BUDGET: usize = 256 * 1024 * 1024;

/// Bodies up to this size in bytes are not counted: nearly all messages, whose recording then costs no atomic operation.
const UNCOUNTED: usize = 64 * 1024;

/// Counted in steps of this many bytes.
const STEP: usize = 64 * 1024;

/// The largest ratio of decoded to encoded bytes. Only repetition compresses better: a few hundred bytes of brotli can stand for
/// hundreds of megabytes, which would have to be redacted and written.
const MAX_RATIO: u64 = 200;

/// Up to this many decoded bytes, the ratio doesn't matter.
const RATIO_FREE: u64 = 4 * 1024 * 1024;

/// The reason for giving up on a body that [`BodyBudget::reserve`] refuses.
pub(crate) const NO_ROOM: &str = "too many bodies are incomplete at the same time";

/// The reason for giving up on a body whose [`Expansion`] is too large.
pub(crate) const EXPANDS: &str = "it decompresses to more than 200 times its size";

/// How much a compressed body has grown so far.
#[derive(Debug, Default)]
pub(crate) struct Expansion {
    encoded: u64,
    decoded: u64,
}

impl Expansion {
    /// Counts bytes as they were received.
    pub(crate) fn add_encoded(&mut self, bytes: usize) {
        self.encoded += bytes as u64;
    }

    /// Counts decoded bytes. `false` if they are too many for the encoded ones.
    pub(crate) fn add_decoded(&mut self, bytes: usize) -> bool {
        self.decoded += bytes as u64;
        self.decoded <= RATIO_FREE.max(self.encoded.saturating_mul(MAX_RATIO))
    }

    /// The number of decoded bytes.
    pub(crate) fn decoded(&self) -> u64 {
        self.decoded
    }
}

/// The bytes that can still be held.
#[derive(Debug)]
pub(crate) struct BodyBudget {
    left: AtomicUsize,
}

/// A part of the budget, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<BodyBudget>,
    bytes: usize,
}

impl BodyBudget {
    /// A budget in which a body of the given size has room.
    pub(crate) fn new(largest: u64) -> Arc<Self> {
        let largest = usize::try_from(largest).unwrap_or(usize::MAX);
        Arc::new(BodyBudget { left: AtomicUsize::new(BUDGET.max(largest)) })
    }

    /// Reserves room for a body of this many bytes, beside what it has already. `false` if there is none.
    pub(crate) fn reserve(self: &Arc<Self>, held: &mut Option<Reservation>, bytes: usize) -> bool {
        let reserved = held.as_ref().map_or(0, |held| held.bytes);
        if bytes <= UNCOUNTED || bytes <= reserved {
            return true;
        }
        let wanted = bytes.next_multiple_of(STEP);
        let more = wanted - reserved;
        let take = |left: usize| left.checked_sub(more);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            return false;
        }
        match held {
            Some(held) => held.bytes = wanted,
            None => *held = Some(Reservation { budget: Arc::clone(self), bytes: wanted }),
        }
        true
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.left.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_can_be_had_again() {
        let budget = BodyBudget::new(1);
        let (mut one, mut other) = (None, None);
        assert!(budget.reserve(&mut one, UNCOUNTED) && one.is_none());
        assert!(budget.reserve(&mut one, BUDGET - STEP));
        assert!(budget.reserve(&mut one, 1_000_000), "it has that already");
        assert!(budget.reserve(&mut other, UNCOUNTED) && !budget.reserve(&mut other, 2 * STEP));
        drop(one);
        assert!(budget.reserve(&mut other, BUDGET));
        drop(other);
        assert_eq!(budget.left.load(Ordering::Relaxed), BUDGET);
    }

    #[test]
    fn the_ratio_matters_only_for_large_bodies() {
        const FREE: usize = RATIO_FREE as usize;
        let mut small = Expansion::default();
        small.add_encoded(1);
        assert!(small.add_decoded(FREE) && !small.add_decoded(1));
        let mut large = Expansion::default();
        large.add_encoded(FREE);
        assert!(large.add_decoded(200 * FREE) && !large.add_decoded(1));
        assert_eq!(large.decoded(), 200 * RATIO_FREE + 1);
    }

    #[test]
    fn one_body_always_has_room() {
        let mut held = None;
        assert!(BodyBudget::new(2 * BUDGET as u64).reserve(&mut held, 2 * BUDGET));
    }
}
