//! Which headers cross to a foreign authorization server and back.
//!
//! Clients hold one origin, ours, and may attach to any request for it what they hold for the upstream: cookies, a
//! token, an API key in a header of their own. None of that is for anybody else. So what crosses is listed.

/// A `Content-Security-Policy` for what comes from a foreign authorization server: it is data for programs, and must not
/// run in a browser as if it were the upstream's.
pub(crate) const ABROAD_POLICY: &str = "default-src 'none'; sandbox";

const SENT: [&str; 10] = [
    "accept",
    "accept-language",
    "access-control-request-headers",
    "access-control-request-method",
    "content-type",
    "content-length",
    "dpop",
    "mcp-protocol-version",
    "origin",
    "user-agent",
];

const ACCEPTED: [&str; 14] = [
    "allow",
    "cache-control",
    "content-encoding",
    "content-language",
    "content-length",
    "content-type",
    "date",
    "dpop-nonce",
    "expires",
    "location",
    "pragma",
    "retry-after",
    "vary",
    "www-authenticate",
];

const PARTIAL: [&str; 7] = [
    "accept-encoding",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "range",
];

/// Whether a header of a client's request goes on to a foreign authorization server. Names are in lower case.
///
/// `Authorization` is sent where it is the client's own (RFC 6749, section 2.3.1). A bearer token is the upstream's.
pub(crate) fn is_sent_abroad(name: &str, value: &[u8]) -> bool {
    let is_basic = value.get(..6).is_some_and(|start| start.eq_ignore_ascii_case(b"basic "));
    SENT.contains(&name) || name == "authorization" && is_basic
}

/// Whether a header of a foreign authorization server's answer goes on to the client. A cookie would be the upstream's
/// from then on.
pub(crate) fn is_accepted_from_abroad(name: &str) -> bool {
    ACCEPTED.contains(&name) || name.starts_with("access-control-")
}

/// Whether a header may stand in a request for a document: the answer must be the whole one, in plain, each time. A 304
/// would teach us nothing.
pub(crate) fn asks_for_whole(name: &str) -> bool {
    !PARTIAL.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_upstreams_stays_at_home() {
        let check = |name: &str, value: &str, expected: bool| {
            assert_eq!(is_sent_abroad(name, value.as_bytes()), expected, "{name}: {value}");
        };
        check("content-type", "application/x-www-form-urlencoded", true);
        check("authorization", "Basic YTpi", true);
        check("authorization", "BASIC YTpi", true);
        check("authorization", "Bearer abc", false);
        check("authorization", "DPoP abc", false);
        check("authorization", "Basically abc", false);
        check("authorization", "", false);
        check("cookie", "a=b", false);
        check("x-api-key", "abc", false);
        check("proxy-authorization", "Basic YTpi", false);
        check("mcp-session-id", "abc", false);
        check("referer", "http://127.0.0.1:3004/", false);
    }

    #[test]
    fn what_a_foreign_server_sets_is_not_set_for_the_upstream() {
        for kept in ["content-type", "cache-control", "access-control-allow-origin", "www-authenticate"] {
            assert!(is_accepted_from_abroad(kept), "{kept}");
        }
        for dropped in
            ["set-cookie", "clear-site-data", "strict-transport-security", "alt-svc", "refresh", "link"]
        {
            assert!(!is_accepted_from_abroad(dropped), "{dropped}");
        }
    }

    #[test]
    fn documents_are_asked_for_whole() {
        assert!(asks_for_whole("accept") && asks_for_whole("mcp-protocol-version"));
        assert!(!asks_for_whole("if-none-match") && !asks_for_whole("accept-encoding"));
    }
}
