//! What an interpretation hands out, and who takes it.

use super::LineView;
use crate::call::{Call, PendingCall};
use crate::operation::Operation;
use std::sync::Arc;
use wiretape_trace::message::{Direction, Envelope};

/// Takes what a recording means, in the order of its lines.
pub trait Analysis {
    /// What it keeps with each call while that is open.
    type PerCall: Default;

    /// A line begins; what its payloads mean follows.
    fn begin_line(&mut self, line: &LineView<'_, '_>) {
        let _ = line;
    }

    /// A payload was observed. `own` is what is kept with the call that it belongs to: the one that a request begins, that
    /// progress or a cancellation is for, or that an answer ends; that one is [`closed`](Self::closed) next.
    fn seen(&mut self, seen: &Seen<'_, '_>, own: Option<&mut Self::PerCall>) {
        let _ = (seen, own);
    }

    /// The HTTP exchange of an open call has ended without an answer; one may still come on another stream.
    fn doomed(&mut self, line: &LineView<'_, '_>, call: &PendingCall, own: &mut Self::PerCall) {
        let _ = (line, call, own);
    }

    /// A call has its outcome.
    fn closed(&mut self, closed: &Closed<'_, '_>, own: Self::PerCall);

    /// An operation has come to its end, or the recording has.
    fn operation_closed(&mut self, operation: &Operation) {
        let _ = operation;
    }

    /// All of a line was handed out.
    fn end_line(&mut self, line: &LineView<'_, '_>) {
        let _ = line;
    }
}

/// A payload, and what it means.
#[derive(Debug)]
pub struct Seen<'s, 'a> {
    /// Its line.
    pub line: &'s LineView<'s, 'a>,
    /// Who sent it, if that is known.
    pub direction: Option<Direction>,
    /// The session that its line names.
    pub session: Option<&'s Arc<str>>,
    /// Its bytes.
    pub raw: &'a [u8],
    /// Its place in the line's batch, from 0.
    pub index: usize,
    /// What it says of itself.
    pub envelope: &'s Envelope<'a>,
    /// What it means to the calls around it.
    pub meaning: Meaning,
    /// The open call that it belongs to.
    pub pending: Option<&'s PendingCall>,
    /// For what the server says of its own accord: the client's call during which it does.
    pub during: Option<u64>,
    /// The number of the first call of the operation that it belongs to.
    pub operation: Option<u64>,
}

/// What a payload means to the calls around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A request: it begins the call of this number.
    Request {
        /// Counts the requests of the recording from 1.
        number: u64,
    },
    /// The response that ends the call of this number.
    Answer {
        /// The call's number.
        number: u64,
    },
    /// A response that no open request waits for.
    Orphan,
    /// Progress of a call.
    Progress {
        /// The call's number, if one is open under that token.
        of: Option<u64>,
    },
    /// The cancellation of a call.
    Cancellation {
        /// The call's number, if it is open.
        of: Option<u64>,
    },
    /// Something else, or of unknown direction.
    Other,
}

impl Meaning {
    /// The number of the call that it belongs to.
    pub fn call(self) -> Option<u64> {
        match self {
            Meaning::Request { number } | Meaning::Answer { number } => Some(number),
            Meaning::Progress { of } | Meaning::Cancellation { of } => of,
            Meaning::Orphan | Meaning::Other => None,
        }
    }
}

/// A call that has its outcome.
#[derive(Debug)]
pub struct Closed<'s, 'a> {
    /// The call.
    pub call: &'s Call,
    /// What ended it.
    pub cause: Cause,
    /// Its answer, if that is a message.
    pub answer: Option<&'s Envelope<'a>>,
    /// The answer's bytes; empty if there is none.
    pub raw: &'a [u8],
    /// The answer's place in its line's batch, from 0.
    pub index: usize,
    /// The line that ended it; `None` if the trace just stops.
    pub line: Option<&'s LineView<'s, 'a>>,
}

impl<'s, 'a> Closed<'s, 'a> {
    /// A call that ended without a message.
    pub(super) fn without_answer(call: &'s Call, cause: Cause, line: Option<&'s LineView<'s, 'a>>) -> Self {
        Closed { call, cause, answer: None, raw: b"", index: 0, line }
    }
}

/// What ended a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A response.
    Answer,
    /// The status of its HTTP exchange.
    HttpStatus,
    /// Its id can't be answered: a later request took it, or it has none that could be repeated.
    Id,
    /// The recording's end.
    End,
}

/// Two analyses that share one read.
impl<A: Analysis, B: Analysis> Analysis for (A, B) {
    type PerCall = (A::PerCall, B::PerCall);

    fn begin_line(&mut self, line: &LineView<'_, '_>) {
        self.0.begin_line(line);
        self.1.begin_line(line);
    }

    fn seen(&mut self, seen: &Seen<'_, '_>, own: Option<&mut Self::PerCall>) {
        let (first, second) = own.map_or((None, None), |(first, second)| (Some(first), Some(second)));
        self.0.seen(seen, first);
        self.1.seen(seen, second);
    }

    fn doomed(&mut self, line: &LineView<'_, '_>, call: &PendingCall, own: &mut Self::PerCall) {
        self.0.doomed(line, call, &mut own.0);
        self.1.doomed(line, call, &mut own.1);
    }

    fn closed(&mut self, closed: &Closed<'_, '_>, (first, second): Self::PerCall) {
        self.0.closed(closed, first);
        self.1.closed(closed, second);
    }

    fn operation_closed(&mut self, operation: &Operation) {
        self.0.operation_closed(operation);
        self.1.operation_closed(operation);
    }

    fn end_line(&mut self, line: &LineView<'_, '_>) {
        self.0.end_line(line);
        self.1.end_line(line);
    }
}
