//! OAuth logins through a reverse proxy: applies the decisions of [`super::oauth`] to exchanges.
//!
//! Only requests that may belong to a login come here. All others are ruled out by their heads, without a lock and without
//! reading their bodies.

use super::oauth::{
    AuthorizationRequest, DOCUMENT_LIMIT, DocumentKind, FOREIGN_RESPONSE_POLICY, FORM_LIMIT, Origins,
    Rewriter, Route, is_accepted_from_foreign, is_sent_to_foreign, is_unconditional, may_be_login,
};
use crate::http::headers;
use crate::http::record::exchange::Exchange;
use crate::http::refusal::Refusal;
use crate::http::relay::body::ProxyBody;
use crate::http::relay::connection::ClientConnection;
use crate::http::relay::handle::{self, PublicOrigin};
use crate::http::target::{Reach, Target, UpstreamUrl};
use crate::warning::Warning;
use bytes::{Bytes, BytesMut};
use http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, ETAG, HOST, HeaderMap, HeaderName, HeaderValue,
    LOCATION, TRANSFER_ENCODING, WWW_AUTHENTICATE,
};
use http::{Method, Request, Response, StatusCode, Uri, request};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;

/// The OAuth rewriting of one listener.
pub(crate) struct Login {
    rewriter: Mutex<Rewriter>,
    upstream: Arc<Target>,
}

/// A request that may belong to a login, and its route.
pub(crate) struct LoginRequest {
    origins: Origins,
    route: Route,
    kind: Option<DocumentKind>,
    /// The authorization server that the request goes to, if it doesn't go to the upstream.
    foreign: Option<Arc<Target>>,
}

impl Login {
    pub(crate) fn new(upstream: &UpstreamUrl) -> Option<Self> {
        let rewriter = Mutex::new(Rewriter::new(&upstream.to_string())?);
        Some(Login { rewriter, upstream: Arc::new(upstream.target()) })
    }

    /// The route of a request that may belong to a login; `None` for all others.
    pub(crate) fn step(
        &self,
        parts: &request::Parts,
        public: impl FnOnce() -> PublicOrigin,
    ) -> Option<Box<LoginRequest>> {
        let target = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        // The order keeps the common case free: two checks of the head, and a lock only for GETs that look like
        // nothing.
        let concerns = is_form(&parts.headers) || may_be_login(target);
        // A challenge may place a document at any path, but documents are fetched with GET: so MCP messages, which are POSTs,
        // never wait for the lock.
        if !concerns && (parts.method == Method::POST || self.rewriter().document_kind(target).is_none()) {
            return None;
        }
        let rewriter = self.rewriter();
        let origins = rewriter.origins(&public().to_string())?;
        let route = rewriter.route(parts.method.as_str(), target, &origins);
        let (route, kind, foreign) = match route {
            Route::Document { .. } | Route::Endpoint { .. } => foreign_target(route, &self.upstream),
            _ => (route, rewriter.document_kind(target), None),
        };
        Some(Box::new(LoginRequest { origins, route, kind, foreign }))
    }

    /// Rewrites the headers of a response that would lead the client past the proxy.
    pub(crate) fn rewrite_headers(&self, headers: &mut HeaderMap, public: &PublicOrigin) {
        if !headers.contains_key(WWW_AUTHENTICATE) && !headers.contains_key(LOCATION) {
            return;
        }
        let mut rewriter = self.rewriter();
        let Some(origins) = rewriter.origins(&public.to_string()) else { return };
        edit(headers, &WWW_AUTHENTICATE, |value| rewriter.www_authenticate(value, &origins));
        edit(headers, &LOCATION, |value| rewriter.location(value, &origins));
    }

    fn rewriter(&self) -> MutexGuard<'_, Rewriter> {
        self.rewriter.lock()
    }
}

impl LoginRequest {
    /// The authorization server that the request goes to, if it doesn't go to the upstream.
    pub(crate) fn foreign(&self) -> Option<&Arc<Target>> {
        self.foreign.as_ref()
    }
}

/// Resolves the server of a request that is not for the upstream. If that fails, the request goes nowhere: it must not reach
/// the upstream instead, which would then get credentials of another server.
fn foreign_target(
    route: Route,
    upstream: &Arc<Target>,
) -> (Route, Option<DocumentKind>, Option<Arc<Target>>) {
    let (url, kind) = match &route {
        Route::Document { url, kind } => (url, Some(kind.clone())),
        Route::Endpoint { url } => (url, None),
        _ => return (route, None, None),
    };
    match target_of(url, upstream) {
        Some(target) => (route, kind, Some(target)),
        None => (Route::Nowhere, None, None),
    }
}

