//! The rewriting of an OAuth login for one upstream, and what was learned for it.
//!
//! **Why this shape.** The two directions are not symmetric. Documents and headers of the upstream are *translated* to our
//! origin, and in passing they teach the rewriter what the way back needs: how the upstream spells its own origin (authorization
//! servers compare a `resource` as text, RFC 8707, section 2), which foreign authorization servers it uses, and their endpoints.
//! Requests of the client are *restored* from that. So there is one object for each upstream with all that was learned, bounded
//! (16 servers, 16 paths) and lost with the process; the origins, which depend on the `Host` that the client used, are a
//! parameter of each call.
//!
//! Every function returns `None` for "leave it as it is" and otherwise only the replaced bytes, never a parsed and re-serialized
//! document: unknown members, numbers and order are the sender's. In doubt nothing is changed. Then the client makes the check
//! that it would make without us, and a login fails instead of a token going to the wrong server.
//!
//! | specification | what is rewritten |
//! |---|---|
//! | RFC 9728 (protected resource metadata) | `resource`, `authorization_servers`; `resource_metadata` in challenges |
//! | RFC 8414, OpenID Connect Discovery | `issuer` and the endpoints whose requests carry a `resource` |
//! | RFC 8707 (resource indicators) | `resource` in authorization requests and forms, back to the upstream's origin |
//! | RFC 9207 (issuer identification) | `iss` in redirects that come through us |

use std::ops::Range;

use super::document::{self, Discovery, Item, Value};
use super::origins::{Origins, Owner};
use super::redirect::{self, AuthorizationRequest};
use super::servers::{self, AuthorizationServers, Endpoint, Metadata, Server};
use super::url::{Url, is_plain_path, is_url_byte, path_of};
use super::{challenge, parameters};

/// The limit for discovery documents, in bytes. Real ones have a few kilobytes.
pub(crate) const DOCUMENT_LIMIT: usize = 256 * 1024;

/// The limit for forms, in bytes; longer ones are forwarded unchanged.
pub(crate) const FORM_LIMIT: usize = 64 * 1024;

/// The limit of remembered document paths: each comes from a challenge, so a server could name any number.
const MOST_TARGETS: usize = 16;

/// Rewrites the logins for one upstream.
#[derive(Debug, Clone)]
pub(crate) struct Rewriter {
    /// The upstream's URL as the user wrote it.
    upstream: String,
    spelling: OriginSpelling,
    servers: AuthorizationServers,
    /// The paths of protected-resource documents that challenges have named and that are not well-known ones.
    targets: Vec<String>,
}

/// How the upstream spells its own origin in its documents. Authorization servers compare a `resource` as text, so the
/// restored one must be spelled the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum OriginSpelling {
    /// Not known yet: the user's spelling is used.
    #[default]
    Unknown,
    Upstream(String),
    /// Built from the request's `Host`, with our scheme: it is our origin.
    Public,
    /// Built from the request's `Host`, with the upstream's scheme.
    Reflected,
}

/// The server that reads a restored `resource`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResourceReader {
    /// The upstream, which gets the client's `Host` from us.
    Upstream,
    /// Another server, which knows the upstream only by its own name.
    Other,
}

/// A discovery document, which the proxy must read completely to rewrite it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DocumentKind {
    /// The metadata of a protected resource (RFC 9728).
    ProtectedResource,
    /// The metadata of an authorization server (RFC 8414, OpenID Connect Discovery).
    AuthorizationServer {
        /// The issuer whose metadata were requested.
        issuer: String,
    },
}

/// The destination of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// The upstream, as for any other request.
    Upstream,
    /// A document of a foreign authorization server. The response goes through [`Rewriter::document`].
    Document { url: String, kind: DocumentKind },
    /// An endpoint of a foreign authorization server. The form goes through [`Rewriter::form_body`].
    Endpoint { url: String },
    /// The browser gets a redirect.
    Authorization(AuthorizationRequest),
    /// A reserved path with nothing behind it: 404.
    Nowhere,
}

