//! The options of the bridge: the server's URL, secret headers, the trace.

use crate::http::target::Target;
use crate::http::{UpstreamUrl, UrlError};
use crate::journal::JournalOptions;
use crate::live::LiveOptions;
use crate::warning::Warn;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderName, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderValue};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use wiretape_trace::redact::Redactor;

/// The options of the bridge.
pub struct BridgeOptions {
    /// The server's MCP endpoint.
    pub url: ServerUrl,
    /// Headers that are sent with every request and never recorded.
    pub headers: Vec<SecretHeader>,
    /// The trace's label; the server's host if there is none.
    pub label: Option<String>,
    /// The trace's directory, rotation and tee; without it nothing is recorded.
    pub journal: Option<JournalOptions>,
    /// Redacts secrets; without one everything but the headers is written as it is.
    pub redactor: Option<Redactor>,
    /// Serves the live view, if given.
    pub live: Option<LiveOptions>,
    /// Receives warnings while the recording runs.
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
        // Checked once here, so that building requests can't fail later.
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

    /// The server without the path.
    pub(super) fn server(&self) -> Target {
        self.server.target()
    }

    /// The URL without its query, which may contain secrets.
    pub(super) fn without_query(&self) -> String {
        self.server.to_string()
    }

    /// The request target: path and query.
    pub(super) fn target(&self) -> String {
        let path = if self.server.path().is_empty() { "/" } else { self.server.path() };
        self.query.as_ref().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"))
    }

    /// The request target of a reference relative to this URL, if it is on the same server. Otherwise the secret headers would
    /// be sent to another one.
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

/// A header with a secret value, which is neither shown nor recorded.
#[derive(Clone)]
pub struct SecretHeader {
    name: HeaderName,
    value: HeaderValue,
}

/// Why a header can't be sent. The messages never contain the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The colon after the name is missing.
    #[error("a header looks like 'Name: value'")]
    NoColon,
    /// The name is not a token (RFC 9110, section 5.6.2).
    #[error("the header's name has characters that HTTP does not allow")]
    Name,
    /// The value has control characters.
    #[error("the value of the header `{0}` has characters that HTTP does not allow")]
    Value(String),
    /// The header is set by the HTTP client itself.
    #[error("the header `{0}` is set by the connection and can't be changed")]
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
        // Keeps it out of debug output, and marks it for `Secrets::hidden`.
        value.set_sensitive(true);
        Ok(SecretHeader { name, value })
    }
}

impl fmt::Debug for SecretHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: …", self.name)
    }
}

/// All secret headers, and the texts that must not be recorded because of them.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    headers: HeaderMap,
    /// The values as they are, and as escaped in JSON; longest first, so that a value is replaced before a part of it.
    plain: Vec<Vec<u8>>,
    escaped: Vec<Vec<u8>>,
}

impl Secrets {
    /// The replacement for a value.
    const MARKER: &str = "[REDACTED]";
    /// The minimum length of a value that is replaced in bytes: a shorter one is not a secret, and would occur everywhere.
    const SHORTEST: usize = 6;

    pub(super) fn new(headers: &[SecretHeader]) -> Self {
        let mut secrets = Secrets::default();
        for SecretHeader { name, value } in headers {
            secrets.headers.append(name.clone(), value.clone());
            let whole = String::from_utf8_lossy(value.as_bytes()).into_owned();
            // Servers echo the token without `Bearer`, and logs show a decoded user and password.
            let token = whole.rsplit(' ').next().unwrap_or_default().to_owned();
            let (pair, password) = basic_pair(&token).unwrap_or_default();
            let texts = [whole, token, pair, password];
            for text in texts.into_iter().filter(|text| text.len() >= Self::SHORTEST) {
                // As it is in JSON, and in JSON that is in a string, and once more.
                let mut escaped = text.clone();
                for _ in 0..3 {
                    escaped = json_escaped(&escaped);
                    secrets.escaped.push(escaped.clone().into_bytes());
                }
                secrets.plain.push(text.into_bytes());
            }
        }
        for texts in [&mut secrets.plain, &mut secrets.escaped] {
            texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
            texts.dedup();
        }
        secrets
    }

    pub(super) fn names(&self, name: &HeaderName) -> bool {
        self.headers.contains_key(name)
    }

    /// Sets the headers in a request, replacing others of the same name.
    pub(super) fn add_to(&self, headers: &mut HeaderMap) {
        for name in self.headers.keys() {
            headers.remove(name);
        }
        headers.extend(self.headers.clone());
    }

    /// The headers for the recording, without secret values.
    pub(super) fn hidden(headers: &HeaderMap) -> HeaderMap {
        let mut hidden = headers.clone();
        for value in hidden.values_mut().filter(|value| value.is_sensitive()) {
            *value = HeaderValue::from_static(Self::MARKER);
        }
        hidden
    }

    /// Replaces the values in JSON, wherever they occur: a server may echo a token.
    pub(super) fn scrub_json<'a>(&self, json: &'a [u8]) -> Cow<'a, [u8]> {
        scrub(json, &self.escaped)
    }

    /// Replaces the values in any other text.
    pub(super) fn scrub<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        scrub(bytes, &self.plain)
    }

    pub(super) fn scrub_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.scrub(text.as_bytes())).into_owned()
    }
}

/// The pair `user:password` that a token is in Base64, and its password.
fn basic_pair(token: &str) -> Option<(String, String)> {
    let pair = String::from_utf8(BASE64.decode(token).ok()?).ok()?;
    let password = pair.split_once(':')?.1.to_owned();
    Some((pair, password))
}

fn json_escaped(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
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
        check("a b: c", "the header's name has characters that HTTP does not allow");
        check("X-Key: a\u{1}b", "the value of the header `x-key` has characters that HTTP does not allow");
        check("Host: x", "the header `host` is set by the connection and can't be changed");
    }

    #[test]
    fn values_are_scrubbed_in_json_within_strings_and_as_the_pair_of_basic() {
        let headers = ["X-Phrase: say \"hello\"", "Authorization: Basic Ym9iOnN3b3JkZmlzaDk5"];
        let headers: Vec<SecretHeader> = headers.iter().map(|header| header.parse().unwrap()).collect();
        let secrets = Secrets::new(&headers);
        let nested = serde_json::to_string(r#"{"a":"say \"hello\""}"#).unwrap();
        assert_eq!(&*secrets.scrub_json(nested.as_bytes()), br#""{\"a\":\"[REDACTED]\"}""#);
        assert_eq!(secrets.scrub_text("bob:swordfish99 or swordfish99"), "[REDACTED] or [REDACTED]");
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
