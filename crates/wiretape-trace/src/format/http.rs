//! The HTTP context of a line: [`ExchangeNote`], which recorders write and the store reads.
//!
//! [`HttpContext`] is the same for readers that look into heads or show imported contexts: it owns its data, and
//! has the heads parsed.

use super::write::{push_number, push_string};
use crate::value::Value;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;

/// The JSON of a request's or a response's head. Rendered once per exchange, so that redaction sees it once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head(Vec<u8>);

impl Head {
    /// The head of a request.
    pub fn request<'a>(
        method: &str,
        target: &str,
        version: &str,
        headers: impl Iterator<Item = (&'a str, Cow<'a, [u8]>)>,
    ) -> Self {
        let mut json = Vec::with_capacity(512);
        json.extend_from_slice(b"{\"method\":");
        push_value(&mut json, method.as_bytes());
        json.extend_from_slice(b",\"target\":");
        push_value(&mut json, target.as_bytes());
        Self::finish(json, version, headers)
    }

    /// The head of a response.
    pub fn response<'a>(
        status: u16,
        version: &str,
        headers: impl Iterator<Item = (&'a str, Cow<'a, [u8]>)>,
    ) -> Self {
        let mut json = Vec::with_capacity(256);
        json.extend_from_slice(b"{\"status\":");
        push_number(&mut json, u64::from(status));
        Self::finish(json, version, headers)
    }

    fn finish<'a>(
        mut json: Vec<u8>,
        version: &str,
        headers: impl Iterator<Item = (&'a str, Cow<'a, [u8]>)>,
    ) -> Self {
        json.extend_from_slice(b",\"version\":");
        push_value(&mut json, version.as_bytes());
        json.extend_from_slice(b",\"headers\":");
        push_headers(&mut json, headers);
        json.push(b'}');
        Head(json)
    }

    /// Headers alone, to be added to a head with [`Head::join`].
    pub fn headers<'a>(headers: impl Iterator<Item = (&'a str, Cow<'a, [u8]>)>) -> Self {
        let mut json = HEADERS.to_vec();
        // `push_headers` writes the opening brace itself.
        json.pop();
        push_headers(&mut json, headers);
        json.push(b'}');
        Head(json)
    }

    /// This head with more headers at its end. `None` if either is not of the expected shape. Splices the
    /// JSON, so that a head that many exchanges share is rendered once.
    pub fn join(&self, more: &Head) -> Option<Head> {
        let beginning = self.0.strip_suffix(b"}}")?;
        let members = more.0.strip_prefix(HEADERS)?.strip_suffix(b"}}")?;
        // Either list of headers may be empty, and then there is nothing to separate.
        let comma: &[u8] = if beginning.ends_with(b"{") || members.is_empty() { b"" } else { b"," };
        Some(Head([beginning, comma, members, b"}}"].concat()))
    }

    /// The head's JSON, for redaction.
    pub fn json(&self) -> &[u8] {
        &self.0
    }

    /// The head as a line has it.
    pub fn view(&self) -> HeadJson<'_> {
        HeadJson(&self.0)
    }

    /// A head from its redacted JSON, which must still be an object.
    pub fn from_json(json: Vec<u8>) -> Self {
        Head(json)
    }
}

/// The beginning of the JSON of headers alone.
const HEADERS: &[u8] = b"{\"headers\":{";

/// Appends headers as an object. A name that occurs several times in a row (the order in which header maps
/// iterate) gets an array.
fn push_headers<'a>(out: &mut Vec<u8>, headers: impl Iterator<Item = (&'a str, Cow<'a, [u8]>)>) {
    out.push(b'{');
    let mut headers = headers.peekable();
    let mut first = true;
    while let Some((name, value)) = headers.next() {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        push_value(out, name.as_bytes());
        out.push(b':');
        // The format has a string for one value, and an array only for several.
        if headers.peek().is_none_or(|(next, _)| *next != name) {
            push_value(out, &value);
            continue;
        }
        out.push(b'[');
        push_value(out, &value);
        while let Some((_, value)) = headers.next_if(|(next, _)| *next == name) {
            out.push(b',');
            push_value(out, &value);
        }
        out.push(b']');
    }
    out.push(b'}');
}

