//! Warnings for the user while a recording or a proxy runs.

use crate::live::LiveError;
use std::path::PathBuf;
use std::sync::Arc;

/// The callback for warnings. It may be called from any thread; each kind of warning is reported once or a few times.
pub type Warn = Arc<dyn WarnFn>;

/// A warning callback. The trait exists so that structs that hold a [`Warn`] can derive `Debug`.
pub trait WarnFn: Fn(Warning) + Send + Sync {}
impl<F: Fn(Warning) + Send + Sync> WarnFn for F {}

impl std::fmt::Debug for dyn WarnFn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WarnFn")
    }
}

/// A problem or an event that the user should know about. Traffic continues in every case.
#[derive(Debug, thiserror::Error)]
pub enum Warning {
    /// The trace can't be written.
    #[error("can't write the trace {}: {reason}; traffic continues, but nothing is recorded until this is fixed", path.display())]
    CannotWrite {
        /// The file or directory that can't be written.
        path: PathBuf,
        /// The operating system's message.
        reason: String,
    },
    /// The trace file was deleted during the recording.
    #[error("the trace file was deleted while it was being written; recording continues in a new file")]
    Deleted,
    /// The server wrote a line to stdout that is not JSON.
    #[error(
        "line {line} of the server's stdout is not JSON, which MCP forbids; it was passed on and recorded as text: {text:?}"
    )]
    NotJson {
        /// The line's number in the server's stdout, from 1.
        line: u64,
        /// The first 100 characters, redacted.
        text: String,
    },
    /// The server behind the bridge does not answer.
    #[error("{message}")]
    Bridge {
        /// The cause and what the user can do about it.
        message: String,
    },
    /// The proxy refuses every request to an upstream until its operator changes something.
    #[error("{message}")]
    Upstream {
        /// The cause and what the operator can do about it.
        message: String,
    },
    /// The live view was started.
    #[error("live at {url}")]
    Live {
        /// The WebSocket address for viewers, with its token.
        url: String,
    },
    /// Connections can't be accepted.
    #[error("can't accept connections: {reason}; retrying")]
    CannotAccept {
        /// The operating system's message.
        reason: String,
    },
    /// Clients on other machines start more sessions than are recorded.
    #[error("clients on other machines start too many sessions: some are not recorded; traffic continues")]
    TooManyTraces,
    /// TLS is tunneled, so its content is not recorded.
    #[error(
        "HTTPS to {host} is tunneled and not recorded; to record it, see `wiretape ca` and use --intercept"
    )]
    Tunnelled {
        /// The target of the `CONNECT`, `host:port`.
        host: String,
    },
    /// TLS could not be intercepted.
    #[error(
        "can't intercept HTTPS to {host}: {reason}; does the client trust the certificate that `wiretape ca` prints?"
    )]
    NotIntercepted {
        /// The target of the `CONNECT`, `host:port`.
        host: String,
        /// The failure of the TLS handshake with the client.
        reason: String,
    },
    /// A client that checks `iss` (RFC 9207) may refuse a login through the proxy.
    #[error(
        "the authorization server names its own issuer (`iss`) in its responses; a client that checks it may refuse the login through this proxy: in that case use `wiretape proxy --forward`"
    )]
    IssuerWillDiffer,
    /// A response exceeds a limit, so its widgets keep the policies of the server.
    #[error(
        "the Content-Security-Policy rules were not applied to a response from {origin}: {reason}; it was forwarded unchanged"
    )]
    PolicyNotApplied {
        /// The origin of the upstream.
        origin: String,
        /// The limit.
        reason: &'static str,
    },
    /// Browsers send more policy reports than are recorded.
    #[error("pages violate their Content-Security-Policy so often that some reports are dropped")]
    ReportsDropped,
    /// The live view can't be started.
    #[error("can't show the trace live: {0}; recording continues without the live view")]
    CannotServe(LiveError),
}
