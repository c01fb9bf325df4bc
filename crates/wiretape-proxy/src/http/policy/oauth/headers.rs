//! The headers that are forwarded to a foreign authorization server and back.
//!
//! Clients know one origin, ours, and may attach to any request for it what belongs to the upstream: cookies, a token, an API
//! key in a header. Another server must not get any of that. So there is a list of what is forwarded, not of what is removed.

/// The `Content-Security-Policy` for responses of a foreign authorization server: they are data for programs, and must not run
/// in a browser with the upstream's origin.
pub(crate) const FOREIGN_RESPONSE_POLICY: &str = "default-src 'none'; sandbox";

// `dpop` is forwarded, although it is signed over our URL (`htu`) and can't be translated (design note 0004): whether
// to accept it is the server's decision.
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

/// Whether a header of a client's request is forwarded to a foreign authorization server. Names are in lower case.
///
/// `Authorization: Basic` is forwarded: it is the client's own credential there (RFC 6749, section 2.3.1). A bearer token is for
/// the upstream.
pub(crate) fn is_sent_to_foreign(name: &str, value: &[u8]) -> bool {
    let is_basic = value.get(..6).is_some_and(|start| start.eq_ignore_ascii_case(b"basic "));
    SENT.contains(&name) || name == "authorization" && is_basic
}

/// Whether a header of a foreign authorization server's response is forwarded to the client. Cookies are not: the client would
/// send them to the upstream from then on.
pub(crate) fn is_accepted_from_foreign(name: &str) -> bool {
    ACCEPTED.contains(&name) || name.starts_with("access-control-")
}

/// Whether a header may be sent in a request for a document. The response must be complete and not encoded, since a 304 or a
/// part of it would teach the rewriter nothing.
pub(crate) fn is_unconditional(name: &str) -> bool {
    !PARTIAL.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_upstreams_stays_at_home() {
        let check = |name: &str, value: &str, expected: bool| {
            assert_eq!(is_sent_to_foreign(name, value.as_bytes()), expected, "{name}: {value}");
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
            assert!(is_accepted_from_foreign(kept), "{kept}");
        }
        for dropped in
            ["set-cookie", "clear-site-data", "strict-transport-security", "alt-svc", "refresh", "link"]
        {
            assert!(!is_accepted_from_foreign(dropped), "{dropped}");
        }
    }

    #[test]
    fn documents_are_asked_for_whole() {
        assert!(is_unconditional("accept") && is_unconditional("mcp-protocol-version"));
        assert!(!is_unconditional("if-none-match") && !is_unconditional("accept-encoding"));
    }
}