fn push_value(out: &mut Vec<u8>, value: &[u8]) {
    // Nearly all header values need no escaping, and then skip the serializer.
    let plain = value.iter().all(|&byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\');
    if plain {
        out.push(b'"');
        out.extend_from_slice(value);
        out.push(b'"');
    } else {
        push_string(out, &String::from_utf8_lossy(value));
    }
}

/// A line's `http` member: what the line says about the exchange that carried it. Written by everything that
/// records an exchange and read by everything that reassembles one; [`decode`](Self::decode) is the inverse of
/// [`encode`](Self::encode). Heads stay JSON, because the proxy renders and redacts them once per exchange.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExchangeNote<'a> {
    /// The number of the exchange, unique within a run of the proxy.
    pub x: u64,
    /// The request's head, if this is the first line of the exchange.
    pub request: Option<HeadJson<'a>>,
    /// The response's head, if this is the first line since it arrived.
    pub response: Option<HeadJson<'a>>,
    /// The client's connection, on the first line of the exchange.
    pub connection: Option<ConnectionNote<'a>>,
    /// The user that the request's access token names, on the first line of the exchange.
    pub user: Option<Cow<'a, str>>,
    /// The SSE event that carried the message.
    pub sse: Option<Cow<'a, SseContext>>,
    /// Bytes on the wire of the body that ends with this line, if the payload has a different length.
    pub bytes: Option<u64>,
    /// Who generated the message.
    pub answers: Answers,
    /// The exchange whose message this one resends.
    pub again: Option<u64>,
    /// A request body that is not a message.
    pub request_body: Option<Cow<'a, BodyNote>>,
    /// A response body that is not a message.
    pub response_body: Option<Cow<'a, BodyNote>>,
    /// How far the exchange is, on lines that record nothing else.
    pub progress: Option<ExchangeProgress>,
    /// A description of what went wrong, for people.
    pub error: Option<Cow<'a, str>>,
    /// Whether the proxy added a Content-Security-Policy to the response.
    pub policy: Policy,
    /// When the stages before the end were reached, on the line with `duration_us`.
    pub stages: Stages,
    /// Microseconds from the request's head to this line, if it is the last one of the exchange.
    pub duration_us: Option<u64>,
}

/// The JSON of a head, borrowed from a [`Head`] or from a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadJson<'a>(&'a [u8]);

impl<'a> HeadJson<'a> {
    /// The JSON object, verbatim.
    pub fn json(self) -> &'a [u8] {
        self.0
    }

    /// A head of its own.
    pub fn to_head(self) -> Head {
        Head(self.0.to_vec())
    }

    /// The head as a JSON value.
    pub fn value(self) -> Option<Value<'a>> {
        Value::parse(self.0).ok()
    }

    /// The value of a header, by lower-case name; `None` if it occurred several times.
    pub fn header(self, name: &str) -> Option<Cow<'a, str>> {
        self.value()?.get("headers")?.get(name)?.string()
    }
}

/// The connection between the client and the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionNote<'a> {
    /// The number of the connection, unique within a run of the proxy.
    pub number: u64,
    /// The client's address and port.
    pub client: SocketAddr,
    /// The name of the listener that accepted it.
    pub listener: Cow<'a, str>,
}

/// When the stages of an exchange were reached, in microseconds after the request's head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stages {
    /// When there was a connection to the upstream, new or reused.
    pub connected_us: Option<u64>,
    /// When the response's head was complete.
    pub answered_us: Option<u64>,
    /// When the first byte of the response's body arrived.
    pub first_byte_us: Option<u64>,
    /// When the response's body was complete.
    pub responded_us: Option<u64>,
}

