//! The HTTP exchanges of a trace. Several lines describe one exchange; this merges them.

use super::revision::Revision;
use serde_json::Value as Json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use wiretape_trace::format::{ExchangeProgress, HeaderValues, HttpContext, HttpRequest, HttpResponse};
use wiretape_trace::message::MessageKind;

/// An HTTP exchange, merged from the lines that describe it.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    /// The exchange's number in the trace (`http.x`).
    pub x: u64,
    /// The first line that describes it.
    pub line: u64,
    /// Method, target and headers of the request.
    pub request: Option<HttpRequest>,
    /// Status and headers of the response.
    pub response: Option<HttpResponse>,
    /// The first payload of the request's body; of a batch, the first request.
    pub sent: Option<SentPayload>,
    /// The number of SSE events in the response so far.
    pub events: u64,
    /// How the exchange ended; `Open` while it streams.
    pub ended: Option<ExchangeProgress>,
    /// The protocol version in imported headers that don't say which side sent them.
    pub imported_version: Option<String>,
}

/// The payload of an HTTP request's body.
#[derive(Debug, Clone)]
pub struct SentPayload {
    /// The kind of message.
    pub kind: MessageKind,
    /// The JSON-RPC method, for requests and notifications.
    pub method: Option<String>,
    /// The revision that the message or its session names.
    pub revision: Option<Revision>,
}

impl Exchange {
    /// The revision named by its headers.
    pub fn revision(&self) -> Option<Revision> {
        let version = self.request_header(VERSION_HEADER).or(self.imported_version.as_deref());
        version.and_then(Revision::parse)
    }

    /// The value of a request header; the first if there are several.
    pub fn request_header(&self, name: &str) -> Option<&str> {
        header(&self.request.as_ref()?.headers, name)
    }

    /// The value of a response header; the first if there are several.
    pub fn response_header(&self, name: &str) -> Option<&str> {
        header(&self.response.as_ref()?.headers, name)
    }

    /// The HTTP method of the request; empty if its head was not recorded.
    pub fn method(&self) -> &str {
        self.request.as_ref().map_or("", |request| &request.method)
    }

    /// The status code of the response.
    pub fn status(&self) -> Option<u16> {
        self.response.as_ref().map(|response| response.status)
    }

    /// The media type of the response, in lower case and without parameters.
    pub fn media_type(&self) -> Option<Cow<'_, str>> {
        self.response_header("content-type").map(media_type)
    }

    /// Whether the response is an SSE stream.
    pub fn is_stream(&self) -> bool {
        self.media_type().as_deref() == Some("text/event-stream")
    }

    /// Whether it resumes a stream (`Last-Event-ID`).
    pub fn is_resumed(&self) -> bool {
        self.request_header("last-event-id").is_some()
    }

    fn merge(&mut self, http: &HttpContext) {
        if let Some(request) = &http.request {
            self.request = Some(request.clone());
        }
        if let Some(response) = &http.response {
            self.response = Some(response.clone());
        }
        self.ended = http.ended.or(self.ended);
        if let Some(version) = imported_version(http) {
            self.imported_version = Some(version);
        }
    }
}

const VERSION_HEADER: &str = wiretape_trace::protocol::header::PROTOCOL_VERSION;

/// The protocol version in an imported line: importers keep headers in different members.
fn imported_version(http: &HttpContext) -> Option<String> {
    let context = http.context.as_ref();
    let of_context = |path: &str| context.and_then(|context| context.pointer(path));
    [of_context("/headers"), of_context("/request/headers"), http.headers.as_ref()]
        .into_iter()
        .flatten()
        .find_map(imported_header)
}

/// The version header in an object (whose values may be lists) or in a list of pairs.
fn imported_header(headers: &Json) -> Option<String> {
    let is_meant = |name: &str| name.eq_ignore_ascii_case(VERSION_HEADER);
    let text = |value: &Json| value.as_str().or_else(|| value.get(0)?.as_str()).map(str::to_owned);
    match headers {
        Json::Object(members) => {
            members.iter().find(|(name, _)| is_meant(name)).and_then(|(_, value)| text(value))
        }
        Json::Array(pairs) => pairs.iter().find_map(|pair| {
            let (name, value) = match pair {
                Json::Array(both) => (both.first()?, both.get(1)?),
                named => (named.get("name")?, named.get("value")?),
            };
            name.as_str().filter(|name| is_meant(name)).and_then(|_| text(value))
        }),
        _ => None,
    }
}

fn header<'a>(headers: &'a BTreeMap<String, HeaderValues>, name: &str) -> Option<&'a str> {
    match headers.get(name)? {
        HeaderValues::One(value) => Some(value),
        HeaderValues::Many(values) => values.first().map(String::as_str),
    }
}

fn media_type(value: &str) -> Cow<'_, str> {
    let plain = value.split(';').next().unwrap_or_default().trim();
    if plain.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(plain.to_ascii_lowercase())
    } else {
        Cow::Borrowed(plain)
    }
}

/// The most recent exchanges of a trace.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    by_number: BTreeMap<u64, Exchange>,
    /// The last version of an imported source, for lines without one: a document may name it only once.
    imported_version: Option<String>,
}

impl Exchanges {
    // Exchanges kept at a time. Evicting the lowest number costs findings about very long streams only.
    const MOST: usize = 2048;
    /// The number of lines without an exchange, as in imported envelopes. Each such line is its own exchange.
    const UNNUMBERED: u64 = 0;

    /// Merges a line into its exchange. Returns whether the line brings the response's head.
    pub(crate) fn record_line(&mut self, line: u64, http: &HttpContext) -> bool {
        // Otherwise all unnumbered lines would be merged into one exchange.
        if http.x == Self::UNNUMBERED {
            self.by_number.remove(&http.x);
        }
        let exchange = self.by_number.entry(http.x).or_insert_with(|| Exchange {
            x: http.x,
            line,
            ..Exchange::default()
        });
        exchange.merge(http);
        if http.x == Self::UNNUMBERED && exchange.imported_version.is_some() {
            self.imported_version.clone_from(&exchange.imported_version);
        }
        if self.by_number.len() > Self::MOST {
            self.by_number.pop_first();
        }
        http.response.is_some()
    }

    /// The revision named by the headers of a line's exchange, or last by an imported source.
    pub(crate) fn revision(&self, http: Option<&HttpContext>) -> Option<Revision> {
        let of_exchange = http.and_then(|http| self.get(http.x)).and_then(Exchange::revision);
        of_exchange.or_else(|| self.imported_version.as_deref().and_then(Revision::parse))
    }

    pub(crate) fn get(&self, x: u64) -> Option<&Exchange> {
        self.by_number.get(&x)
    }

    pub(crate) fn get_mut(&mut self, x: u64) -> Option<&mut Exchange> {
        self.by_number.get_mut(&x)
    }
}
