//! URLs, split at the end of their origin.
//!
//! Nothing here resolves, normalises or repairs. Parsers disagree about unusual URLs, so a text that isn't plainly an http URL
//! is rejected and forwarded unchanged: otherwise a difference between our reading and a peer's could send a token to the wrong
//! server.

use std::net::IpAddr;

use crate::http::network::NetworkZone;
use crate::live::Origin;

/// An http or https URL as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Url<'a> {
    text: &'a str,
    origin: Origin,
    /// The length of the origin in bytes.
    split: usize,
}

impl<'a> Url<'a> {
    /// Parses an absolute URL. Rejects user names, hosts that are not ASCII, and characters that a URL must not have.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let authority = scheme_length(text)?;
        let split = text[authority..].find(['/', '?', '#']).map_or(text.len(), |at| authority + at);
        let origin = Origin::parse(&text[..split]).ok()?;
        text[split..].bytes().all(is_url_byte).then_some(Url { text, origin, split })
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    pub(super) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Scheme, host and port as they were spelled.
    pub(super) fn origin_text(&self) -> &'a str {
        &self.text[..self.split]
    }

    /// Path, query and fragment as they were spelled.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.split..]
    }

    pub(super) fn path(&self) -> &'a str {
        path_of(self.rest())
    }

    pub(super) fn is_https(&self) -> bool {
        scheme_length(self.text) == Some("https://".len())
    }

    /// The authority and everything after it: what follows `://`.
    pub(super) fn without_scheme(&self) -> &'a str {
        &self.text[scheme_length(self.text).unwrap_or_default()..]
    }

    /// Whether both are the same issuer. An issuer without a path may have a final slash: URL parsers add one, so clients ignore
    /// the difference.
    pub(super) fn is_same_issuer(&self, other: &Url) -> bool {
        let is_root = |url: &Url| matches!(url.rest(), "" | "/");
        self.origin == other.origin && (self.rest() == other.rest() || is_root(self) && is_root(other))
    }

    /// Whether the proxy may send requests to `other` because a document of this server names it. Never from https to http,
    /// never from a public server to this machine or a private network (which would be server-side request forgery), and never
    /// to an address with two readings.
    pub(super) fn may_lead_to(&self, other: &Url) -> bool {
        let Some(zone) = other.zone() else { return false };
        let is_local = self.zone() == Some(NetworkZone::Local);
        (other.is_https() || !self.is_https())
            && (zone == NetworkZone::Public || is_local)
            && !other.rest().contains('#')
            && is_plain_path(other.path())
    }

    fn zone(&self) -> Option<NetworkZone> {
        let authority = self.origin_text().split_once("://")?.1;
        match authority.strip_prefix('[') {
            Some(address) => NetworkZone::of(IpAddr::V6(address.split_once(']')?.0.parse().ok()?)),
            None => of_name(authority.split(':').next()?),
        }
    }
}

fn of_name(host: &str) -> Option<NetworkZone> {
    let host = host.to_ascii_lowercase();
    let last = host.rsplit('.').next().unwrap_or_default();
    if last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit()) {
        // Some resolvers take `127.1`, `0x7f.1` and `2130706433` for addresses; only the dotted form with four numbers is
        // accepted here, and the others are refused.
        return NetworkZone::of(IpAddr::V4(host.parse().ok()?));
    }
    if host.split('.').any(str::is_empty) {
        return None;
    }
    // By name only: what it resolves to is checked when connecting (`Reach`).
    Some(if last == "localhost" { NetworkZone::Local } else { NetworkZone::Public })
}

/// The part of a target before its query and fragment.
pub(super) fn path_of(target: &str) -> &str {
    target.split(['?', '#']).next().unwrap_or_default()
}

/// Whether all parsers read this path the same: no dot segments, no empty segments, no encoded separators.
pub(super) fn is_plain_path(path: &str) -> bool {
    let Some(segments) = path.strip_prefix('/') else { return path.is_empty() };
    let segments = segments.strip_suffix('/').unwrap_or(segments);
    path == "/" || segments.split('/').all(is_plain_segment)
}

fn is_plain_segment(segment: &str) -> bool {
    const HIDING: [&str; 5] = ["%2e", "%2f", "%5c", "%25", "%00"];
    let lower = segment.to_ascii_lowercase();
    let hides = HIDING.iter().any(|escape| lower.contains(escape));
    let is_clean = segment.bytes().all(|byte| is_url_byte(byte) && !b"?#".contains(&byte));
    !matches!(segment, "" | "." | "..") && !hides && is_clean
}

/// The characters of RFC 3986, section 2.
pub(super) fn is_url_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte)
}

