//! The interface between the interpretation of a trace and everything that uses it.
//!
//! Callbacks instead of returned events: an event would have to own its payload, and most analyses only look at it.

use super::LineView;
use crate::call::{Call, PendingCall};
use crate::operation::Operation;
use std::sync::Arc;
use wiretape_trace::message::{Direction, Envelope};

/// Receives the interpretation of a recording, in the order of its lines.
pub trait Analysis {
    /// Its own data per pending call.
    type PerCall: Default;

    /// A line starts; its payloads follow.
    fn begin_line(&mut self, line: &LineView<'_, '_>) {
        let _ = line;
    }

    /// A payload was observed. `own` is the data of its call: the one that a request starts, that progress or a cancellation
    /// refers to, or that an answer ends; an answered call is [`closed`](Self::closed) next.
    fn seen(&mut self, seen: &Seen<'_, '_>, own: Option<&mut Self::PerCall>) {
        let _ = (seen, own);
    }

    /// The HTTP exchange of a pending call ended without an answer; one may still come on another stream.
    fn doomed(&mut self, line: &LineView<'_, '_>, call: &PendingCall, own: &mut Self::PerCall) {
        let _ = (line, call, own);
    }

    /// A call has its outcome.
    fn closed(&mut self, closed: &Closed<'_, '_>, own: Self::PerCall);

    /// An operation is complete, or the recording ended.
    fn operation_closed(&mut self, operation: &Operation) {
        let _ = operation;
    }

    /// A line is complete.
    fn end_line(&mut self, line: &LineView<'_, '_>) {
        let _ = line;
    }
}

/// A payload and its meaning.
#[derive(Debug)]
pub struct Seen<'s, 'a> {
    /// The line that contains it.
    pub line: &'s LineView<'s, 'a>,
    /// Its direction, if known.
    pub direction: Option<Direction>,
    /// The session that its line names.
    pub session: Option<&'s Arc<str>>,
    /// The JSON of the payload.
    pub raw: &'a [u8],
    /// Its index in a batch, from 0.
    pub index: usize,
    /// Its kind, id, method and names, scanned once for all analyses.
    pub envelope: &'s Envelope<'a>,
    /// Its role among the calls.
    pub meaning: Meaning,
    /// The pending call that it belongs to.
    pub pending: Option<&'s PendingCall>,
    /// The call that it answers, which is [`closed`](Analysis::closed) next.
    pub answers: Option<&'s Call>,
    /// For unsolicited server messages: the number of the client's call during which they come.
    pub during: Option<u64>,
    /// The number of the first call of the operation that it belongs to.
    pub operation: Option<u64>,
}

/// The role of a payload among the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A request, which starts a call.
    Request {
        /// Counts the requests of the recording from 1.
        number: u64,
    },
    /// The response that ends a call.
    Answer {
        /// The number of the call.
        number: u64,
    },
    /// A response that matches no pending request.
    Orphan,
    /// Progress of a call.
    Progress {
        /// The number of the pending call with that token, if there is one.
        of: Option<u64>,
    },
    /// The cancellation of a call.
    Cancellation {
        /// The number of the call, if it is pending.
        of: Option<u64>,
    },
    /// Anything else, or a message of unknown direction.
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

/// A call with its outcome.
#[derive(Debug)]
pub struct Closed<'s, 'a> {
    /// The call with its outcome and duration.
    pub call: &'s Call,
    /// The cause of its end.
    pub cause: Cause,
    /// The envelope of its answer, if that is a message.
    pub answer: Option<&'s Envelope<'a>>,
    /// The JSON of the answer; empty if there is none.
    pub raw: &'a [u8],
    /// The index of the answer in a batch, from 0.
    pub index: usize,
    /// The line that ended it; `None` if the trace was cut off.
    pub line: Option<&'s LineView<'s, 'a>>,
}

impl<'s, 'a> Closed<'s, 'a> {
    /// A call that ended without a message.
    pub(super) fn without_answer(call: &'s Call, cause: Cause, line: Option<&'s LineView<'s, 'a>>) -> Self {
        Closed { call, cause, answer: None, raw: b"", index: 0, line }
    }
}

/// The cause of a call's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A JSON-RPC response with its id.
    Answer,
    /// The status of its HTTP exchange.
    HttpStatus,
    /// Its id can't be answered: a later request took it, or it has none that could be repeated.
    Id,
    /// The end of the recording.
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
