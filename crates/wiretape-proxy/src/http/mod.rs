//! `wiretape proxy`: HTTP servers, behind a proxy that nobody notices.
//!
//! One client connection has upstream connections of its own, one at a time for HTTP/1.1, so there is no pool to share
//! and a broken connection is the trouble of one client alone. Bodies pass frame by frame; a `tap` looks at each
//! frame on its way, and what completes a message is in the trace before that frame is passed on.
//!
//! | module | holds |
//! |---|---|
//! | `options` | what to listen on, where to send it, the limits |
//! | `server` | listeners, worker threads, signals, draining |
//! | `connection` | one client connection, in whatever version of HTTP it speaks |
//! | `relay` | one exchange: request to the upstream, response to the client |
//! | `upstream` | reaching a server: TCP, TLS, which version of HTTP it speaks |
//! | `headers` | what belongs to one hop, and may not be passed on |
//! | `body`, `tap` | bodies in passing: limits, timeouts, and what they say |
//! | `exchange` | what is known of one exchange, and which of its lines are written |
//! | `heads` | heads without their secrets |
//! | `traces` | which trace a session's lines go to |
//! | `csp` | Content-Security-Policy: of pages and of widgets |
//! | `rewrite`, `splice` | what is changed in a body, and nothing else |
//! | `decode` | gzip, deflate, br and zstd, for the recording only |
//! | `forward` | CONNECT, tunnels, interception |
//! | `login`, `oauth` | logging in through a reverse proxy: the exchange, and the decisions |
//! | `endpoint` | the `endpoint` event of HTTP+SSE |
//! | `refusal` | the proxy's own answers |
//! | `ca` | certificates for interception |
//! | `draining` | which streams end and which requests are waited for when the proxy stops |
//! | `timer` | deadlines that hardly ever come |
//! | `admin` | is it alive, is it ready |
//!
//! What is handed on when an exchange has ended is a [`wiretape_events::Transaction`].

mod admin;
pub(crate) mod body;
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
mod login;
mod oauth;
mod options;
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
    AdminOptions, ForwardOptions, HostHeader, Limits, ListenerOptions, OAuthRewrite, ProxyOptions,
    ReverseOptions, Route,
};
pub(crate) use server::Signals;
pub use server::{Bound, ProxyError, ProxyOutcome, run};
pub use upstream::{Scheme, UpstreamUrl, UrlError};
