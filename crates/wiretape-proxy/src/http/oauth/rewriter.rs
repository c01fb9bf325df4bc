//! What is rewritten, and what was learnt for it.

use std::ops::Range;

use super::document::{self, Discovery, Item, Value};
use super::origins::{Origins, Owner};
use super::redirect::{self, AuthorizationRequest};
use super::servers::{self, AuthorizationServers, Endpoint, Metadata, Server};
use super::url::{Url, is_plain_path, is_url_byte, path_of};
use super::{challenge, parameters};

/// Longer documents are passed on as they are. Real ones have a few kilobytes.
pub(crate) const DOCUMENT_LIMIT: usize = 256 * 1024;

/// Longer forms are passed on as they are.
pub(crate) const FORM_LIMIT: usize = 64 * 1024;

/// How many paths of documents are kept in mind.
const MOST_TARGETS: usize = 16;

/// Rewrites what passes during logins, for one upstream.
#[derive(Debug, Clone)]
pub(crate) struct Rewriter {
    /// The user's URL.
    upstream: String,
    spelling: Spelling,
    servers: AuthorizationServers,
    /// Where challenges said that the protected-resource document is, when that is no well-known place.
    targets: Vec<String>,
}

/// How the upstream writes its own origin in what clients send to an authorization server. It is compared there as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Spelling {
    /// No document has told yet; then as the user wrote it.
    #[default]
    Unknown,
    Upstream(String),
    /// From the `Host` that it gets, and with our scheme: as we would.
    Public,
    /// From the `Host` that it gets, and with its own scheme.
    Reflected,
}

/// Who reads a `resource`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// The upstream, which gets the client's `Host` from us.
    Upstream,
    /// Anybody who knows the upstream only by its own name.
    Other,
}

/// A document that the proxy must read as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DocumentKind {
    /// RFC 9728.
    ProtectedResource,
    /// RFC 8414 and OpenID Connect Discovery.
    AuthorizationServer {
        /// The issuer that was asked for.
        issuer: String,
    },
}

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// To the upstream, as any other.
    Upstream,
    /// To this document of a foreign authorization server. The answer goes through [`Rewriter::document`].
    Document { url: String, kind: DocumentKind },
    /// To this endpoint of a foreign authorization server, its form through [`Rewriter::form_body`].
    Endpoint { url: String },
    /// The browser is answered with a redirect.
    Authorization(AuthorizationRequest),
    /// Nowhere: the path is ours, and nothing is there. 404.
    Nowhere,
}

type Edit = (Range<usize>, String);

impl Rewriter {
    /// A rewriter that has learnt nothing yet; `None` if `upstream` is no http URL.
    pub(crate) fn new(upstream: &str) -> Option<Self> {
        Url::parse(upstream)?;
        Some(Rewriter {
            upstream: upstream.to_owned(),
            spelling: Spelling::default(),
            servers: AuthorizationServers::default(),
            targets: Vec::new(),
        })
    }

    /// The origins of one exchange. `public` is the scheme that we serve and the client's `Host`
    /// (`http://127.0.0.1:3004`); `None` means that nothing is to be rewritten.
    pub(crate) fn origins(&self, public: &str) -> Option<Origins> {
        Origins::new(public, &self.upstream)
    }

    /// Where a request goes, by its method and its target in origin form.
    pub(crate) fn route(&self, method: &str, target: &str, origins: &Origins) -> Route {
        let (path, query) = (path_of(target), query_of(target));
        if let Some(Discovery::AuthorizationServer { issuer_path, well_known, form }) = Discovery::of(path)
            && servers::is_reserved(issuer_path)
        {
            let server =
                self.servers.at(issuer_path).filter(|_| matches!(method, "GET" | "HEAD" | "OPTIONS"));
            let server = server.filter(|server| origins.owner(&server.issuer()) == Owner::Somebody);
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
            (Endpoint::Authorization, _) => None,
            (_, "POST" | "OPTIONS") => Some(Route::Endpoint { url }),
            _ => None,
        }
    }

    /// A request for an authorization endpoint of the upstream's own. Its path is the same here and there.
    fn own_authorization(&self, method: &str, target: &str, origins: &Origins) -> Option<Route> {
        let (path, query) = (path_of(target), query_of(target));
        let endpoint = |server: &Server| {
            let url = server.endpoint(Endpoint::Authorization)?;
            let is_asked = origins.owner(&url) == Owner::Upstream && url.path() == path;
            is_asked.then(|| format!("{}{path}", url.origin_text()))
        };
        if method != "GET" || !parameters::has(query, "client_id") {
            return None;
        }
        let (server, real) = self.servers.iter().find_map(|server| Some((server, endpoint(server)?)))?;
        let url = servers::with_query(&real, &self.restored_query(query, origins));
        Some(Route::Authorization(authorization_request(server, url, query, origins)))
    }

