//! The events of the open segment, in memory.

use crate::event::EventId;
use std::time::{Duration, Instant};

/// The open segment's content: NDJSON, and the id and arrival of its first event.
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
        // The events contain bytes from the wire, which may be pretty-printed. Between tokens a newline means
        // the same as a space, but in NDJSON it would end the event; within strings JSON has no raw newlines.
        self.lines.extend(json.iter().map(|&byte| if byte == b'\n' { b' ' } else { byte }));
        self.lines.push(b'\n');
        self.events += 1;
    }

    /// Whether this event would exceed the size limit. An empty batch accepts any event, or one that is
    /// larger than the limit could never be sent.
    pub(super) fn has_no_room_for(&self, json: &[u8]) -> bool {
        self.events > 0 && (self.lines.len() + json.len() + 1) as u64 > self.max_bytes
    }

    pub(super) fn is_full(&self) -> bool {
        self.events > 0 && (self.events >= self.max_events || self.lines.len() as u64 >= self.max_bytes)
    }

    /// How long until the batch is old enough to be sealed; `None` if it is empty.
    pub(super) fn due_in(&self, now: Instant) -> Option<Duration> {
        let (_, since) = self.first?;
        Some(self.max_age.saturating_sub(now.saturating_duration_since(since)))
    }

    /// Restarts the batch's age, because it could not be sealed: the next attempt is a whole `max_age` later,
    /// and not at once in a loop.
    pub(super) fn restart_age(&mut self, now: Instant) {
        if let Some((_, since)) = &mut self.first {
            *since = now;
        }
    }

    /// The id of the first event, which names the segment; `None` if the batch is empty.
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
        // One huge event must not keep its memory allocated for as long as the proxy runs.
        self.lines.shrink_to(usize::try_from(self.max_bytes).unwrap_or(usize::MAX));
        self.events = 0;
        self.first = None;
    }
}