fn is_form(headers: &HeaderMap) -> bool {
    headers::media_type(headers)
        .is_some_and(|media| media.eq_ignore_ascii_case("application/x-www-form-urlencoded"))
}

/// The server of a URL that a document of the upstream names. `Url::may_lead_to` has judged the URL's text; what its name resolves
/// to is judged when connecting.
fn target_of(url: &str, upstream: &Arc<Target>) -> Option<Arc<Target>> {
    let (origin, _) = url.split_once(['?', '#']).unwrap_or((url, ""));
    let target = origin.parse::<UpstreamUrl>().ok()?.target();
    Some(Arc::new(target.within(Reach::As(Arc::clone(upstream)))))
}

fn edit(headers: &mut HeaderMap, name: &HeaderName, mut change: impl FnMut(&[u8]) -> Option<Vec<u8>>) {
    let values: Vec<HeaderValue> = headers.get_all(name).iter().cloned().collect();
    if values.is_empty() {
        return;
    }
    // Removed and appended again, because a `HeaderMap` can't replace one of several values in place.
    headers.remove(name);
    for value in values {
        let changed = change(value.as_bytes()).and_then(|changed| HeaderValue::from_bytes(&changed).ok());
        headers.append(name, changed.unwrap_or(value));
    }
}

/// Keeps the header values for which `may_stay` holds; each of several values with one name is decided separately.
fn retain(headers: &mut HeaderMap, may_stay: impl Fn(&HeaderName, &[u8]) -> bool) {
    for name in headers.keys().cloned().collect::<Vec<_>>() {
        let values: Vec<HeaderValue> = headers.get_all(&name).iter().cloned().collect();
        if values.iter().all(|value| may_stay(&name, value.as_bytes())) {
            continue;
        }
        headers.remove(&name);
        for value in values.into_iter().filter(|value| may_stay(&name, value.as_bytes())) {
            headers.append(&name, value);
        }
    }
}

/// Relays a request that may belong to a login.
pub(crate) async fn relay(
    connection: &ClientConnection,
    exchange: &Arc<Exchange>,
    step: Box<LoginRequest>,
    parts: request::Parts,
    body: Incoming,
) -> Result<Response<ProxyBody>, Refusal> {
    let login = connection.login().expect("a `LoginRequest` is only made by a connection's `Login`");
    let mut prepared = handle::prepare(connection, exchange, parts, body)?;
    let url = match &step.route {
        Route::Nowhere => return Err(Refusal::not_found()),
        Route::Authorization(request) => return authorize(connection, exchange, request).await,
        Route::Document { url, .. } | Route::Endpoint { url } => Some(url.as_str()),
        Route::Upstream => None,
    };
    prepare_head(&mut prepared.request, login, &step, url);
    // After the head, whose `Content-Length` it changes.
    prepared.request = restore_form(prepared.request, login, &step).await?;
    let public = prepared.public.clone();
    let response = Box::pin(handle::exchange_with(connection, exchange, prepared)).await?;
    rewrite_document(exchange, response, login, &step, &public).await
}

fn prepare_head(request: &mut Request<ProxyBody>, login: &Login, step: &LoginRequest, url: Option<&str>) {
    let (whole, foreign) = (step.kind.is_some(), url.is_some());
    retain(request.headers_mut(), |name, value| {
        (!whole || is_unconditional(name.as_str())) && (!foreign || is_sent_to_foreign(name.as_str(), value))
    });
    let target = match url {
        Some(url) => {
            if let Some(host) = step.foreign.as_ref().map(|target| target.authority.as_str()) {
                request.headers_mut().extend(HeaderValue::from_str(host).ok().map(|host| (HOST, host)));
            }
            url.parse::<Uri>().ok().and_then(|uri| uri.path_and_query().cloned())
        }
        None => {
            let target = request.uri().path_and_query().map_or("/", |path| path.as_str());
            login.rewriter().request_target(target, &step.origins).and_then(|target| target.parse().ok())
        }
    };
    if let Some(target) = target {
        *request.uri_mut() = Uri::from(target);
    }
}

