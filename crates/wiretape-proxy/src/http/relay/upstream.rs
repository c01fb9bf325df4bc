//! Connecting to a server: TCP, TLS, and the negotiation of the HTTP version.

use super::body::ProxyBody;
use crate::http::headers::Hop;
use crate::http::refusal::Refusal;
use crate::http::target::{Scheme, Target, is_out_of_reach};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// The versions of HTTP that may be used with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HttpPreference {
    /// HTTP/1.1, the client's version.
    Http1,
    /// HTTP/2, the client's version, if the server supports it; otherwise HTTP/1.1.
    PreferHttp2,
}

/// The sending half of an upstream connection.
pub(crate) enum Sender {
    Http1(http1::SendRequest<ProxyBody>),
    Http2(http2::SendRequest<ProxyBody>),
}

/// Why a request failed, and the request itself if nothing of it was sent.
pub(crate) struct SendFailure {
    pub(crate) error: hyper::Error,
    pub(crate) unsent: Option<Request<ProxyBody>>,
}

impl Sender {
    /// The HTTP version of the connection.
    pub(crate) fn hop(&self) -> Hop {
        match self {
            Sender::Http1(_) => Hop::Http1,
            Sender::Http2(_) => Hop::Http2,
        }
    }

    /// Whether it is ready for a request.
    pub(crate) fn is_ready(&self) -> bool {
        match self {
            Sender::Http1(sender) => sender.is_ready(),
            Sender::Http2(sender) => sender.is_ready(),
        }
    }

    /// Waits until it is ready for a request.
    async fn ready(&mut self) -> hyper::Result<()> {
        match self {
            Sender::Http1(sender) => sender.ready().await,
            Sender::Http2(sender) => sender.ready().await,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Sender::Http1(sender) => sender.is_closed(),
            Sender::Http2(sender) => sender.is_closed(),
        }
    }

    pub(crate) async fn send(
        &mut self,
        request: Request<ProxyBody>,
    ) -> Result<Response<Incoming>, SendFailure> {
        let failure = |mut error: hyper::client::conn::TrySendError<_>| SendFailure {
            unsent: error.take_message(),
            error: error.into_error(),
        };
        match self {
            Sender::Http1(sender) => sender.try_send_request(request).await.map_err(failure),
            Sender::Http2(sender) => sender.try_send_request(request).await.map_err(failure),
        }
    }
}

/// Opens connections to servers.
pub(crate) struct Connector {
    timeout: Duration,
    /// Created on first use: loading this machine's trusted certificates is slow, and only TLS needs them.
    tls: OnceLock<Tls>,
}

struct Tls {
    http1: TlsConnector,
    http2: TlsConnector,
}

impl Connector {
    pub(crate) fn new(timeout: Duration) -> Self {
        Connector { timeout, tls: OnceLock::new() }
    }

    /// Connects to a server and performs the TLS and HTTP handshakes.
    pub(crate) async fn connect(
        &self,
        target: &Target,
        preference: HttpPreference,
    ) -> Result<Sender, Refusal> {
        self.with_timeout(target, async { self.handshake(self.tcp(target).await?, target, preference).await })
            .await
    }

    /// Connects to a server by TCP only, for a tunnel.
    pub(crate) async fn connect_bare(&self, target: &Target) -> Result<TcpStream, Refusal> {
        self.with_timeout(target, self.tcp(target)).await
    }

    /// Performs the TLS and HTTP handshakes on a TCP connection, and waits until it is ready for a request.
    pub(crate) async fn upgrade(
        &self,
        stream: TcpStream,
        target: &Target,
        preference: HttpPreference,
    ) -> Result<Sender, Refusal> {
        self.with_timeout(target, async {
            let mut sender = self.handshake(stream, target, preference).await?;
            sender.ready().await.map_err(io::Error::other)?;
            Ok(sender)
        })
        .await
    }

