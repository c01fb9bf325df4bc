//! Reassembles one HTTP exchange from the trace lines that mention it, into the same [`Transaction`] that the
//! proxy hands over.

use super::timeline::Tick;
use crate::transaction::{Timings, Transaction, is_answer, session_in};
use bytes::Bytes;
use std::borrow::Cow;
use std::sync::Arc;
use wiretape_trace::format::{Ended, Head};
use wiretape_trace::message::Direction;
use wiretape_trace::value::Value;

/// What a line's `http` member says about its exchange.
#[derive(Debug, Default)]
pub(super) struct HttpNote<'a> {
    pub(super) x: u64,
    request: Option<Value<'a>>,
    response: Option<Value<'a>>,
    sse: Option<Value<'a>>,
    bytes: Option<u64>,
    own: bool,
    pub(super) again: Option<u64>,
    request_body: Option<Value<'a>>,
    response_body: Option<Value<'a>>,
    ended: Option<Cow<'a, str>>,
    error: Option<Cow<'a, str>>,
    duration_us: Option<u64>,
}

impl<'a> HttpNote<'a> {
    /// Parses a line's `http` member; `None` if it doesn't name an exchange.
    pub(super) fn parse(http: &'a [u8]) -> Option<Self> {
        let (mut note, mut x) = (HttpNote::default(), None);
        // One pass over the members, because `Value::get` scans from the start each time.
        Value::parse(http).ok()?.members(|name, value| match &*name.decode() {
            "x" => x = number(value),
            "request" => note.request = Some(value),
            "response" => note.response = Some(value),
            "sse" => note.sse = Some(value),
            "bytes" => note.bytes = number(value),
            "own" => note.own = value.raw == b"true",
            "again" => note.again = number(value),
            "requestBody" => note.request_body = Some(value),
            "responseBody" => note.response_body = Some(value),
            "ended" => note.ended = value.string(),
            "error" => note.error = value.string(),
            "durationUs" => note.duration_us = number(value),
            _ => {}
        });
        note.x = x?;
        Some(note)
    }

    /// Whether this line begins the exchange: it has the request's head.
    pub(super) fn begins(&self) -> bool {
        self.request.is_some()
    }

    /// How the exchange ended, if this line says so.
    pub(super) fn ended(&self) -> Option<Ended> {
        let name = self.ended.as_deref().filter(|name| *name != "open")?;
        Some(Ended::named(name).unwrap_or_default())
    }
}

/// An exchange whose end was not read yet.
#[derive(Debug)]
pub(super) struct OpenExchange {
    /// What is known so far. Times and the ending are set at the end.
    transaction: Transaction,
    first: Tick,
    last: Tick,
    /// When the server's head arrived.
    answered: Option<Tick>,
    /// Whether the response is complete.
    response: Response,
}

/// How much of a response was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Response {
    /// More may follow.
    Partial,
    /// The whole body was read.
    Whole,
}

/// The stream on which an answer to another exchange arrived.
pub(super) struct OnStream {
    pub(super) upstream: Arc<str>,
    pub(super) session: String,
}

impl OpenExchange {
    /// Begins an exchange with the server at this URL, unless the request's target names another, as in a
    /// forward proxy.
    pub(super) fn begin(note: &HttpNote<'_>, server: &Arc<str>, trace: Option<Arc<str>>, at: Tick) -> Self {
        let head = note.request;
        let text = |name| head.and_then(|head| head.get(name)?.string()).unwrap_or_default();
        let target = text("target");
        let (upstream, target) = match target.contains("://") {
            true => (Arc::from(origin(&target)), target[origin(&target).len()..].to_owned()),
            false => (Arc::clone(server), target.into_owned()),
        };
        let transaction = Transaction {
            x: note.x,
            // A trace doesn't record these.
            listener: None,
            client: None,
            connection: None,
            user: None,
            is_resumable: false,
            is_html: false,
            csp_applied: false,
            upstream,
            session: head.and_then(|head| header(head, "mcp-session-id")),
            protocol_version: head.and_then(|head| header(head, "mcp-protocol-version")),
            method: text("method").into(),
            target,
            request_head: head.map(own_head),
            response_head: None,
            status: None,
            request: None,
            response: None,
            request_bytes: 0,
            response_bytes: 0,
            trace,
            timings: Timings::default(),
            ended: Ended::Complete,
            error: None,
        };
        OpenExchange { transaction, first: at, last: at, answered: None, response: Response::Partial }
    }

