//! One client connection, in whatever version of HTTP it speaks, with the upstream connections that serve it.

use super::csp::Csp;
use super::forward::{self, First};
use super::headers;
use super::heads::HeadCache;
use super::login::Login;
use super::options::{HostHeader, ListenerOptions, Route};
use super::refusal::Refusal;
use super::relay;
use super::server::{Counted, Shared};
use super::timer::LazyTimer;
use super::traces::{SessionTrace, TraceBook};
use super::upstream::{Scheme, Sender, Speak, Target};
use http::{Method, Request, request};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// A client may use so many upstream connections at a time before older ones are let go.
const MAX_KEPT: usize = 64;

/// One client connection.
pub(super) struct ClientConnection {
    number: u64,
    shared: Arc<Shared>,
    listener: Arc<Listener>,
    peer: SocketAddr,
    speak: Speak,
    scope: Scope,
    /// Counted until nothing of it is left, tunnels included.
    counted: Arc<Counted>,
    senders: Mutex<Vec<Kept>>,
    heads: HeadCache,
    /// The session that was last heard of, and its trace.
    last_session: Mutex<Option<LastSession>>,
    /// The trace of what belongs to no session.
    slot: Mutex<Option<Arc<SessionTrace>>>,
}

/// A session, and its trace.
struct LastSession {
    target: Arc<Target>,
    session: String,
    trace: Arc<SessionTrace>,
}

/// A connection that waits for its next request.
struct Kept {
    target: Arc<Target>,
    sender: Sender,
    /// The server may close it from then on, and what is sent at that moment is lost.
    until: Instant,
}

impl Kept {
    /// Whether there is a use for it. One that is busy is none of our business; HTTP/2 says when it is over.
    fn is_good(&self, now: Instant) -> bool {
        let is_idle = matches!(self.sender, Sender::Http1(_)) && self.sender.is_ready();
        !self.sender.is_closed() && (!is_idle || now < self.until)
    }
}

/// A listener, and the one server behind it if there is one.
pub(super) struct Listener {
    pub(super) options: ListenerOptions,
    pub(super) name: Arc<str>,
    pub(super) address: SocketAddr,
    pub(super) target: Option<Arc<Target>>,
    /// What is known of logins, if they are made to work through us.
    pub(super) login: Option<Login>,
    /// What is done about policies, if anything.
    pub(super) csp: Option<Csp>,
}

/// What a connection is for.
#[derive(Debug, Clone)]
pub(super) enum Scope {
    /// Whatever its listener does.
    Listener,
    /// One server, which the client asked for with CONNECT.
    Tunnel(Arc<Target>),
}

/// Which version of HTTP a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// Serves a connection until it ends.
pub(super) async fn serve(
    shared: Arc<Shared>,
    listener: Arc<Listener>,
    stream: TcpStream,
    peer: SocketAddr,
    counted: Counted,
    mut drain: watch::Receiver<bool>,
) {
    // A connection that can't be set up this way works all the same.
    let _ = stream.set_nodelay(true);
    let limit = shared.limits.header;
    let first = tokio::select! {
        biased;
        first = tokio::time::timeout(limit, forward::peek(&stream)) => first,
        // Who has not said anything by now is not in the middle of something.
        () = draining(&mut drain) => return,
    };
    let Ok(Ok(first)) = first else { return };
    let protocol = if first == First::Http2 { Protocol::Http2 } else { Protocol::Http1 };
    let connection =
        ClientConnection::new(shared, listener, peer, protocol, Scope::Listener, Arc::new(counted));
    connection.serve(stream, protocol, drain).await;
}

impl ClientConnection {
    pub(super) fn new(
        shared: Arc<Shared>,
        listener: Arc<Listener>,
        peer: SocketAddr,
        protocol: Protocol,
        scope: Scope,
        counted: Arc<Counted>,
    ) -> Arc<Self> {
        let speak = match protocol {
            Protocol::Http1 => Speak::Http1,
            Protocol::Http2 => Speak::PreferHttp2,
        };
        Arc::new(ClientConnection {
            number: shared.next_connection(),
            shared,
            listener,
            peer,
            speak,
            scope,
            counted,
            senders: Mutex::default(),
            heads: HeadCache::default(),
            last_session: Mutex::default(),
            slot: Mutex::default(),
        })
    }

