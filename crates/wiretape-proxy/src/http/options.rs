//! What to listen on, where to send it, and how much of it is too much.

use super::draining::Draining;
use super::upstream::UpstreamUrl;
use crate::journal::JournalOptions;
use crate::warning::Warn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use wiretape_events::TransactionSink;
use wiretape_events::sink::RequestMetrics;
use wiretape_trace::redact::Redactor;

/// What a proxy does.
pub struct ProxyOptions {
    /// Where it listens.
    pub listeners: Vec<ListenerOptions>,
    /// Where it tells how it is; nowhere if there is none.
    pub admin: Option<AdminOptions>,
    /// How much of everything is too much.
    pub limits: Limits,
    /// Where the traces go; without it nothing is recorded.
    pub traces: Option<JournalOptions>,
    /// A session's trace ends when nothing was heard of it for so long.
    pub session_idle: Duration,
    /// Takes the secrets out; without it everything is written as it is.
    pub redactor: Option<Redactor>,
    /// How long to wait, at the end, for what is in flight.
    pub drain: Duration,
    /// Called once if stopping takes a while, with what is waited for.
    pub on_drain: Arc<dyn Fn(Draining) + Send + Sync>,
    /// Threads that serve connections.
    pub workers: usize,
    /// Called with what the user should know while the proxy runs.
    pub warn: Warn,
    /// Is given every exchange that has ended.
    pub sink: Option<Arc<dyn TransactionSink>>,
}

/// Where a proxy tells how it is.
#[derive(Debug, Clone)]
pub struct AdminOptions {
    /// The address.
    pub listen: SocketAddr,
    /// Names that it may be asked by, besides those that no web page can have.
    pub hosts: Vec<String>,
    /// What requests and sessions are counted in.
    pub requests: Arc<RequestMetrics>,
}

/// One address, and what is done with what comes there.
#[derive(Debug, Clone)]
pub struct ListenerOptions {
    /// What it is called, in traces and messages.
    pub name: String,
    /// The address.
    pub listen: SocketAddr,
    /// Where requests go.
    pub route: Route,
}

/// Where requests go.
#[derive(Debug, Clone)]
pub enum Route {
    /// To one server.
    Reverse(ReverseOptions),
    /// Where each of them says.
    Forward(ForwardOptions),
}

/// A server that we stand in front of.
#[derive(Debug, Clone)]
pub struct ReverseOptions {
    /// The server.
    pub upstream: UpstreamUrl,
    /// What becomes of `Host`.
    pub host: HostHeader,
    /// Whether OAuth is made to work through us.
    pub oauth: OAuthRewrite,
    /// What its pages and widgets may load and reach; all stays as it is if there are no rules.
    pub csp: Vec<super::csp::Rule>,
}

/// What becomes of a request's `Host`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostHeader {
    /// It stays as the client sent it.
    Keep,
    /// The upstream's own name stands there.
    Rewrite,
}

/// Whether OAuth is made to work through a reverse proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OAuthRewrite {
    /// URLs of the upstream in its OAuth documents become ours.
    On,
    /// Everything stays as it is.
    Off,
}

/// A proxy that clients are told of, as with `HTTP_PROXY`.
#[derive(Debug, Clone, Default)]
pub struct ForwardOptions {
    /// Opens TLS, with certificates of a local authority; without it TLS passes unread.
    pub intercept: Option<Arc<super::ca::CertificateAuthority>>,
}

/// How much is too much.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of a request's body.
    pub body: u64,
    /// Bytes of a request's head.
    pub headers: usize,
    /// Client connections at a time.
    pub connections: usize,
    /// How long reaching an upstream may take.
    pub connect: Duration,
    /// How long a request's head may take to arrive, and a connection may wait for the next one.
    pub header: Duration,
    /// How long an exchange may be silent, in both directions.
    pub idle: Option<Duration>,
    /// How long an exchange may take.
    pub total: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body: 128 * 1024 * 1024,
            headers: 64 * 1024,
            connections: 4096,
            connect: Duration::from_secs(10),
            header: Duration::from_secs(75),
            idle: None,
            total: None,
        }
    }
}
