//! A call and its outcome.

use std::sync::Arc;
use wiretape_trace::format::{End, Ended, Stamp};
use wiretape_trace::message::{Direction, Envelope, Id};
use wiretape_trace::value::Value;

/// A request and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Counts the requests of the recording from 1.
    pub number: u64,
    /// The direction of the request.
    pub direction: Direction,
    /// The request's id, as it is compared; `None` if it has none that an answer could repeat.
    pub id: Option<Id<'static>>,
    /// The session that it belongs to, if one is named. An `initialize` belongs to the session that its answer assigns.
    pub session: Option<Arc<str>>,
    /// The request's method; empty if that was not a string.
    pub method: Arc<str>,
    /// The tool that a `tools/call` is for.
    pub tool: Option<Arc<str>>,
    /// The line of the request.
    pub request: Place,
    /// When the request was observed.
    pub asked: ObservedAt,
    /// The line of the response, if there is one: a message, or an HTTP error status in its place.
    pub response: Option<Place>,
    /// Microseconds from the request to its outcome: the response, the cancellation, the end of the exchange or of the
    /// recording, or, while it is pending, now. `None` if the times are unknown.
    ///
    /// It is taken from the lines' `us` where both have one, and from the milliseconds of `t` otherwise. The two
    /// pipes of a server are read in parallel, so `us` may run backwards by a little: that is 0. A wall clock
    /// that ran backwards says nothing: that is unknown.
    pub duration_us: Option<u64>,
    /// The outcome; see [`Outcome`] for the ten values.
    pub outcome: Outcome,
    /// `error.code` of a protocol error, if that is an integer.
    pub error_code: Option<i64>,
    /// The status that an HTTP error has.
    pub http_status: Option<u16>,
    /// The size of the request's payload.
    pub request_bytes: u64,
    /// The size of the response's payload, if there is one.
    pub response_bytes: Option<u64>,
    /// The number of the HTTP exchange of the request.
    pub exchange: Option<u64>,
    /// The number of the call during which the other side made this one.
    pub parent: Option<u64>,
    /// The number of the first call of the operation that it belongs to.
    pub operation: Option<u64>,
    /// How many requests the other side made during it.
    pub nested: u64,
    /// How many progress notifications came under its token.
    pub progress: u64,
    /// The line of its cancellation, if it was cancelled.
    pub cancelled: Option<Place>,
    /// Microseconds of it during which the user was asked something (`elicitation/create`).
    pub person_us: u64,
    /// Microseconds of it during which other requests of the other side were open: sampling, roots.
    pub client_us: u64,
    /// Whether the response came in another HTTP exchange than the request's: a stream was resumed, or one stream
    /// carries all answers.
    pub elsewhere: bool,
}

impl Call {
    /// The receiver's own time in microseconds, without the time it waited for nested requests.
    pub fn own_us(&self) -> Option<u64> {
        self.duration_us.map(|us| us.saturating_sub(self.person_us + self.client_us))
    }

    /// How long the answer took, for statistics; see [`Outcome::is_measured`].
    pub fn latency_us(&self) -> Option<u64> {
        self.duration_us.filter(|_| self.outcome.is_measured())
    }

    /// Whether the answer came after the caller had given up.
    pub fn is_late(&self) -> bool {
        self.response.is_some() && matches!(self.outcome, Outcome::Cancelled | Outcome::TimedOut)
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

/// When a line was observed, as far as it says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ObservedAt {
    /// Microseconds since the recording began.
    pub us: Option<u64>,
    /// Wall clock, in milliseconds since 1970.
    pub wall_ms: Option<i64>,
}

impl ObservedAt {
    pub(crate) fn of(stamp: &Stamp<'_>) -> Self {
        ObservedAt { us: stamp.us, wall_ms: stamp.wall_ms() }
    }

    pub(crate) fn until(self, later: ObservedAt) -> Option<u64> {
        // The monotonic clock first: a wall clock may be set during a call.
        if let (Some(from), Some(to)) = (self.us, later.us) {
            return Some(to.saturating_sub(from));
        }
        let ms = later.wall_ms?.checked_sub(self.wall_ms?)?;
        u64::try_from(ms).ok()?.checked_mul(1000)
    }
}

/// What it means if a client closes the connection of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClosingMeans {
    /// The client disconnected (up to 2025-11-25).
    Leaving,
    /// The client cancels the request (since 2026-07-28).
    Cancelling,
}

/// How a call went. The one vocabulary of commands, filters, the page, exports and the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It has a result.
    Ok,
    /// It has a result with `isError`: the tool failed.
    ToolError,
    /// It has a JSON-RPC error.
    ProtocolError,
    /// HTTP failed: a status without a message, a stream that ended without an answer, or a server that can't be reached.
    HttpError,
    /// It was given up because it took too long; an answer may have come later.
    TimedOut,
    /// It was cancelled; an answer may have come later.
    Cancelled,
    /// The client went away, or the recorder was stopped, before there was an answer.
    Disconnected,
    /// The server died while it was open: it exited with an error, was killed, or broke the connection.
    Crashed,
    /// The recording ended in good order, or was cut off, and there was no answer; or none was possible, because the
    /// request's id was used again or can't be repeated.
    Unanswered,
    /// It is in flight: the recording is still running.
    Pending,
}

