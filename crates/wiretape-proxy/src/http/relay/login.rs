//! OAuth logins through a reverse proxy: relays the requests that may belong to one, as [`Login`] decides.

use super::body::ProxyBody;
use super::connection::ClientConnection;
use super::handle;
use crate::http::policy::login::{Login, LoginRequest, has_readable_form};
use crate::http::policy::oauth::{AuthorizationRequest, DOCUMENT_LIMIT, Route};
use crate::http::policy::public_origin::PublicOrigin;
use crate::http::record::exchange::Exchange;
use crate::http::refusal::Refusal;
use crate::warning::Warning;
use bytes::{Bytes, BytesMut};
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, ETAG, HOST, HeaderValue, LOCATION, TRANSFER_ENCODING};
use http::{Method, Request, Response, StatusCode, Uri, request};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::sync::Arc;

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
    let url = match step.route() {
        Route::Nowhere => return Err(Refusal::not_found()),
        Route::Authorization(request) => return authorize(connection, exchange, request).await,
        Route::Document { url, .. } | Route::Endpoint { url } => Some(url.as_str()),
        Route::Upstream => None,
    };
    login.prepare_head(&mut prepared.request, &step, url);
    // After the head, whose `Content-Length` it changes.
    prepared.request = restore_form(prepared.request, login, &step).await?;
    let public = prepared.public.clone();
    let response = Box::pin(handle::exchange_with(connection, exchange, prepared)).await?;
    rewrite_document(exchange, response, login, &step, &public).await
}

/// Restores the `resource` in a form.
async fn restore_form(
    request: Request<ProxyBody>,
    login: &Login,
    step: &LoginRequest,
) -> Result<Request<ProxyBody>, Refusal> {
    if !has_readable_form(request.headers()) {
        return Ok(request);
    }
    let (mut parts, body) = request.into_parts();
    let form = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return Err(Refusal::misdirected("the request's body is incomplete")),
    };
    let restored = login.restored_form(step, &form);
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
    login.adapt_answer_headers(response.headers_mut(), step, public);
    if !step.is_for_document() || response.status() != StatusCode::OK || exchange.method() != Method::GET {
        return Ok(response);
    }
    let (mut parts, body) = response.into_parts();
    // Read completely: strings are replaced by others of another length, so the head has to wait for the body.
    let document = read_document(exchange, body).await?;
    let rewritten = login.rewritten_document(step, &document);
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
    let target = connection.login()?.target_of(url)?;
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