type Edit = (Range<usize>, String);

impl Rewriter {
    /// A rewriter that has learned nothing yet; `None` if `upstream` is not an http URL.
    pub(crate) fn new(upstream: &str) -> Option<Self> {
        Url::parse(upstream)?;
        Some(Rewriter {
            upstream: upstream.to_owned(),
            spelling: OriginSpelling::default(),
            servers: AuthorizationServers::default(),
            targets: Vec::new(),
        })
    }

    /// The origins of one exchange. `public` is our scheme and the client's `Host` (`http://127.0.0.1:3004`); `None` means that
    /// nothing is rewritten.
    pub(crate) fn origins(&self, public: &str) -> Option<Origins> {
        Origins::new(public, &self.upstream)
    }

    /// The route of a request, by its method and its target in origin form.
    pub(crate) fn route(&self, method: &str, target: &str, origins: &Origins) -> Route {
        let (path, query) = (path_of(target), query_of(target));
        if let Some(Discovery::AuthorizationServer { issuer_path, well_known, form }) = Discovery::of(path)
            && servers::is_reserved(issuer_path)
        {
            let server =
                self.servers.at(issuer_path).filter(|_| matches!(method, "GET" | "HEAD" | "OPTIONS"));
            // The upstream's own server needs no reserved path, and a request for one is not from a client that we
            // have answered.
            let server = server.filter(|server| origins.owner(&server.issuer()) == Owner::ThirdParty);
            return server.map_or(Route::Nowhere, |server| Route::Document {
                url: server.document_url(well_known, form),
                kind: kind_of(&server.issuer()),
            });
        }
        if servers::is_reserved(path) {
            return self.foreign_endpoint(method, path, query, origins).unwrap_or(Route::Nowhere);
        }
        self.own_authorization(method, target, origins).unwrap_or(Route::Upstream)
    }

    fn foreign_endpoint(&self, method: &str, path: &str, query: &str, origins: &Origins) -> Option<Route> {
        let (server, endpoint) = self.servers.endpoint_at(path)?;
        let real = server.endpoint(endpoint)?;
        let url = servers::with_query(real.text(), &self.restored_query(query, origins));
        match (endpoint, method) {
            (Endpoint::Authorization, "GET") => {
                Some(Route::Authorization(authorization_request(server, url, query, origins)))
            }
            // A browser visits it with GET; a POST could carry a login form, which must not pass through us.
            (Endpoint::Authorization, _) => None,
            (_, "POST" | "OPTIONS") => Some(Route::Endpoint { url }),
            _ => None,
        }
    }

    /// The route of a request for the upstream's own authorization endpoint, whose path is the same at the proxy.
    fn own_authorization(&self, method: &str, target: &str, origins: &Origins) -> Option<Route> {
        let (path, query) = (path_of(target), query_of(target));
        let endpoint = |server: &Server| {
            let url = server.endpoint(Endpoint::Authorization)?;
            let is_asked = origins.owner(&url) == Owner::Upstream && url.path() == path;
            is_asked.then(|| format!("{}{path}", url.origin_text()))
        };
        // Without a client it is an ordinary page of the upstream, which happens to be at that path.
        if method != "GET" || !parameters::has(query, "client_id") {
            return None;
        }
        let (server, real) = self.servers.iter().find_map(|server| Some((server, endpoint(server)?)))?;
        let url = servers::with_query(&real, &self.restored_query(query, origins));
        Some(Route::Authorization(authorization_request(server, url, query, origins)))
    }

    fn restored_query(&self, query: &str, origins: &Origins) -> String {
        let restored = self.restore_in(query, ResourceReader::Other, origins);
        escape(restored.as_deref().unwrap_or(query))
    }

