//! The server's URL, the secret headers, and what else there is to choose.

use crate::http::upstream::Target;
use crate::http::{UpstreamUrl, UrlError};
use crate::journal::JournalOptions;
use crate::live::LiveOptions;
use crate::warning::Warn;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderName, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderValue};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use wiretape_trace::redact::Redactor;

/// What to connect to, and how it is recorded.
pub struct BridgeOptions {
    /// The server.
    pub url: ServerUrl,
    /// Sent with every request.
    pub headers: Vec<SecretHeader>,
    /// A name for the trace; the server's host if there is none.
    pub label: Option<String>,
    /// Where the trace is written; without, there is none.
    pub journal: Option<JournalOptions>,
    /// Takes the secrets out; without it everything but the headers is written as it is.
    pub redactor: Option<Redactor>,
    /// Shows the trace live.
    pub live: Option<LiveOptions>,
    /// Called with what the user should know while the recording runs.
    pub warn: Warn,
}

/// The URL of a server, which may have a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl {
    server: UpstreamUrl,
    query: Option<String>,
}

impl FromStr for ServerUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        // Fragments are never sent.
        let text = text.split('#').next().unwrap_or(text);
        let (server, query) = match text.split_once('?') {
            Some((server, query)) => (server, Some(query)),
            None => (text, None),
        };
        let server: UpstreamUrl = server.parse()?;
        let url = ServerUrl { server, query: query.map(str::to_owned) };
        match url.target().parse::<http::Uri>() {
            Ok(_) => Ok(url),
            Err(_) => Err(UrlError::Malformed),
        }
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.server)?;
        self.query.as_ref().map_or(Ok(()), |query| write!(f, "?{query}"))
    }
}

impl ServerUrl {
    /// The host, without a port.
    pub fn host(&self) -> &str {
        self.server.host()
    }

    /// The server, whatever the path.
    pub(super) fn server(&self) -> Target {
        self.server.target()
    }

    /// The URL without its query, which may hold anything.
    pub(super) fn without_query(&self) -> String {
        self.server.to_string()
    }

    /// Path and query.
    pub(super) fn target(&self) -> String {
        let path = if self.server.path().is_empty() { "/" } else { self.server.path() };
        self.query.as_ref().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"))
    }

    /// Path and query of what a server names relative to this URL, if it is on the same server: nobody else is sent
    /// the secret headers.
    pub(super) fn resolve(&self, reference: &str) -> Option<String> {
        let reference = reference.trim();
        if reference.contains("://") {
            let uri: http::Uri = reference.parse().ok()?;
            let server = self.server();
            let same = uri.scheme_str() == Some(server.scheme.name())
                && uri.authority().is_some_and(|authority| *authority == server.authority);
            return same.then(|| uri.path_and_query().map_or("/", |path| path.as_str()).to_owned());
        }
        let target = match reference {
            _ if reference.is_empty() || reference.starts_with("//") => return None,
            _ if reference.starts_with('/') => reference.to_owned(),
            _ if reference.starts_with('?') => format!("{}{reference}", self.server.path()),
            _ => {
                let folder = self.server.path().rsplit_once('/').map_or("", |(folder, _)| folder);
                format!("{folder}/{reference}")
            }
        };
        target.parse::<http::Uri>().ok().map(|_| target)
    }
}

/// A header whose value is nobody's business.
#[derive(Clone)]
pub struct SecretHeader {
    name: HeaderName,
    value: HeaderValue,
}

/// A header that can't be sent. The value is never told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// There is no colon.
    #[error("a header looks like 'Name: value'")]
    NoColon,
    /// The name is none.
    #[error("the header's name is not one that HTTP allows")]
    Name,
    /// The value is none.
    #[error("the value of the header `{0}` has characters that HTTP does not allow")]
    Value(String),
    /// It belongs to the connection.
    #[error("the header `{0}` is the connection's own, and can't be chosen")]
    Reserved(String),
}

impl FromStr for SecretHeader {
    type Err = HeaderError;

    fn from_str(text: &str) -> Result<Self, HeaderError> {
        let (name, value) = text.split_once(':').ok_or(HeaderError::NoColon)?;
        let name: HeaderName = name.trim().parse().map_err(|_| HeaderError::Name)?;
        if [CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING, UPGRADE].contains(&name) {
            return Err(HeaderError::Reserved(name.to_string()));
        }
        let mut value = HeaderValue::from_bytes(value.trim().as_bytes())
            .map_err(|_| HeaderError::Value(name.to_string()))?;
        value.set_sensitive(true);
        Ok(SecretHeader { name, value })
    }
}

impl fmt::Debug for SecretHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: …", self.name)
    }
}

/// The secret headers together, and what must not be written of them.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    headers: HeaderMap,
    /// The values as they are, and as they stand in JSON; what contains another goes first.
    plain: Vec<Vec<u8>>,
    escaped: Vec<Vec<u8>>,
}

impl Secrets {
    /// What stands in the place of a value.
    const MARKER: &str = "[REDACTED]";
    /// What is shorter is no secret, and would be found everywhere.
    const SHORTEST: usize = 6;