    /// Adds what a line says about the exchange.
    pub(super) fn note(&mut self, note: &HttpNote<'_>, at: Tick) {
        self.last = at;
        self.transaction.is_resumable |= note.sse.is_some_and(|sse| sse.get("id").is_some());
        if let Some(head) = note.response {
            self.response_head(head, note, at);
        }
        let length = |body: Option<Value<'_>>| body.and_then(|body| number(body.get("bytes")?));
        if let Some(bytes) = length(note.request_body) {
            self.transaction.request_bytes = bytes;
        }
        if let Some(bytes) = length(note.response_body) {
            self.transaction.response_bytes = bytes;
        }
    }

    fn response_head(&mut self, head: Value<'_>, note: &HttpNote<'_>, at: Tick) {
        let transaction = &mut self.transaction;
        transaction.status =
            head.get("status").and_then(number).and_then(|status| u16::try_from(status).ok());
        transaction.response_head = Some(own_head(head));
        if transaction.session.is_none() {
            transaction.session = header(head, "mcp-session-id");
        }
        if !note.own {
            self.answered = Some(at);
        }
    }

    /// Adds a message. Returns the stream if it is an answer on a GET stream, which belongs to another
    /// exchange.
    pub(super) fn message(&mut self, note: &HttpNote<'_>, dir: Direction, raw: &[u8]) -> Option<OnStream> {
        match dir {
            Direction::ClientToServer => {
                self.transaction.request_bytes = note.bytes.unwrap_or(raw.len() as u64);
                self.transaction.request = Some(Bytes::copy_from_slice(raw));
                None
            }
            // `own`: the proxy answered in the server's place, so this isn't the server's answer.
            Direction::ServerToClient if note.own => None,
            Direction::ServerToClient => {
                if note.sse.is_none() {
                    self.response = Response::Whole;
                    self.transaction.response_bytes = note.bytes.unwrap_or(raw.len() as u64);
                } else {
                    // A sum of messages, until the line about the end has the length of the whole stream.
                    self.transaction.response_bytes += raw.len() as u64;
                }
                self.answer(raw)
            }
        }
    }

    fn answer(&mut self, raw: &[u8]) -> Option<OnStream> {
        let transaction = &mut self.transaction;
        if !is_answer(raw) {
            return None;
        }
        if &*transaction.method == "GET" {
            let session = transaction.session.clone()?;
            return Some(OnStream { upstream: Arc::clone(&transaction.upstream), session });
        }
        transaction.response = Some(Bytes::copy_from_slice(raw));
        None
    }

    /// Adds an SSE event that is not a message. Over HTTP+SSE, the first one names the session.
    pub(super) fn event(&mut self, note: &HttpNote<'_>, text: &str) {
        let kind = note.sse.and_then(|sse| sse.get("event")?.string());
        if kind.as_deref() == Some("endpoint") && self.transaction.session.is_none() {
            self.transaction.session = session_in(text);
        }
    }

    /// Sets the request to what an earlier exchange sent, which is not recorded a second time.
    pub(super) fn repeat(&mut self, message: Bytes) {
        self.transaction.request_bytes = message.len() as u64;
        self.transaction.request = Some(message);
    }

    /// The client's message or batch.
    pub(super) fn into_request(self) -> Option<Bytes> {
        self.transaction.request
    }

