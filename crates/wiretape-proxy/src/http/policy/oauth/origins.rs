//! The owner of a URL: the proxy, the upstream, or a third party.

use super::servers::is_reserved;
use super::url::Url;
use crate::live::Origin;

/// The two origins of the same server during one exchange: the one that the client uses, and the user's upstream.
#[derive(Debug, Clone)]
pub(crate) struct Origins {
    public: SpelledOrigin,
    upstream: SpelledOrigin,
    /// The client's `Host` with the upstream's scheme: what an upstream that builds URLs from the request calls itself.
    reflected: SpelledOrigin,
}

/// An origin and its spelling. Clients compare origins as text, so the spelling is kept.
#[derive(Debug, Clone)]
struct SpelledOrigin {
    text: String,
    origin: Origin,
}

impl SpelledOrigin {
    fn of(url: &Url) -> Self {
        SpelledOrigin { text: url.origin_text().to_owned(), origin: url.origin().clone() }
    }
}

/// The owner of a URL, by its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The proxy: the origin that the client uses.
    Public,
    Upstream,
    /// The upstream, as the client's host with the upstream's scheme.
    Reflected,
    ThirdParty,
}

impl Origins {
    /// `public` is our scheme and the client's `Host`; `upstream` is the user's URL, of which only the origin counts. `None` if
    /// either is not an http URL or both are the same: then there is nothing to rewrite.
    pub(crate) fn new(public: &str, upstream: &str) -> Option<Self> {
        let (public, upstream) = (Url::parse(public)?, Url::parse(upstream)?);
        // A `Host` header with a path or query in it is not a host; nothing may be built from it.
        if public.origin() == upstream.origin() || !public.rest().is_empty() {
            return None;
        }
        let scheme = if upstream.is_https() { "https" } else { "http" };
        let host = public.origin_text().split_once("://")?.1;
        let reflected = format!("{scheme}://{host}");
        Some(Origins {
            public: SpelledOrigin::of(&public),
            upstream: SpelledOrigin::of(&upstream),
            reflected: SpelledOrigin::of(&Url::parse(&reflected)?),
        })
    }

    pub(super) fn public(&self) -> &str {
        &self.public.text
    }

    pub(super) fn upstream(&self) -> &str {
        &self.upstream.text
    }

    pub(super) fn reflected(&self) -> &str {
        &self.reflected.text
    }

    pub(super) fn owner(&self, url: &Url) -> Owner {
        let origin = url.origin();
        if *origin == self.public.origin {
            Owner::Public
        } else if *origin == self.upstream.origin {
            Owner::Upstream
        } else if *origin == self.reflected.origin {
            Owner::Reflected
        } else {
            Owner::ThirdParty
        }
    }

    /// Translates the upstream's URL to our origin; `None` for any other URL. Never to a reserved path: there the upstream could
    /// pose as a foreign authorization server that the client trusts.
    pub(super) fn to_public(&self, url: &Url) -> Option<String> {
        match self.owner(url) {
            _ if is_reserved(url.path()) => None,
            Owner::Upstream | Owner::Reflected => Some(format!("{}{}", self.public.text, url.rest())),
            Owner::Public | Owner::ThirdParty => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(public: &str, upstream: &str, url: &str) -> Option<String> {
        Origins::new(public, upstream).unwrap().to_public(&Url::parse(url).unwrap())
    }

    #[test]
    fn what_is_the_upstreams_is_told_as_ours() {
        let check = |url: &str, expected: Option<&str>| {
            assert_eq!(
                told("http://127.0.0.1:3004", "https://up.example/mcp", url).as_deref(),
                expected,
                "{url}"
            );
        };
        check("https://up.example", Some("http://127.0.0.1:3004"));
        check("https://up.example/", Some("http://127.0.0.1:3004/"));
        check("https://UP.example:443/mcp?a=b", Some("http://127.0.0.1:3004/mcp?a=b"));
        // Built from the `Host` that the client sent, and from the upstream's own scheme.
        check("https://127.0.0.1:3004/mcp", Some("http://127.0.0.1:3004/mcp"));
        check("https://up.example/.wiretape/as/https/as.example", None);
        // Ours already.
        check("http://127.0.0.1:3004/mcp", None);
        // Not the upstream's.
        check("http://up.example/mcp", None);
        check("https://up.example:8443/mcp", None);
        check("https://up.example.evil.example/mcp", None);
        check("https://evil.example/https://up.example/mcp", None);
        check("http://localhost:3004/mcp", None);
    }

    #[test]
    fn the_clients_spelling_of_our_origin_is_kept() {
        let check = |public: &str, expected: &str| {
            assert_eq!(
                told(public, "https://up.example", "https://up.example/mcp").as_deref(),
                Some(expected)
            );
        };
        check("http://127.0.0.1:80", "http://127.0.0.1:80/mcp");
        check("http://LocalHost:3004", "http://LocalHost:3004/mcp");
        check("http://[::1]:3004", "http://[::1]:3004/mcp");
    }

    #[test]
    fn without_two_origins_there_is_nothing_to_rewrite() {
        for (public, upstream) in [
            ("https://up.example", "https://up.example/mcp"),
            ("http://127.0.0.1:3004/", "https://up.example"),
            ("http://127.0.0.1:3004\"", "https://up.example"),
            ("http://a b", "https://up.example"),
            ("http://", "https://up.example"),
            ("http://127.0.0.1:3004", "stdio"),
        ] {
            assert!(Origins::new(public, upstream).is_none(), "{public} {upstream}");
        }
    }
}
