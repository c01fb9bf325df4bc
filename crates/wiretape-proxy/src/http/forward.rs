//! A forward proxy's tunnels: passed through unread, or opened if they turn out to hold HTTP, or TLS that may be
//! intercepted.

use super::body::ProxyBody;
use super::connection::{ClientConnection, Protocol, Scope};
use super::headers;
use super::options::Route;
use super::refusal::Refusal;
use super::upstream::{Scheme, Speak, Target};
use crate::warning::Warning;
use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use wiretape_events::Ended;

/// What a client speaks, by the first bytes it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    Http1,
    Http2,
    Tls,
    Other,
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How long a client in a tunnel may wait for the server to speak first, before we take it that it does.
const SILENCE: Duration = Duration::from_millis(500);

impl First {
    /// What begins so; `None` if that can't be told yet.
    fn of(bytes: &[u8]) -> Option<First> {
        let shared = bytes.len().min(PREFACE.len());
        match bytes {
            [] => None,
            [0x16, ..] => Some(First::Tls),
            _ if bytes[..shared] == PREFACE[..shared] => (shared == PREFACE.len()).then_some(First::Http2),
            _ if looks_like_http1(bytes) => Some(First::Http1),
            _ => Some(First::Other),
        }
    }
}

fn looks_like_http1(bytes: &[u8]) -> bool {
    const LONGEST_METHOD: usize = 20;
    let word = bytes.split(|&byte| byte == b' ').next().unwrap_or_default();
    !word.is_empty() && word.len() <= LONGEST_METHOD && word.iter().all(u8::is_ascii_uppercase)
}

/// Looks at the first bytes of a connection and leaves them there.
pub(super) async fn peek(stream: &TcpStream) -> io::Result<First> {
    const LONGEST: Duration = Duration::from_millis(100);
    // There is no waiting for more bytes than have been peeked at: one looks again, less and less often.
    let mut again = Duration::from_millis(1);
    let mut bytes = [0; PREFACE.len()];
    loop {
        let length = stream.peek(&mut bytes).await?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(first) = First::of(&bytes[..length]) {
            return Ok(first);
        }
        if stream.ready(Interest::READABLE).await?.is_read_closed() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        tokio::time::sleep(again).await;
        again = (again * 2).min(LONGEST);
    }
}

/// Answers a CONNECT.
pub(super) async fn connect(
    connection: Arc<ClientConnection>,
    mut request: Request<Incoming>,
) -> Response<ProxyBody> {
    let refuse = |refusal: Refusal| {
        connection.shared().count(refusal.ended);
        refusal.response(None)
    };
    if !connection.takes_connect() {
        return refuse(Refusal::misdirected("CONNECT is for forward proxies (`wiretape proxy --forward`)"));
    }
    let Some(authority) = request.uri().authority().filter(|name| name.port_u16().is_some()).cloned() else {
        return refuse(Refusal::misdirected("CONNECT wants a host and a port"));
    };
    let plain = Target::new(Scheme::Http, authority);
    // Connecting first tells the client of a server that isn't there in the way it expects.
    let upstream = match connection.shared().connector.connect_bare(&plain).await {
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
    let mut begun = Vec::with_capacity(PREFACE.len());
    let first = tokio::time::timeout(SILENCE, read_first(&mut client, &mut begun)).await;
    let client = Prefixed { prefix: Bytes::from(begun), inner: client };
    let authority = plain.authority.clone();
    match (first, authority_of(&connection)) {
        (Ok(Ok(First::Http1)), _) => open(connection, client, upstream, plain, Protocol::Http1).await,
        (Ok(Ok(First::Http2)), _) => open(connection, client, upstream, plain, Protocol::Http2).await,
        (Ok(Ok(First::Tls)), Some(authority_ca)) => {
            let target = Target::new(Scheme::Https, authority);
            intercept(connection, client, upstream, target, &authority_ca).await;
        }
        (Ok(Err(_)), _) => {}
        (first, _) => {
            if matches!(first, Ok(Ok(First::Tls))) {
                connection.shared().warn_once(Warning::Tunnelled { host: plain.authority.to_string() });
            }
            pass_through(connection, client, upstream).await;
        }
    }
}

fn authority_of(connection: &ClientConnection) -> Option<Arc<super::ca::CertificateAuthority>> {
    match &connection.listener().route {
        Route::Forward(forward) => forward.intercept.clone(),
        Route::Reverse(_) => None,
    }
}

/// Reads until it is clear what is being spoken.
async fn read_first(client: &mut (impl AsyncRead + Unpin), begun: &mut Vec<u8>) -> io::Result<First> {
    loop {
        if client.read_buf(begun).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(first) = First::of(begun) {
            return Ok(first);
        }
    }
}

/// Serves the HTTP in a tunnel, over the connection that was made for it.
async fn open(
    connection: Arc<ClientConnection>,
    client: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    upstream: TcpStream,
    target: Target,
    protocol: Protocol,
) {
    let target = Arc::new(target);
    let speak = if protocol == Protocol::Http1 { Speak::Http1 } else { Speak::PreferHttp2 };
    let shared = Arc::clone(connection.shared());
    let sender = shared.connector.upgrade(upstream, &target, speak).await;
    let inner = ClientConnection::new(
        Arc::clone(&shared),
        Arc::clone(connection.listener_handle()),
        connection.peer(),
        protocol,
        Scope::Tunnel(Arc::clone(&target)),
        Arc::clone(connection.counted()),
    );
    // If it failed, the first request tells.
    if let Ok(sender) = sender {
        inner.keep_sender(&target, sender, headers::KEEP_ALIVE_UNSAID);
    }
    let drain = shared.drain();
    inner.serve(client, protocol, drain).await;
}

async fn intercept(
    connection: Arc<ClientConnection>,
    client: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    upstream: TcpStream,
    target: Target,
    authority: &super::ca::CertificateAuthority,
) {
    let host = target.authority.host().trim_matches(['[', ']']).to_owned();
    let accepted = match authority.server_config(&host, std::time::SystemTime::now()) {
        Ok(config) => TlsAcceptor::from(config).accept(client).await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match accepted {
        Ok(client) => {
            let protocol = match client.get_ref().1.alpn_protocol() {
                Some(b"h2") => Protocol::Http2,
                _ => Protocol::Http1,
            };
            open(connection, client, upstream, target, protocol).await;
        }
        Err(reason) => connection.shared().warn_once(Warning::NotIntercepted { host, reason }),
    }
}

async fn pass_through(
    connection: Arc<ClientConnection>,
    mut client: impl AsyncRead + AsyncWrite + Unpin,
    mut upstream: TcpStream,
) {
    // Either side may go when it likes.
    let _ = tokio::io::copy_bidirectional(&mut client, &mut upstream).await;
    connection.shared().count(Ended::Upgraded);
}

/// A stream of which some bytes were read already.
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
        let check = |bytes: &[u8], expected| assert_eq!(First::of(bytes), expected, "{bytes:?}");
        check(b"", None);
        check(b"P", None);
        check(b"PRI * HTTP/2.0", None);
        check(PREFACE, Some(First::Http2));
        check(b"PO", Some(First::Http1));
        check(b"GET / HTTP/1.1", Some(First::Http1));
        check(&[0x16, 3, 1], Some(First::Tls));
        check(b"SSH-2.0", Some(First::Other));
        check(b"\0\0", Some(First::Other));
    }
}
