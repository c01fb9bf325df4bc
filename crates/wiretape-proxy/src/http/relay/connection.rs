//! One client connection, HTTP/1.1 or HTTP/2, with its upstream connections.
//!
//! Upstream connections belong to one client connection and are not pooled across clients: the server sees what it
//! would see without the proxy, and no client gets a connection that another one left in an odd state (design note
//! 0005). A shared pool was also slower when it was tried in the floor: a tenth to a third more CPU per request
//! ("HTTP" in docs/benchmarks.md). What is recorded of the connection, such as the trace that its exchanges go to, is in
//! `record::connection`.

use super::context::{ConnectionPermit, RelayContext};
use super::forward::{self, ClientProtocol};
use super::handle;
use super::timer::LazyTimer;
use super::upstream::{HttpPreference, Sender};
use crate::http::options::{HostHeader, ListenerOptions, PrivateTargets, Route};
use crate::http::policy::csp::Csp;
use crate::http::policy::host_guard::HostGuard;
use crate::http::policy::login::Login;
use crate::http::policy::public_origin::PublicOrigin;
use crate::http::record::connection::{ConnectionRecorder, RecordedListener};
use crate::http::record::exchange::Exchange;
use crate::http::refusal::Refusal;
use crate::http::target::{Reach, Scheme, Target};
use http::header::{HOST, PROXY_AUTHORIZATION};
use http::{Request, request};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use parking_lot::Mutex;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// The limit of idle upstream connections for one client connection; the oldest is closed. Only a forward proxy's clients, which
/// ask for many servers, come near it.
const MAX_IDLE: usize = 64;

/// A client connection and everything that belongs to it alone.
pub(crate) struct ClientConnection {
    context: Arc<RelayContext>,
    /// Before the permit: what is recorded of the connection ends before it counts as closed.
    recorder: Arc<ConnectionRecorder>,
    listener: Arc<Listener>,
    preference: HttpPreference,
    scope: Scope,
    /// Held until the connection and its tunnels are closed.
    permit: Arc<ConnectionPermit>,
    senders: Mutex<Vec<IdleSender>>,
    /// The number of HTTP/2 requests so far.
    requests: AtomicU64,
}

/// An upstream connection that is kept for the next request.
struct IdleSender {
    target: Arc<Target>,
    sender: Sender,
    /// From then on the server may close it, and a request sent at that moment would be lost.
    until: Instant,
}

impl IdleSender {
    /// Whether it can still be used. A busy connection doesn't expire, and HTTP/2 announces its end (GOAWAY).
    fn is_usable(&self, now: Instant) -> bool {
        let is_idle = matches!(self.sender, Sender::Http1(_)) && self.sender.is_ready();
        !self.sender.is_closed() && (!is_idle || now < self.until)
    }
}

/// A listener, and the server behind it if it is a reverse proxy.
pub(crate) struct Listener {
    pub(crate) options: ListenerOptions,
    pub(crate) recorded: Arc<RecordedListener>,
    pub(crate) address: SocketAddr,
    pub(crate) target: Option<Arc<Target>>,
    /// The check of `Host`, if it is replaced.
    pub(crate) host_guard: Option<HostGuard>,
    /// The OAuth rewriting, if it is on.
    pub(crate) login: Option<Login>,
    /// The Content-Security-Policies, if there are any.
    pub(crate) csp: Option<Csp>,
}

/// The servers that a connection may reach.
#[derive(Debug, Clone)]
pub(crate) enum Scope {
    /// Those of its listener.
    Listener,
    /// The one that the client named with CONNECT.
    Tunnel(Arc<Target>),
}

/// The version of HTTP that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// Serves a connection until it ends.
pub(crate) async fn serve(
    context: Arc<RelayContext>,
    listener: Arc<Listener>,
    stream: TcpStream,
    peer: SocketAddr,
    permit: ConnectionPermit,
    mut drain: watch::Receiver<bool>,
) {
    // Without Nagle's algorithm: a response is often two small writes. If it can't be set, the connection works, only slower.
    let _ = stream.set_nodelay(true);
    let limit = context.limits.header;
    let first = tokio::select! {
        biased;
        first = tokio::time::timeout(limit, forward::peek(&stream)) => first,
        // A client that has sent nothing yet has no request in flight.
        () = draining(&mut drain) => return,
    };
    let Ok(Ok(first)) = first else { return };
    let protocol = if first == ClientProtocol::Http2 { Protocol::Http2 } else { Protocol::Http1 };
    let connection =
        ClientConnection::new(context, listener, peer, protocol, Scope::Listener, Arc::new(permit));
    connection.serve(stream, protocol, drain).await;
}