/// How far an exchange is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeProgress {
    /// A stream was opened and continues.
    Open,
    /// The exchange has ended.
    Ended(Ended),
}

impl ExchangeProgress {
    /// The value with this name in traces. A newer recorder may have written an end that this version doesn't
    /// know; it is an end all the same.
    pub fn named(name: &str) -> Self {
        match name {
            OPEN => ExchangeProgress::Open,
            name => ExchangeProgress::Ended(Ended::named(name).unwrap_or_default()),
        }
    }

    /// The name in traces.
    pub fn name(self) -> &'static str {
        match self {
            ExchangeProgress::Open => OPEN,
            ExchangeProgress::Ended(ended) => ended.name(),
        }
    }
}

/// The name of a stream that continues, which is not an end.
const OPEN: &str = "open";

/// What the proxy did to the response's Content-Security-Policy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Policy {
    /// The response has the server's own policy, or none.
    #[default]
    Unchanged,
    /// It added its own.
    Added,
}

/// Who generated a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Answers {
    /// The client or the server that sent it.
    #[default]
    Server,
    /// The recorder, on behalf of the peer: an error response, or a new handshake.
    Recorder,
}

impl<'a> ExchangeNote<'a> {
    /// Appends the JSON object of a line's `http` member.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"x\":");
        push_number(out, self.x);
        for (name, head) in [("request", self.request), ("response", self.response)] {
            if let Some(head) = head {
                push_name(out, name);
                out.extend_from_slice(head.json());
            }
        }
        if let Some(connection) = &self.connection {
            connection.encode(out);
        }
        push_member(out, "user", self.user.as_deref());
        push_member(out, "sse", self.sse.as_deref());
        push_count(out, "bytes", self.bytes);
        push_member(out, "own", (self.answers == Answers::Recorder).then_some(true));
        push_count(out, "again", self.again);
        push_member(out, "requestBody", self.request_body.as_deref());
        push_member(out, "responseBody", self.response_body.as_deref());
        push_member(out, "ended", self.progress.map(ExchangeProgress::name));
        push_member(out, "error", self.error.as_deref());
        push_member(out, "csp", (self.policy == Policy::Added).then_some(true));
        push_count(out, "connectedUs", self.stages.connected_us);
        push_count(out, "answeredUs", self.stages.answered_us);
        push_count(out, "firstByteUs", self.stages.first_byte_us);
        push_count(out, "respondedUs", self.stages.responded_us);
        push_count(out, "durationUs", self.duration_us);
        out.push(b'}');
    }

    /// Parses a line's `http` member; `None` if it doesn't name an exchange. A member of another type counts
    /// as missing.
    pub fn decode(http: &'a [u8]) -> Option<Self> {
        let (mut note, mut x) = (ExchangeNote::default(), None);
        // One pass over the members, because `Value::get` scans from the start each time.
        Value::parse(http).ok()?.members(|name, value| match &*name.decode() {
            "x" => x = count(value),
            name => note.set_member(name, value),
        });
        note.x = x?;
        Some(note)
    }

    fn set_member(&mut self, name: &str, value: Value<'a>) {
        let head = || value.is_object().then_some(HeadJson(value.raw));
        match name {
            "request" => self.request = head(),
            "response" => self.response = head(),
            "connection" => self.connection = ConnectionNote::decode(value),
            "user" => self.user = value.string(),
            "sse" => self.sse = value.is_object().then(|| Cow::Owned(super::read::lenient(value.raw))),
            "bytes" => self.bytes = count(value),
            "own" if value.raw == b"true" => self.answers = Answers::Recorder,
            "again" => self.again = count(value),
            "requestBody" => self.request_body = body_note(value),
            "responseBody" => self.response_body = body_note(value),
            "ended" => self.progress = value.string().map(|name| ExchangeProgress::named(&name)),
            "error" => self.error = value.string(),
            "csp" if value.raw == b"true" => self.policy = Policy::Added,
            "connectedUs" => self.stages.connected_us = count(value),
            "answeredUs" => self.stages.answered_us = count(value),
            "firstByteUs" => self.stages.first_byte_us = count(value),
            "respondedUs" => self.stages.responded_us = count(value),
            "durationUs" => self.duration_us = count(value),
            _ => {}
        }
    }

    /// How the exchange ended, if this line says so.
    pub fn ended(&self) -> Option<Ended> {
        match self.progress? {
            ExchangeProgress::Open => None,
            ExchangeProgress::Ended(ended) => Some(ended),
        }
    }
}

