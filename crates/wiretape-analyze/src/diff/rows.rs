//! The aligned calls of two traces.

use super::index::{CallIndex, IndexedCall};
use crate::align::{self, Key, Row};
use wiretape_trace::message::Direction;

/// A row: a call of either trace, or a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallRow {
    /// The index of the call in the first trace.
    pub first: Option<usize>,
    /// The index of the call in the second trace.
    pub second: Option<usize>,
    /// Whether and how the two calls differ.
    pub status: Status,
}

/// The status of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The answers are equal apart from ignored values.
    Same,
    /// The requests or answers differ.
    Changed,
    /// The second trace lacks it.
    Removed,
    /// The first trace lacks it.
    Added,
}

impl Status {
    /// The name in JSON output.
    pub fn name(self) -> &'static str {
        match self {
            Status::Same => "same",
            Status::Changed => "changed",
            Status::Removed => "removed",
            Status::Added => "added",
        }
    }
}

/// Aligns the calls of two traces.
///
/// Client calls and server calls are aligned separately: their relative order depends on timing.
pub fn align(first: &CallIndex, second: &CallIndex) -> Vec<CallRow> {
    let client = aligned(first, second, Direction::ClientToServer);
    let server = aligned(first, second, Direction::ServerToClient);
    merged(first, second, &client, &server)
}

fn aligned(first: &CallIndex, second: &CallIndex, direction: Direction) -> Vec<CallRow> {
    let (ours, theirs) = (side(&first.calls, direction), side(&second.calls, direction));
    let keys = |side: &[(usize, Key)]| side.iter().map(|(_, key)| *key).collect::<Vec<Key>>();
    let rows = align::align(&keys(&ours), &keys(&theirs)).into_iter();
    rows.map(|row| match row {
        Row::Both(i, j) => {
            let ((i, one), (j, other)) = (ours[i], theirs[j]);
            // Fingerprints decide; messages of equal calls are never read again.
            let is_same = one.exact == other.exact && one.tie == other.tie;
            let status = if is_same { Status::Same } else { Status::Changed };
            CallRow { first: Some(i), second: Some(j), status }
        }
        Row::First(i) => CallRow { first: Some(ours[i].0), second: None, status: Status::Removed },
        Row::Second(j) => CallRow { first: None, second: Some(theirs[j].0), status: Status::Added },
    })
    .collect()
}

fn side(calls: &[IndexedCall], direction: Direction) -> Vec<(usize, Key)> {
    let calls = calls.iter().enumerate().filter(|(_, call)| call.direction == direction);
    calls.map(|(at, call)| (at, call.key())).collect()
}

/// Merges both directions into one list, by position in the first trace, or else in the second.
fn merged(first: &CallIndex, second: &CallIndex, client: &[CallRow], server: &[CallRow]) -> Vec<CallRow> {
    let mut rows = Vec::with_capacity(client.len() + server.len());
    let (mut client, mut server) = (client, server);
    while let ([one, rest @ ..], [other, others @ ..]) = (client, server) {
        if is_before(first, second, other, one) {
            rows.push(*other);
            server = others;
        } else {
            rows.push(*one);
            client = rest;
        }
    }
    rows.extend(client.iter().chain(server));
    rows
}

fn is_before(first: &CallIndex, second: &CallIndex, one: &CallRow, other: &CallRow) -> bool {
    let line = |index: &CallIndex, at: usize| index.calls[at].request.line;
    match (one, other) {
        (CallRow { first: Some(one), .. }, CallRow { first: Some(other), .. }) => {
            line(first, *one) < line(first, *other)
        }
        (CallRow { second: Some(one), .. }, CallRow { second: Some(other), .. }) => {
            line(second, *one) < line(second, *other)
        }
        // No common trace to compare positions in: what was removed comes before what was added, as in a textual
        // diff.
        _ => one.first.is_some(),
    }
}

/// When a call counts as slower or faster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// The change relative to the earlier time: 0.5 is 50 %.
    pub ratio: f64,
    /// The minimum change in microseconds: tiny calls vary a lot in relative terms.
    pub floor_us: u64,
}

/// A significant change of a call's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaceChange {
    /// The later call takes longer.
    Slower,
    /// The later call takes less time.
    Faster,
}

impl Pace {
    /// The significant change between two calls; `None` if there is none or a time is unknown.
    pub fn judge(self, before: &IndexedCall, after: &IndexedCall) -> Option<PaceChange> {
        let (before, after) = (before.took_us?, after.took_us?);
        if self.is_much(before, after) {
            Some(PaceChange::Slower)
        } else if self.is_much(after, before) {
            Some(PaceChange::Faster)
        } else {
            None
        }
    }

    /// Whether `now` is significantly slower than `before`, both in microseconds.
    pub fn is_slower(self, before_us: u64, now_us: u64) -> bool {
        self.is_much(before_us, now_us)
    }

    fn is_much(self, less: u64, more: u64) -> bool {
        let gap = more.saturating_sub(less);
        // Both limits must be exceeded: the ratio alone flags calls of a few microseconds, the floor alone flags
        // noise in long ones.
        gap > 0 && gap >= self.floor_us && gap as f64 >= self.ratio * less as f64
    }
}

/// The number of rows by status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Equal in both traces.
    pub same: u64,
    /// In both, but different.
    pub changed: u64,
    /// Only in the first.
    pub removed: u64,
    /// Only in the second.
    pub added: u64,
    /// In both, and slower in the second.
    pub slower: u64,
    /// In both, and faster in the second.
    pub faster: u64,
}

impl Summary {
    /// Counts the rows of a diff by status.
    pub fn of(rows: &[CallRow], first: &CallIndex, second: &CallIndex, pace: Option<Pace>) -> Self {
        let mut summary = Summary::default();
        for row in rows {
            match row.status {
                Status::Same => summary.same += 1,
                Status::Changed => summary.changed += 1,
                Status::Removed => summary.removed += 1,
                Status::Added => summary.added += 1,
            }
            match row.pace(first, second, pace) {
                Some(PaceChange::Slower) => summary.slower += 1,
                Some(PaceChange::Faster) => summary.faster += 1,
                None => {}
            }
        }
        summary
    }

    /// Whether there are differences other than times.
    pub fn differs(&self) -> bool {
        self.changed + self.removed + self.added > 0
    }
}

impl CallRow {
    /// The significant change of the call's time.
    pub fn pace(&self, first: &CallIndex, second: &CallIndex, pace: Option<Pace>) -> Option<PaceChange> {
        pace?.judge(&first.calls[self.first?], &second.calls[self.second?])
    }
}
