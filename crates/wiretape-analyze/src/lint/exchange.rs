//! What is known of an HTTP exchange while its trace goes by.

use super::revision::Revision;
use serde_json::Value as Json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use wiretape_trace::format::{HeaderValues, HttpContext, HttpRequest, HttpResponse};
use wiretape_trace::message::MessageKind;

/// An HTTP exchange.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    /// Its number.
    pub x: u64,
    /// The line that first told of it.
    pub line: u64,
    /// The request's head.
    pub request: Option<HttpRequest>,
    /// The response's head.
    pub response: Option<HttpResponse>,
    /// The first payload of the request's body.
    pub sent: Option<Sent>,
    /// How many events the response's stream has had.
    pub events: u64,
    /// How it ended.
    pub ended: Option<String>,
    /// The version of the protocol, where an imported source says it in headers that are neither side's for certain.
    pub imported_version: Option<String>,
}

/// The payload of a request's body.
#[derive(Debug, Clone)]
pub struct Sent {
    /// What it is.
    pub kind: MessageKind,
    /// Its method.
    pub method: Option<String>,
    /// Its revision.
    pub revision: Option<Revision>,
}

impl Exchange {
    /// The revision that its headers name.
    pub fn revision(&self) -> Option<Revision> {
        let version = self.request_header(VERSION_HEADER).or(self.imported_version.as_deref());
        version.and_then(Revision::parse)
    }

    /// A header of the request; the first, if it stood several times.
    pub fn request_header(&self, name: &str) -> Option<&str> {
        header(&self.request.as_ref()?.headers, name)
    }

    /// A header of the response.
    pub fn response_header(&self, name: &str) -> Option<&str> {
        header(&self.response.as_ref()?.headers, name)
    }

    /// The request's method.
    pub fn method(&self) -> &str {
        self.request.as_ref().map_or("", |request| &request.method)
    }

    /// The response's status.
    pub fn status(&self) -> Option<u16> {
        self.response.as_ref().map(|response| response.status)
    }

    /// The response's media type, without parameters.
    pub fn media_type(&self) -> Option<Cow<'_, str>> {
        self.response_header("content-type").map(media_type)
    }

    /// Whether the response is a stream of events.
    pub fn is_stream(&self) -> bool {
        self.media_type().as_deref() == Some("text/event-stream")
    }

    /// Whether it takes up a stream again.
    pub fn is_resumed(&self) -> bool {
        self.request_header("last-event-id").is_some()
    }

    pub(crate) fn note(&mut self, http: &HttpContext) {
        if let Some(request) = &http.request {
            self.request = Some(request.clone());
        }
        if let Some(response) = &http.response {
            self.response = Some(response.clone());
        }
        if let Some(ended) = &http.ended {
            self.ended = Some(ended.clone());
        }
        if let Some(version) = imported_version(http) {
            self.imported_version = Some(version);
        }
    }
}

const VERSION_HEADER: &str = wiretape_trace::protocol::header::PROTOCOL_VERSION;

/// The version that an imported line gives, wherever envelopes have headers.
fn imported_version(http: &HttpContext) -> Option<String> {
    let context = http.context.as_ref();
    let of_context = |path: &str| context.and_then(|context| context.pointer(path));
    [of_context("/headers"), of_context("/request/headers"), http.headers.as_ref()]
        .into_iter()
        .flatten()
        .find_map(imported_header)
}

/// Of an object of headers (a value may be a list of them), or of a list of pairs.
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

/// The exchanges of a trace: those that were told of last.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    by_number: BTreeMap<u64, Exchange>,
    /// The version that an imported source gave last, for lines that give none: a document may give it once for all.
    imported_version: Option<String>,
}

impl Exchanges {
    const MOST: usize = 2048;
    /// The number of a line that names no exchange, as imported envelopes don't. Each such line is an exchange of its own.
    const UNNUMBERED: u64 = 0;

    /// The exchange that a line tells of, with what the line adds; and whether the response's head is new.
    pub(crate) fn note(&mut self, line: u64, http: &HttpContext) -> bool {
        if http.x == Self::UNNUMBERED {
            self.by_number.remove(&http.x);
        }
        let exchange = self.by_number.entry(http.x).or_insert_with(|| Exchange {
            x: http.x,
            line,
            ..Exchange::default()
        });
        exchange.note(http);
        if http.x == Self::UNNUMBERED && exchange.imported_version.is_some() {
            self.imported_version.clone_from(&exchange.imported_version);
        }
        if self.by_number.len() > Self::MOST {
            self.by_number.pop_first();
        }
        http.response.is_some()
    }

    /// The revision that headers name for a line: those of its exchange, or those that an imported source gave last.
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
