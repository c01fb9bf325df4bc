//! `wiretape proxy`: a transparent recording proxy in front of HTTP servers.
//!
//! Each client connection has its own upstream connections, one at a time for HTTP/1.1: there is no shared pool, and a broken
//! connection affects one client only. Bodies are forwarded frame by frame. A `tap` reads each frame on its way, and a frame
//! that completes a message is forwarded after the message is in the trace. Design note 0005 has the reasons.
//!
//! | module | holds |
//! |---|---|
//! | `options` | listeners, upstreams, limits |
//! | `server` | accepting, worker threads, signals, draining |
//! | `connection` | one client connection, HTTP/1.1 or HTTP/2 |
//! | `relay` | one exchange: request to the upstream, response to the client |
//! | `upstream` | connecting to a server: TCP, TLS, protocol negotiation |
//! | `headers` | hop-by-hop headers, and lookups in the others |
//! | `body`, `tap` | forwarding bodies with limits and timeouts; reading messages from them |
//! | `exchange` | the state of one exchange, and the lines written about it |
//! | `heads` | redacted heads, cached per connection |
//! | `traces` | which trace a session's lines go to |
//! | `csp` | Content-Security-Policy of pages and widgets |
//! | `rewrite`, `splice` | changes to bodies |
//! | `decode` | gzip, deflate, br and zstd, for recording and rewriting |
//! | `forward` | CONNECT, tunnels, interception |
//! | `login`, `oauth` | OAuth through a reverse proxy: the exchanges, and the rewriting rules |
//! | `endpoint` | the `endpoint` event of HTTP+SSE |
//! | `host_guard` | which `Host` is accepted where it is replaced |
//! | `network` | which networks a target may be in |
//! | `proxy_auth` | the password of a forward proxy |
//! | `body_budget` | the memory of bodies that are being recorded |
//! | `refusal` | error responses of the proxy itself |
//! | `ca` | certificates for interception |
//! | `draining` | which streams are ended and which requests are awaited when the proxy stops |
//! | `process` | metrics of the process |
//! | `timer` | deadlines that rarely expire |
//! | `admin` | liveness, readiness and metrics |
//!
//! A finished exchange leaves as a [`wiretape_events::Transaction`].

mod admin;
pub(crate) mod body;
mod body_budget;
pub mod ca;
mod connection;
pub mod csp;
pub(crate) mod decode;
mod draining;
mod endpoint;
pub(crate) mod exchange;
mod forward;
pub(crate) mod headers;
mod heads;
mod host_guard;
mod login;
mod network;
mod oauth;
mod options;
mod process;
mod proxy_auth;
pub(crate) mod refusal;
mod relay;
mod rewrite;
mod server;
mod splice;
mod tap;
mod timer;
mod traces;
pub(crate) mod upstream;

pub use draining::Draining;
pub use options::{
    AdminOptions, ForwardOptions, HostHeader, Limits, ListenerOptions, OAuthRewrite, PrivateTargets,
    ProxyOptions, ReverseOptions, Route,
};
pub use proxy_auth::{Credentials, CredentialsError};
pub(crate) use server::Signals;
pub use server::{BoundListener, ProxyError, ProxyOutcome, run};
pub use upstream::{Scheme, UpstreamUrl, UrlError};
