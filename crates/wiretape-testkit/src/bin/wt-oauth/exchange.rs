//! Requests and responses: the few parts of HTTP and form encoding that both servers need.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use hyper::http::request;
use hyper::{Response, StatusCode};
use serde_json::Value;

/// A parsed HTTP request.
pub(crate) struct ReceivedRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) host: String,
    pub(crate) query: String,
    pub(crate) body: Bytes,
    headers: HeaderMap,
}

impl ReceivedRequest {
    pub(crate) fn new(parts: &request::Parts, body: Bytes) -> Self {
        let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned();
        ReceivedRequest {
            method: parts.method.to_string(),
            path: parts.uri.path().to_owned(),
            host,
            query: parts.uri.query().unwrap_or_default().to_owned(),
            body,
            headers: parts.headers.clone(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// A parameter of the query of a GET, or of the form of a POST.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        parameter(self.parameters()?, name)
    }

    fn parameters(&self) -> Option<&str> {
        let is_form = self.header("content-type").is_some_and(|kind| kind.contains("x-www-form-urlencoded"));
        match self.method.as_str() {
            "GET" => Some(&self.query),
            _ if is_form => std::str::from_utf8(&self.body).ok(),
            _ => None,
        }
    }

    /// A summary of a request for tests: some parameters, and the credentials that it carried.
    pub(crate) fn summary(&self) -> String {
        let parameters = ["grant_type", "resource"].iter();
        let parameters = parameters.filter_map(|name| Some(format!("{name}={}", self.parameter(name)?)));
        let credentials = ["authorization", "cookie", "x-api-key"].iter();
        let credentials =
            credentials.flat_map(|name| self.headers.get_all(*name).iter().map(move |value| (name, value)));
        let credentials = credentials.map(|(name, value)| format!("{name}={value:?}"));
        parameters.chain(credentials).collect::<Vec<_>>().join(" ")
    }
}

/// A parameter of a query or a form.
pub(crate) fn parameter(text: &str, name: &str) -> Option<String> {
    let mut pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(given, _)| *given == name).map(|(_, value)| decode(value))
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let digits =
            behind.get(..2).filter(|_| byte == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(if byte == b'+' { b' ' } else { byte }));
        rest = if escaped.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

pub(crate) fn empty(status: u16) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

pub(crate) fn json(status: u16, value: &Value) -> Response<Full<Bytes>> {
    with(status, "application/json", value.to_string())
}

pub(crate) fn html(page: String) -> Response<Full<Bytes>> {
    with(200, "text/html", page)
}

fn with(status: u16, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = empty(status);
    *response.body_mut() = Full::new(Bytes::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Appends a header to a response.
pub(crate) fn header(
    mut response: Response<Full<Bytes>>,
    name: &'static str,
    value: &str,
) -> Response<Full<Bytes>> {
    let value = HeaderValue::from_str(value).unwrap_or(HeaderValue::from_static(""));
    response.headers_mut().insert(name, value);
    response
}
