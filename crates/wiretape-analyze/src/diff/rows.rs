//! The calls of two traces side by side.

use super::index::{CallIndex, IndexedCall};
use crate::align::{self, Key, Row};
use wiretape_trace::message::Direction;

/// A call of either trace, or one of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallRow {
    /// The call of the first trace.
    pub first: Option<usize>,
    /// The call of the second.
    pub second: Option<usize>,
    /// How they differ.
    pub status: Status,
}

/// How two calls differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Not at all.
    Same,
    /// By what they ask or were answered.
    Changed,
    /// The second trace lacks it.
    Removed,
    /// The first trace lacks it.
    Added,
}

impl Status {
    /// Its name, for other programs.
    pub fn name(self) -> &'static str {
        match self {
            Status::Same => "same",
            Status::Changed => "changed",
            Status::Removed => "removed",
            Status::Added => "added",
        }
    }
}

/// Puts the calls of two traces side by side.
///
/// Calls of the client are aligned with calls of the client, and those of the server with those of the server: which
/// came first when both ask at once is an accident.
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

/// Both directions in one list, by where they stand in the first trace, or in the second.
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
        _ => one.first.is_some(),
    }
}

/// How much slower or faster a call must be to be told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// By this much of the time it took before: 0.5 is by half.
    pub ratio: f64,
    /// And by at least so many microseconds.
    pub floor_us: u64,
}

/// A call that takes another time than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaceChange {
    /// It takes longer.
    Slower,
    /// It takes less.
    Faster,
}

impl Pace {
    /// Whether a call takes much longer or much less than before; `None` if it doesn't, or nobody knows.
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

    /// Whether a call that took so many microseconds takes much longer now.
    pub fn is_slower(self, before_us: u64, now_us: u64) -> bool {
        self.is_much(before_us, now_us)
    }

    fn is_much(self, less: u64, more: u64) -> bool {
        let gap = more.saturating_sub(less);
        gap > 0 && gap >= self.floor_us && gap as f64 >= self.ratio * less as f64
    }
}

/// How many calls are how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// The same in both traces.
    pub same: u64,
    /// In both, but not the same.
    pub changed: u64,
    /// In the first only.
    pub removed: u64,
    /// In the second only.
    pub added: u64,
    /// In both, and slower in the second.
    pub slower: u64,
    /// In both, and faster in the second.
    pub faster: u64,
}

impl Summary {
    /// Counts rows.
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

    /// Whether the calls differ by more than the time they take.
    pub fn differs(&self) -> bool {
        self.changed + self.removed + self.added > 0
    }
}

impl CallRow {
    /// Whether the call takes another time than before.
    pub fn pace(&self, first: &CallIndex, second: &CallIndex, pace: Option<Pace>) -> Option<PaceChange> {
        pace?.judge(&first.calls[self.first?], &second.calls[self.second?])
    }
}
