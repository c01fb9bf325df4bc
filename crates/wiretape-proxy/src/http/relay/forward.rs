//! The tunnels of a forward proxy (CONNECT, RFC 9110, section 9.3.6): relayed unread, or served as connections if they carry
//! plain HTTP, or TLS that may be intercepted.

use super::body::ProxyBody;
use super::connection::{ClientConnection, Protocol, Scope};
use super::upstream::HttpPreference;
use crate::http::headers;
use crate::http::options::Route;
use crate::http::refusal::Refusal;
use crate::http::target::{Scheme, Target};
use crate::warning::Warning;
use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use wiretape_events::Ended;

/// The protocol of a client, by the first bytes that it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientProtocol {
    Http1,
    Http2,
    Tls,
    Other,
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How long to wait for the first bytes of a client in a tunnel. After that the protocol is assumed to be one in which the
/// server speaks first, and the tunnel is relayed unread.
const FIRST_BYTES_TIMEOUT: Duration = Duration::from_millis(500);

impl ClientProtocol {
    /// The protocol that begins with these bytes; `None` if more are needed.
    fn of(bytes: &[u8]) -> Option<ClientProtocol> {
        let shared = bytes.len().min(PREFACE.len());
        match bytes {
            [] => None,
            // The content type of a TLS handshake record (RFC 8446, section 5.1).
            [0x16, ..] => Some(ClientProtocol::Tls),
            _ if bytes[..shared] == PREFACE[..shared] => {
                (shared == PREFACE.len()).then_some(ClientProtocol::Http2)
            }
            _ if looks_like_http1(bytes) => Some(ClientProtocol::Http1),
            _ => Some(ClientProtocol::Other),
        }
    }
}

fn looks_like_http1(bytes: &[u8]) -> bool {
    const LONGEST_METHOD: usize = 20;
    let word = bytes.split(|&byte| byte == b' ').next().unwrap_or_default();
    !word.is_empty() && word.len() <= LONGEST_METHOD && word.iter().all(u8::is_ascii_uppercase)
}

/// Peeks at the first bytes of a connection without consuming them.
pub(crate) async fn peek(stream: &TcpStream) -> io::Result<ClientProtocol> {
    const LONGEST: Duration = Duration::from_millis(100);
    // The socket stays readable while bytes are only peeked at, so waiting for more would spin: poll with a backoff instead.
    let mut again = Duration::from_millis(1);
    let mut bytes = [0; PREFACE.len()];
    loop {
        let length = stream.peek(&mut bytes).await?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(first) = ClientProtocol::of(&bytes[..length]) {
            return Ok(first);
        }
        if stream.ready(Interest::READABLE).await?.is_read_closed() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        tokio::time::sleep(again).await;
        again = (again * 2).min(LONGEST);
    }
}

/// Responds to a CONNECT and starts its tunnel.
pub(crate) async fn connect(
    connection: Arc<ClientConnection>,
    mut request: Request<Incoming>,
) -> Response<ProxyBody> {
    let refuse = |refusal: Refusal| {
        connection.context().count(refusal.ended);
        refusal.response(None)
    };
    if !connection.takes_connect() {
        return refuse(Refusal::misdirected("CONNECT is for forward proxies (`wiretape proxy --forward`)"));
    }
    let Some(authority) = request.uri().authority().filter(|name| name.port_u16().is_some()).cloned() else {
        return refuse(Refusal::misdirected("CONNECT needs a host and a port"));
    };
    let plain = Target::new(Scheme::Http, authority).within(connection.reach());
    // Connect before responding: a client expects an unreachable server as an error response to CONNECT.
    let upstream = match connection.context().connector.connect_bare(&plain).await {
        Ok(upstream) => upstream,
        Err(refusal) => return refuse(refusal),
    };
    let client = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        if let Ok(client) = client.await {
            Box::pin(serve_tunnel(connection, TokioIo::new(client), upstream, plain)).await;
        }
    });
    Response::new(ProxyBody::from(Bytes::new()))
}

async fn serve_tunnel(
    connection: Arc<ClientConnection>,
    mut client: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    upstream: TcpStream,
    plain: Target,
) {
    let mut prefix = Vec::with_capacity(PREFACE.len());
    let first = tokio::time::timeout(FIRST_BYTES_TIMEOUT, read_first(&mut client, &mut prefix)).await;
    let client = Prefixed { prefix: Bytes::from(prefix), inner: client };
    let authority = plain.authority.clone();
    match (first, authority_of(&connection)) {
        (Ok(Ok(ClientProtocol::Http1)), _) => {
            serve_http(connection, client, upstream, plain, Protocol::Http1).await;
        }
        (Ok(Ok(ClientProtocol::Http2)), _) => {
            serve_http(connection, client, upstream, plain, Protocol::Http2).await;
        }
        (Ok(Ok(ClientProtocol::Tls)), Some(authority_ca)) => {
            let target = Target::new(Scheme::Https, authority).within(connection.reach());
            intercept(connection, client, upstream, target, &authority_ca).await;
        }
        // The client closed the tunnel before it sent anything.
        (Ok(Err(_)), _) => {}
        (first, _) => {
            if matches!(first, Ok(Ok(ClientProtocol::Tls))) {
                connection
                    .context()
                    .recorder
                    .warn_once(Warning::Tunnelled { host: plain.authority.to_string() });
            }
            relay_unread(connection, client, upstream).await;
        }
    }
}

fn authority_of(connection: &ClientConnection) -> Option<Arc<crate::http::ca::CertificateAuthority>> {
    match &connection.listener().route {
        Route::Forward(forward) => forward.intercept.clone(),
        Route::Reverse(_) => None,
    }
}