    pub(super) fn new(headers: &[SecretHeader]) -> Self {
        let mut secrets = Secrets::default();
        for SecretHeader { name, value } in headers {
            secrets.headers.append(name.clone(), value.clone());
            let whole = String::from_utf8_lossy(value.as_bytes()).into_owned();
            let token = whole.rsplit(' ').next().unwrap_or_default().to_owned();
            for text in [whole, token].into_iter().filter(|text| text.len() >= Self::SHORTEST) {
                let quoted = serde_json::to_string(&text).unwrap_or_default().into_bytes();
                secrets.escaped.push(quoted[1..quoted.len() - 1].to_vec());
                secrets.plain.push(text.into_bytes());
            }
        }
        for texts in [&mut secrets.plain, &mut secrets.escaped] {
            texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        }
        secrets
    }

    pub(super) fn names(&self, name: &HeaderName) -> bool {
        self.headers.contains_key(name)
    }

    /// Puts them into a request; what stood there by the same name goes.
    pub(super) fn add_to(&self, headers: &mut HeaderMap) {
        for name in self.headers.keys() {
            headers.remove(name);
        }
        headers.extend(self.headers.clone());
    }

    /// The headers as they may be recorded.
    pub(super) fn hidden(headers: &HeaderMap) -> HeaderMap {
        let mut hidden = headers.clone();
        for value in hidden.values_mut().filter(|value| value.is_sensitive()) {
            *value = HeaderValue::from_static(Self::MARKER);
        }
        hidden
    }

    /// JSON without any of the values, wherever they came from.
    pub(super) fn scrub_json<'a>(&self, json: &'a [u8]) -> Cow<'a, [u8]> {
        scrub(json, &self.escaped)
    }

    /// Anything else without them.
    pub(super) fn scrub<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        scrub(bytes, &self.plain)
    }

    pub(super) fn scrub_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.scrub(text.as_bytes())).into_owned()
    }
}

fn scrub<'a>(bytes: &'a [u8], texts: &[Vec<u8>]) -> Cow<'a, [u8]> {
    let mut clean = Cow::Borrowed(bytes);
    for text in texts {
        if memchr::memmem::find(&clean, text).is_some() {
            clean = Cow::Owned(replace(&clean, text));
        }
    }
    clean
}

fn replace(bytes: &[u8], text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = memchr::memmem::find(rest, text) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(Secrets::MARKER.as_bytes());
        rest = &rest[at + text.len()..];
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_keep_their_query_and_lose_their_fragment() {
        let url: ServerUrl = "https://x.example/mcp?key=1#top".parse().unwrap();
        assert_eq!(
            (url.to_string().as_str(), url.target().as_str()),
            ("https://x.example/mcp?key=1", "/mcp?key=1")
        );
        let url: ServerUrl = "http://localhost:1".parse().unwrap();
        assert_eq!(url.target(), "/");
        assert!("x.example".parse::<ServerUrl>().is_err());
    }

    #[test]
    fn a_reference_stays_on_the_server() {
        let url: ServerUrl = "http://x.example:8080/a/sse?k=1".parse().unwrap();
        let check = |reference: &str, expected: Option<&str>| {
            assert_eq!(url.resolve(reference).as_deref(), expected, "{reference}");
        };
        check("/message?id=1", Some("/message?id=1"));
        check("message?id=1", Some("/a/message?id=1"));
        check("?id=1", Some("/a/sse?id=1"));
        check("http://x.example:8080/m?id=1", Some("/m?id=1"));
        check("http://evil.example/m", None);
        check("https://x.example:8080/m", None);
        check("//evil.example/m", None);
        check("", None);
    }

    #[test]
    fn headers_are_read_and_never_shown() {
        let header: SecretHeader = "Authorization:  Bearer abcdef123456 ".parse().unwrap();
        assert_eq!(format!("{header:?}"), "authorization: …");
        let check = |text: &str, expected: &str| {
            assert_eq!(text.parse::<SecretHeader>().unwrap_err().to_string(), expected);
        };
        check("token abc", "a header looks like 'Name: value'");
        check("a b: c", "the header's name is not one that HTTP allows");
        check("X-Key: a\u{1}b", "the value of the header `x-key` has characters that HTTP does not allow");
        check("Host: x", "the header `host` is the connection's own, and can't be chosen");
    }

    #[test]
    fn values_are_scrubbed_whole_and_by_their_token() {
        let headers = ["Authorization: Bearer abcdef123456", "X-Odd: say \"hello\"", "X-Version: 2"];
        let headers: Vec<SecretHeader> = headers.iter().map(|header| header.parse().unwrap()).collect();
        let secrets = Secrets::new(&headers);
        assert_eq!(secrets.scrub_text("Bearer abcdef123456, abcdef123456, 2"), "[REDACTED], [REDACTED], 2");
        assert_eq!(&*secrets.scrub_json(br#"{"a":"say \"hello\""}"#), br#"{"a":"[REDACTED]"}"#);
        let mut sent = HeaderMap::new();
        secrets.add_to(&mut sent);
        assert_eq!(sent["x-version"], "2");
        assert_eq!(Secrets::hidden(&sent)["authorization"], "[REDACTED]");
    }
}
