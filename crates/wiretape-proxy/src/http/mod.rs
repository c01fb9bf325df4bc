//! `wiretape proxy`: a transparent recording proxy in front of HTTP servers.
//!
//! Each client connection has its own upstream connections, one at a time for HTTP/1.1: there is no shared pool, and a broken
//! connection affects one client only. Bodies are forwarded frame by frame. A `tap` reads each frame on its way, and a frame
//! that completes a message is forwarded after the message is in the trace. Design note 0005 has the reasons.
//!
//! The folders are layers: each may use those below it in this table, and all may use the modules (`cargo xtask modules`).
//!
//! | folder | holds |
//! |---|---|
//! | `serve` | listeners, workers, signals, draining, the admin port |
//! | `relay` | forwarding: client connections, upstream connections, bodies, tunnels |
//! | `policy` | what is changed or refused: OAuth logins, Content-Security-Policy, names |
//! | `record` | what is recorded of an exchange: heads, messages, its end, which trace they go to; the counters |
//!
//! | module | holds |
//! |---|---|
//! | `options` | listeners, upstreams, limits; rules and credentials |
//! | `target`, `network` | servers, and which networks one may be in |
//! | `headers` | hop-by-hop headers, and lookups in the others |
//! | `decode` | gzip, deflate, br and zstd, for recording and rewriting |
//! | `refusal` | error responses of the proxy itself |
//! | `ca` | certificates for interception |
//!
//! A finished exchange leaves as a [`wiretape_events::Transaction`].

pub mod ca;
pub(crate) mod decode;
pub(crate) mod headers;
mod network;
mod options;
mod policy;
pub(crate) mod record;
pub(crate) mod refusal;
pub(crate) mod relay;
mod serve;
pub(crate) mod target;

pub use options::csp;
pub use options::{
    AdminOptions, Credentials, CredentialsError, Draining, ForwardOptions, HostHeader, Limits,
    ListenerOptions, OAuthRewrite, PrivateTargets, ProxyOptions, ReverseOptions, Route,
};
pub(crate) use serve::server::Signals;
pub use serve::server::{BoundListener, ProxyError, ProxyOutcome, run};
pub use target::{Scheme, UpstreamUrl, UrlError};
