//! OAuth logins through a reverse proxy: applies the decisions of [`super::oauth`] to exchanges.
//!
//! Only requests that may belong to a login come here. All others are ruled out by their heads, without a lock and without
//! reading their bodies. `relay::login` relays those that do.

use super::oauth::{
    DocumentKind, FOREIGN_RESPONSE_POLICY, FORM_LIMIT, Origins, Rewriter, Route, is_accepted_from_foreign,
    is_sent_to_foreign, is_unconditional, may_be_login,
};
use super::public_origin::PublicOrigin;
use crate::http::headers;
use crate::http::target::{Reach, Target, UpstreamUrl};
use http::header::{
    CONTENT_LENGTH, CONTENT_SECURITY_POLICY, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION,
    WWW_AUTHENTICATE,
};
use http::{Method, Request, Uri, request};
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

    /// Prepares the head of a request. `url` is where it goes, if not to the upstream.
    pub(crate) fn prepare_head<B>(&self, request: &mut Request<B>, step: &LoginRequest, url: Option<&str>) {
        let (whole, foreign) = (step.kind.is_some(), url.is_some());
        retain(request.headers_mut(), |name, value| {
            (!whole || is_unconditional(name.as_str()))
                && (!foreign || is_sent_to_foreign(name.as_str(), value))
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
                self.rewriter().request_target(target, &step.origins).and_then(|target| target.parse().ok())
            }
        };
        if let Some(target) = target {
            *request.uri_mut() = Uri::from(target);
        }
    }

    /// The form of a request with its `resource` restored, if that changes it.
    pub(crate) fn restored_form(&self, step: &LoginRequest, form: &[u8]) -> Option<Vec<u8>> {
        self.rewriter().form_body(&step.route, form, &step.origins)
    }

    /// Adapts the headers of the response to a request that may belong to a login.
    pub(crate) fn adapt_answer_headers(
        &self,
        headers: &mut HeaderMap,
        step: &LoginRequest,
        public: &PublicOrigin,
    ) {
        if step.foreign.is_some() {
            retain(headers, |name, _| is_accepted_from_foreign(name.as_str()));
            headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(FOREIGN_RESPONSE_POLICY));
        } else {
            self.rewrite_headers(headers, public);
        }
    }

    /// The requested document with our URLs, if that changes it.
    pub(crate) fn rewritten_document(&self, step: &LoginRequest, document: &[u8]) -> Option<Vec<u8>> {
        self.rewriter().document(step.kind.as_ref()?, document, &step.origins)
    }

    /// The server of a URL that a document of the upstream names.
    pub(crate) fn target_of(&self, url: &str) -> Option<Arc<Target>> {
        target_of(url, &self.upstream)
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

    /// The route of the request.
    pub(crate) fn route(&self) -> &Route {
        &self.route
    }

    /// Whether a discovery document is requested.
    pub(crate) fn is_for_document(&self) -> bool {
        self.kind.is_some()
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

/// Whether a request has a form that may have a `resource` to restore. Only forms with a `Content-Length` up to the limit are
/// read: others could be uploads.
pub(crate) fn has_readable_form(headers: &HeaderMap) -> bool {
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    is_form(headers) && length.is_some_and(|length: usize| length <= FORM_LIMIT)
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