fn scheme_length(text: &str) -> Option<usize> {
    let starts_with =
        |scheme: &&str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    ["https://", "http://"].iter().find(|scheme| starts_with(scheme)).map(|scheme| scheme.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn urls_are_cut_behind_the_origin() {
        let check = |text: &str, origin: &str, rest: &str| {
            let url = Url::parse(text).unwrap_or_else(|| panic!("{text} is a URL"));
            assert_eq!((url.origin_text(), url.rest()), (origin, rest));
        };
        check("https://up.example", "https://up.example", "");
        check("https://up.example/", "https://up.example", "/");
        check("HTTPS://Up.Example:443/mcp?a=b#c", "HTTPS://Up.Example:443", "/mcp?a=b#c");
        check("http://[::1]:3004?a", "http://[::1]:3004", "?a");
        check("http://127.0.0.1:3004#x", "http://127.0.0.1:3004", "#x");
    }

    #[test]
    fn odd_urls_are_none() {
        for odd in [
            "",
            "/mcp",
            "//up.example/mcp",
            "https:/up.example",
            "https:up.example",
            " https://up.example",
            "https://",
            "https:///mcp",
            "https://user@up.example/",
            "https://up.example:443@evil.example/",
            "https://up.example\\@evil.example/",
            "https://up.example\\.evil.example/",
            "https://up.example/a\\b",
            "https://up.exa\tmple/",
            "https://up.example/\n",
            "https://up.example%2eevil.example/",
            "https://üp.example/",
            "https://up.example/ü",
            "https://up.example:0/",
            "https://up.example:/",
            "https://up.example:99999/",
            "https://[::1/",
            "ftp://up.example/",
            "javascript://up.example/",
        ] {
            assert_eq!(Url::parse(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn a_final_slash_does_not_make_another_issuer_of_a_site() {
        let check = |a: &str, b: &str, expected: bool| {
            assert_eq!(Url::parse(a).unwrap().is_same_issuer(&Url::parse(b).unwrap()), expected, "{a} {b}");
        };
        check("https://as.example", "https://as.example", true);
        check("https://as.example", "https://AS.example:443/", true);
        check("https://as.example/a", "https://as.example/a", true);
        check("https://as.example/a", "https://as.example/a/", false);
        check("https://as.example/a", "https://as.example/A", false);
        check("https://as.example", "https://as.example/a", false);
        check("https://as.example", "http://as.example", false);
        check("https://as.example", "https://as.example.evil.example", false);
    }

    #[test]
    fn documents_lead_only_where_their_sender_could_be() {
        let check = |from: &str, to: &str, expected: bool| {
            assert_eq!(
                Url::parse(from).unwrap().may_lead_to(&Url::parse(to).unwrap()),
                expected,
                "{from} {to}"
            );
        };
        let (public, local) = ("https://up.example/mcp", "http://localhost:8000/mcp");
        check(public, "https://as.example", true);
        check(public, "https://as.example:8443/tenant/1/", true);
        check(public, "https://93.184.216.34/", true);
        check(local, "https://as.example", true);
        check(local, "http://127.0.0.1:9000/tenant", true);
        check(local, "http://[::1]:9000", true);
        check("http://10.0.0.7:8000", "http://192.168.1.4", true);

        // A plainer scheme.
        check(public, "http://as.example", false);
        // This machine, its network, and the services of a cloud.
        for near in [
            "https://localhost",
            "https://a.localhost",
            "https://LOCALHOST:8443",
            "https://127.0.0.1",
            "https://10.1.2.3",
            "https://[::1]",
            "https://[fd00::1]",
            "https://[::ffff:127.0.0.1]",
        ] {
            check(public, near, false);
        }
        for nowhere in [
            "http://169.254.169.254",
            "http://0.0.0.0",
            "http://[fe80::1]",
            "http://[::]",
            "http://[64:ff9b::7f00:1]",
            "http://[2002:7f00:1::]",
        ] {
            check(public, nowhere, false);
            check(local, nowhere, false);
        }
        // Addresses with two readings.
        for odd in ["127.1", "2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "as.example.", ".", "a..b"] {
            check(local, &format!("http://{odd}/"), false);
        }
        // Paths with two readings.
        for odd in ["/a/../b", "/a//b", "/%2e%2e/b", "/a%2Fb", "/a%5cb", "/a%252fb", "/..", "//", "/a#b"] {
            check(local, &format!("https://as.example{odd}"), false);
        }
    }

    #[test]
    fn plain_paths_have_one_reading() {
        for plain in ["", "/", "/a", "/a/", "/a/b.c", "/a/.well-known/b", "/a%20b", "/a;b=c", "/..."] {
            assert!(is_plain_path(plain), "{plain}");
        }
        for odd in
            ["a", "//", "/a//", "/./a", "/a/..", "/%2E/a", "/a%2f", "/a\\b", "/a b", "/ä", "/%00", "/a?b"]
        {
            assert!(!is_plain_path(odd), "{odd}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_panics(text in "(https?://)?[ -~\\t]{0,40}") {
            if let Some(url) = Url::parse(&text) {
                prop_assert_eq!(format!("{}{}", url.origin_text(), url.rest()), url.text());
                url.may_lead_to(&url);
            }
            is_plain_path(&text);
        }
    }
}