    async fn with_timeout<T>(
        &self,
        target: &Target,
        attempt: impl Future<Output = io::Result<T>>,
    ) -> Result<T, Refusal> {
        // Boxed, because the future of a handshake is large and rare, and that of an exchange, which would contain it, is
        // frequent.
        match tokio::time::timeout(self.timeout, Box::pin(attempt)).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) if is_unknown_issuer(&error) => Err(Refusal::untrusted(target.origin())),
            Ok(Err(error)) if is_out_of_reach(&error) => Err(Refusal::out_of_reach(target.origin())),
            Ok(Err(error)) => Err(Refusal::unreachable(target.origin(), &error.to_string())),
            Err(_) => Err(Refusal::connect_timeout(target.origin(), self.timeout.as_secs_f64())),
        }
    }

    async fn handshake(
        &self,
        stream: TcpStream,
        target: &Target,
        preference: HttpPreference,
    ) -> io::Result<Sender> {
        if target.scheme == Scheme::Http {
            return match preference == HttpPreference::PreferHttp2 && self.speaks_plain_h2(target).await {
                true => http2_over(stream).await,
                false => http1_over(stream).await,
            };
        }
        let tls = self.tls.get_or_init(Tls::new);
        let connector = if preference == HttpPreference::Http1 { &tls.http1 } else { &tls.http2 };
        let name = ServerName::try_from(target.address().0).map_err(io::Error::other)?;
        let stream = connector.connect(name, stream).await?;
        match stream.get_ref().1.alpn_protocol() {
            Some(b"h2") => http2_over(stream).await,
            _ => http1_over(stream).await,
        }
    }

    async fn tcp(&self, target: &Target) -> io::Result<TcpStream> {
        let (host, port) = target.address();
        let stream = if target.reach.is_limited() {
            // To the addresses that were checked, not to the name, which could resolve to others now.
            TcpStream::connect(target.reach.resolve(&host, port).await?.as_slice()).await?
        } else {
            TcpStream::connect((host.as_str(), port)).await?
        };
        // Messages are small and wait for an answer; Nagle's algorithm would delay them.
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Whether a server supports HTTP/2 without TLS (RFC 9113, section 3.3). Probed once, on a separate connection, because a
    /// server without it closes that.
    async fn speaks_plain_h2(&self, target: &Target) -> bool {
        if let Some(known) = target.plain_h2.get() {
            return *known;
        }
        match self.probe_h2(target).await {
            // An error is not remembered: the server may just be starting.
            Ok(answer) => *target.plain_h2.get_or_init(|| answer),
            Err(_) => false,
        }
    }

    async fn probe_h2(&self, target: &Target) -> io::Result<bool> {
        // The client preface and an empty SETTINGS frame (RFC 9113, sections 3.4 and 6.5). A server with HTTP/2 responds with
        // SETTINGS of its own; one without responds with an HTTP/1.1 error or closes.
        const EMPTY_SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
        const SETTINGS: u8 = 4;
        let mut stream = self.tcp(target).await?;
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await?;
        stream.write_all(EMPTY_SETTINGS).await?;
        let mut head = [0; 9];
        match tokio::time::timeout(Duration::from_secs(2), stream.read_exact(&mut head)).await {
            Ok(Ok(_)) => Ok(head[3] == SETTINGS && head[0] == 0),
            _ => Ok(false),
        }
    }
}

fn is_unknown_issuer(error: &io::Error) -> bool {
    use rustls::{CertificateError, Error};
    let error = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
    matches!(error, Some(Error::InvalidCertificate(CertificateError::UnknownIssuer)))
}

async fn http1_over(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> io::Result<Sender> {
    let (sender, connection) = http1::Builder::new()
        // As on the client's side (`connection.rs`), where the reasons are.
        .writev(false)
        .preserve_header_case(true)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(io::Error::other)?;
    // The task's result is not needed: the exchanges on the connection record how it ended.
    tokio::spawn(connection.with_upgrades());
    Ok(Sender::Http1(sender))
}

async fn http2_over(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> io::Result<Sender> {
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .handshake(TokioIo::new(stream))
        .await
        .map_err(io::Error::other)?;
    tokio::spawn(connection);
    Ok(Sender::Http2(sender))
}

impl Tls {
    fn new() -> Self {
        let config = |protocols: &[&[u8]]| {
            let mut config = client_config();
            config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
            TlsConnector::from(Arc::new(config))
        };
        Tls { http1: config(&[b"http/1.1"]), http2: config(&[b"h2", b"http/1.1"]) }
    }
}

fn client_config() -> rustls::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    // Certificates that can't be parsed are skipped: they are then not trusted.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the ring provider supports the default TLS versions of rustls")
        .with_root_certificates(roots)
        .with_no_client_auth()
}