    /// The target of an authorization request to the upstream, with the restored `resource`; `None` if it is unchanged.
    pub(crate) fn request_target(&self, target: &str, origins: &Origins) -> Option<String> {
        let (path, query) = target.split_once('?')?;
        let is_authorization = parameters::has(query, "client_id") && parameters::has(query, "response_type");
        let query = is_authorization.then(|| self.restore_in(query, ResourceReader::Upstream, origins))??;
        Some(format!("{path}?{query}"))
    }

    /// The form of a request, with the restored `resource`; `None` if it is unchanged.
    pub(crate) fn form_body(&self, route: &Route, body: &[u8], origins: &Origins) -> Option<Vec<u8>> {
        let form = str::from_utf8(body).ok()?;
        let reader = match route {
            Route::Upstream if is_login_form(form) => ResourceReader::Upstream,
            Route::Endpoint { .. } => ResourceReader::Other,
            _ => return None,
        };
        self.restore_in(form, reader, origins).map(String::into_bytes)
    }

    fn restore_in(&self, parameters: &str, reader: ResourceReader, origins: &Origins) -> Option<String> {
        parameters::edit(parameters, |name, value| {
            if name == "resource" { self.restored(value, reader, origins) } else { None }
        })
    }

    /// A `resource` on our origin, with the origin by which its reader knows the upstream.
    fn restored(&self, resource: &str, reader: ResourceReader, origins: &Origins) -> Option<String> {
        let url = Url::parse(resource)?;
        let origin = match (&self.spelling, reader) {
            _ if origins.owner(&url) != Owner::Public => return None,
            (OriginSpelling::Public, ResourceReader::Upstream) => return None,
            (OriginSpelling::Reflected, ResourceReader::Upstream) => origins.reflected(),
            (OriginSpelling::Upstream(spelling), _) => spelling,
            (OriginSpelling::Unknown | OriginSpelling::Public | OriginSpelling::Reflected, _) => {
                origins.upstream()
            }
        };
        Some(format!("{origin}{}", url.rest()))
    }

    /// The upstream's `WWW-Authenticate` header for the client; `None` if it is unchanged. Learns the document's path from it.
    pub(crate) fn www_authenticate(&mut self, value: &[u8], origins: &Origins) -> Option<Vec<u8>> {
        challenge::edit(value, |text| {
            let url = Url::parse(text)?;
            if origins.owner(&url) != Owner::ThirdParty {
                self.learn_target(&url);
            }
            origins.to_public(&url)
        })
    }

    fn learn_target(&mut self, url: &Url) {
        let target = url.rest();
        // Only paths with a single reading, and none that well-known discovery or our reserved paths already cover.
        let is_new = !self.targets.iter().any(|known| known == target);
        if is_new
            && is_plain_path(url.path())
            && Discovery::of(url.path()).is_none()
            && servers::is_usable(url)
        {
            // Newest first, so that the oldest falls out: a client follows the challenge that it just got.
            self.targets.truncate(MOST_TARGETS - 1);
            self.targets.insert(0, target.to_owned());
        }
    }

    /// The upstream's `Location` header for the client; `None` if it is unchanged.
    pub(crate) fn location(&self, value: &[u8], origins: &Origins) -> Option<Vec<u8>> {
        redirect::location(value, origins)
    }

    /// The kind of the upstream's document at a target, if it is one.
    pub(crate) fn document_kind(&self, target: &str) -> Option<DocumentKind> {
        match Discovery::of(path_of(target)) {
            Some(Discovery::ProtectedResource) => Some(DocumentKind::ProtectedResource),
            Some(Discovery::AuthorizationServer { issuer_path, .. }) => {
                let origin = Url::parse(&self.upstream)?.origin_text().to_owned();
                Some(DocumentKind::AuthorizationServer { issuer: format!("{origin}{issuer_path}") })
            }
            None => {
                self.targets.iter().any(|known| known == target).then_some(DocumentKind::ProtectedResource)
            }
        }
    }

