//! The options of a proxy: listeners, upstreams, limits.

mod credentials;
pub mod csp;

pub use credentials::{Credentials, CredentialsError};

use crate::http::target::UpstreamUrl;
use crate::journal::JournalOptions;
use crate::warning::Warn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use wiretape_events::TransactionSink;
use wiretape_events::sink::RequestMetrics;
use wiretape_trace::redact::Redactor;

/// The options of `wiretape proxy`.
pub struct ProxyOptions {
    /// The addresses to listen on, and the upstreams behind them.
    pub listeners: Vec<ListenerOptions>,
    /// The admin port, if there is one.
    pub admin: Option<AdminOptions>,
    /// Sizes, counts and timeouts.
    pub limits: Limits,
    /// The directory and rotation of the traces; without it nothing is recorded.
    pub traces: Option<JournalOptions>,
    /// A session's trace ends when the session has been idle for this long.
    pub session_idle: Duration,
    /// Redacts secrets; without one everything is written as it is.
    pub redactor: Option<Redactor>,
    /// How long to wait for exchanges in flight when the proxy stops.
    pub drain: Duration,
    /// Called once if draining takes a while, with what it waits for.
    pub on_drain: Arc<dyn Fn(Draining) + Send + Sync>,
    /// The number of threads that serve connections.
    pub workers: usize,
    /// Receives warnings while the proxy runs.
    pub warn: Warn,
    /// Receives every finished exchange.
    pub sink: Option<Arc<dyn TransactionSink>>,
}

/// What the proxy still waits for while it stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draining {
    /// The number of requests without a response.
    pub requests: usize,
    /// The number of client connections, including those of the requests.
    pub connections: usize,
}

/// The options of the admin port.
#[derive(Debug, Clone)]
pub struct AdminOptions {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// Host names under which it may be requested, besides those that no web page can have.
    pub hosts: Vec<String>,
    /// The counters of requests and sessions.
    pub requests: Arc<RequestMetrics>,
}

/// An address to listen on, and the route of its requests.
#[derive(Debug, Clone)]
pub struct ListenerOptions {
    /// The listener's name in traces and messages.
    pub name: String,
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The destination of its requests.
    pub route: Route,
}

/// The destination of requests.
#[derive(Debug, Clone)]
pub enum Route {
    /// The one server behind a reverse proxy.
    Reverse(ReverseOptions),
    /// The server that each request names.
    Forward(ForwardOptions),
}

/// The options of a reverse proxy in front of one server.
#[derive(Debug, Clone)]
pub struct ReverseOptions {
    /// The URL of the server, as the user gave it.
    pub upstream: UpstreamUrl,
    /// How `Host` is handled.
    pub host: HostHeader,
    /// With [`HostHeader::Rewrite`]: names that clients may use for the proxy, besides those of this machine.
    pub allowed_hosts: Vec<String>,
    /// Whether OAuth is rewritten so that logins work through the proxy.
    pub oauth: OAuthRewrite,
    /// What its pages and widgets may load and reach; without rules nothing is changed.
    pub csp: Vec<csp::Rule>,
}

/// How a request's `Host` is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostHeader {
    /// Kept as the client sent it.
    Keep,
    /// Replaced by the upstream's own name.
    Rewrite,
}

/// Whether OAuth is rewritten so that logins work through a reverse proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OAuthRewrite {
    /// URLs of the upstream in its OAuth documents are replaced by ours.
    On,
    /// OAuth documents pass unchanged.
    Off,
}

/// The options of a forward proxy, which clients are configured to use, as with `HTTP_PROXY`.
#[derive(Debug, Clone, Default)]
pub struct ForwardOptions {
    /// Intercepts TLS with certificates of a local authority; without one TLS is tunneled unread.
    pub intercept: Option<Arc<crate::http::ca::CertificateAuthority>>,
    /// Whether clients may reach this machine and private networks through it.
    pub private_targets: PrivateTargets,
    /// The password that clients must give; without one, none is required.
    pub credentials: Option<Credentials>,
}

/// Whether clients may reach this machine and private networks through a forward proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrivateTargets {
    /// If the listener's address is loopback: its clients are on this machine, and can reach them anyway.
    #[default]
    FromHere,
    /// Clients anywhere may reach them: `--allow-private-targets`.
    Allowed,
}

/// The limits of a proxy.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The size of a request's body, in bytes.
    pub body: u64,
    /// The size of a request's headers, in bytes.
    pub headers: usize,
    /// The number of simultaneous client connections.
    pub connections: usize,
    /// The time for connecting to an upstream.
    pub connect: Duration,
    /// The time for receiving a request's head, and for which a connection may wait for its next request.
    pub header: Duration,
    /// The time without data in either direction after which an exchange is ended.
    pub idle: Option<Duration>,
    /// The total time of an exchange.
    pub total: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body: 128 * 1024 * 1024,
            headers: 64 * 1024,
            connections: 4096,
            connect: Duration::from_secs(10),
            // Also the time that an idle connection waits for its next request, hence longer than a head alone would
            // need.
            header: Duration::from_secs(75),
            // Streams may be silent for hours, and a proxy that ends them would be the only reason for it.
            idle: None,
            total: None,
        }
    }
}