    /// Serves HTTP until the client or we have had enough. What goes wrong on the way is told by the exchanges.
    /// (Boxed, because a tunnel on a connection is served by another connection.)
    pub(super) fn serve(
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
        let limits = self.shared.limits.clone();
        let this = Arc::clone(&self);
        let service = service_fn(move |request| relay::handle(Arc::clone(&this), request));
        let connection = http1::Builder::new()
            .timer(LazyTimer::default())
            .header_read_timeout(limits.header)
            // Beyond our own limit, so that it is us who say so; beyond this one the answer is a bare 431.
            .max_header_size(limits.headers * 2)
            .max_buf_size((limits.headers * 2).max(64 * 1024))
            // Messages are small: one copy costs less than a list of pieces.
            .writev(false)
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
        self.tell_failure(result);
    }

    async fn serve_http2(
        self: Arc<Self>,
        io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        mut drain: watch::Receiver<bool>,
    ) {
        let limits = self.shared.limits.clone();
        let this = Arc::clone(&self);
        let service = service_fn(move |request| relay::handle(Arc::clone(&this), request));
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_header_list_size(u32::try_from(limits.headers * 2).unwrap_or(u32::MAX))
            .auto_date_header(false)
            .serve_connection(TokioIo::new(io), service);
        let mut connection = std::pin::pin!(connection);
        let result = tokio::select! {
            result = connection.as_mut() => result,
            () = draining(&mut drain) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        self.tell_failure(result);
    }

    /// Requests that never became exchanges are counted at least.
    fn tell_failure(&self, result: hyper::Result<()>) {
        if let Err(error) = result
            && (error.is_parse() || error.is_parse_too_large() || error.is_timeout())
        {
            self.shared.count_malformed();
        }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(super) fn listener(&self) -> &ListenerOptions {
        &self.listener.options
    }

    pub(super) fn listener_name(&self) -> &Arc<str> {
        &self.listener.name
    }

    /// Its number, in the order of arrival.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn listener_handle(&self) -> &Arc<Listener> {
        &self.listener
    }

    pub(super) fn counted(&self) -> &Arc<Counted> {
        &self.counted
    }

    pub(super) fn peer(&self) -> SocketAddr {
        self.peer
    }

    pub(super) fn heads(&self) -> &HeadCache {
        &self.heads
    }

    pub(super) fn login(&self) -> Option<&Login> {
        self.listener.login.as_ref()
    }

    pub(super) fn csp(&self) -> Option<&Csp> {
        self.listener.csp.as_ref()
    }

    /// Whether a CONNECT makes sense here.
    pub(super) fn takes_connect(&self) -> bool {
        matches!(self.listener.options.route, Route::Forward(_)) && matches!(self.scope, Scope::Listener)
    }

    /// What becomes of `Host`.
    pub(super) fn host_header(&self) -> HostHeader {
        match &self.listener.options.route {
            Route::Reverse(reverse) => reverse.host,
            Route::Forward(_) => HostHeader::Keep,
        }
    }

    /// Whether we stand in front of a server whose URLs clients don't know.
    pub(super) fn is_reverse(&self) -> bool {
        matches!(self.listener.options.route, Route::Reverse(_))
    }

    /// The server that a request is for.
    pub(super) fn target_of<B>(&self, request: &Request<B>) -> Result<Arc<Target>, Refusal> {
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
                "this is a forward proxy: it is not a server itself; set HTTP_PROXY to its address and ask for the server's own URL",
            ));
        };
        if authority.as_str() == self.listener.address.to_string() {
            return Err(Refusal::misdirected("the request is for this proxy itself"));
        }
        Ok(Arc::new(Target::new(Scheme::Http, authority.clone())))
    }

    /// A connection to the server that can take a request, and whether it was used before.
    pub(super) async fn sender(&self, target: &Target) -> Result<(Sender, bool), Refusal> {
        match self.kept_sender(target) {
            Some(sender) => Ok((sender, true)),
            None => Ok((self.new_sender(target).await?, false)),
        }
    }

    pub(super) async fn new_sender(&self, target: &Target) -> Result<Sender, Refusal> {
        self.shared.connector.connect(target, self.speak).await
    }

    fn kept_sender(&self, target: &Target) -> Option<Sender> {
        let now = Instant::now();
        let mut senders = lock(&self.senders);
        senders.retain(|kept| kept.is_good(now));
        let at = senders.iter().position(|kept| kept.target.is(target) && kept.sender.is_ready())?;
        match &senders[at].sender {
            // Shared by all who speak HTTP/2.
            Sender::Http2(sender) => Some(Sender::Http2(sender.clone())),
            Sender::Http1(_) => Some(senders.swap_remove(at).sender),
        }
    }

    /// Keeps a connection for the next request, if that comes within this time.
    pub(super) fn keep_sender(&self, target: &Arc<Target>, sender: Sender, time: Duration) {
        let mut senders = lock(&self.senders);
        let shared = |kept: &Kept| matches!(kept.sender, Sender::Http2(_)) && kept.target.is(target);
        if matches!(sender, Sender::Http2(_)) && senders.iter().any(shared) {
            return;
        }
        if senders.len() >= MAX_KEPT {
            senders.remove(0);
        }
        senders.push(Kept { target: Arc::clone(target), sender, until: Instant::now() + time });
    }

    /// The trace that an exchange's lines go to, held for it.
    pub(super) fn trace_for(
        &self,
        target: &Arc<Target>,
        parts: &request::Parts,
    ) -> Option<Arc<SessionTrace>> {
        let book = self.shared.book.as_ref()?;
        if let Some(session) = headers::session(&parts.headers) {
            return Some(self.session_trace(book, target, session));
        }
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        if parts.method == Method::POST
            && path.contains('?')
            && let Some(trace) = book.named(&endpoint_name(target, path))
        {
            return Some(trace);
        }
        let mut slot = lock(&self.slot);
        // One that was silent for long has ended.
        if let Some(trace) = slot.as_ref().filter(|trace| trace.hold()) {
            return Some(Arc::clone(trace));
        }
        let trace = self.begin_trace(target);
        *slot = Some(Arc::clone(&trace));
        Some(trace)
    }

    /// The trace of a session, held for an exchange.
    fn session_trace(&self, book: &TraceBook, target: &Arc<Target>, session: &str) -> Arc<SessionTrace> {
        let mut last = lock(&self.last_session);
        let known = last.as_ref().filter(|last| last.session == session && last.target.is(target));
        if let Some(last) = known.filter(|last| last.trace.hold()) {
            return Arc::clone(&last.trace);
        }
        let trace = book.named_or(session_name(target, session), || {
            let trace = self.begin_trace(target);
            trace.set_session(&self.shared.clean_name(session));
            trace
        });
        *last = Some(LastSession {
            target: Arc::clone(target),
            session: session.to_owned(),
            trace: Arc::clone(&trace),
        });
        trace
    }

    fn begin_trace(&self, target: &Target) -> Arc<SessionTrace> {
        let book = self.shared.book.as_ref().expect("only asked for when there is one");
        match &self.listener.options.route {
            Route::Reverse(reverse) => book.begin(&self.listener.options.name, &reverse.upstream.to_string()),
            Route::Forward(_) => book.begin(target.authority.as_str(), target.origin()),
        }
    }

    /// The server has given a session its name.
    pub(super) fn bind_session(&self, target: &Target, session: &str, trace: &Arc<SessionTrace>) {
        let Some(book) = &self.shared.book else { return };
        if trace.session().is_some() {
            return;
        }
        trace.set_session(&self.shared.clean_name(session));
        book.bind(session_name(target, session), trace);
        // What comes next on this connection without a session is another conversation.
        let mut slot = lock(&self.slot);
        if slot.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, trace)) {
            *slot = None;
        }
    }

    /// The server has said where the client is to post what belongs to a stream.
    pub(super) fn bind_endpoint(&self, target: &Target, endpoint: &str, trace: &Arc<SessionTrace>) {
        let Some(book) = &self.shared.book else { return };
        let uri = endpoint.trim().parse::<http::Uri>().ok();
        if let Some(path) = uri.as_ref().and_then(http::Uri::path_and_query) {
            book.bind(endpoint_name(target, path.as_str()), trace);
        }
    }
}

impl Drop for ClientConnection {
    fn drop(&mut self) {
        let slot = lock(&self.slot).take();
        if let (Some(book), Some(trace)) = (&self.shared.book, slot) {
            book.end(&trace, "the client closed its connection");
        }
    }
}

fn session_name(target: &Target, session: &str) -> String {
    format!("{} session {session}", target.authority)
}

fn endpoint_name(target: &Target, path: &str) -> String {
    format!("{} endpoint {path}", target.authority)
}

/// Comes back when the proxy is about to end.
async fn draining(drain: &mut watch::Receiver<bool>) {
    // The sender lives as long as the proxy does.
    let _ = drain.wait_for(|draining| *draining).await;
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