    fn restored_query(&self, query: &str, origins: &Origins) -> String {
        let restored = self.restore_in(query, Reader::Other, origins);
        escape(restored.as_deref().unwrap_or(query))
    }

    /// The target of a request to the upstream, with the `resource` that it knows if this is an authorization request;
    /// `None` if it stays.
    pub(crate) fn request_target(&self, target: &str, origins: &Origins) -> Option<String> {
        let (path, query) = target.split_once('?')?;
        let is_authorization = parameters::has(query, "client_id") && parameters::has(query, "response_type");
        let query = is_authorization.then(|| self.restore_in(query, Reader::Upstream, origins))??;
        Some(format!("{path}?{query}"))
    }

    /// The form of a request, with the `resource` that its reader knows; `None` if it stays.
    pub(crate) fn form_body(&self, route: &Route, body: &[u8], origins: &Origins) -> Option<Vec<u8>> {
        let form = str::from_utf8(body).ok()?;
        let reader = match route {
            Route::Upstream if is_login_form(form) => Reader::Upstream,
            Route::Endpoint { .. } => Reader::Other,
            _ => return None,
        };
        self.restore_in(form, reader, origins).map(String::into_bytes)
    }

    fn restore_in(&self, parameters: &str, reader: Reader, origins: &Origins) -> Option<String> {
        parameters::edit(parameters, |name, value| {
            if name == "resource" { self.restored(value, reader, origins) } else { None }
        })
    }

    /// A `resource` of ours under the name that its reader knows.
    fn restored(&self, resource: &str, reader: Reader, origins: &Origins) -> Option<String> {
        let url = Url::parse(resource)?;
        let origin = match (&self.spelling, reader) {
            _ if origins.owner(&url) != Owner::Public => return None,
            (Spelling::Public, Reader::Upstream) => return None,
            (Spelling::Reflected, Reader::Upstream) => origins.reflected(),
            (Spelling::Upstream(spelling), _) => spelling,
            (Spelling::Unknown | Spelling::Public | Spelling::Reflected, _) => origins.upstream(),
        };
        Some(format!("{origin}{}", url.rest()))
    }

    /// A `WWW-Authenticate` header of the upstream, as the client is to see it; `None` if it stays.
    pub(crate) fn www_authenticate(&mut self, value: &[u8], origins: &Origins) -> Option<Vec<u8>> {
        challenge::edit(value, |text| {
            let url = Url::parse(text)?;
            if origins.owner(&url) != Owner::Somebody {
                self.learn_target(&url);
            }
            origins.told(&url)
        })
    }

    fn learn_target(&mut self, url: &Url) {
        let target = url.rest();
        let is_new = !self.targets.iter().any(|known| known == target);
        if is_new
            && is_plain_path(url.path())
            && Discovery::of(url.path()).is_none()
            && servers::is_usable(url)
        {
            self.targets.truncate(MOST_TARGETS - 1);
            self.targets.insert(0, target.to_owned());
        }
    }

    /// A `Location` of the upstream, as the client is to see it; `None` if it stays.
    pub(crate) fn location(&self, value: &[u8], origins: &Origins) -> Option<Vec<u8>> {
        redirect::location(value, origins)
    }

    /// Which document of the upstream a target asks for.
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

