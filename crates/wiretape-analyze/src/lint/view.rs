//! The input of checks: a payload, line, exchange or trace, with the state before it.

use super::exchange::Exchange;
use super::revision::Revision;
use super::session::{RequestFacts, Session, TraceFacts};
use crate::call::Call;
use crate::reading::Meaning;
use std::borrow::Cow;
use std::cell::OnceCell;
use wiretape_trace::format::{End, HttpContext, Stamp};
use wiretape_trace::message::{Direction, Envelope, MessageKind};
use wiretape_trace::value::Value;

/// A payload, with the state before it.
pub struct PayloadView<'a> {
    /// Facts about the whole trace.
    pub trace: &'a TraceFacts,
    /// The session it belongs to, as known before this line.
    pub session: &'a Session,
    /// The HTTP exchange that carries it.
    pub exchange: Option<&'a Exchange>,
    /// The HTTP part of its line.
    pub http: Option<&'a HttpContext>,
    /// When its line was observed.
    pub stamp: &'a Stamp<'a>,
    /// The direction it was sent in.
    pub direction: Direction,
    /// The JSON as it crossed the wire.
    pub raw: &'a [u8],
    /// Its parsed envelope: kind, id, method, defects.
    pub envelope: &'a Envelope<'a>,
    /// Its role: which call it starts, answers or belongs to.
    pub meaning: Meaning,
    /// The line of the pending request whose id this request reuses.
    pub displaced: Option<u64>,
    /// The revision that applies; `None` if nothing names one.
    pub revision: Option<Revision>,
    /// The facts about the request that it answers.
    pub request: Option<&'a RequestFacts<'a>>,
    /// Whether it is part of a batch.
    pub in_batch: bool,
    pub(crate) parsed: Parsed<'a>,
}

/// Its parts, parsed on first use: most rules reject a payload by its method alone.
#[derive(Default)]
pub(crate) struct Parsed<'a> {
    params: OnceCell<Option<Value<'a>>>,
    result: OnceCell<Option<Value<'a>>>,
}

impl<'a> PayloadView<'a> {
    /// The method, for requests and notifications.
    pub fn method(&self) -> Option<&str> {
        self.envelope.method.as_deref()
    }

    /// Whether it is a request with this method.
    pub fn is_request(&self, method: &str) -> bool {
        self.envelope.kind == MessageKind::Request && self.method() == Some(method)
    }

    /// Whether it is a notification with this method.
    pub fn is_notification(&self, method: &str) -> bool {
        self.envelope.kind == MessageKind::Notification && self.method() == Some(method)
    }

    /// Whether the client sent it.
    pub fn is_from_client(&self) -> bool {
        self.direction == Direction::ClientToServer
    }

    /// The `params` member, parsed once.
    pub fn params(&self) -> Option<Value<'a>> {
        *self.parsed.params.get_or_init(|| Value::parse(self.envelope.params?).ok())
    }

    /// The value at a path in its `params`.
    pub fn param(&self, path: &[&str]) -> Option<Value<'a>> {
        self.params()?.at_path(path)
    }

    /// The string at a path in its `params`.
    pub fn param_text(&self, path: &[&str]) -> Option<Cow<'a, str>> {
        self.param(path)?.string()
    }

    /// The `result` member, parsed once.
    pub fn result(&self) -> Option<Value<'a>> {
        *self.parsed.result.get_or_init(|| Value::parse(self.envelope.result?).ok())
    }

    /// Its `result`, if it answers a request with this method.
    pub fn result_of(&self, method: &str) -> Option<Value<'a>> {
        self.request.filter(|request| request.method == method).and_then(|_| self.result())
    }

    /// Its `_meta`, in `params` or `result`: a pointer and the value.
    pub fn meta(&self) -> Option<(&'static str, Value<'a>)> {
        let of = |holder: Option<Value<'a>>, pointer| {
            holder.and_then(|holder| holder.get("_meta")).map(|meta| (pointer, meta))
        };
        of(self.params(), "/params/_meta").or_else(|| of(self.result(), "/result/_meta"))
    }

    /// Whether it came on a resumed stream, where a server may send messages again.
    pub fn is_redelivered(&self) -> bool {
        self.exchange.is_some_and(Exchange::is_resumed)
    }
}

/// A line with a message or a batch.
pub struct MessageView<'a> {
    /// Facts about the whole trace.
    pub trace: &'a TraceFacts,
    /// The session it belongs to, as known before this line.
    pub session: &'a Session,
    /// The revision of its session.
    pub revision: Option<Revision>,
    /// The direction it was sent in.
    pub direction: Direction,
    /// The JSON as it crossed the wire.
    pub raw: &'a [u8],
    /// The line's `wire` words, such as `bom`.
    pub wire: &'a [String],
    /// The exchange that carries it.
    pub exchange: Option<&'a Exchange>,
    /// The HTTP part of its line.
    pub http: Option<&'a HttpContext>,
}

/// A line that is not JSON.
pub struct TextView<'a> {
    /// Facts about the whole trace.
    pub trace: &'a TraceFacts,
    /// The direction it was sent in.
    pub direction: Direction,
    /// The text of the line.
    pub text: &'a str,
    /// Whether its bytes are not UTF-8.
    pub is_binary: bool,
    /// Whether it is a fragment of JSON.
    pub piece: Piece,
    /// The exchange that carries it.
    pub exchange: Option<&'a Exchange>,
    /// The HTTP part of the line.
    pub http: Option<&'a HttpContext>,
}

/// Whether a line is a fragment of JSON that spans several lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// It is not a fragment of JSON.
    None,
    /// It is the first fragment.
    First,
    /// It is a later fragment.
    Later,
}

/// An HTTP exchange with the head of its response.
pub struct ExchangeView<'a> {
    /// Facts about the whole trace.
    pub trace: &'a TraceFacts,
    /// The session it belongs to, as known before this line.
    pub session: &'a Session,
    /// The exchange, with the response's head.
    pub exchange: &'a Exchange,
    /// The HTTP part of the line with the response's head.
    pub http: &'a HttpContext,
    /// The revision that applies; `None` if nothing names one.
    pub revision: Option<Revision>,
}

/// The end of a trace.
pub struct TraceEnd<'a> {
    /// Facts about the whole trace.
    pub trace: &'a TraceFacts,
    /// The sessions, sorted by id.
    pub sessions: Vec<&'a Session>,
    /// The `end` record and its line, if the recording has one.
    pub end: Option<(u64, &'a End)>,
    /// The last line of standard error, shortened.
    pub last_stderr: Option<&'a str>,
}

/// A call that had no answer when the trace ended.
pub struct UnansweredCall<'a> {
    /// Facts about the whole trace.
    pub trace: &'a TraceFacts,
    /// The call without an answer.
    pub call: &'a Call,
    /// The facts about its request.
    pub request: &'a RequestFacts<'a>,
    /// The exchange that carried the request.
    pub exchange: Option<&'a Exchange>,
    /// The time of the last line, in microseconds since the recording began.
    pub us: Option<u64>,
}