impl<'a> ConnectionNote<'a> {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"connection\":{\"number\":");
        push_number(out, self.number);
        // An address needs no escaping.
        write!(out, ",\"client\":\"{}\"", self.client).expect("writing into memory can't fail");
        push_name(out, "listener");
        push_value(out, self.listener.as_bytes());
        out.push(b'}');
    }

    fn decode(value: Value<'a>) -> Option<Self> {
        let (mut number, mut client, mut listener) = (None, None, None);
        value.members(|name, value| match &*name.decode() {
            "number" => number = count(value),
            "client" => client = value.string().and_then(|client| client.parse().ok()),
            "listener" => listener = value.string(),
            _ => {}
        });
        Some(ConnectionNote { number: number?, client: client?, listener: listener? })
    }
}

fn body_note(value: Value<'_>) -> Option<Cow<'static, BodyNote>> {
    value.is_object().then(|| Cow::Owned(super::read::lenient(value.raw)))
}

fn count(value: Value<'_>) -> Option<u64> {
    std::str::from_utf8(value.raw).ok()?.parse().ok()
}

fn push_count(out: &mut Vec<u8>, name: &str, count: Option<u64>) {
    if let Some(count) = count {
        push_name(out, name);
        push_number(out, count);
    }
}

fn push_name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn push_member<T: Serialize>(out: &mut Vec<u8>, name: &str, value: Option<T>) {
    if let Some(value) = value {
        push_name(out, name);
        serde_json::to_writer(out, &value).expect("writing plain fields into memory can't fail");
    }
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ended {
    /// The response was delivered completely.
    #[default]
    Complete,
    /// The client disconnected before the end.
    ClientClosed,
    /// The upstream disconnected before the end.
    UpstreamClosed,
    /// The proxy refused it.
    Refused,
    /// The upstream can't be reached.
    Unreachable,
    /// A timeout of the proxy expired.
    Timeout,
    /// A body exceeded a limit of the proxy.
    TooLarge,
    /// The connection was upgraded to another protocol.
    Upgraded,
    /// The proxy was stopped.
    Stopped,
}

impl Ended {
    /// All variants, in the order of the format's documentation.
    pub const ALL: [Ended; 9] = [
        Ended::Complete,
        Ended::ClientClosed,
        Ended::UpstreamClosed,
        Ended::Refused,
        Ended::Unreachable,
        Ended::Timeout,
        Ended::TooLarge,
        Ended::Upgraded,
        Ended::Stopped,
    ];

    /// The variant with this name in traces. `None` for `open`, which is not an end.
    pub fn named(name: &str) -> Option<Self> {
        Ended::ALL.into_iter().find(|ended| ended.name() == name)
    }

    /// The name in traces.
    pub fn name(self) -> &'static str {
        match self {
            Ended::Complete => "complete",
            Ended::ClientClosed => "client-closed",
            Ended::UpstreamClosed => "upstream-closed",
            Ended::Refused => "refused",
            Ended::Unreachable => "unreachable",
            Ended::Timeout => "timeout",
            Ended::TooLarge => "too-large",
            Ended::Upgraded => "upgraded",
            Ended::Stopped => "stopped",
        }
    }
}

/// A line's `http` member, as read. A field that is missing or of another type has its default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpContext {
    /// The number of the exchange, unique within a run of the proxy.
    pub x: u64,
    /// The request's head, on the first line of an exchange.
    pub request: Option<HttpRequest>,
    /// The response's head, on the first line after it arrived.
    pub response: Option<HttpResponse>,
    /// The SSE event that carried the message.
    pub sse: Option<SseContext>,
    /// Bytes on the wire of the body that ends with this line, if the payload has a different length.
    pub bytes: Option<u64>,
    /// Whether the recorder generated the message on behalf of a peer.
    pub own: bool,
    /// The exchange whose message this one resends.
    pub again: Option<u64>,
    /// A request body that is not a message.
    pub request_body: Option<BodyNote>,
    /// A response body that is not a message.
    pub response_body: Option<BodyNote>,
    /// How far the exchange is.
    #[serde(deserialize_with = "read_progress")]
    pub ended: Option<ExchangeProgress>,
    /// A description of what went wrong, for people.
    pub error: Option<String>,
    /// Microseconds from the request's head to the end of the exchange.
    pub duration_us: Option<u64>,
    /// The transport context from an imported source, verbatim.
    pub context: Option<serde_json::Value>,
    /// The headers that an imported source gives besides `context`, verbatim.
    pub headers: Option<serde_json::Value>,
}

