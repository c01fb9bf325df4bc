//! Relays one exchange: the request to the upstream, the response to the client.
//!
//! **Why this shape.** `classify` runs when hyper delivers the request, before the first poll, so that a client that disconnects
//! at once still leaves a trace. From then on the exchange is owned by an `Arc` in this future and in both bodies; when the
//! last one is dropped, `Exchange::drop` records the end. So every `return` and every `?` here may simply drop what it holds:
//! no path can forget to record, and cancellation (hyper drops the future of a client that is gone) is not a special case.
//! The rarely used branches (`login`, policies) are boxed to keep the future of a plain exchange small.

use super::body::{ProxyBody, TimeoutWatch};
use super::connection::ClientConnection;
use super::rewrite::Rewrite;
use super::upstream::{SendFailure, Sender};
use super::{csp, forward, login};
use crate::http::headers::{self, Hop};
use crate::http::options::{HostHeader, Limits};
use crate::http::policy::endpoint::EndpointRewrite;
use crate::http::policy::login::LoginRequest;
use crate::http::policy::public_origin::PublicOrigin;
use crate::http::record::exchange::Exchange;
use crate::http::record::tap::Tap;
use crate::http::refusal::{self, Refusal};
use crate::http::target::Target;
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, Version, request};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use wiretape_events::Ended;