impl Outcome {
    /// All outcomes, in the order in which they are listed.
    pub const ALL: [Outcome; 10] = [
        Outcome::Ok,
        Outcome::ToolError,
        Outcome::ProtocolError,
        Outcome::HttpError,
        Outcome::TimedOut,
        Outcome::Cancelled,
        Outcome::Disconnected,
        Outcome::Crashed,
        Outcome::Unanswered,
        Outcome::Pending,
    ];

    /// The outcome with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// The outcome of a cancellation. The protocol has no code for a timeout, so it is recognized by the words that clients use
    /// in `reason`.
    pub fn of_cancellation(reason: Option<&str>) -> Self {
        let reason = reason.unwrap_or_default().to_ascii_lowercase();
        let is_timeout =
            ["timed out", "timeout", "time out", "deadline"].iter().any(|words| reason.contains(words));
        if is_timeout { Outcome::TimedOut } else { Outcome::Cancelled }
    }

    /// What the end of an HTTP exchange means for a request in it that has no answer; `None` if that may still come, on
    /// another stream.
    pub fn of_exchange(ended: Ended, status: Option<u16>, closing: ClosingMeans) -> Option<Self> {
        match (ended, closing) {
            (Ended::ClientClosed, ClosingMeans::Cancelling) => Some(Outcome::Cancelled),
            (Ended::ClientClosed | Ended::Stopped, _) => Some(Outcome::Disconnected),
            // The server closed the connection in the middle of its answer.
            (Ended::UpstreamClosed, _) => Some(Outcome::Crashed),
            (Ended::Timeout, _) => Some(Outcome::TimedOut),
            // The client got a response of the proxy, not of the server.
            (Ended::Unreachable | Ended::Refused | Ended::TooLarge | Ended::Upgraded, _) => {
                Some(Outcome::HttpError)
            }
            // Over HTTP+SSE (2024-11-05) and on resumed streams, the answer comes in another exchange.
            (Ended::Complete, _) if status == Some(202) => None,
            (Ended::Complete, _) => Some(Outcome::HttpError),
        }
    }

    /// The outcome of a response.
    pub fn of_response(response: &Envelope<'_>) -> Self {
        if response.error.is_some() {
            Outcome::ProtocolError
        } else if response.is_error {
            Outcome::ToolError
        } else {
            Outcome::Ok
        }
    }

    /// The outcome of an error that the recorder generated in the server's place. It is judged by the reason in its data: what
    /// the client sees as a JSON-RPC error is no statement of the server.
    pub fn of_own_error(error: &[u8]) -> Self {
        let reason = || Some(Value::parse(error).ok()?.get("data")?.get("reason")?.string()?.into_owned());
        let ended = reason().and_then(|reason| Ended::named(&reason)).unwrap_or(Ended::Refused);
        Outcome::of_exchange(ended, None, ClosingMeans::Cancelling).unwrap_or(Outcome::HttpError)
    }

    /// Its name, in every interface.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::ToolError => "tool-error",
            Outcome::ProtocolError => "protocol-error",
            Outcome::HttpError => "http-error",
            Outcome::TimedOut => "timed-out",
            Outcome::Cancelled => "cancelled",
            Outcome::Disconnected => "disconnected",
            Outcome::Crashed => "crashed",
            Outcome::Unanswered => "unanswered",
            Outcome::Pending => "pending",
        }
    }

    /// Whether it failed. What the client gave up of its own accord, or never waited for, is not a failure.
    pub fn is_error(self) -> bool {
        matches!(
            self,
            Outcome::ToolError
                | Outcome::ProtocolError
                | Outcome::HttpError
                | Outcome::TimedOut
                | Outcome::Crashed
        )
    }

    /// Whether its duration counts in percentiles: the server's program answered, and the caller still waited. Other
    /// durations measure the caller's patience, or how fast a gateway refuses, which would make a broken server look fast.
    pub fn is_measured(self) -> bool {
        matches!(self, Outcome::Ok | Outcome::ToolError | Outcome::ProtocolError)
    }

    /// Whether there was no response, or none that was waited for.
    pub fn is_unanswered(self) -> bool {
        use Outcome::{Cancelled, Crashed, Disconnected, Pending, TimedOut, Unanswered};
        matches!(self, TimedOut | Cancelled | Disconnected | Crashed | Unanswered | Pending)
    }
}

/// The outcome of calls that are pending when the recording ends.
pub fn outcome_at_end(end: &End) -> Outcome {
    if end.is_failure() {
        Outcome::Crashed
    } else if end.was_stopped() {
        Outcome::Disconnected
    } else {
        Outcome::Unanswered
    }
}
