//! What a check is shown: one payload, line, exchange or trace, with all that is known around it.

use super::exchange::Exchange;
use super::revision::Revision;
use super::session::{Asked, Session, TraceFacts};
use crate::call::Call;
use crate::reading::Meaning;
use std::borrow::Cow;
use std::cell::OnceCell;
use wiretape_trace::format::{End, HttpContext, Stamp};
use wiretape_trace::message::{Direction, Envelope, MessageKind};
use wiretape_trace::value::Value;

/// One payload, and what was known before it.
pub struct PayloadView<'a> {
    /// The trace.
    pub trace: &'a TraceFacts,
    /// Its session.
    pub session: &'a Session,
    /// The HTTP exchange that carries it.
    pub exchange: Option<&'a Exchange>,
    /// What its line says of that exchange.
    pub http: Option<&'a HttpContext>,
    /// When it was seen.
    pub stamp: &'a Stamp<'a>,
    /// Who sent it.
    pub direction: Direction,
    /// Its bytes.
    pub raw: &'a [u8],
    /// What it says of itself.
    pub envelope: &'a Envelope<'a>,
    /// What it means to the calls around it.
    pub meaning: Meaning,
    /// The line of the open request whose id this request takes.
    pub displaced: Option<u64>,
    /// Its revision.
    pub revision: Option<Revision>,
    /// What is remembered of the request that it answers.
    pub asked: Option<&'a Asked>,
    /// Whether it stands in a batch.
    pub in_batch: bool,
    pub(crate) parsed: Parsed<'a>,
}

/// Its parts, read when they are first asked for.
#[derive(Default)]
pub(crate) struct Parsed<'a> {
    params: OnceCell<Option<Value<'a>>>,
    result: OnceCell<Option<Value<'a>>>,
}

impl<'a> PayloadView<'a> {
    /// Its method.
    pub fn method(&self) -> Option<&str> {
        self.envelope.method.as_deref()
    }

    /// Whether it is a request, of this method.
    pub fn is_request(&self, method: &str) -> bool {
        self.envelope.kind == MessageKind::Request && self.method() == Some(method)
    }

    /// Whether it is a notification, of this method.
    pub fn is_notification(&self, method: &str) -> bool {
        self.envelope.kind == MessageKind::Notification && self.method() == Some(method)
    }

    /// Whether the client sent it.
    pub fn is_from_client(&self) -> bool {
        self.direction == Direction::ClientToServer
    }

    /// Its `params`.
    pub fn params(&self) -> Option<Value<'a>> {
        *self.parsed.params.get_or_init(|| Value::parse(self.envelope.params?).ok())
    }

    /// A value in its `params`.
    pub fn param(&self, path: &[&str]) -> Option<Value<'a>> {
        self.params()?.at_path(path)
    }

    /// A string in its `params`.
    pub fn param_text(&self, path: &[&str]) -> Option<Cow<'a, str>> {
        self.param(path)?.string()
    }

    /// Its `result`.
    pub fn result(&self) -> Option<Value<'a>> {
        *self.parsed.result.get_or_init(|| Value::parse(self.envelope.result?).ok())
    }

    /// Its `result`, if it answers a request of this method.
    pub fn result_of(&self, method: &str) -> Option<Value<'a>> {
        self.asked.filter(|asked| asked.method == method).and_then(|_| self.result())
    }

    /// Where `_meta` may stand, as it is there: a pointer and the value.
    pub fn meta(&self) -> Option<(&'static str, Value<'a>)> {
        let of = |holder: Option<Value<'a>>, pointer| {
            holder.and_then(|holder| holder.get("_meta")).map(|meta| (pointer, meta))
        };
        of(self.params(), "/params/_meta").or_else(|| of(self.result(), "/result/_meta"))
    }

    /// Whether it came on a stream that was taken up again, where messages may come twice.
    pub fn is_redelivered(&self) -> bool {
        self.exchange.is_some_and(Exchange::is_resumed)
    }
}

/// One line with a message.
pub struct MessageView<'a> {
    /// The trace.
    pub trace: &'a TraceFacts,
    /// Its session.
    pub session: &'a Session,
    /// The revision of its session.
    pub revision: Option<Revision>,
    /// Who sent it.
    pub direction: Direction,
    /// Its bytes.
    pub raw: &'a [u8],
    /// What is said of the line beside its payload.
    pub wire: &'a [String],
    /// The exchange that carries it.
    pub exchange: Option<&'a Exchange>,
    /// What its line says of that exchange.
    pub http: Option<&'a HttpContext>,
}

/// One line that is not JSON.
pub struct TextView<'a> {
    /// The trace.
    pub trace: &'a TraceFacts,
    /// Who sent it.
    pub direction: Direction,
    /// It.
    pub text: &'a str,
    /// Whether its bytes are not UTF-8.
    pub is_binary: bool,
    /// Whether it is a piece of JSON: its first line, or a later one.
    pub piece: Piece,
    /// The exchange that carries it.
    pub exchange: Option<&'a Exchange>,
    /// What the line says of that exchange.
    pub http: Option<&'a HttpContext>,
}

/// Whether a line is a piece of JSON that was spread over several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// It is none.
    None,
    /// It is the first.
    First,
    /// It goes on with one.
    Later,
}

/// An HTTP exchange whose response's head is known.
pub struct ExchangeView<'a> {
    /// The trace.
    pub trace: &'a TraceFacts,
    /// Its session.
    pub session: &'a Session,
    /// It.
    pub exchange: &'a Exchange,
    /// What the line says that brought the response's head.
    pub http: &'a HttpContext,
    /// Its revision.
    pub revision: Option<Revision>,
}

/// The end of a trace.
pub struct TraceEnd<'a> {
    /// The trace.
    pub trace: &'a TraceFacts,
    /// The sessions, in the order of their ids.
    pub sessions: Vec<&'a Session>,
    /// How the recording ended, if it has an end, and the line of that.
    pub end: Option<(u64, &'a End)>,
    /// The last line of standard error.
    pub last_stderr: Option<&'a str>,
}

/// A call that had no answer when the trace ended.
pub struct UnansweredCall<'a> {
    /// The trace.
    pub trace: &'a TraceFacts,
    /// The call.
    pub call: &'a Call,
    /// What is remembered of its request.
    pub asked: &'a Asked,
    /// The exchange that carried the request.
    pub exchange: Option<&'a Exchange>,
    /// The time of the last line.
    pub us: Option<u64>,
}