impl ClientConnection {
    pub(crate) fn new(
        context: Arc<RelayContext>,
        listener: Arc<Listener>,
        peer: SocketAddr,
        protocol: Protocol,
        scope: Scope,
        permit: Arc<ConnectionPermit>,
    ) -> Arc<Self> {
        let preference = match protocol {
            Protocol::Http1 => HttpPreference::Http1,
            Protocol::Http2 => HttpPreference::PreferHttp2,
        };
        Arc::new(ClientConnection {
            recorder: Arc::new(ConnectionRecorder::new(&context.recorder, &listener.recorded, peer)),
            context,
            listener,
            preference,
            scope,
            permit,
            senders: Mutex::default(),
            requests: AtomicU64::new(0),
        })
    }

    /// Serves HTTP until the client closes the connection or the proxy stops. Failures are recorded by the exchanges. Boxed,
    /// because the type is recursive: a tunnel inside a connection is served as another connection.
    pub(crate) fn serve(
        self: Arc<Self>,
        io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        protocol: Protocol,
        drain: watch::Receiver<bool>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        match protocol {
            Protocol::Http1 => Box::pin(self.serve_http1(io, drain)),
            Protocol::Http2 => Box::pin(self.serve_http2(io, drain)),
        }
    }

    async fn serve_http1(
        self: Arc<Self>,
        io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        mut drain: watch::Receiver<bool>,
    ) {
        let limits = self.context.limits.clone();
        let this = Arc::clone(&self);
        let service = service_fn(move |request| handle::handle(Arc::clone(&this), request));
        let connection = http1::Builder::new()
            .timer(LazyTimer::default())
            .header_read_timeout(limits.header)
            // Twice our own limit, so that the refusal with an explanation is ours; above this one hyper sends a bare 431.
            .max_header_size(limits.headers * 2)
            .max_buf_size((limits.headers * 2).max(64 * 1024))
            // Messages are small: one copy costs less than a list of slices (`cargo xtask bench --only http`).
            .writev(false)
            // A second map of headers on each side, 9,000 to 10,000 instructions an exchange (`cargo xtask bench --only http`).
            // Paid for, because names are otherwise changed to lower case, and some servers compare them.
            .preserve_header_case(true)
            .auto_date_header(false)
            .serve_connection(TokioIo::new(io), service)
            .with_upgrades();
        let mut connection = std::pin::pin!(connection);
        let result = tokio::select! {
            result = connection.as_mut() => result,
            () = draining(&mut drain) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        self.count_failure(result);
    }

    async fn serve_http2(
        self: Arc<Self>,
        io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        mut drain: watch::Receiver<bool>,
    ) {
        let limits = self.context.limits.clone();
        let this = Arc::clone(&self);
        let service = service_fn(move |request| {
            this.requests.fetch_add(1, Ordering::Relaxed);
            handle::handle(Arc::clone(&this), request)
        });
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_header_list_size(u32::try_from(limits.headers * 2).unwrap_or(u32::MAX))
            .auto_date_header(false)
            .serve_connection(TokioIo::new(io), service);
        let mut connection = std::pin::pin!(connection);
        let over = async {
            tokio::select! {
                () = draining(&mut drain) => {}
                () = self.idle_http2(limits.header) => {}
            }
        };
        let result = tokio::select! {
            result = connection.as_mut() => result,
            () = over => {
                // Announces the end (GOAWAY) and completes the requests. A client that doesn't take part is cut off: the
                // announcement waits for its acknowledgement, and a half-sent head would be waited for as well.
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    result = connection => result,
                    () = self.idle_http2(self.farewell_time()) => Ok(()),
                }
            }
        };
        self.count_failure(result);
    }

