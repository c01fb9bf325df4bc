//! What the proxy hands to the bus: completed exchanges, answers that arrive on other streams, policy
//! violations.
//!
//! These types are the whole interface between the proxy and this crate, so that neither depends on how the
//! other works.

use crate::event::SinkStatus;
use bytes::Bytes;
use std::net::SocketAddr;
use std::sync::Arc;
use wiretape_trace::format::{Ended, Head, Moment, Stages};
use wiretape_trace::message::{Envelope, MessageKind};

/// Receives completed exchanges: each once, from the worker that served it. Implementations must not block,
/// because the worker serves other connections too.
pub trait TransactionSink: Send + Sync {
    /// Receives an exchange once both of its bodies have ended.
    fn finished(&self, transaction: Transaction);

    /// Receives an answer that arrived on a stream opened by a GET, and not in the response to its own
    /// request.
    fn streamed(&self, answer: Streamed);

    /// Receives a report that a browser blocked something because of a policy that the proxy set.
    fn violated(&self, violation: Violation);

    /// The counters of the sinks behind it; empty if there are none.
    fn status(&self) -> Vec<SinkStatus> {
        Vec::new()
    }
}

/// An answer to a request that another exchange has sent.
#[derive(Debug, Clone)]
pub struct Streamed {
    /// The server's URL, without a path.
    pub upstream: Arc<str>,
    /// The session's name, as [`Transaction::session_name`] returns it.
    pub session: String,
    /// The JSON-RPC response, redacted.
    pub message: Bytes,
    /// When its last byte had arrived, on the clock of [`Timings::started`].
    pub at: Moment,
}

/// A browser's report that a Content-Security-Policy blocked something.
#[derive(Debug, Clone)]
pub struct Violation {
    /// The blocked URI, or a keyword such as `inline`, as the browser reports it.
    pub blocked_uri: String,
    /// The directive that blocked it, such as `script-src`.
    pub directive: String,
    /// The session that the page was served in, if known.
    pub session: Option<String>,
    /// The URL of the server whose page it was.
    pub upstream: Arc<str>,
}

/// One exchange, from the request's head to the end of both bodies. Everything in it is redacted, as in the
/// trace.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// The exchange's number, which its lines in the trace have as `x`.
    pub x: u64,
    /// The name of the listener that accepted the connection; `None` if the recording doesn't say.
    pub listener: Option<Arc<str>>,
    /// The client's address, as the socket reports it; `None` if the recording doesn't say.
    pub client: Option<SocketAddr>,
    /// The number of the client's connection, unique in this run of the proxy. Groups the requests of clients
    /// that have no session. `None` if the recording doesn't say.
    pub connection: Option<u64>,
    /// The server's URL, without a path.
    pub upstream: Arc<str>,
    /// The `Mcp-Session-Id` that either side sent.
    pub session: Option<String>,
    /// The MCP revision in the `MCP-Protocol-Version` header.
    pub protocol_version: Option<String>,
    /// The `sub` claim of the request's access token, if that is a JWT. Not verified: only the server can do that.
    pub user: Option<String>,
    /// The HTTP method of the request.
    pub method: Arc<str>,
    /// The request's path and query.
    pub target: String,
    /// The request's head, redacted as in the trace.
    pub request_head: Option<Arc<Head>>,
    /// The response's head; `None` if there was no response.
    pub response_head: Option<Arc<Head>>,
    /// The HTTP status; `None` if there was no response.
    pub status: Option<u16>,
    /// The JSON-RPC message or batch in the request's body, if it was one.
    pub request: Option<Bytes>,
    /// The last message of the response, or its batch. Of a stream, that is the answer; notifications come
    /// before it.
    pub response: Option<Bytes>,
    /// The length of the request's body on the wire, in bytes.
    pub request_bytes: u64,
    /// The length of the response's body on the wire, in bytes.
    pub response_bytes: u64,
    /// Whether events of the response had ids. Then the client may resume the stream, and the answer may
    /// arrive there.
    pub is_resumable: bool,
    /// Whether the response is HTML, that is, a page or widget.
    pub is_html: bool,
    /// Whether the proxy added its Content-Security-Policy to the response.
    pub csp_applied: bool,
    /// The id of the trace the exchange is recorded in; `None` if it isn't recorded.
    pub trace: Option<Arc<str>>,
    /// The times at which its stages were reached.
    pub timings: Timings,
    /// How the exchange ended: completely, or which side broke off.
    pub ended: Ended,
    /// What went wrong, for people; `None` if nothing did.
    pub error: Option<String>,
}

impl Transaction {
    /// The session that either side named, in a header or in the query of an HTTP+SSE endpoint.
    pub fn session_name(&self) -> Option<String> {
        self.session.clone().or_else(|| session_in(&self.target))
    }

    /// When the exchange ended, in milliseconds since 1970. Computed from the start, so that it agrees with
    /// the durations even if the clock was set in between.
    pub fn ended_ms(&self) -> i64 {
        let took = i64::try_from(self.timings.ended_us / 1000).unwrap_or(i64::MAX);
        self.timings.started.wall_ms.saturating_add(took)
    }
}

/// The session named in the query of an HTTP+SSE endpoint (2024-11-05). The specification leaves the name to
/// the server; the SDKs use these two.
pub fn session_in(target: &str) -> Option<String> {
    let (_, query) = target.split_once('?')?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(name, _)| matches!(*name, "sessionId" | "session_id"))?;
    (!value.is_empty()).then(|| value.to_owned())
}

/// Whether a message is a response, or a batch, which may contain one.
pub fn is_answer(message: &[u8]) -> bool {
    message.first() == Some(&b'[') || Envelope::scan(message).kind == MessageKind::Response
}

/// When the stages of an exchange were reached: microseconds after its request's head, except for the first
/// three, which are times of a clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timings {
    /// When the request's head was complete. The microseconds are those of a clock that all exchanges of a
    /// proxy, or of a recording, have in common.
    pub started: Moment,
    /// When the request's message was observed, in microseconds of the clock of `started`: the time of its line
    /// in the trace. `None` if the request has no message.
    pub asked_at: Option<u64>,
    /// The same for the message that answers it. A stream may stay open for long after its answer.
    pub answer_at: Option<u64>,
    /// When there was a connection to the upstream, new or reused.
    pub connected_us: Option<u64>,
    /// When the response's head was complete. `None` also if the proxy answered in the server's place.
    pub answered_us: Option<u64>,
    /// When the first byte of the response's body arrived.
    pub first_byte_us: Option<u64>,
    /// When the response's body was complete.
    pub responded_us: Option<u64>,
    /// When both bodies had ended: the duration of the exchange. If its last message is its last line in the
    /// trace, that is the time of this line.
    pub ended_us: u64,
}

impl Timings {
    /// Sets the stages before the end, as a trace records them.
    pub(crate) fn set_stages(&mut self, stages: Stages) {
        self.connected_us = stages.connected_us;
        self.answered_us = stages.answered_us;
        self.first_byte_us = stages.first_byte_us;
        self.responded_us = stages.responded_us;
    }
}
