//! What a call is, and what can become of it.

use std::sync::Arc;
use wiretape_trace::message::{Direction, Envelope, Id};

/// A request, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Counts the requests of the recording from 1.
    pub number: u64,
    /// Who asked.
    pub direction: Direction,
    /// The request's id; `None` if it has none that an answer could repeat.
    pub id: Option<Id<'static>>,
    /// The session that it belongs to, if one is named.
    pub session: Option<Arc<str>>,
    /// The request's method; empty if that was not a string.
    pub method: String,
    /// The tool that a `tools/call` is for.
    pub tool: Option<String>,
    /// Where the request stands.
    pub request: Place,
    /// When the request was seen.
    pub asked: Asked,
    /// Where the response stands, if there is one.
    pub response: Option<Place>,
    /// Microseconds from request to response, if that is known.
    ///
    /// It is taken from the lines' `us` where both have one, and from the milliseconds of `t` otherwise. The two
    /// pipes of a server are read side by side, so `us` may run backwards by a little: that is 0. A wall clock
    /// that ran backwards says nothing: that is unknown.
    pub latency_us: Option<u64>,
    /// What became of it.
    pub outcome: Outcome,
    /// The size of the request's payload.
    pub request_bytes: u64,
    /// The size of the response's payload, if there is one.
    pub response_bytes: Option<u64>,
    /// The number of the call during which the other side made this one.
    pub parent: Option<u64>,
    /// How many requests the other side made during it.
    pub nested: u64,
    /// How many progress notifications came under its token.
    pub progress: u64,
    /// Where it was cancelled, if it was.
    pub cancelled: Option<Place>,
    /// Microseconds of it during which a person was asked something (`elicitation/create`).
    pub person_us: u64,
    /// Microseconds of it during which the other side's requests were open and no person was asked: sampling, roots.
    pub client_us: u64,
    /// Whether the response came in another HTTP exchange than the request's: a stream was resumed, or one stream
    /// carries all answers.
    pub elsewhere: bool,
}

impl Call {
    /// Microseconds that the side which was asked took itself: without the time that it waited for answers.
    pub fn own_us(&self) -> Option<u64> {
        self.latency_us.map(|us| us.saturating_sub(self.person_us + self.client_us))
    }
}

/// A line of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Counts the lines of the file from 1.
    pub line: u64,
    /// The line's sequence number, if it has one.
    pub seq: Option<u64>,
}

/// When a request was seen, as far as its line tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// Microseconds since the recording began.
    pub us: Option<u64>,
    /// Milliseconds since 1970.
    pub wall_ms: Option<i64>,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It has a result.
    Ok,
    /// It has a result that says `isError`: the tool failed.
    ToolError,
    /// It has an error: the protocol failed.
    ProtocolError {
        /// `error.code`, if that is an integer.
        code: Option<i64>,
    },
    /// HTTP failed: there is a status and no message with it, or the server could not be reached or broke off.
    HttpError {
        /// The status.
        status: u16,
    },
    /// It was cancelled, and not answered.
    Cancelled,
    /// It was given up because it took too long, and not answered.
    TimedOut,
    /// It was answered after it had been cancelled.
    Late,
    /// The client went away, or the proxy ended, before there was an answer.
    Disconnected,
    /// There was no response when the trace ended.
    Pending,
    /// There can't be a response: its id was taken by a later request, or it has none that can be repeated.
    Abandoned,
}

impl Outcome {
    /// All that there are, by name.
    pub const NAMES: [&'static str; 10] = [
        "ok",
        "tool-error",
        "protocol-error",
        "http-error",
        "cancelled",
        "timed-out",
        "late",
        "disconnected",
        "no-response",
        "abandoned",
    ];

    /// What a response says of itself.
    pub fn of_response(response: &Envelope<'_>) -> Self {
        if response.error.is_some() {
            Outcome::ProtocolError { code: response.error_code }
        } else if response.is_error {
            Outcome::ToolError
        } else {
            Outcome::Ok
        }
    }

    /// Its name, for other programs.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::ToolError => "tool-error",
            Outcome::ProtocolError { .. } => "protocol-error",
            Outcome::HttpError { .. } => "http-error",
            Outcome::Cancelled => "cancelled",
            Outcome::TimedOut => "timed-out",
            Outcome::Late => "late",
            Outcome::Disconnected => "disconnected",
            Outcome::Pending => "no-response",
            Outcome::Abandoned => "abandoned",
        }
    }

    /// Whether it failed: by the tool's fault, the protocol's or that of HTTP.
    pub fn is_error(self) -> bool {
        matches!(self, Outcome::ToolError | Outcome::ProtocolError { .. } | Outcome::HttpError { .. })
    }

    /// Whether there is no response.
    pub fn is_unanswered(self) -> bool {
        use Outcome::{Abandoned, Cancelled, Disconnected, Pending, TimedOut};
        matches!(self, Pending | Abandoned | Cancelled | TimedOut | Disconnected)
    }

    /// Whether its latency is one that somebody waited for: what came too late, or not at all, measures nothing.
    pub fn is_measured(self) -> bool {
        self != Outcome::Late && !self.is_unanswered()
    }
}

/// What a payload means to the calls around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observed {
    /// A request, open from now on; an older one under the same id is thereby abandoned.
    Request {
        /// The number of the call that begins.
        number: u64,
        /// The call that will not be answered: the older one, or this one if it has no usable id.
        abandoned: Option<Box<Call>>,
    },
    /// The response that completes a call.
    Answer(Box<Call>),
    /// A response that nobody waits for.
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

impl Observed {
    /// The call that came to its end here, if one did.
    pub fn closed(&self) -> Option<&Call> {
        match self {
            Observed::Request { abandoned, .. } => abandoned.as_deref(),
            Observed::Answer(call) => Some(call),
            _ => None,
        }
    }

    /// Like [`closed`](Self::closed), and hands the call over.
    pub fn into_closed(self) -> Option<Call> {
        match self {
            Observed::Request { abandoned, .. } => abandoned.map(|call| *call),
            Observed::Answer(call) => Some(*call),
            _ => None,
        }
    }
}
