//! Hop-by-hop headers, which must not be forwarded (RFC 9110, section 7.6.1), and lookups in the other headers.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderName, TE,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderValue, Version};
use std::time::Duration;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const PROXY_AUTHORIZATION: HeaderName = HeaderName::from_static("proxy-authorization");

/// The header with the session id (MCP 2025-11-25, basic/transports, "Session Management").
pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The HTTP version of one hop, as far as headers depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hop {
    /// HTTP/1.x: `Transfer-Encoding` frames the body, and is kept.
    Http1,
    /// HTTP/2, which has its own framing and forbids that header (RFC 9113, section 8.2.2).
    Http2,
}

impl From<Version> for Hop {
    fn from(version: Version) -> Self {
        if version == Version::HTTP_2 { Hop::Http2 } else { Hop::Http1 }
    }
}

/// Removes the hop-by-hop headers. `keep_upgrade` keeps `Upgrade` for a request that asks for another protocol, which is
/// tunneled.
pub(crate) fn strip_hop(headers: &mut HeaderMap, to: Hop, keep_upgrade: bool) {
    // Most heads have none of them, or `connection` alone; one pass over the names is cheaper than seven lookups, each of which
    // hashes a name (`cargo xtask bench --only http`).
    if !headers.keys().any(is_hop_by_hop) {
        return;
    }
    if headers.contains_key(CONNECTION) {
        for name in named_by_connection(headers) {
            let is_upgrade = name == UPGRADE;
            // `TE: trailers` may be forwarded (RFC 9110, section 10.1.4), although `Connection` has to name it.
            // `Host` is for everyone on the way (RFC 9110, section 7.6.1); without it the server's own check would be void.
            if !(is_upgrade && keep_upgrade) && name != TE && name != CONNECTION && name != HOST {
                headers.remove(&name);
            }
        }
        headers.remove(CONNECTION);
        if keep_upgrade {
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        } else if !headers.keys().any(is_hop_by_hop) {
            return;
        }
    }
    if !keep_upgrade {
        headers.remove(UPGRADE);
    }
    headers.remove(KEEP_ALIVE);
    headers.remove(PROXY_CONNECTION);
    // Credentials for us, not for the server.
    headers.remove(PROXY_AUTHORIZATION);
    if headers.get(TE).is_some_and(|te| te != "trailers") {
        headers.remove(TE);
    }
    match to {
        Hop::Http1 => join_transfer_codings(headers),
        Hop::Http2 => {
            headers.remove(TRANSFER_ENCODING);
        }
    }
}

/// Puts the transfer codings into one line, without `identity`, which RFC 9112 no longer has. A server that reads only the first
/// of two lines, `identity` and `chunked`, would take the chunks for further requests.
fn join_transfer_codings(headers: &mut HeaderMap) {
    let mut lines = headers.get_all(TRANSFER_ENCODING).iter();
    if lines.next().is_none_or(|first| first == "chunked") && lines.next().is_none() {
        return;
    }
    // hyper has refused a message whose last coding isn't `chunked`, so lines that aren't text can only precede it.
    let text = |line: &HeaderValue| line.to_str().unwrap_or_default().to_owned();
    let lines: Vec<String> = headers.get_all(TRANSFER_ENCODING).iter().map(text).collect();
    let codings = lines.iter().flat_map(|line| line.split(',')).map(str::trim);
    let codings: Vec<&str> =
        codings.filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case("identity")).collect();
    headers.remove(TRANSFER_ENCODING);
    if let Ok(joined) = HeaderValue::try_from(codings.join(", "))
        && !codings.is_empty()
    {
        headers.insert(TRANSFER_ENCODING, joined);
    }
}

fn is_hop_by_hop(name: &HeaderName) -> bool {
    [CONNECTION, UPGRADE, TE, TRANSFER_ENCODING, KEEP_ALIVE, PROXY_CONNECTION, PROXY_AUTHORIZATION]
        .iter()
        .any(|hop_by_hop| hop_by_hop == name)
}

fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    // `keep-alive` and `close` are options, not header names.
    let named =
        |value: &&str| !value.eq_ignore_ascii_case("keep-alive") && !value.eq_ignore_ascii_case("close");
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok()).filter(named);
    values.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect()
}

/// Whether a request or response switches to another protocol. Not to HTTP/2 (`h2c`): RFC 9113 has removed that upgrade, and
/// a server that still accepts it would be reached past the recording and past the checks of later requests.
pub(crate) fn wants_upgrade(headers: &HeaderMap) -> bool {
    headers.contains_key(UPGRADE)
        && named_by_connection(headers).contains(&UPGRADE)
        && !headers.get_all(UPGRADE).iter().any(offers_h2c)
}

fn offers_h2c(upgrade: &HeaderValue) -> bool {
    let protocols = upgrade.to_str().unwrap_or_default().split(',');
    protocols
        .map(str::trim)
        .any(|protocol| protocol.get(..3).is_some_and(|name| name.eq_ignore_ascii_case("h2c")))
}

/// The approximate size of the headers on the wire, in bytes.
pub(crate) fn size(headers: &HeaderMap) -> usize {
    const FIELD_OVERHEAD: usize = ": \r\n".len();
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + FIELD_OVERHEAD).sum()
}

/// How long an idle connection is kept when the server doesn't send a `Keep-Alive` timeout. Servers in Node and Python close it
/// after five seconds, most others later; a second less avoids the race.
pub(crate) const DEFAULT_KEEP_ALIVE: Duration = Duration::from_secs(4);