/// Restores the `resource` in a form. Only forms with a `Content-Length` up to the limit are read: others could be uploads.
async fn restore_form(
    request: Request<ProxyBody>,
    login: &Login,
    step: &LoginRequest,
) -> Result<Request<ProxyBody>, Refusal> {
    let length = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if !is_form(request.headers()) || length.is_none_or(|length: usize| length > FORM_LIMIT) {
        return Ok(request);
    }
    let (mut parts, body) = request.into_parts();
    let form = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return Err(Refusal::misdirected("the request's body is incomplete")),
    };
    let restored = login.rewriter().form_body(&step.route, &form, &step.origins);
    let form = restored.map_or(form, Bytes::from);
    parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(form.len()));
    Ok(Request::from_parts(parts, ProxyBody::from(form)))
}

/// Rewrites the discovery document in a response.
async fn rewrite_document(
    exchange: &Exchange,
    mut response: Response<ProxyBody>,
    login: &Login,
    step: &LoginRequest,
    public: &PublicOrigin,
) -> Result<Response<ProxyBody>, Refusal> {
    let headers = response.headers_mut();
    if step.foreign.is_some() {
        retain(headers, |name, _| is_accepted_from_foreign(name.as_str()));
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(FOREIGN_RESPONSE_POLICY));
    } else {
        login.rewrite_headers(headers, public);
    }
    let Some(kind) = &step.kind else { return Ok(response) };
    if response.status() != StatusCode::OK || exchange.method() != Method::GET {
        return Ok(response);
    }
    let (mut parts, body) = response.into_parts();
    // Read completely: strings are replaced by others of another length, so the head has to wait for the body.
    let document = read_document(exchange, body).await?;
    let rewritten = login.rewriter().document(kind, &document, &step.origins);
    if rewritten.is_some() {
        parts.headers.remove(ETAG);
    }
    let document = rewritten.map_or(document, Bytes::from);
    parts.headers.remove(TRANSFER_ENCODING);
    parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(document.len()));
    Ok(Response::from_parts(parts, ProxyBody::from(document)))
}

async fn read_document(exchange: &Exchange, mut body: ProxyBody) -> Result<Bytes, Refusal> {
    let failed = |what: &str| Refusal::upstream_failed(exchange.target.origin(), what);
    let mut document = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| failed("closed the connection in the middle of an OAuth document"))?;
        let Ok(data) = frame.into_data() else { continue };
        if document.len() + data.len() > DOCUMENT_LIMIT {
            return Err(failed(
                "sent an OAuth document that is too long to rewrite (--no-oauth-rewrite forwards it unchanged)",
            ));
        }
        document.extend_from_slice(&data);
    }
    Ok(document.freeze())
}

/// Redirects a browser that requests an authorization endpoint.
async fn authorize(
    connection: &ClientConnection,
    exchange: &Exchange,
    request: &AuthorizationRequest,
) -> Result<Response<ProxyBody>, Refusal> {
    let answer = match request.probe_url() {
        Some(url) => match probe(connection, url).await {
            Some((status, location)) => {
                request.redirect_location(status, location.as_ref().map(HeaderValue::as_bytes))
            }
            None => request.redirect_location(0, None),
        },
        None => request.redirect_location(0, None),
    };
    if request.is_refused_by_strict_clients(&answer) {
        exchange.recorder().warn_once(Warning::IssuerWillDiffer);
    }
    let mut response = Response::new(ProxyBody::from(Bytes::new()));
    *response.status_mut() = StatusCode::FOUND;
    // The redirect may contain an authorization code.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let location = HeaderValue::try_from(answer).map_err(|_| {
        Refusal::misdirected("the authorization request doesn't fit into a `Location` header")
    })?;
    response.headers_mut().insert(LOCATION, location);
    exchange.record_own_response(&response);
    Ok(response)
}

/// Requests an authorization endpoint without the browser's cookies, to see whether it redirects to the client at once.
async fn probe(connection: &ClientConnection, url: &str) -> Option<(u16, Option<HeaderValue>)> {
    let target = target_of(url, &connection.login()?.upstream)?;
    let path = url.parse::<Uri>().ok()?.path_and_query()?.clone();
    // A connection of its own: a probe must not take one that the client's requests wait for. Any failure means that
    // the browser finds out itself.
    let mut sender = connection.new_sender(&target).await.ok()?;
    let request = Request::get(Uri::from(path))
        .header(HOST, target.authority.as_str())
        .body(ProxyBody::from(Bytes::new()))
        .ok()?;
    let request = handle::adapt_to_version(request, sender.hop(), &target);
    let sent = sender.send(request);
    let response = tokio::time::timeout(connection.context().limits.connect, sent).await.ok()?.ok()?;
    Some((response.status().as_u16(), response.headers().get(LOCATION).cloned()))
}