    /// Whether the exchange is complete although no line says so: traces of older versions have no such
    /// lines.
    pub(super) fn is_over(&self) -> bool {
        let asked = self.transaction.request.is_some() || &*self.transaction.method != "POST";
        self.response == Response::Whole && asked
    }

    /// Extends the exchange to a time at which it was still open.
    pub(super) fn lasts_until(&mut self, at: Tick) {
        self.last = at;
    }

    /// The time of its last line.
    pub(super) fn last(&self) -> Tick {
        self.last
    }

    /// Whether only its end is missing.
    pub(super) fn is_answered(&self) -> bool {
        self.transaction.response.is_some()
    }

    /// Ends the exchange with the line that says how.
    pub(super) fn end_as_noted(self, note: &HttpNote<'_>, ended: Ended) -> Rebuilt {
        // The duration on the line is more precise than the lines' own times: a line is written when its
        // message is complete.
        let started = note.duration_us.map_or(self.first, |us| self.last.before(us));
        let error = note.error.as_deref().map(str::to_owned);
        let bytes = note.bytes;
        let mut rebuilt = self.end(started, ended);
        rebuilt.transaction.error = error;
        if let Some(bytes) = bytes {
            rebuilt.transaction.response_bytes = bytes;
        }
        rebuilt
    }

    /// Ends the exchange with its last line, because no line says how it ended.
    pub(super) fn ended(self, ended: Ended) -> Rebuilt {
        let started = self.first;
        self.end(started, ended)
    }

    fn end(self, started: Tick, ended: Ended) -> Rebuilt {
        let OpenExchange { mut transaction, last, answered, .. } = self;
        let us = |at: Tick| at.us.saturating_sub(started.us);
        transaction.timings = Timings {
            started: started.moment(),
            connected_us: None,
            answered_us: answered.map(us),
            first_byte_us: None,
            responded_us: None,
            ended_us: us(last),
        };
        transaction.ended = ended;
        let times = if last.since(started).is_some() { Times::Known } else { Times::Unknown };
        Rebuilt { transaction, times }
    }
}

/// An exchange as the proxy would hand it over, except for what a trace doesn't record.
pub(super) struct Rebuilt {
    pub(super) transaction: Transaction,
    pub(super) times: Times,
}

/// Whether durations are known. Imported and hand-written lines may have no times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    Known,
    Unknown,
}

fn own_head(head: Value<'_>) -> Arc<Head> {
    Arc::new(Head::from_json(head.raw.to_vec()))
}

/// The value of a header.
fn header(head: Value<'_>, name: &str) -> Option<String> {
    Some(head.get("headers")?.get(name)?.string()?.into_owned())
}

fn number(value: Value<'_>) -> Option<u64> {
    std::str::from_utf8(value.raw).ok()?.parse().ok()
}

/// A URL without its path, query and fragment.
pub(super) fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find(['/', '?', '#']).map_or(url.len(), |at| host + at);
    &url[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_cut_to_its_origin() {
        assert_eq!(origin("https://a.example:8443/mcp?x#y"), "https://a.example:8443");
        assert_eq!(origin("https://a.example"), "https://a.example");
        assert_eq!(origin("server/x"), "server");
    }

    #[test]
    fn a_note_without_a_number_is_none() {
        assert!(HttpNote::parse(br#"{"context":{}}"#).is_none());
        assert!(HttpNote::parse(br#"{"x":"1"}"#).is_none());
        assert!(HttpNote::parse(b"7").is_none());
        let note = HttpNote::parse(br#"{"x":1,"ended":"client-closed","own":true,"bytes":9}"#).unwrap();
        assert_eq!((note.ended(), note.own, note.bytes), (Some(Ended::ClientClosed), true, Some(9)));
        assert_eq!(HttpNote::parse(br#"{"x":1,"ended":"open"}"#).unwrap().ended(), None);
    }
}
