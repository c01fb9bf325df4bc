//! One exchange of HTTP, put together again from what the lines of a trace say of it.

use super::timeline::{Tick, Timeline};
use crate::transaction::{Timings, Transaction, is_answer, session_in};
use bytes::Bytes;
use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use wiretape_trace::format::{Ended, Head, Moment};
use wiretape_trace::message::Direction;
use wiretape_trace::value::Value;

/// What a line says of its exchange.
#[derive(Debug, Default)]
pub(super) struct Note<'a> {
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

impl<'a> Note<'a> {
    /// What a line's `http` says; nothing if it doesn't say which exchange it is about.
    pub(super) fn parse(http: &'a [u8]) -> Option<Self> {
        let (mut note, mut x) = (Note::default(), None);
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

    /// Whether an exchange begins here.
    pub(super) fn begins(&self) -> bool {
        self.request.is_some()
    }

    /// How the exchange ended, if this line tells of the end.
    pub(super) fn ended(&self) -> Option<Ended> {
        let name = self.ended.as_deref().filter(|name| *name != "open")?;
        Some(Ended::named(name).unwrap_or_default())
    }
}

/// An exchange whose end was not seen yet.
#[derive(Debug)]
pub(super) struct Open {
    /// What is known of it; times, and how it ended, are not.
    transaction: Transaction,
    first: Tick,
    last: Tick,
    /// When the server's head had come.
    answered: Option<Tick>,
    /// The response has come to its end.
    response: Response,
}

/// How far a response has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Response {
    /// It may go on.
    Open,
    /// All of it is there.
    Whole,
}

/// What an answer on a stream that a GET opened is known by.
pub(super) struct OnStream {
    pub(super) upstream: Arc<str>,
    pub(super) session: String,
}

impl Open {
    /// An exchange with the server at this URL, unless the request itself names another.
    pub(super) fn begin(note: &Note<'_>, server: &Arc<str>, trace: Option<Arc<str>>, at: Tick) -> Self {
        let head = note.request;
        let text = |name| head.and_then(|head| head.get(name)?.string()).unwrap_or_default();
        let target = text("target");
        let (upstream, target) = match target.contains("://") {
            true => (Arc::from(origin(&target)), target[origin(&target).len()..].to_owned()),
            false => (Arc::clone(server), target.into_owned()),
        };
        let transaction = Transaction {
            x: note.x,
            // What a trace has no place for.
            listener: Arc::from(""),
            client: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
            connection: 0,
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
            ended_at: std::time::Instant::now(),
            ended: Ended::Complete,
            error: None,
        };
        Open { transaction, first: at, last: at, answered: None, response: Response::Open }
    }