    /// How long an idle HTTP/2 client may take to acknowledge the end of its connection.
    fn farewell_time(&self) -> Duration {
        let had_requests = self.requests.load(Ordering::Relaxed) > 0;
        if had_requests { self.context.limits.header } else { Duration::from_secs(1) }
    }

    /// Resolves when an HTTP/2 connection had neither a request nor a response for this long, or up to twice as long. hyper has
    /// timeouts for HTTP/1 only, and an HTTP/2 preface alone would hold one of `--max-connections` for ever. Idleness is
    /// sampled, so that a request costs no more than a count.
    async fn idle_http2(self: &Arc<Self>, limit: Duration) {
        // Besides the connection itself and its service, only its exchanges and tunnels hold it.
        const IDLE_COUNT: usize = 2;
        let sample = || (self.requests.load(Ordering::Relaxed), Arc::strong_count(self) > IDLE_COUNT);
        let mut before = sample();
        loop {
            tokio::time::sleep(limit).await;
            let now = sample();
            if now == before && !now.1 {
                return;
            }
            before = now;
        }
    }

    /// Counts requests that never became exchanges, so that they show up at least in the status.
    fn count_failure(&self, result: hyper::Result<()>) {
        if let Err(error) = result
            && (error.is_parse() || error.is_parse_too_large() || error.is_timeout())
        {
            self.context.connections().count_malformed();
        }
    }

    pub(crate) fn context(&self) -> &Arc<RelayContext> {
        &self.context
    }

    pub(crate) fn listener(&self) -> &ListenerOptions {
        &self.listener.options
    }

    pub(crate) fn listener_handle(&self) -> &Arc<Listener> {
        &self.listener
    }

    pub(crate) fn permit(&self) -> &Arc<ConnectionPermit> {
        &self.permit
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        self.recorder.peer()
    }

    /// Begins an exchange of this connection, which holds the connection until it is over.
    pub(crate) fn begin_exchange(
        self: &Arc<Self>,
        target: &Arc<Target>,
        parts: &request::Parts,
    ) -> Arc<Exchange> {
        let needs_bodies = self.csp().is_some_and(Csp::needs_requests);
        Exchange::begin(&self.recorder, Arc::clone(self) as _, target, parts, needs_bodies)
    }