    /// A document as the client is to see it; `None` if it stays. Learns from it.
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
        // A document that claims to be of somebody else is refused by the client, and nothing is learnt from it: to make
        // it fit would get the client a token of that somebody, and bring it to the upstream.
        let Some(spelling) = own_spelling(items, "resource", origins) else { return Vec::new() };
        self.spelling = spelling;
        let told = |item: &Item| match (item.member.as_str(), &item.value) {
            ("resource", Value::Text(text)) => origins.told(&Url::parse(text)?),
            ("authorization_servers", Value::Element(text)) | ("authorization_server", Value::Text(text)) => {
                self.told_server(&Url::parse(text)?, origins)
            }
            _ => None,
        };
        edits(items, told)
    }

    /// The issuer that stands for one that the upstream named.
    fn told_server(&mut self, issuer: &Url, origins: &Origins) -> Option<String> {
        if origins.owner(issuer) != Owner::Somebody {
            return origins.told(issuer);
        }
        let upstream = Url::parse(&self.upstream)?;
        if !upstream.may_lead_to(issuer) || !servers::is_usable(issuer) || issuer.rest().contains('?') {
            return None;
        }
        self.servers.learn(issuer.text());
        Some(format!("{}{}", origins.public(), servers::path_for(issuer)))
    }

    fn authorization_server(&mut self, issuer: &str, items: &[Item], origins: &Origins) -> Vec<Edit> {
        let Some(asked) = Url::parse(issuer) else { return Vec::new() };
        if self.spelling == Spelling::Unknown && origins.owner(&asked) == Owner::Upstream {
            // Upstreams of 2025-03-26 have no other document.
            self.spelling = own_spelling(items, "issuer", origins).unwrap_or_default();
        }
        let mut metadata = Metadata {
            sends_iss: items.iter().any(|item| {
                item.member == "authorization_response_iss_parameter_supported" && item.value == Value::True
            }),
            ..Metadata::default()
        };
        let told = |item: &Item| {
            let text = item.text()?;
            let url = Url::parse(text)?;
            match item.member.as_str() {
                "issuer" => {
                    told_issuer(&asked, &url, origins).inspect(|_| metadata.issuer = Some(text.to_owned()))
                }
                // The session that it ends is the browser's with the site itself.
                "end_session_endpoint" => None,
                member if member.ends_with("_endpoint") => {
                    told_endpoint(&asked, member, &url, &mut metadata, origins)
                }
                _ => None,
            }
        };
        let edits = edits(items, told);
        if !edits.is_empty() {
            self.servers.describe(issuer, metadata);
        }
        edits
    }
}

/// A glance at a target: whether [`Rewriter::route`] or [`Rewriter::request_target`] might have anything to say. Forms,
/// and documents that a challenge told of, are found by other means.
pub(crate) fn may_concern(target: &str) -> bool {
    servers::is_reserved(target) || target.contains("/.well-known/") || target.contains("client_id=")
}

/// How the upstream writes its own origin in a member of a document; `None` if there it is somebody else's.
fn own_spelling(items: &[Item], member: &str, origins: &Origins) -> Option<Spelling> {
    let mut found = None;
    for item in items.iter().filter(|item| item.member == member) {
        let url = Url::parse(item.text()?)?;
        found = Some(match origins.owner(&url) {
            Owner::Upstream => Spelling::Upstream(url.origin_text().to_owned()),
            Owner::Public => Spelling::Public,
            Owner::Reflected => Spelling::Reflected,
            Owner::Somebody => return None,
        });
    }
    found
}

/// The issuer in the metadata that were asked of `asked`. One that is another stays: the client must see the mismatch.
fn told_issuer(asked: &Url, issuer: &Url, origins: &Origins) -> Option<String> {
    if origins.owner(asked) == Owner::Upstream {
        return origins.told(issuer);
    }
    let is_same = asked.is_same_issuer(issuer);
    is_same.then(|| format!("{}{}", origins.public(), servers::path_for(asked)))
}

/// An endpoint in the metadata that were asked of `asked`. What is on the upstream's origin keeps its path; what is
/// elsewhere gets one of ours if requests for it carry a `resource`.
fn told_endpoint(
    asked: &Url,
    member: &str,
    url: &Url,
    metadata: &mut Metadata,
    origins: &Origins,
) -> Option<String> {
    let endpoint = Endpoint::of_member(member);
    let owner = origins.owner(url);
    let mut learn = |endpoint| metadata.set(endpoint, url);
    if origins.owner(asked) == Owner::Upstream && owner != Owner::Somebody {
        // An upstream that builds its URLs from the request must see its own login through us as well.
        if endpoint == Some(Endpoint::Authorization) && owner == Owner::Upstream {
            learn(Endpoint::Authorization);
        }
        return origins.told(url);
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
    let told =
        own.as_deref().and_then(Url::parse).and_then(|own| told_issuer(&server.issuer(), &own, origins));
    AuthorizationRequest {
        url,
        redirect_uri: parameters::values(query, "redirect_uri").next().map(String::from),
        issuer: own.zip(told),
        sends_iss: server.metadata().sends_iss,
    }
}

fn kind_of(issuer: &Url) -> DocumentKind {
    DocumentKind::AuthorizationServer { issuer: issuer.text().to_owned() }
}

fn edits(items: &[Item], mut told: impl FnMut(&Item) -> Option<String>) -> Vec<Edit> {
    items.iter().filter_map(|item| Some((item.range.clone(), told(item)?))).collect()
}

/// Whether a form is one of RFC 6749, 8628 or 9126. The upstream may have others.
fn is_login_form(form: &str) -> bool {
    ["grant_type", "client_id"].iter().any(|name| parameters::has(form, name))
}

fn query_of(target: &str) -> &str {
    target.split_once('?').map_or("", |(_, query)| query)
}

/// A query that can stand in a `Location`.
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