fn read_progress<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ExchangeProgress>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    Ok(name.map(|name| ExchangeProgress::named(&name)))
}

impl HttpContext {
    /// How the exchange ended, if this line says so.
    pub fn ended(&self) -> Option<Ended> {
        match self.ended? {
            ExchangeProgress::Open => None,
            ExchangeProgress::Ended(ended) => Some(ended),
        }
    }

    /// Parses a line's `http` member. Never fails.
    pub fn parse(json: &[u8]) -> Self {
        super::read::lenient(json)
    }
}

/// The head of an HTTP request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HttpRequest {
    /// The HTTP method, such as `POST`.
    pub method: String,
    /// Path and query; the whole URL behind a forward proxy.
    pub target: String,
    /// `1.0`, `1.1` or `2`.
    pub version: String,
    /// The headers, by lower-case name.
    pub headers: BTreeMap<String, HeaderValues>,
}

/// The head of an HTTP response.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HttpResponse {
    /// The status code, such as 200 or 401.
    pub status: u16,
    /// `1.0`, `1.1` or `2`.
    pub version: String,
    /// The headers, by lower-case name.
    pub headers: BTreeMap<String, HeaderValues>,
}

/// The values of one header name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum HeaderValues {
    /// The header occurred once.
    One(String),
    /// The header occurred several times; the values are in order.
    Many(Vec<String>),
}

/// The fields of the SSE event that carried a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SseContext {
    /// The `event` field: the event's type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The `id` field, for `Last-Event-ID`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The `retry` field: milliseconds before the client should reconnect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<u64>,
}

