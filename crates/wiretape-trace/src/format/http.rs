//! The HTTP context of a line: how it is written, and how it is read.

use super::write::{push_number, push_string};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A request's or a response's head, rendered once and written once.
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

    /// Headers alone, to be joined to a head.
    pub fn headers<'a>(headers: impl Iterator<Item = (&'a str, Cow<'a, [u8]>)>) -> Self {
        let mut json = HEADERS.to_vec();
        // The brace that this begins with is there already.
        json.pop();
        push_headers(&mut json, headers);
        json.push(b'}');
        Head(json)
    }

    /// This head with more headers, at its end. `None` if either has none to join to, or to be joined.
    pub fn join(&self, more: &Head) -> Option<Head> {
        let beginning = self.0.strip_suffix(b"}}")?;
        let members = more.0.strip_prefix(HEADERS)?.strip_suffix(b"}}")?;
        let comma: &[u8] = if beginning.ends_with(b"{") || members.is_empty() { b"" } else { b"," };
        Some(Head([beginning, comma, members, b"}}"].concat()))
    }

    /// Its JSON, for redaction.
    pub fn json(&self) -> &[u8] {
        &self.0
    }

    /// A head whose JSON was changed, by redaction, and is still an object.
    pub fn from_json(json: Vec<u8>) -> Self {
        Head(json)
    }
}

/// How headers alone begin.
const HEADERS: &[u8] = b"{\"headers\":{";

/// Writes headers as an object. A name that comes several times in a row (as header maps give them) gets an array.
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
    let plain = value.iter().all(|&byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\');
    if plain {
        out.push(b'"');
        out.extend_from_slice(value);
        out.push(b'"');
    } else {
        push_string(out, &String::from_utf8_lossy(value));
    }
}

/// What a line says about the exchange that carried it.
#[derive(Debug, Clone, Default)]
pub struct ExchangeNote<'a> {
    /// Which exchange.
    pub x: u64,
    /// The request's head, if this is the first line.
    pub request: Option<&'a Head>,
    /// The response's head, if this is the first line since it came.
    pub response: Option<&'a Head>,
    /// The event that carried the message.
    pub sse: Option<&'a SseContext>,
    /// The length on the wire of the body that ends with this line, if the line's own payload doesn't tell it.
    pub bytes: Option<u64>,
    /// Whose message it is.
    pub answers: Answers,
    /// The exchange whose message this one sends again.
    pub again: Option<u64>,
    /// A request's body that is no message.
    pub request_body: Option<&'a BodyNote>,
    /// A response's body that is no message.
    pub response_body: Option<&'a BodyNote>,
    /// How the exchange ended.
    pub ended: Option<&'a str>,
    /// What went wrong.
    pub error: Option<&'a str>,
    /// From the request's head to the end.
    pub duration_us: Option<u64>,
}

/// Whose message it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Answers {
    /// The peer's.
    #[default]
    Server,
    /// The recorder's, in the peer's stead.
    Recorder,
}

impl ExchangeNote<'_> {
    /// The JSON object that stands as a line's `http`.
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
    /// As it should.
    #[default]
    Complete,
    /// The client went away in the middle.
    ClientClosed,
    /// The upstream went away in the middle.
    UpstreamClosed,
    /// The proxy refused it.
    Refused,
    /// The upstream can't be reached.
    Unreachable,
    /// It took too long.
    Timeout,
    /// It was too large.
    TooLarge,
    /// It became something else than HTTP.
    Upgraded,
    /// The proxy ended.
    Stopped,
}

impl Ended {
    /// All ways.
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

    /// The one with this name in traces.
    pub fn named(name: &str) -> Option<Self> {
        Ended::ALL.into_iter().find(|ended| ended.name() == name)
    }

    /// Its name in traces.
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

/// The HTTP context of a line, as it is read. What isn't there, or is of another type, is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpContext {
    /// Which exchange.
    pub x: u64,
    /// The request's head.
    pub request: Option<HttpRequest>,
    /// The response's head.
    pub response: Option<HttpResponse>,
    /// The event that carried the message.
    pub sse: Option<SseContext>,
    /// The length on the wire of the body that ends with this line, if the line's own payload doesn't tell it.
    pub bytes: Option<u64>,
    /// Whether the message is the recorder's own, and not the server's.
    pub own: bool,
    /// The exchange whose message this one sends again.
    pub again: Option<u64>,
    /// A request's body that is no message.
    pub request_body: Option<BodyNote>,
    /// A response's body that is no message.
    pub response_body: Option<BodyNote>,
    /// How the exchange ended.
    pub ended: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// From the request's head to the end.
    pub duration_us: Option<u64>,
    /// What an imported source says of the transport, as it stands there.
    pub context: Option<serde_json::Value>,
    /// The headers that an imported source gives beside it, as they stand there.
    pub headers: Option<serde_json::Value>,
}

impl HttpContext {
    /// Reads a line's `http`.
    pub fn parse(json: &[u8]) -> Self {
        super::read::lenient(json)
    }
}

/// A request's head.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HttpRequest {
    /// The method.
    pub method: String,
    /// Path and query, or the whole URL.
    pub target: String,
    /// `1.0`, `1.1` or `2`.
    pub version: String,
    /// The headers, by their names in lower case.
    pub headers: BTreeMap<String, HeaderValues>,
}

/// A response's head.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// `1.0`, `1.1` or `2`.
    pub version: String,
    /// The headers, by their names in lower case.
    pub headers: BTreeMap<String, HeaderValues>,
}

/// What a header's name stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum HeaderValues {
    /// It stood once.
    One(String),
    /// It stood several times.
    Many(Vec<String>),
}

/// The event that carried a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SseContext {
    /// Its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// After how many milliseconds the client should come back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<u64>,
}

/// A body that is no message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BodyNote {
    /// Its length on the wire.
    pub bytes: u64,
    /// Its text, if it is text and not long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
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
        let body = BodyNote { bytes: 3, text: Some("no!".to_owned()) };
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