    /// What any line says of it.
    pub(super) fn note(&mut self, note: &Note<'_>, at: Tick) {
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

    fn response_head(&mut self, head: Value<'_>, note: &Note<'_>, at: Tick) {
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

    /// A message of either side. An answer on a stream that a GET opened belongs to another exchange.
    pub(super) fn message(&mut self, note: &Note<'_>, dir: Direction, raw: &[u8]) -> Option<OnStream> {
        match dir {
            Direction::ClientToServer => {
                self.transaction.request_bytes = note.bytes.unwrap_or(raw.len() as u64);
                self.transaction.request = Some(Bytes::copy_from_slice(raw));
                None
            }
            Direction::ServerToClient if note.own => None,
            Direction::ServerToClient => {
                if note.sse.is_none() {
                    self.response = Response::Whole;
                    self.transaction.response_bytes = note.bytes.unwrap_or(raw.len() as u64);
                } else {
                    // Until the end tells the length of the whole stream.
                    self.transaction.response_bytes += raw.len() as u64;
                }
                self.said(raw)
            }
        }
    }

    fn said(&mut self, raw: &[u8]) -> Option<OnStream> {
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

    /// An event that is no message. Over HTTP+SSE the first names the session.
    pub(super) fn event(&mut self, note: &Note<'_>, text: &str) {
        let kind = note.sse.and_then(|sse| sse.get("event")?.string());
        if kind.as_deref() == Some("endpoint") && self.transaction.session.is_none() {
            self.transaction.session = session_in(text);
        }
    }

    /// It sends again what another has sent.
    pub(super) fn repeat(&mut self, message: Bytes) {
        self.transaction.request_bytes = message.len() as u64;
        self.transaction.request = Some(message);
    }

    /// What the client sent.
    pub(super) fn into_request(self) -> Option<Bytes> {
        self.transaction.request
    }

    /// Whether it has come to its end, though no line says so: both sides have said all.
    pub(super) fn is_over(&self) -> bool {
        let asked = self.transaction.request.is_some() || &*self.transaction.method != "POST";
        self.response == Response::Whole && asked
    }

    /// When it was last heard of.
    pub(super) fn last(&self) -> Tick {
        self.last
    }

    /// Whether it waits for nothing but its end.
    pub(super) fn is_answered(&self) -> bool {
        self.transaction.response.is_some()
    }

    /// It has ended, and this line tells how.
    pub(super) fn told(self, note: &Note<'_>, ended: Ended, timeline: &Timeline) -> Rebuilt {
        let started = note.duration_us.map_or(self.first, |us| self.last.before(us));
        let error = note.error.as_deref().map(str::to_owned);
        let bytes = note.bytes;
        let mut rebuilt = self.end(started, ended, timeline);
        rebuilt.transaction.error = error;
        if let Some(bytes) = bytes {
            rebuilt.transaction.response_bytes = bytes;
        }
        rebuilt
    }

    /// It has ended with its last line.
    pub(super) fn ended(self, ended: Ended, timeline: &Timeline) -> Rebuilt {
        let started = self.first;
        self.end(started, ended, timeline)
    }

    fn end(self, started: Tick, ended: Ended, timeline: &Timeline) -> Rebuilt {
        let Open { mut transaction, last, answered, .. } = self;
        let us = |at: Tick| at.us.saturating_sub(started.us);
        transaction.timings = Timings {
            started: Moment { wall_ms: started.wall_ms, us: started.us },
            connected_us: None,
            answered_us: answered.map(us),
            first_byte_us: None,
            responded_us: None,
            ended_us: us(last),
        };
        transaction.ended = ended;
        transaction.ended_at = timeline.now(last).instant;
        let times = if last.since(started).is_some() { Times::Known } else { Times::Unknown };
        Rebuilt { transaction, times }
    }
}

/// An exchange as the proxy has handed it on, but for what a trace doesn't say.
pub(super) struct Rebuilt {
    pub(super) transaction: Transaction,
    pub(super) times: Times,
}

/// Whether it is known how long something took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    Known,
    Unknown,
}

fn own_head(head: Value<'_>) -> Arc<Head> {
    Arc::new(Head::from_json(head.raw.to_vec()))
}

/// The only value of a header.
fn header(head: Value<'_>, name: &str) -> Option<String> {
    Some(head.get("headers")?.get(name)?.string()?.into_owned())
}

fn number(value: Value<'_>) -> Option<u64> {
    std::str::from_utf8(value.raw).ok()?.parse().ok()
}

/// A URL without its path.
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
        assert!(Note::parse(br#"{"context":{}}"#).is_none());
        assert!(Note::parse(br#"{"x":"1"}"#).is_none());
        assert!(Note::parse(b"7").is_none());
        let note = Note::parse(br#"{"x":1,"ended":"client-closed","own":true,"bytes":9}"#).unwrap();
        assert_eq!((note.ended(), note.own, note.bytes), (Some(Ended::ClientClosed), true, Some(9)));
        assert_eq!(Note::parse(br#"{"x":1,"ended":"open"}"#).unwrap().ended(), None);
    }
}