/// Serves a request of a client connection. Never fails: every problem becomes a response.
pub(crate) fn handle(
    connection: Arc<ClientConnection>,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<ProxyBody>, Infallible>> {
    // Now, not when the future is first polled: a client that disconnects before then must be recorded, too.
    let incoming = classify(&connection, request);
    async move {
        let (exchange, answer) = match incoming {
            IncomingRequest::Tunnel(request) => return Ok(forward::connect(connection, request).await),
            IncomingRequest::Refused(refusal) => return Ok(refusal.response(None)),
            IncomingRequest::Report(request) => {
                let csp =
                    connection.csp().expect("`classify` returns `Report` only for a connection with a CSP");
                let target = connection.listener_handle().target.as_deref();
                let answer = csp.take_report(&connection.context().recorder, target, request);
                return Ok(Box::pin(answer).await.map(ProxyBody::from));
            }
            IncomingRequest::Plain { exchange, parts, body } => {
                let answer = relay(&connection, &exchange, parts, body).await;
                (exchange, answer)
            }
            IncomingRequest::Login { exchange, step, parts, body } => {
                let answer = Box::pin(login::relay(&connection, &exchange, step, parts, body)).await;
                (exchange, answer)
            }
        };
        Ok(answer.unwrap_or_else(|refusal| exchange.refuse(&refusal)))
    }
}

/// A request, classified by who handles it.
enum IncomingRequest {
    Tunnel(Request<Incoming>),
    Refused(Refusal),
    Report(Request<Incoming>),
    Plain { exchange: Arc<Exchange>, parts: request::Parts, body: Incoming },
    Login { exchange: Arc<Exchange>, step: Box<LoginRequest>, parts: request::Parts, body: Incoming },
}

fn classify(connection: &Arc<ClientConnection>, mut request: Request<Incoming>) -> IncomingRequest {
    let checked = connection.check_host(&request).and_then(|()| connection.authenticate(&mut request));
    if let Err(refusal) = checked {
        connection.context().count(refusal.ended);
        return IncomingRequest::Refused(refusal);
    }
    // Before a target is determined: CONNECT has no path, and names its server in another form.
    if request.method() == Method::CONNECT {
        return IncomingRequest::Tunnel(request);
    }
    if connection.csp().is_some_and(|csp| csp.takes_reports_at(request.uri().path())) {
        return IncomingRequest::Report(request);
    }
    let target = match connection.target_of(&request) {
        Ok(target) => target,
        Err(refusal) => {
            connection.context().count(refusal.ended);
            return IncomingRequest::Refused(refusal);
        }
    };
    let (parts, body) = request.into_parts();
    let login = connection.login();
    match login.and_then(|login| login.step(&parts, || connection.public_origin(&parts))) {
        Some(step) => {
            let exchange = connection.begin_exchange(step.foreign().unwrap_or(&target), &parts);
            IncomingRequest::Login { exchange, step, parts, body }
        }
        None => IncomingRequest::Plain { exchange: connection.begin_exchange(&target, &parts), parts, body },
    }
}

async fn relay(
    connection: &ClientConnection,
    exchange: &Arc<Exchange>,
    parts: request::Parts,
    body: Incoming,
) -> Result<Response<ProxyBody>, Refusal> {
    let prepared = prepare(connection, exchange, parts, body)?;
    let public = prepared.public.clone();
    let mut response = exchange_with(connection, exchange, prepared).await?;
    if let Some(login) = connection.login() {
        login.rewrite_headers(response.headers_mut(), &public);
    }
    match connection.csp() {
        Some(csp) => Box::pin(csp::apply_to_answer(csp, exchange, response)).await,
        None => Ok(response),
    }
}

/// A request that has passed the limits and is ready to be sent.
pub(crate) struct PreparedRequest {
    pub(crate) request: Request<ProxyBody>,
    pub(crate) public: PublicOrigin,
    /// The requested path, if the connection adds policies to pages.
    path: Option<String>,
    from: Hop,
    upgrade: Option<OnUpgrade>,
    wants_upgrade: bool,
}

/// Checks a request against the limits, and puts a tap on its body.
pub(crate) fn prepare(
    connection: &ClientConnection,
    exchange: &Arc<Exchange>,
    mut parts: request::Parts,
    body: Incoming,
) -> Result<PreparedRequest, Refusal> {
    let limits = &connection.context().limits;
    if let Some(refusal) = too_large(limits, &parts.headers) {
        refusal::discard_in_background(body);
        return Err(refusal);
    }
    let tap = Tap::request(exchange, &parts.headers, limits.body);
    // HTTP/2 has no `Upgrade` (RFC 9113, section 8.6).
    let wants_upgrade = headers::wants_upgrade(&parts.headers) && parts.version == Version::HTTP_11;
    Ok(PreparedRequest {
        public: connection.public_origin(&parts),
        path: connection.csp().map(|_| parts.uri.path().to_owned()),
        from: Hop::from(parts.version),
        upgrade: wants_upgrade.then(|| parts.extensions.remove::<OnUpgrade>()).flatten(),
        wants_upgrade,
        request: Request::from_parts(parts, ProxyBody::passing(body, tap, None, connection.context())),
    })
}

/// Sends a request to the exchange's server, and prepares the response for the client.
pub(crate) async fn exchange_with(
    connection: &ClientConnection,
    exchange: &Arc<Exchange>,
    prepared: PreparedRequest,
) -> Result<Response<ProxyBody>, Refusal> {
    let (sender, used) = match connection.sender(&exchange.target).await {
        Ok(sender) => sender,
        Err(refusal) => {
            // Read the body first: only then are the message and its id in the trace, and in the JSON-RPC error.
            refusal::drain(prepared.request.into_body()).await;
            return Err(refusal);
        }
    };
    exchange.record_connected();
    let host = connection.host_header();
    let request = adapt_headers(prepared.request, host, &exchange.target, prepared.wants_upgrade);
    let response = send(connection, exchange, request, sender, used).await?;
    let PreparedRequest { public, path, from, upgrade, .. } = prepared;
    Ok(forward_response(connection, exchange, response, from, &public, path, upgrade))
}

/// Sends a request and waits for the response's head. A reused connection may have been closed in the meantime: if nothing of
/// the request was sent, it is retried once on a new one. Otherwise not: a POST to an MCP server is not idempotent.
async fn send(
    connection: &ClientConnection,
    exchange: &Arc<Exchange>,
    mut request: Request<ProxyBody>,
    mut sender: Sender,
    mut used: bool,
) -> Result<Response<Incoming>, Refusal> {
    let limits = &connection.context().limits;
    loop {
        let sent = {
            let hop = sender.hop();
            sender.send(adapt_to_version(request, hop, &exchange.target))
        };
        let sent = match TimeoutWatch::start(exchange, limits) {
            None => sent.await,
            Some(mut watch) => tokio::select! {
                sent = sent => sent,
                refusal = poll_fn(|cx| watch.poll(cx)) => return Err(refusal),
            },
        };
        match sent {
            Ok(response) => {
                // While the body is still being read: the sender is not ready until then, and `take_idle_sender`
                // skips it.
                connection.keep_sender(&exchange.target, sender, headers::keep_alive(response.headers()));
                return Ok(response);
            }
            Err(SendFailure { unsent: Some(unsent), .. }) if used => {
                request = unsent;
                used = false;
                sender = connection.new_sender(&exchange.target).await?;
            }
            Err(failure) => return Err(send_refusal(exchange, limits, &failure.error)),
        }
    }
}

/// The refusal for a request that got no response.
fn send_refusal(exchange: &Exchange, limits: &Limits, error: &hyper::Error) -> Refusal {
    if exchange.is_too_large() {
        return Refusal::body_too_large(limits.body);
    }
    if exchange.is_malformed() {
        return Refusal::malformed_body();
    }
    let upstream = Arc::clone(exchange.target.origin());
    if error.is_parse() || error.is_parse_too_large() {
        return Refusal::upstream_failed(&upstream, &format!("sent a response that is not HTTP ({error})"));
    }
    if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        return Refusal::upstream_failed(&upstream, "closed the connection before it responded");
    }
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    Refusal::upstream_failed(&upstream, &format!("failed: {error}{cause}"))
}

/// Removes what was meant for us alone, and sets the `Host`.
fn adapt_headers(
    mut request: Request<ProxyBody>,
    host: HostHeader,
    target: &Target,
    upgrade: bool,
) -> Request<ProxyBody> {
    headers::strip_hop(request.headers_mut(), Hop::Http1, upgrade);
    let name = match host {
        HostHeader::Rewrite => &target.authority,
        HostHeader::Keep if request.headers().contains_key(HOST) => return request,
        // HTTP/2 has no `Host`; the name is in `:authority`, which hyper puts into the URI.
        HostHeader::Keep => request.uri().authority().unwrap_or(&target.authority),
    };
    if let Ok(name) = HeaderValue::try_from(name.as_str()) {
        request.headers_mut().insert(HOST, name);
    }
    request
}

