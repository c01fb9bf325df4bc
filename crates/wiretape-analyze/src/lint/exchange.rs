//! What is known of an HTTP exchange while its trace goes by.

use super::revision::Revision;
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
pub(crate) struct Exchanges(BTreeMap<u64, Exchange>);

impl Exchanges {
    const MOST: usize = 2048;

    /// The exchange that a line tells of, with what the line adds; and whether the response's head is new.
    pub(crate) fn note(&mut self, line: u64, http: &HttpContext) -> bool {
        let exchange =
            self.0.entry(http.x).or_insert_with(|| Exchange { x: http.x, line, ..Exchange::default() });
        exchange.note(http);
        if self.0.len() > Self::MOST {
            self.0.pop_first();
        }
        http.response.is_some()
    }

    pub(crate) fn get(&self, x: u64) -> Option<&Exchange> {
        self.0.get(&x)
    }

    pub(crate) fn get_mut(&mut self, x: u64) -> Option<&mut Exchange> {
        self.0.get_mut(&x)
    }
}