    /// A document for the client; `None` if it is unchanged. Learns from it.
    pub(crate) fn document(
        &mut self,
        kind: &DocumentKind,
        json: &[u8],
        origins: &Origins,
    ) -> Option<Vec<u8>> {
        let items = document::items(json)?;
        let edits = match kind {
            DocumentKind::ProtectedResource => self.protected_resource(&items, origins),
            DocumentKind::AuthorizationServer { issuer } => {
                self.authorization_server(issuer, &items, origins)
            }
        };
        document::edit(json, &edits)
    }

    fn protected_resource(&mut self, items: &[Item], origins: &Origins) -> Vec<Edit> {
        // The client refuses a document whose `resource` is on a third party's origin (RFC 9728, section 3.3), and so it must:
        // translating it would get the client a token for that third party and send it to the upstream. Nothing is learned
        // from it either.
        let Some(spelling) = own_spelling(items, "resource", origins) else { return Vec::new() };
        self.spelling = spelling;
        let translate = |item: &Item| match (item.member.as_str(), &item.value) {
            ("resource", Value::Text(text)) => origins.to_public(&Url::parse(text)?),
            ("authorization_servers", Value::Element(text)) | ("authorization_server", Value::Text(text)) => {
                self.public_server(&Url::parse(text)?, origins)
            }
            _ => None,
        };
        edits(items, translate)
    }

    /// The issuer that the client gets for one that the upstream named.
    fn public_server(&mut self, issuer: &Url, origins: &Origins) -> Option<String> {
        if origins.owner(issuer) != Owner::ThirdParty {
            return origins.to_public(issuer);
        }
        let upstream = Url::parse(&self.upstream)?;
        // We would have to dial it for the client, so it must be a URL that we may dial; otherwise the client gets it
        // as it is.
        if !upstream.may_lead_to(issuer) || !servers::is_usable(issuer) || issuer.rest().contains('?') {
            return None;
        }
        self.servers.learn(issuer.text());
        Some(format!("{}{}", origins.public(), servers::path_for(issuer)))
    }

    fn authorization_server(&mut self, issuer: &str, items: &[Item], origins: &Origins) -> Vec<Edit> {
        let Some(asked) = Url::parse(issuer) else { return Vec::new() };
        if self.spelling == OriginSpelling::Unknown && origins.owner(&asked) == Owner::Upstream {
            // Upstreams of MCP 2025-03-26 have no protected-resource document, so this one has to show the spelling.
            self.spelling = own_spelling(items, "issuer", origins).unwrap_or_default();
        }
        let mut metadata = Metadata {
            sends_iss: items.iter().any(|item| {
                item.member == "authorization_response_iss_parameter_supported" && item.value == Value::True
            }),
            ..Metadata::default()
        };
        let translate = |item: &Item| {
            let text = item.text()?;
            let url = Url::parse(text)?;
            match item.member.as_str() {
                "issuer" => {
                    public_issuer(&asked, &url, origins).inspect(|_| metadata.issuer = Some(text.to_owned()))
                }
                // Logging out happens in the browser at the real site, whose session it ends.
                "end_session_endpoint" => None,
                member if member.ends_with("_endpoint") => {
                    public_endpoint(&asked, member, &url, &mut metadata, origins)
                }
                _ => None,
            }
        };
        let edits = edits(items, translate);
        // A document without a single matching URL describes some other server; nothing is learned from it.
        if !edits.is_empty() {
            self.servers.describe(issuer, metadata);
        }
        edits
    }
}

/// A cheap test of a target: whether [`Rewriter::route`] or [`Rewriter::request_target`] might apply. Forms, and documents that
/// a challenge has named, are recognized elsewhere.
pub(crate) fn may_be_login(target: &str) -> bool {
    servers::is_reserved(target) || target.contains("/.well-known/") || target.contains("client_id=")
}