/// A body that is not a JSON-RPC message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BodyNote {
    /// Length on the wire, in bytes.
    pub bytes: u64,
    /// The body, if it is short text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why the content is not recorded, if that is not due to its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::option;
    use proptest::prelude::*;

    #[test]
    fn what_is_written_is_read() {
        let headers: [(&str, &[u8]); 4] =
            [("accept", b"a/b"), ("set-cookie", b"a=1"), ("set-cookie", b"b=\"2\""), ("x", b"\xff")];
        let request = Head::request(
            "POST",
            "/mcp?q=\"1\"",
            "1.1",
            headers.into_iter().map(|(name, value)| (name, value.into())),
        );
        let response = Head::response(401, "2", std::iter::empty());
        let sse = SseContext { id: Some("7".to_owned()), ..SseContext::default() };
        let body = BodyNote { bytes: 3, text: Some("no!".to_owned()), omitted: Some("why".to_owned()) };
        let mut json = Vec::new();
        ExchangeNote {
            x: 9,
            request: Some(request.view()),
            response: Some(response.view()),
            sse: Some(Cow::Borrowed(&sse)),
            bytes: Some(70),
            answers: Answers::Recorder,
            response_body: Some(Cow::Borrowed(&body)),
            progress: Some(ExchangeProgress::Ended(Ended::Complete)),
            duration_us: Some(5),
            ..ExchangeNote::default()
        }
        .encode(&mut json);
        assert_eq!(
            String::from_utf8_lossy(&json),
            "{\"x\":9,\"request\":{\"method\":\"POST\",\"target\":\"/mcp?q=\\\"1\\\"\",\"version\":\"1.1\",\"headers\":{\"accept\":\"a/b\",\
             \"set-cookie\":[\"a=1\",\"b=\\\"2\\\"\"],\"x\":\"\u{fffd}\"}},\"response\":{\"status\":401,\"version\":\"2\",\"headers\":{}},\
             \"sse\":{\"id\":\"7\"},\"bytes\":70,\"own\":true,\"responseBody\":{\"bytes\":3,\"text\":\"no!\",\"omitted\":\"why\"},\"ended\":\"complete\",\"durationUs\":5}"
        );
        let read = HttpContext::parse(&json);
        assert_eq!(read.x, 9);
        assert_eq!(read.response.unwrap().status, 401);
        assert_eq!(
            read.request.unwrap().headers["set-cookie"],
            HeaderValues::Many(vec!["a=1".to_owned(), "b=\"2\"".to_owned()])
        );
        assert_eq!((read.sse, read.bytes, read.own), (Some(sse), Some(70), true));
        assert_eq!(read.response_body, Some(body));
    }

    #[test]
    fn headers_are_joined_to_a_head() {
        let headers = |names: &[&'static str]| {
            let pairs = names.iter().map(|name| (*name, b"1".into())).collect::<Vec<_>>();
            pairs.into_iter()
        };
        let head = |names: &[&'static str]| Head::response(200, "1.1", headers(names));
        let check = |one: &[&'static str], more: &[&'static str], all: &[&'static str]| {
            assert_eq!(head(one).join(&Head::headers(headers(more))), Some(head(all)));
        };
        check(&["a", "b"], &["c", "d"], &["a", "b", "c", "d"]);
        check(&["a"], &[], &["a"]);
        check(&[], &["b"], &["b"]);
        check(&[], &[], &[]);
        assert_eq!(head(&["a"]).join(&Head::from_json(b"{\"headers\":7}".to_vec())), None);
        assert_eq!(Head::from_json(b"{\"headers\":7}".to_vec()).join(&Head::headers(headers(&["a"]))), None);
    }

    #[test]
    fn what_is_odd_is_left_out() {
        let read = HttpContext::parse(br#"{"x":3,"request":7,"ended":"complete","new":[]}"#);
        assert_eq!(
            (read.x, read.request, read.ended),
            (3, None, Some(ExchangeProgress::Ended(Ended::Complete)))
        );
        assert_eq!(HttpContext::parse(b"[]"), HttpContext::default());
    }

    #[test]
    fn a_note_without_a_number_is_none() {
        let decode = |json: &'static str| ExchangeNote::decode(json.as_bytes());
        assert_eq!(decode(r#"{"context":{}}"#), None);
        assert_eq!(decode(r#"{"x":"1"}"#), None);
        assert_eq!(decode("7"), None);
        let note = decode(r#"{"x":1,"ended":"client-closed","own":true,"bytes":9,"user":[]}"#).unwrap();
        assert_eq!(
            (note.ended(), note.answers, note.bytes),
            (Some(Ended::ClientClosed), Answers::Recorder, Some(9))
        );
        assert_eq!(note.user, None);
        assert_eq!(decode(r#"{"x":1,"ended":"open"}"#).unwrap().ended(), None);
        assert_eq!(decode(r#"{"x":1,"ended":"of a newer version"}"#).unwrap().ended(), Some(Ended::Complete));
    }

    fn text() -> impl Strategy<Value = Cow<'static, str>> {
        any::<String>().prop_map(Cow::Owned)
    }

    fn connection() -> impl Strategy<Value = ConnectionNote<'static>> {
        let address = (any::<std::net::IpAddr>(), any::<u16>()).prop_map(SocketAddr::from);
        (any::<u64>(), address, text()).prop_map(|(number, client, listener)| ConnectionNote {
            number,
            client,
            listener,
        })
    }

    fn sse() -> impl Strategy<Value = Cow<'static, SseContext>> {
        (any::<Option<String>>(), any::<Option<String>>(), any::<Option<u64>>())
            .prop_map(|(event, id, retry)| Cow::Owned(SseContext { event, id, retry }))
    }

    fn body() -> impl Strategy<Value = Cow<'static, BodyNote>> {
        (any::<u64>(), any::<Option<String>>(), any::<Option<String>>())
            .prop_map(|(bytes, text, omitted)| Cow::Owned(BodyNote { bytes, text, omitted }))
    }

    fn progress() -> impl Strategy<Value = ExchangeProgress> {
        let ended = proptest::sample::select(&Ended::ALL[..]).prop_map(ExchangeProgress::Ended);
        prop_oneof![Just(ExchangeProgress::Open), ended]
    }

    fn stages() -> impl Strategy<Value = Stages> {
        any::<[Option<u64>; 4]>().prop_map(|[connected_us, answered_us, first_byte_us, responded_us]| {
            Stages { connected_us, answered_us, first_byte_us, responded_us }
        })
    }

    /// A note without its heads.
    fn note() -> impl Strategy<Value = ExchangeNote<'static>> {
        let numbers = any::<(u64, Option<u64>, Option<u64>, Option<u64>, bool, bool)>();
        let bodies = (option::of(body()), option::of(body()));
        let texts = (option::of(text()), option::of(text()));
        (
            numbers,
            option::of(connection()),
            option::of(sse()),
            bodies,
            option::of(progress()),
            texts,
            stages(),
        )
            .prop_map(
                |(
                    (x, bytes, again, duration_us, own, csp),
                    connection,
                    sse,
                    bodies,
                    progress,
                    texts,
                    stages,
                )| {
                    ExchangeNote {
                        x,
                        connection,
                        user: texts.0,
                        sse,
                        bytes,
                        answers: if own { Answers::Recorder } else { Answers::Server },
                        again,
                        request_body: bodies.0,
                        response_body: bodies.1,
                        progress,
                        error: texts.1,
                        policy: if csp { Policy::Added } else { Policy::Unchanged },
                        stages,
                        duration_us,
                        ..ExchangeNote::default()
                    }
                },
            )
    }

    proptest! {
        #[test]
        fn decoding_is_the_inverse_of_encoding(note in note(), target in any::<String>(), status: u16) {
            let request = Head::request("POST", &target, "1.1", std::iter::empty());
            let response = Head::response(status, "2", [("x", Cow::Borrowed(target.as_bytes()))].into_iter());
            let note = ExchangeNote { request: Some(request.view()), response: Some(response.view()), ..note };
            let mut json = Vec::new();
            note.encode(&mut json);
            prop_assert_eq!(ExchangeNote::decode(&json), Some(note.clone()));
            let context = HttpContext::parse(&json);
            prop_assert_eq!(context.request.map(|head| head.target), Some(target));
            prop_assert_eq!((context.x, context.ended, context.duration_us), (note.x, note.progress, note.duration_us));
            prop_assert_eq!((context.sse, context.error), (note.sse.map(Cow::into_owned), note.error.map(Cow::into_owned)));
        }

        #[test]
        fn decoding_never_panics(json in "[{}\\[\\]:,\"a-z0-9]{0,60}") {
            ExchangeNote::decode(json.as_bytes());
        }
    }
}
