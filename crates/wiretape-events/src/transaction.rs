//! What is handed on when an exchange has ended.

use crate::event::SinkStatus;
use bytes::Bytes;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wiretape_trace::format::{Ended, Head, Moment};
use wiretape_trace::message::{Envelope, MessageKind};

/// Takes exchanges that have ended: each once, from the thread that served it. It must not wait.
pub trait TransactionSink: Send + Sync {
    /// Takes one.
    fn finished(&self, transaction: Transaction);

    /// An answer has come on a stream that a GET opened.
    fn streamed(&self, answer: Streamed);

    /// A browser has blocked something that a policy of ours forbids.
    fn violated(&self, violation: Violation);

    /// How the sinks behind it are.
    fn status(&self) -> Vec<SinkStatus> {
        Vec::new()
    }
}

/// An answer to a request that another exchange has sent.
#[derive(Debug, Clone)]
pub struct Streamed {
    /// The server.
    pub upstream: Arc<str>,
    /// The session, as [`Transaction::session_name`] has it.
    pub session: String,
    /// The answer.
    pub message: Bytes,
    /// When it came.
    pub at: Instant,
}

/// A browser has blocked something.
#[derive(Debug, Clone)]
pub struct Violation {
    /// What was blocked.
    pub blocked_uri: String,
    /// The directive that forbids it.
    pub directive: String,
    /// The session, if it is known.
    pub session: Option<String>,
    /// The server whose page it was.
    pub upstream: Arc<str>,
}

/// One exchange, from the request's head to the end of both bodies. Everything is redacted as in the trace.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// Its number; the `x` of its lines in the trace.
    pub x: u64,
    /// The listener that it came to.
    pub listener: Arc<str>,
    /// The client's address.
    pub client: SocketAddr,
    /// Which connection of a client it came on.
    pub connection: u64,
    /// The server, as a URL without a path.
    pub upstream: Arc<str>,
    /// The session, if either side named one.
    pub session: Option<String>,
    /// The revision of MCP that the request's headers name.
    pub protocol_version: Option<String>,
    /// Who asked, as far as the request's token says.
    pub user: Option<String>,
    /// The request's method.
    pub method: Arc<str>,
    /// The request's path and query.
    pub target: String,
    /// The request's head.
    pub request_head: Option<Arc<Head>>,
    /// The response's head.
    pub response_head: Option<Arc<Head>>,
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
    /// Whether events of the response had ids: then the client may resume the stream, and the answer may come there.
    pub is_resumable: bool,
    /// Whether the response is HTML.
    pub is_html: bool,
    /// Whether a Content-Security-Policy of ours was put into the response.
    pub csp_applied: bool,
    /// The id of the trace that it is recorded in.
    pub trace: Option<Arc<str>>,
    /// When things happened.
    pub timings: Timings,
    /// When it ended.
    pub ended_at: Instant,
    /// How it ended.
    pub ended: Ended,
    /// What went wrong, in words.
    pub error: Option<String>,
}

impl Transaction {
    /// The session that either side has named, by a header or by the query of an HTTP+SSE endpoint.
    pub fn session_name(&self) -> Option<String> {
        self.session.clone().or_else(|| session_in(&self.target))
    }

    /// The moment this many microseconds after its request's head had come. Unlike the wall clock's milliseconds, moments of two
    /// exchanges can be put in order.
    pub(crate) fn instant(&self, us: u64) -> Instant {
        let started = self.ended_at.checked_sub(Duration::from_micros(self.timings.ended_us));
        started.unwrap_or(self.ended_at) + Duration::from_micros(us)
    }

    /// When it ended, in milliseconds since 1970.
    pub fn ended_ms(&self) -> i64 {
        let took = i64::try_from(self.timings.ended_us / 1000).unwrap_or(i64::MAX);
        self.timings.started.wall_ms.saturating_add(took)
    }
}

/// The session that the path of an HTTP+SSE endpoint names.
pub fn session_in(target: &str) -> Option<String> {
    let (_, query) = target.split_once('?')?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(name, _)| matches!(*name, "sessionId" | "session_id"))?;
    (!value.is_empty()).then(|| value.to_owned())
}

/// Whether a message answers something, or is a batch, which may.
pub fn is_answer(message: &[u8]) -> bool {
    message.first() == Some(&b'[') || Envelope::scan(message).kind == MessageKind::Response
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
    /// The response's body had come to its end.
    pub responded_us: Option<u64>,
    /// Both bodies had ended.
    pub ended_us: u64,
}