/// Reads until the protocol is known.
async fn read_first(
    client: &mut (impl AsyncRead + Unpin),
    prefix: &mut Vec<u8>,
) -> io::Result<ClientProtocol> {
    loop {
        if client.read_buf(prefix).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(first) = ClientProtocol::of(prefix) {
            return Ok(first);
        }
    }
}

/// Serves the HTTP in a tunnel, over the upstream connection that was opened for it.
async fn serve_http(
    connection: Arc<ClientConnection>,
    client: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    upstream: TcpStream,
    target: Target,
    protocol: Protocol,
) {
    let target = Arc::new(target);
    let preference =
        if protocol == Protocol::Http1 { HttpPreference::Http1 } else { HttpPreference::PreferHttp2 };
    let context = Arc::clone(connection.context());
    let sender = context.connector.upgrade(upstream, &target, preference).await;
    let inner = ClientConnection::new(
        Arc::clone(&context),
        Arc::clone(connection.listener_handle()),
        connection.peer(),
        protocol,
        Scope::Tunnel(Arc::clone(&target)),
        Arc::clone(connection.permit()),
    );
    // If the handshake failed, the first request opens a new connection and reports the error.
    if let Ok(sender) = sender {
        // For the first request: it goes over the connection that CONNECT has opened, as it would without us.
        inner.keep_sender(&target, sender, headers::DEFAULT_KEEP_ALIVE);
    }
    let drain = context.drain();
    inner.serve(client, protocol, drain).await;
}

async fn intercept(
    connection: Arc<ClientConnection>,
    client: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    upstream: TcpStream,
    target: Target,
    authority: &crate::http::ca::CertificateAuthority,
) {
    // By the name in CONNECT rather than by SNI: it is the server that the client wants, and is always there.
    let host = target.authority.host().trim_matches(['[', ']']).to_owned();
    let accepted = match authority.server_config(&host, std::time::SystemTime::now()) {
        Ok(config) => {
            let limit = connection.context().limits.header;
            match tokio::time::timeout(limit, TlsAcceptor::from(config).accept(client)).await {
                Ok(accepted) => accepted.map_err(|error| error.to_string()),
                // Not a problem of certificates, which the warning below is about.
                Err(_) => return connection.context().count(Ended::Timeout),
            }
        }
        Err(error) => Err(error.to_string()),
    };
    match accepted {
        Ok(client) => {
            let protocol = match client.get_ref().1.alpn_protocol() {
                Some(b"h2") => Protocol::Http2,
                _ => Protocol::Http1,
            };
            serve_http(connection, client, upstream, target, protocol).await;
        }
        Err(reason) => connection.context().recorder.warn_once(Warning::NotIntercepted { host, reason }),
    }
}

async fn relay_unread(
    connection: Arc<ClientConnection>,
    client: impl AsyncRead + AsyncWrite + Unpin,
    upstream: TcpStream,
) {
    let limits = &connection.context().limits;
    let moved = AtomicU64::new(0);
    let mut client = CountedReads { inner: client, count: &moved };
    let mut upstream = CountedReads { inner: upstream, count: &moved };
    let ended = tokio::select! {
        // Either side may close at any time; that is a normal end.
        _ = tokio::io::copy_bidirectional(&mut client, &mut upstream) => Ended::Upgraded,
        () = silence(&moved, limits.header, limits.idle) => Ended::Timeout,
    };
    connection.context().count(ended);
}

/// Resolves when nothing was read for `first` since the beginning, or later for `idle`, or up to twice as
/// long. A tunnel in which neither side has said anything is not a connection yet, and holds one of
/// `--max-connections`.
async fn silence(moved: &AtomicU64, first: Duration, idle: Option<Duration>) {
    loop {
        let before = moved.load(Ordering::Relaxed);
        match (before, idle) {
            (0, _) => tokio::time::sleep(first).await,
            (_, Some(idle)) => tokio::time::sleep(idle).await,
            (_, None) => std::future::pending().await,
        }
        if moved.load(Ordering::Relaxed) == before {
            return;
        }
    }
}

/// A stream that counts its reads.
struct CountedReads<'a, S> {
    inner: S,
    count: &'a AtomicU64,
}

impl<S: AsyncRead + Unpin> AsyncRead for CountedReads<'_, S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.inner).poll_read(cx, buffer);
        if read.is_ready() {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CountedReads<'_, S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// A stream with bytes that were already read from it put back in front.
struct Prefixed<S> {
    prefix: Bytes,
    inner: S,
}

impl<S: AsyncRead + Unpin> AsyncRead for Prefixed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.prefix.is_empty() {
            return Pin::new(&mut self.inner).poll_read(cx, buffer);
        }
        let length = self.prefix.len().min(buffer.remaining());
        buffer.put_slice(&self.prefix.split_to(length));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Prefixed<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spoken_is_told_by_the_first_bytes() {
        let check = |bytes: &[u8], expected| assert_eq!(ClientProtocol::of(bytes), expected, "{bytes:?}");
        check(b"", None);
        check(b"P", None);
        check(b"PRI * HTTP/2.0", None);
        check(PREFACE, Some(ClientProtocol::Http2));
        check(b"PO", Some(ClientProtocol::Http1));
        check(b"GET / HTTP/1.1", Some(ClientProtocol::Http1));
        check(&[0x16, 3, 1], Some(ClientProtocol::Tls));
        check(b"SSH-2.0", Some(ClientProtocol::Other));
        check(b"\0\0", Some(ClientProtocol::Other));
    }
}
