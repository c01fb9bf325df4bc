//! The authorization servers that the upstream has named, and the reserved paths under which clients reach the foreign ones.
//!
//! Clients see a foreign issuer `https://as.example/tenant` as
//! `http://127.0.0.1:3004/.wiretape/as/https/as.example_2ftenant`. The path contains the whole issuer, so that two issuers never
//! share one: clients bind stored credentials to it. It is the same in every run, and has no `/.well-known/`, which would make
//! some clients take the issuer for the address of its document.

use super::document::WellKnownForm;
use super::url::{Url, path_of};

/// Requests below this path are handled by the proxy and never reach the upstream.
const RESERVED: &str = "/.wiretape/";

/// The limit of remembered servers: more than any upstream uses, and bounded whatever its documents name.
const MOST_SERVERS: usize = 16;

/// The limit in bytes for URLs that are rewritten.
const LONGEST_URL: usize = 1000;

/// The endpoints whose requests carry a `resource` (RFC 8707), and which therefore go through the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// The authorization endpoint (RFC 6749, section 3.1), visited by the user's browser.
    Authorization,
    /// The token endpoint (RFC 6749, section 3.2).
    Token,
    /// The pushed authorization request endpoint (RFC 9126).
    PushedAuthorization,
    /// The device authorization endpoint (RFC 8628).
    DeviceAuthorization,
}

impl Endpoint {
    const ALL: [Endpoint; 4] = [
        Endpoint::Authorization,
        Endpoint::Token,
        Endpoint::PushedAuthorization,
        Endpoint::DeviceAuthorization,
    ];

    /// The endpoint that a member of the metadata names.
    pub(super) fn of_member(member: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|endpoint| endpoint.member() == member)
    }

    fn member(self) -> &'static str {
        match self {
            Endpoint::Authorization => "authorization_endpoint",
            Endpoint::Token => "token_endpoint",
            Endpoint::PushedAuthorization => "pushed_authorization_request_endpoint",
            Endpoint::DeviceAuthorization => "device_authorization_endpoint",
        }
    }

    /// The last segment of its reserved path.
    fn segment(self) -> &'static str {
        match self {
            Endpoint::Authorization => "/authorize",
            Endpoint::Token => "/token",
            Endpoint::PushedAuthorization => "/par",
            Endpoint::DeviceAuthorization => "/device",
        }
    }
}

/// An authorization server, the upstream's own or a foreign one.
#[derive(Debug, Clone)]
pub(super) struct Server {
    /// The issuer as the protected-resource document spells it.
    issuer: String,
    metadata: Metadata,
}

/// What an authorization server's own document says.
#[derive(Debug, Clone, Default)]
pub(super) struct Metadata {
    /// The issuer in the server's own spelling, which it also uses for `iss` in its redirects (RFC 9207).
    pub(super) issuer: Option<String>,
    pub(super) sends_iss: bool,
    pub(super) endpoints: Vec<(Endpoint, String)>,
}

impl Metadata {
    /// Sets the URL of an endpoint. If the document has it twice, the last one counts, as for most parsers.
    pub(super) fn set(&mut self, endpoint: Endpoint, url: &Url) {
        self.endpoints.retain(|(known, _)| *known != endpoint);
        self.endpoints.push((endpoint, url.text().to_owned()));
    }
}

impl Server {
    pub(super) fn issuer(&self) -> Url<'_> {
        Url::parse(&self.issuer).expect("`learn` is only called with the text of a parsed `Url`")
    }

    pub(super) fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    pub(super) fn endpoint(&self, wanted: Endpoint) -> Option<Url<'_>> {
        let mut endpoints = self.metadata.endpoints.iter();
        Url::parse(&endpoints.find(|(endpoint, _)| *endpoint == wanted)?.1)
    }

    /// The URL of the server's own document.
    pub(super) fn document_url(&self, well_known: &str, form: WellKnownForm) -> String {
        let issuer = self.issuer();
        let (origin, path) = (issuer.origin_text(), issuer.path().trim_end_matches('/'));
        match form {
            WellKnownForm::Inserted => format!("{origin}{well_known}{path}"),
            WellKnownForm::Appended => format!("{origin}{path}{well_known}"),
        }
    }
}

/// The most recently learned servers, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct AuthorizationServers {
    servers: Vec<Server>,
}

impl AuthorizationServers {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Server> {
        self.servers.iter()
    }

    /// Remembers an issuer, with the metadata that are already known.
    pub(super) fn learn(&mut self, issuer: &str) {
        let known = self.servers.iter().position(|server| server.issuer == issuer);
        // Moved to the end, so that the limit evicts the server that was named least recently.
        let known = known.map(|at| self.servers.remove(at));
        let new = || Server { issuer: issuer.to_owned(), metadata: Metadata::default() };
        self.servers.push(known.unwrap_or_else(new));
        if self.servers.len() > MOST_SERVERS {
            self.servers.remove(0);
        }
    }

    pub(super) fn describe(&mut self, issuer: &str, metadata: Metadata) {
        self.learn(issuer);
        if let Some(server) = self.servers.last_mut() {
            server.metadata = metadata;
        }
    }