/// How long an idle connection is kept: a second less than the server's `Keep-Alive` timeout, so that a request doesn't meet
/// a connection that is just being closed.
pub(crate) fn keep_alive(headers: &HeaderMap) -> Duration {
    let parameters = headers.get(KEEP_ALIVE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let timeout = parameters.split(',').find_map(|part| part.trim().strip_prefix("timeout="));
    let seconds = timeout.and_then(|seconds| seconds.parse::<u32>().ok());
    seconds.map_or(DEFAULT_KEEP_ALIVE, |seconds| Duration::from_secs(seconds.saturating_sub(1).into()))
}

/// The content type without its parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let end = value.bytes().position(|byte| byte == b';').unwrap_or(value.len());
    Some(value[..end].trim())
}

/// Whether the body is a stream of server-sent events.
pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    media_type(headers).is_some_and(|media| media.eq_ignore_ascii_case("text/event-stream"))
}

/// The content encoding; `None` if there is none, or `identity`.
pub(crate) fn content_encoding(headers: &HeaderMap) -> Option<&str> {
    let encoding = headers.get(CONTENT_ENCODING)?.to_str().ok()?.trim();
    (!encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity")).then_some(encoding)
}

/// The session id in the headers.
pub(crate) fn session(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION)?.to_str().ok().filter(|session| !session.is_empty())
}

/// The MCP revision in the headers.
pub(crate) fn protocol_version(headers: &HeaderMap) -> Option<&str> {
    headers.get("mcp-protocol-version")?.to_str().ok()
}

/// The user according to the `sub` claim, if the bearer token is a JWT. The claim is not verified here; only the server can.
pub(crate) fn user(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let claims = token.trim().split('.').nth(1).filter(|_| scheme.eq_ignore_ascii_case("bearer"))?;
    let claims = URL_SAFE_NO_PAD.decode(claims).ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&claims).ok()?;
    Some(claims.get("sub")?.as_str()?.to_owned())
}

/// Whether the body is an HTML page.
pub(crate) fn is_html(headers: &HeaderMap) -> bool {
    media_type(headers).is_some_and(|media| media.eq_ignore_ascii_case("text/html"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(headers: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        map
    }

    fn stripped(headers: &[(&'static str, &'static str)], to: Hop, keep_upgrade: bool) -> Vec<String> {
        let mut map = map(headers);
        strip_hop(&mut map, to, keep_upgrade);
        let line =
            |(name, value): (&HeaderName, &HeaderValue)| format!("{name}: {}", value.to_str().unwrap());
        let mut lines: Vec<String> = map.iter().map(line).collect();
        // The order of names is irrelevant; values of one name keep theirs.
        lines.sort_by_key(|line| line.split(':').next().map(str::to_owned));
        lines
    }

    #[test]
    fn what_is_for_one_hop_goes_and_the_rest_stays() {
        let headers = [
            ("connection", "keep-alive, X-Mine"),
            ("keep-alive", "timeout=5"),
            ("x-mine", "1"),
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2"),
            ("mcp-param-x", "=?base64?eA==?="),
            ("transfer-encoding", "chunked"),
            ("proxy-authorization", "Basic eDp5"),
        ];
        assert_eq!(
            stripped(&headers, Hop::Http1, false),
            [
                "mcp-param-x: =?base64?eA==?=",
                "set-cookie: a=1",
                "set-cookie: b=2",
                "transfer-encoding: chunked"
            ]
        );
        assert_eq!(stripped(&headers, Hop::Http2, false).len(), 3);
    }

    #[test]
    fn transfer_codings_are_on_one_line() {
        let joined = |values: &[&'static str]| {
            let headers: Vec<_> = values.iter().map(|value| ("transfer-encoding", *value)).collect();
            stripped(&headers, Hop::Http1, false)
        };
        assert_eq!(joined(&["identity", "Chunked"]), ["transfer-encoding: Chunked"]);
        assert_eq!(joined(&["gzip, identity", "chunked"]), ["transfer-encoding: gzip, chunked"]);
        assert!(joined(&["identity"]).is_empty());
    }

    #[test]
    fn an_upgrade_is_passed_through_only_as_a_whole() {
        let headers = [("connection", "Upgrade"), ("upgrade", "websocket")];
        assert!(wants_upgrade(&map(&headers)));
        assert_eq!(stripped(&headers, Hop::Http1, true), ["connection: upgrade", "upgrade: websocket"]);
        assert!(stripped(&headers, Hop::Http1, false).is_empty());
        assert!(!wants_upgrade(&map(&[("upgrade", "h2c")])));
        for h2c in ["h2c", "H2C", "websocket, h2c"] {
            assert!(!wants_upgrade(&map(&[("connection", "upgrade"), ("upgrade", h2c)])), "{h2c}");
        }
    }

    #[test]
    fn types_are_told_without_their_parameters() {
        let headers = map(&[("content-type", "Text/Event-Stream; charset=utf-8")]);
        assert!(is_event_stream(&headers));
        assert_eq!(content_encoding(&map(&[("content-encoding", "identity")])), None);
        assert_eq!(content_encoding(&map(&[("content-encoding", "gzip")])), Some("gzip"));
    }

    #[test]
    fn connections_are_kept_a_little_shorter_than_the_server_says() {
        let check = |said: &[(&'static str, &'static str)], seconds: u64| {
            assert_eq!(keep_alive(&map(said)), Duration::from_secs(seconds), "{said:?}");
        };
        check(&[], 4);
        check(&[("keep-alive", "timeout=5")], 4);
        check(&[("keep-alive", "max=100, timeout=72")], 71);
        check(&[("keep-alive", "timeout=0")], 0);
        check(&[("keep-alive", "timeout=99999999999999999999")], 4);
        check(&[("keep-alive", "max=1")], 4);
    }
}
