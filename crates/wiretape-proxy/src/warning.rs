//! What the user should know while a recording runs.

use crate::live::LiveError;
use std::path::PathBuf;
use std::sync::Arc;

/// Takes warnings; from any thread, and at most a few times.
pub type Warn = Arc<dyn WarnFn>;

/// A function that takes warnings.
pub trait WarnFn: Fn(Warning) + Send + Sync {}
impl<F: Fn(Warning) + Send + Sync> WarnFn for F {}

impl std::fmt::Debug for dyn WarnFn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WarnFn")
    }
}

/// What the user should know while a recording runs. The traffic goes on in every case.
#[derive(Debug, thiserror::Error)]
pub enum Warning {
    /// The trace can't be written.
    #[error("can't write the trace {}: {reason}; the session goes on unrecorded until that is mended", path.display())]
    CannotWrite {
        /// Which file or folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The trace's file is gone.
    #[error("the trace file was deleted while it was being written; recording goes on in a new one")]
    Deleted,
    /// The server wrote something that is no message.
    #[error(
        "line {line} of the server's stdout is not JSON, which MCP forbids; it was passed on and recorded as text: {text:?}"
    )]
    NotJson {
        /// Which line.
        line: u64,
        /// The beginning of it, redacted.
        text: String,
    },
    /// A server that is reached over HTTP does not answer.
    #[error("{message}")]
    Bridge {
        /// Why, and what to do.
        message: String,
    },
    /// Every request to an upstream is refused until somebody who runs the proxy does something.
    #[error("{message}")]
    Upstream {
        /// Why, and what to do.
        message: String,
    },
    /// The trace can be watched.
    #[error("live at {url}")]
    Live {
        /// Where.
        url: String,
    },
    /// Connections can't be accepted.
    #[error("can't accept connections: {reason}; trying again")]
    CannotAccept {
        /// Why.
        reason: String,
    },
    /// TLS passes unread.
    #[error("HTTPS to {host} passes through unread; to record it, see `wiretape ca` and use --intercept")]
    Tunnelled {
        /// To where.
        host: String,
    },
    /// TLS could not be intercepted.
    #[error(
        "can't read HTTPS to {host}: {reason}; does the client trust the certificate that `wiretape ca` shows?"
    )]
    NotIntercepted {
        /// To where.
        host: String,
        /// Why.
        reason: String,
    },
    /// A login through us may fail in strict clients.
    #[error(
        "the authorization server puts its own name (`iss`) into its answers; a client that compares it may refuse the login through this proxy: then use `wiretape proxy --forward`"
    )]
    IssuerWillDiffer,
    /// Browsers report more than anybody can read.
    #[error("pages break their Content-Security-Policy so often that some reports are left out")]
    ReportsDropped,
    /// The trace can't be watched.
    #[error("can't show the trace live: {0}; recording goes on without")]
    CannotServe(LiveError),
}