    /// The server with this reserved path.
    pub(super) fn at(&self, path: &str) -> Option<&Server> {
        self.servers.iter().find(|server| path_for(&server.issuer()) == path)
    }

    /// The server and the endpoint with this reserved path.
    pub(super) fn endpoint_at(&self, path: &str) -> Option<(&Server, Endpoint)> {
        Endpoint::ALL.into_iter().find_map(|endpoint| {
            let server = self.at(path.strip_suffix(endpoint.segment())?)?;
            Some((server, endpoint))
        })
    }
}

/// Whether requests for this path must not reach the upstream.
pub(super) fn is_reserved(path: &str) -> bool {
    path.starts_with(RESERVED)
}

/// Whether a URL from a document can be reached through the proxy.
pub(super) fn is_usable(url: &Url) -> bool {
    url.text().len() <= LONGEST_URL && !is_reserved(url.path())
}

/// The reserved path of a foreign issuer.
pub(super) fn path_for(issuer: &Url) -> String {
    let scheme = if issuer.is_https() { "https" } else { "http" };
    format!("{RESERVED}as/{scheme}/{}", encode_segment(issuer.without_scheme()))
}

/// The reserved path of an endpoint of a foreign issuer.
pub(super) fn path_for_endpoint(issuer: &Url, endpoint: Endpoint) -> String {
    format!("{}{}", path_for(issuer), endpoint.segment())
}

/// Encodes a text as one path segment that no parser changes. Injective: different texts give different segments.
fn encode_segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for byte in text.bytes() {
        // No `%`, which proxies and clients decode or encode again; `_` is the escape character and so is escaped
        // itself.
        if byte.is_ascii_alphanumeric() || b"-.".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("_{byte:02x}"));
        }
    }
    out
}

/// An endpoint with the query of a request for it. An endpoint may have a query of its own (RFC 6749, section 3.1).
pub(super) fn with_query(endpoint: &str, query: &str) -> String {
    let separator = if path_of(endpoint).len() == endpoint.len() { '?' } else { '&' };
    if query.is_empty() { endpoint.to_owned() } else { format!("{endpoint}{separator}{query}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::policy::oauth::url::is_plain_path;
    use proptest::prelude::*;

    #[test]
    fn issuers_have_paths_of_ours() {
        let check = |issuer: &str, expected: &str| {
            assert_eq!(path_for(&Url::parse(issuer).unwrap()), expected);
        };
        check("https://as.example", "/.wiretape/as/https/as.example");
        check("https://as.example/", "/.wiretape/as/https/as.example_2f");
        check("HTTPS://as.example/A_b", "/.wiretape/as/https/as.example_2fA_5fb");
        check("http://127.0.0.1:9000/a/b", "/.wiretape/as/http/127.0.0.1_3a9000_2fa_2fb");
    }

    #[test]
    fn documents_are_where_clients_look_for_them() {
        let check = |issuer: &str, form: WellKnownForm, expected: &str| {
            let server = Server { issuer: issuer.to_owned(), metadata: Metadata::default() };
            assert_eq!(server.document_url("/.well-known/x", form), expected);
        };
        check("https://as.example", WellKnownForm::Inserted, "https://as.example/.well-known/x");
        check("https://as.example/", WellKnownForm::Appended, "https://as.example/.well-known/x");
        check("https://as.example/a/b/", WellKnownForm::Inserted, "https://as.example/.well-known/x/a/b");
        check("https://as.example/a/b", WellKnownForm::Appended, "https://as.example/a/b/.well-known/x");
    }

    #[test]
    fn the_oldest_server_is_forgotten() {
        let mut servers = AuthorizationServers::default();
        let issuer = |number: usize| format!("https://as{number}.example");
        servers.describe(&issuer(0), Metadata { sends_iss: true, ..Metadata::default() });
        for number in 1..MOST_SERVERS {
            servers.learn(&issuer(number));
        }
        servers.learn(&issuer(0));
        servers.learn(&issuer(MOST_SERVERS));
        let path = |number: usize| path_for(&Url::parse(&issuer(number)).unwrap());
        assert!(servers.at(&path(0)).is_some_and(|server| server.metadata().sends_iss));
        assert!(servers.at(&path(1)).is_none());
        assert!(servers.at(&path(2)).is_some() && servers.at(&path(MOST_SERVERS)).is_some());
        assert_eq!(servers.iter().count(), MOST_SERVERS);
    }

    #[test]
    fn queries_join_those_of_endpoints() {
        let check = |endpoint: &str, query: &str, expected: &str| {
            assert_eq!(with_query(endpoint, query), expected);
        };
        check("https://as.example/a", "", "https://as.example/a");
        check("https://as.example/a", "b=c", "https://as.example/a?b=c");
        check("https://as.example/a?p=q", "b=c", "https://as.example/a?p=q&b=c");
    }

    proptest! {
        #[test]
        fn names_are_plain_and_different(a in "[ -~]{1,20}", b in "[ -~]{1,20}") {
            prop_assert_eq!(a == b, encode_segment(&a) == encode_segment(&b));
            let path = format!("/x{}", encode_segment(&a));
            prop_assert!(is_plain_path(&path) && !path[1..].contains('/'));
        }
    }
}