/// How the upstream spells its own origin in a member of a document; `None` if the member is on a third party's origin.
fn own_spelling(items: &[Item], member: &str, origins: &Origins) -> Option<OriginSpelling> {
    let mut found = None;
    for item in items.iter().filter(|item| item.member == member) {
        let url = Url::parse(item.text()?)?;
        found = Some(match origins.owner(&url) {
            Owner::Upstream => OriginSpelling::Upstream(url.origin_text().to_owned()),
            Owner::Public => OriginSpelling::Public,
            Owner::Reflected => OriginSpelling::Reflected,
            Owner::ThirdParty => return None,
        });
    }
    found
}

/// The issuer for the client in the metadata of `asked`. An issuer other than the requested one is unchanged: the client must
/// see the mismatch and refuse it (RFC 8414, section 3.3).
fn public_issuer(asked: &Url, issuer: &Url, origins: &Origins) -> Option<String> {
    if origins.owner(asked) == Owner::Upstream {
        return origins.to_public(issuer);
    }
    let is_same = asked.is_same_issuer(issuer);
    is_same.then(|| format!("{}{}", origins.public(), servers::path_for(asked)))
}

/// An endpoint for the client in the metadata of `asked`. One on the upstream's origin keeps its path; one elsewhere gets a
/// reserved path if its requests carry a `resource`.
fn public_endpoint(
    asked: &Url,
    member: &str,
    url: &Url,
    metadata: &mut Metadata,
    origins: &Origins,
) -> Option<String> {
    let endpoint = Endpoint::of_member(member);
    let owner = origins.owner(url);
    let mut learn = |endpoint| metadata.set(endpoint, url);
    if origins.owner(asked) == Owner::Upstream && owner != Owner::ThirdParty {
        // Learned so that `own_authorization` recognizes it. Not for an upstream that builds URLs from the request: its endpoint
        // is already ours.
        if endpoint == Some(Endpoint::Authorization) && owner == Owner::Upstream {
            learn(Endpoint::Authorization);
        }
        return origins.to_public(url);
    }
    let is_reachable = owner != Owner::Public && asked.may_lead_to(url) && servers::is_usable(url);
    let endpoint = endpoint.filter(|_| is_reachable)?;
    learn(endpoint);
    Some(format!("{}{}", origins.public(), servers::path_for_endpoint(asked, endpoint)))
}

fn authorization_request(
    server: &Server,
    url: String,
    query: &str,
    origins: &Origins,
) -> AuthorizationRequest {
    let own = server.metadata().issuer.clone();
    let public =
        own.as_deref().and_then(Url::parse).and_then(|own| public_issuer(&server.issuer(), &own, origins));
    AuthorizationRequest {
        url,
        redirect_uri: parameters::values(query, "redirect_uri").next().map(String::from),
        issuer: own.zip(public),
        sends_iss: server.metadata().sends_iss,
    }
}

fn kind_of(issuer: &Url) -> DocumentKind {
    DocumentKind::AuthorizationServer { issuer: issuer.text().to_owned() }
}

fn edits(items: &[Item], mut translate: impl FnMut(&Item) -> Option<String>) -> Vec<Edit> {
    items.iter().filter_map(|item| Some((item.range.clone(), translate(item)?))).collect()
}

/// Whether a form is one of RFC 6749, 8628 or 9126. The upstream may have forms of its own, which are not touched.
fn is_login_form(form: &str) -> bool {
    ["grant_type", "client_id"].iter().any(|name| parameters::has(form, name))
}

fn query_of(target: &str) -> &str {
    target.split_once('?').map_or("", |(_, query)| query)
}

/// Percent-encodes the bytes of a query that are not allowed in a `Location` header.
fn escape(query: &str) -> String {
    let mut out = String::with_capacity(query.len());
    for byte in query.bytes() {
        if is_url_byte(byte) && byte != b'#' {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