    /// Refuses a request whose `Host` is ambiguous, or not one that the listener accepts.
    pub(crate) fn check_host<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        // RFC 9112, section 3.2: which of two names counts is not for us, or the server, to guess.
        if request.headers().get_all(HOST).iter().nth(1).is_some() {
            return Err(Refusal::misdirected("the request has more than one Host header"));
        }
        match &self.listener.host_guard {
            Some(guard) => guard.check(request.uri(), request.headers()),
            None => Ok(()),
        }
    }

    pub(crate) fn login(&self) -> Option<&Login> {
        self.listener.login.as_ref()
    }

    pub(crate) fn csp(&self) -> Option<&Csp> {
        self.listener.csp.as_ref()
    }

    /// The listener's policies, if the exchange is with the listener's own server.
    pub(crate) fn own_csp(&self, exchange: &Exchange) -> Option<&Csp> {
        let own = &self.listener.target;
        self.csp().filter(|_| own.as_ref().is_some_and(|own| own.is(&exchange.target)))
    }

    /// Whether CONNECT is allowed: on a forward proxy, outside of a tunnel.
    pub(crate) fn takes_connect(&self) -> bool {
        matches!(self.listener.options.route, Route::Forward(_)) && matches!(self.scope, Scope::Listener)
    }

    /// Requires the password of a forward proxy, and removes it: it must reach neither the upstream nor the trace.
    pub(crate) fn authenticate<B>(&self, request: &mut Request<B>) -> Result<(), Refusal> {
        let (Route::Forward(forward), Scope::Listener) = (&self.listener.options.route, &self.scope) else {
            return Ok(());
        };
        let Some(credentials) = &forward.credentials else { return Ok(()) };
        match request.headers_mut().remove(PROXY_AUTHORIZATION) {
            Some(given) if credentials.are_given_by(&given) => Ok(()),
            _ => Err(Refusal::unauthorized()),
        }
    }

    /// The networks that clients may reach through a forward proxy.
    pub(crate) fn reach(&self) -> Reach {
        match &self.listener.options.route {
            Route::Forward(forward)
                if forward.private_targets == PrivateTargets::FromHere
                    && !self.listener.address.ip().to_canonical().is_loopback() =>
            {
                Reach::Public
            }
            _ => Reach::Anywhere,
        }
    }

    /// Our origin as the client of a request knows it.
    pub(crate) fn public_origin(&self, parts: &request::Parts) -> PublicOrigin {
        PublicOrigin::of(parts, self.listener.address)
    }

    /// How `Host` is handled.
    pub(crate) fn host_header(&self) -> HostHeader {
        match &self.listener.options.route {
            Route::Reverse(reverse) => reverse.host,
            Route::Forward(_) => HostHeader::Keep,
        }
    }

    /// Whether this is a reverse proxy, whose clients don't know the server's URL.
    pub(crate) fn is_reverse(&self) -> bool {
        matches!(self.listener.options.route, Route::Reverse(_))
    }

    /// The server that a request is for.
    pub(crate) fn target_of<B>(&self, request: &Request<B>) -> Result<Arc<Target>, Refusal> {
        if let Scope::Tunnel(target) = &self.scope {
            return Ok(Arc::clone(target));
        }
        match &self.listener.target {
            Some(target) => Ok(Arc::clone(target)),
            None => self.named_target(request),
        }
    }

    fn named_target<B>(&self, request: &Request<B>) -> Result<Arc<Target>, Refusal> {
        let uri = request.uri();
        let (Some("http"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(Refusal::misdirected(
                "this is a forward proxy, not a server: set HTTP_PROXY to its address and request the server's own URL",
            ));
        };
        if authority.as_str() == self.listener.address.to_string() {
            return Err(Refusal::misdirected("the request is for this proxy itself"));
        }
        Ok(Arc::new(Target::new(Scheme::Http, authority.clone()).within(self.reach())))
    }

    /// A connection to the server that is ready for a request, and whether it is a reused one.
    pub(crate) async fn sender(&self, target: &Target) -> Result<(Sender, bool), Refusal> {
        match self.take_idle_sender(target) {
            Some(sender) => Ok((sender, true)),
            None => Ok((self.new_sender(target).await?, false)),
        }
    }

    pub(crate) async fn new_sender(&self, target: &Target) -> Result<Sender, Refusal> {
        self.context.connector.connect(target, self.preference).await
    }

    fn take_idle_sender(&self, target: &Target) -> Option<Sender> {
        let now = Instant::now();
        let mut senders = self.senders.lock();
        // Expired ones are dropped on use, without a timer: an idle proxy must not wake up.
        senders.retain(|idle| idle.is_usable(now));
        let at = senders.iter().position(|idle| idle.target.is(target) && idle.sender.is_ready())?;
        match &senders[at].sender {
            // HTTP/2 multiplexes: one connection serves all streams.
            Sender::Http2(sender) => Some(Sender::Http2(sender.clone())),
            Sender::Http1(_) => Some(senders.swap_remove(at).sender),
        }
    }

    /// Keeps a connection for requests within the given time.
    pub(crate) fn keep_sender(&self, target: &Arc<Target>, sender: Sender, time: Duration) {
        let mut senders = self.senders.lock();
        // Every stream of an HTTP/2 connection returns its clone; one is enough.
        let shared = |idle: &IdleSender| matches!(idle.sender, Sender::Http2(_)) && idle.target.is(target);
        if matches!(sender, Sender::Http2(_)) && senders.iter().any(shared) {
            return;
        }
        if senders.len() >= MAX_IDLE {
            senders.remove(0);
        }
        senders.push(IdleSender { target: Arc::clone(target), sender, until: Instant::now() + time });
    }
}

/// Waits until the proxy begins to drain.
async fn draining(drain: &mut watch::Receiver<bool>) {
    // Fails only when the sender is gone, and that lives as long as the proxy.
    let _ = drain.wait_for(|draining| *draining).await;
}
