//! What is handed on when an exchange has ended.

use bytes::Bytes;
use std::net::SocketAddr;
use wiretape_trace::format::Moment;

/// Takes exchanges that have ended: each once, from the thread that served it. It must not wait.
pub trait TransactionSink: Send + Sync {
    /// Takes one.
    fn finished(&self, transaction: Transaction);
}

/// One exchange, from the request's head to the end of both bodies. Everything is redacted as in the trace.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// Its number; the `x` of its lines in the trace.
    pub x: u64,
    /// The listener that it came to.
    pub listener: String,
    /// The client's address.
    pub client: SocketAddr,
    /// The server, as a URL without a path.
    pub upstream: String,
    /// The session, if there is one.
    pub session: Option<String>,
    /// The request's method.
    pub method: String,
    /// The request's path and query.
    pub target: String,
    /// The response's status; none if there was no response.
    pub status: Option<u16>,
    /// The request's message or batch.
    pub request: Option<Bytes>,
    /// The last message of the response, or its batch.
    pub response: Option<Bytes>,
    /// The request body's length on the wire.
    pub request_bytes: u64,
    /// The response body's length on the wire.
    pub response_bytes: u64,
    /// When things happened.
    pub timings: Timings,
    /// How it ended.
    pub ended: Ended,
    /// What went wrong, in words.
    pub error: Option<String>,
}

/// When things happened in an exchange, in microseconds since its request's head, but for the first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timings {
    /// The request's head had come.
    pub started: Moment,
    /// There was a connection to the upstream.
    pub connected_us: Option<u64>,
    /// The response's head had come.
    pub answered_us: Option<u64>,
    /// The first byte of the response's body had come.
    pub first_byte_us: Option<u64>,
    /// Both bodies had ended.
    pub ended_us: u64,
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ended {
    /// As it should.
    #[default]
    Complete,
    /// The client went away in the middle.
    ClientClosed,
    /// The upstream went away in the middle.
    UpstreamClosed,
    /// The proxy didn't want it.
    Refused,
    /// The upstream can't be reached.
    Unreachable,
    /// It took too long.
    Timeout,
    /// It was too large.
    TooLarge,
    /// It became something else than HTTP.
    Upgraded,
    /// The proxy ended.
    Stopped,
}

impl Ended {
    /// All of them.
    pub(super) const ALL: [Ended; 9] = [
        Ended::Complete,
        Ended::ClientClosed,
        Ended::UpstreamClosed,
        Ended::Refused,
        Ended::Unreachable,
        Ended::Timeout,
        Ended::TooLarge,
        Ended::Upgraded,
        Ended::Stopped,
    ];

    /// Its name in traces.
    pub fn name(self) -> &'static str {
        match self {
            Ended::Complete => "complete",
            Ended::ClientClosed => "client-closed",
            Ended::UpstreamClosed => "upstream-closed",
            Ended::Refused => "refused",
            Ended::Unreachable => "unreachable",
            Ended::Timeout => "timeout",
            Ended::TooLarge => "too-large",
            Ended::Upgraded => "upgraded",
            Ended::Stopped => "stopped",
        }
    }
}
