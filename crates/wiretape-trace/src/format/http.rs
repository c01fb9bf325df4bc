//! The HTTP context of a line: [`ExchangeNote`] writes it, [`HttpContext`] reads it.
//!
//! They are two types because they differ in what they can assume. The writer borrows from the proxy and
//! copies heads that were rendered (and redacted) once per exchange; the reader owns its data and accepts any
//! JSON.

use super::write::{push_number, push_string};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

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

/// A line's `http` member, for writing: the exchange that carried the line.
#[derive(Debug, Clone, Default)]
pub struct ExchangeNote<'a> {
    /// The number of the exchange, unique within a run of the proxy.
    pub x: u64,
    /// The request's head, if this is the first line of the exchange.
    pub request: Option<&'a Head>,
    /// The response's head, if this is the first line since it arrived.
    pub response: Option<&'a Head>,
    /// The SSE event that carried the message.
    pub sse: Option<&'a SseContext>,
    /// Bytes on the wire of the body that ends with this line, if the payload has a different length.
    pub bytes: Option<u64>,
    /// Who generated the message.
    pub answers: Answers,
    /// The exchange whose message this one resends.
    pub again: Option<u64>,
    /// A request body that is not a message.
    pub request_body: Option<&'a BodyNote>,
    /// A response body that is not a message.
    pub response_body: Option<&'a BodyNote>,
    /// How the exchange ended: a name from [`Ended`], or `open`.
    pub ended: Option<&'a str>,
    /// A description of what went wrong, for people.
    pub error: Option<&'a str>,
    /// Microseconds from the request's head to the end of the exchange.
    pub duration_us: Option<u64>,
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

impl ExchangeNote<'_> {
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
        push_member(out, "sse", self.sse);
        push_member(out, "bytes", self.bytes);
        push_member(out, "own", (self.answers == Answers::Recorder).then_some(true));
        push_member(out, "again", self.again);
        push_member(out, "requestBody", self.request_body);
        push_member(out, "responseBody", self.response_body);
        push_member(out, "ended", self.ended);
        push_member(out, "error", self.error);
        push_member(out, "durationUs", self.duration_us);
        out.push(b'}');
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
    /// How the exchange ended: a name from [`Ended`], or `open`.
    pub ended: Option<String>,
    /// A description of what went wrong, for people.
    pub error: Option<String>,
    /// Microseconds from the request's head to the end of the exchange.
    pub duration_us: Option<u64>,
    /// The transport context from an imported source, verbatim.
    pub context: Option<serde_json::Value>,
    /// The headers that an imported source gives besides `context`, verbatim.
    pub headers: Option<serde_json::Value>,
}

impl HttpContext {
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
            request: Some(&request),
            response: Some(&response),
            sse: Some(&sse),
            bytes: Some(70),
            answers: Answers::Recorder,
            response_body: Some(&body),
            ended: Some("complete"),
            duration_us: Some(5),
            ..ExchangeNote::default()
        }
        .encode(&mut json);
        assert_eq!(
            String::from_utf8_lossy(&json),
            "{\"x\":9,\"request\":{\"method\":\"POST\",\"target\":\"/mcp?q=\\\"1\\\"\",\"version\":\"1.1\",\"headers\":{\"accept\":\"a/b\",\
             \"set-cookie\":[\"a=1\",\"b=\\\"2\\\"\"],\"x\":\"\u{fffd}\"}},\"response\":{\"status\":401,\"version\":\"2\",\"headers\":{}},\
             \"sse\":{\"id\":\"7\"},\"bytes\":70,\"own\":true,\"responseBody\":{\"bytes\":3,\"text\":\"no!\"},\"ended\":\"complete\",\"durationUs\":5}"
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
        assert_eq!((read.x, read.request, read.ended.as_deref()), (3, None, Some("complete")));
        assert_eq!(HttpContext::parse(b"[]"), HttpContext::default());
    }
}