/// Puts the request's target and version into the form of the connection: origin form for HTTP/1.1 (RFC 9112, section
/// 3.2.1), pseudo-headers for HTTP/2 (RFC 9113, section 8.3.1).
pub(crate) fn adapt_to_version(
    mut request: Request<ProxyBody>,
    hop: Hop,
    target: &Target,
) -> Request<ProxyBody> {
    let path = request.uri().path_and_query().cloned();
    match hop {
        Hop::Http1 => {
            *request.version_mut() = Version::HTTP_11;
            if request.uri().authority().is_some() {
                *request.uri_mut() = path.map_or_else(|| Uri::from_static("/"), Uri::from);
            }
        }
        Hop::Http2 => {
            *request.version_mut() = Version::HTTP_2;
            headers::strip_hop(request.headers_mut(), Hop::Http2, false);
            let host = request.headers_mut().remove(HOST);
            let host = host.as_ref().and_then(|host| host.to_str().ok()).unwrap_or(target.authority.as_str());
            let mut uri = Uri::builder().scheme(target.scheme.name()).authority(host);
            uri = uri.path_and_query(path.as_ref().map_or("/", |path| path.as_str()));
            if let Ok(uri) = uri.build() {
                *request.uri_mut() = uri;
            }
        }
    }
    request
}

/// Records a response's head and wraps its body for the client.
fn forward_response(
    connection: &ClientConnection,
    exchange: &Arc<Exchange>,
    mut response: Response<Incoming>,
    to: Hop,
    public: &PublicOrigin,
    path: Option<String>,
    client_upgrade: Option<OnUpgrade>,
) -> Response<ProxyBody> {
    let switching = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    if let (true, Some(client)) = (switching, client_upgrade) {
        let upstream = hyper::upgrade::on(&mut response);
        tokio::spawn(tunnel(client, upstream, Arc::clone(exchange)));
    }
    let (mut parts, body) = response.into_parts();
    // Before any header is changed: the trace has the head as the server sent it.
    exchange.record_response_head(&parts);
    let tap = Tap::response(exchange, &parts.headers);
    let mut rewrite = endpoint_rewrite(connection, exchange, &parts.headers, public).map(Rewrite::Endpoint);
    if rewrite.is_some() {
        // The rewritten body has another length; hyper frames it as chunks.
        parts.headers.remove(CONTENT_LENGTH);
    }
    if let (Some(csp), Some(path)) = (connection.own_csp(exchange), path) {
        csp.apply_to_page(exchange, &path, &mut parts.headers);
        let events = csp.event_rewrite(exchange, &mut parts.headers);
        rewrite = rewrite.or(events.map(|events| Rewrite::Events(Box::new(events))));
    }
    headers::strip_hop(&mut parts.headers, to, switching);
    // hyper writes the version of the client's own connection; that of the upstream's means nothing there.
    parts.version = Version::HTTP_11;
    Response::from_parts(parts, ProxyBody::passing(body, tap, rewrite, connection.context()))
}

/// The rewriting of the `endpoint` event, which only a stream of HTTP+SSE begins with (MCP 2024-11-05, basic/transports): one
/// that a GET opened outside of any session.
fn endpoint_rewrite(
    connection: &ClientConnection,
    exchange: &Exchange,
    headers: &HeaderMap,
    public: &PublicOrigin,
) -> Option<EndpointRewrite> {
    let applies = connection.is_reverse()
        && exchange.method() == Method::GET
        && headers::is_event_stream(headers)
        && headers::session(headers).is_none()
        && headers::content_encoding(headers).is_none();
    applies.then(|| EndpointRewrite::new(exchange.target.origin(), &public.to_string()))
}

/// Copies the bytes of an upgraded connection in both directions, unread.
async fn tunnel(client: OnUpgrade, upstream: OnUpgrade, exchange: Arc<Exchange>) {
    exchange.record_failure(Ended::Upgraded, None);
    if let (Ok(client), Ok(upstream)) = tokio::join!(client, upstream) {
        let (mut client, mut upstream) = (TokioIo::new(client), TokioIo::new(upstream));
        // Either side may close at any time; that is a normal end.
        let _ = tokio::io::copy_bidirectional(&mut client, &mut upstream).await;
    }
}

/// The refusal of a request whose headers or announced length exceed the limits.
fn too_large(limits: &Limits, headers: &HeaderMap) -> Option<Refusal> {
    if headers::size(headers) > limits.headers {
        return Some(Refusal::headers_too_large(limits.headers));
    }
    let length = headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse::<u64>().ok()?;
    (length > limits.body).then(|| Refusal::body_too_large(limits.body))
}
