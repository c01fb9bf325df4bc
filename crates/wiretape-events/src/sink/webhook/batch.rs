//! The events that are not sealed yet.

use crate::event::EventId;
use std::time::{Duration, Instant};

/// Lines, and when the first of them came.
pub(super) struct Batch {
    max_events: u64,
    max_bytes: u64,
    max_age: Duration,
    lines: Vec<u8>,
    events: u64,
    first: Option<(EventId, Instant)>,
}

impl Batch {
    pub(super) fn new(max_events: u64, max_bytes: u64, max_age: Duration) -> Self {
        Batch { max_events, max_bytes, max_age, lines: Vec::new(), events: 0, first: None }
    }

    pub(super) fn push(&mut self, id: EventId, json: &[u8], now: Instant) {
        self.first.get_or_insert((id, now));
        // Between tokens a line end means as little as a space does, but here it would end the event.
        self.lines.extend(json.iter().map(|&byte| if byte == b'\n' { b' ' } else { byte }));
        self.lines.push(b'\n');
        self.events += 1;
    }

    /// Whether so many bytes more would be too many. The first event is never too large.
    pub(super) fn has_no_room_for(&self, json: &[u8]) -> bool {
        self.events > 0 && (self.lines.len() + json.len() + 1) as u64 > self.max_bytes
    }

    pub(super) fn is_full(&self) -> bool {
        self.events > 0 && (self.events >= self.max_events || self.lines.len() as u64 >= self.max_bytes)
    }

    /// How long until it is old enough; `None` if there is nothing in it.
    pub(super) fn due_in(&self, now: Instant) -> Option<Duration> {
        let (_, since) = self.first?;
        Some(self.max_age.saturating_sub(now.saturating_duration_since(since)))
    }

    /// Gives it its time once more, for it could not be sealed.
    pub(super) fn put_off(&mut self, now: Instant) {
        if let Some((_, since)) = &mut self.first {
            *since = now;
        }
    }

    /// The id of the first event; `None` if there is nothing in it.
    pub(super) fn first(&self) -> Option<EventId> {
        self.first.map(|(id, _)| id)
    }

    pub(super) fn lines(&self) -> &[u8] {
        &self.lines
    }

    pub(super) fn events(&self) -> u64 {
        self.events
    }

    pub(super) fn clear(&mut self) {
        self.lines.clear();
        // One huge event is no reason to keep so much for ever.
        self.lines.shrink_to(usize::try_from(self.max_bytes).unwrap_or(usize::MAX));
        self.events = 0;
        self.first = None;
    }
}
