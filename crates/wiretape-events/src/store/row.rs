//! The rows that can be written to the store. They own their data, because they wait in the batcher, and
//! carry no payloads.

use crate::event::{ChangeType, EventId, SchemaItem};
use serde::Serialize;
use std::sync::Arc;
use wiretape_analyze::call::Outcome;

/// One thing to write to the store.
#[derive(Debug, Clone)]
pub enum Row {
    /// A call that has ended.
    Call(Box<CallRow>),
    /// A session has begun, or more is known about it.
    Session(Box<SessionRow>),
    /// A session has ended.
    SessionEnd {
        /// The session that ended.
        session: SessionKey,
        /// When, in milliseconds since 1970.
        time: i64,
        /// If the server crashed: its exit status, and its last line on standard error.
        crash: Option<Box<str>>,
    },
    /// A server's list is new or has changed.
    Schema(SchemaRow),
    /// A browser blocked something because of a policy.
    Violation(ViolationRow),
    /// How far a trace is loaded.
    Trace {
        /// The id of the trace.
        id: Arc<str>,
        /// When, in milliseconds since 1970.
        time: i64,
        /// Whether all of it is loaded.
        progress: Progress,
    },
    /// The digest in the last line of a trace.
    TraceDigest(TraceDigest),
}

/// The digest in the last line of a trace, which vouches for the whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceDigest {
    /// The id of the trace.
    pub trace: Arc<str>,
    /// The number of the file in its recording, from 1.
    pub part: u64,
    /// The SHA-256, in hexadecimal.
    pub sha256: String,
}

/// How far a trace is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Loading has begun; it may have been interrupted, or part of it was pruned.
    Partial,
    /// The whole trace is loaded.
    Complete,
    /// The proxy that recorded the trace reported its calls itself, including those in its later parts.
    ReportedByProxy,
}

impl Progress {
    /// The value in the `complete` column.
    pub(super) fn code(self) -> i64 {
        match self {
            Progress::Partial => 0,
            Progress::Complete => 1,
            Progress::ReportedByProxy => 2,
        }
    }

    pub(super) fn of(code: i64) -> Self {
        match code {
            0 => Progress::Partial,
            2 => Progress::ReportedByProxy,
            _ => Progress::Complete,
        }
    }
}

/// A call, or a plumbing request.
#[derive(Debug, Clone)]
pub struct CallRow {
    /// When it began, in milliseconds since 1970.
    pub time: i64,
    /// What was called, on which server.
    pub operation: Operation,
    /// The session; `None` if it belongs to none.
    pub session: Option<SessionKey>,
    /// The id of the trace it is recorded in.
    pub trace: Option<Arc<str>>,
    /// The outcome of the call.
    pub status: Outcome,
    /// Microseconds from the request to the end of the answer, or until it was given up. `None` if the trace
    /// has no times.
    pub latency_us: Option<u64>,
    /// Microseconds from `time` to the end of its exchange, which may be long after its answer: its session was active
    /// until then. `None` if the trace has no times.
    pub exchange_us: Option<u64>,
    /// Microseconds during which the server had the request; `None` if not known.
    pub upstream_us: Option<u64>,
    /// Microseconds from the request to the first byte of the response's body.
    pub first_byte_us: Option<u64>,
    /// The length of the request in bytes.
    pub request_bytes: u64,
    /// The length of the response in bytes; 0 if there is none.
    pub response_bytes: u64,
    /// The HTTP status; `None` over stdio or without a response.
    pub http_status: Option<u16>,
    /// The JSON-RPC error code, if the answer is an error.
    pub error_code: Option<i64>,
    /// What went wrong, for people.
    pub error_message: Option<String>,
    /// The JSON-RPC id, as text; empty if there is none.
    pub request_id: String,
    /// The path of an HTTP request that is not an MCP message.
    pub path: Option<String>,
    /// The resource's URI or the prompt's name that the request is about.
    pub subject: Option<String>,
    /// The event that reported it, or would have. `None` if the trace has no id.
    pub event: Option<EventId>,
    /// Where the row comes from.
    pub source: RowSource,
}

/// Where a row comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowSource {
    /// A proxy reported it.
    Proxy,
    /// It was loaded from a trace.
    Trace,
}

/// What many calls have in common, stored once. Also what statistics are grouped by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Operation {
    /// The server's URL without a path, or the label of its recording.
    pub server: Arc<str>,
    /// The name of the proxy's listener; `None` over stdio.
    pub listener: Option<Arc<str>>,
    /// How client and server are connected.
    pub transport: Transport,
    /// What kind of request it is.
    pub kind: Kind,
    /// The JSON-RPC method, or the HTTP method if it is not an MCP message.
    pub method: Arc<str>,
    /// The name of the called tool.
    pub tool: Option<Arc<str>>,
}

/// How client and server are connected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Over HTTP, streamable or with the old SSE transport.
    Http,
    /// Over the pipes of a child process.
    #[default]
    Stdio,
}

impl Transport {
    /// The name in the store and in output.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Http => "http",
            Transport::Stdio => "stdio",
        }
    }
}

/// The form of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A single JSON-RPC message.
    Mcp,
    /// One message of a JSON-RPC batch.
    Batch,
    /// An HTTP request without a JSON-RPC message.
    Http,
}

impl Kind {
    /// All kinds, in a fixed order.
    pub const ALL: [Kind; 3] = [Kind::Mcp, Kind::Batch, Kind::Http];

    /// The name in the store and in output.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Mcp => "mcp",
            Kind::Batch => "batch",
            Kind::Http => "http",
        }
    }
}

impl Operation {
    /// Whether it is a client's request. Everything else is plumbing: GET streams, DELETE, notifications, and
    /// responses to the server's own requests.
    pub fn is_call(&self) -> bool {
        self.kind != Kind::Http && !self.method.is_empty() && !self.method.starts_with("notifications/")
    }
}

/// The same as [`Operation::is_call`], in the columns of `operation`.
pub(super) const IS_CALL: &str = "kind != 'http' AND method != '' AND method NOT LIKE 'notifications/%'";

/// Identifies a session. The id alone doesn't: two servers may assign the same one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionKey {
    /// The server's URL without a path, or the label of its recording.
    pub server: Arc<str>,
    /// The session's id, or the name of our grouping.
    pub id: Arc<str>,
}

/// A session. Fields that are `None` don't overwrite what the store has.
#[derive(Debug, Clone)]
pub struct SessionRow {
    /// The server and the id.
    pub key: SessionKey,
    /// When it began, in milliseconds since 1970.
    pub started: i64,
    /// The name of the proxy's listener; `None` over stdio.
    pub listener: Option<Arc<str>>,
    /// How client and server are connected.
    pub transport: Transport,
    /// The client's name, from its introduction.
    pub client_name: Option<String>,
    /// The client's version, from its introduction.
    pub client_version: Option<String>,
    /// The client's platform, if it or the browser says.
    pub client_platform: Option<String>,
    /// The MCP revision that was agreed on.
    pub protocol_version: Option<Arc<str>>,
    /// The server's name, from its introduction.
    pub server_name: Option<String>,
    /// The server's version, from its introduction.
    pub server_version: Option<String>,
    /// The id of the trace that the session was first seen in.
    pub trace: Option<Arc<str>>,
}

/// Entries of a server's list that are new or have changed.
#[derive(Debug, Clone)]
pub struct SchemaRow {
    /// When it was observed, in milliseconds since 1970.
    pub time: i64,
    /// The server's URL without a path, or the label of its recording.
    pub server: Arc<str>,
    /// The method that lists them, such as `tools/list`.
    pub method: &'static str,
    /// The session in which it was observed.
    pub session: Option<Arc<str>>,
    /// How the entries changed.
    pub change: ChangeType,
    /// The entries that changed, in the order of the list.
    pub items: Vec<SchemaItem>,
}

/// A browser's report that a Content-Security-Policy blocked something.
#[derive(Debug, Clone)]
pub struct ViolationRow {
    /// When it was reported, in milliseconds since 1970.
    pub time: i64,
    /// The URL of the server whose page it was.
    pub server: Arc<str>,
    /// The session, if it is known.
    pub session: Option<Arc<str>>,
    /// The blocked URI, as the browser reports it.
    pub blocked_uri: String,
    /// The directive that blocked it.
    pub directive: String,
}

/// The code of an outcome in the store. Codes are never reused.
pub(super) fn status_code(status: Outcome) -> i64 {
    match status {
        Outcome::Ok => 0,
        Outcome::ToolError => 1,
        Outcome::ProtocolError => 2,
        Outcome::HttpError => 3,
        Outcome::Cancelled => 4,
        Outcome::TimedOut => 5,
        Outcome::Disconnected => 6,
        Outcome::Crashed => 7,
        Outcome::Unanswered => 8,
        Outcome::Pending => 9,
    }
}

/// The outcome with this code.
pub(super) fn status_of(code: i64) -> Outcome {
    let known = Outcome::ALL.into_iter().find(|outcome| status_code(*outcome) == code);
    // A newer version may have written outcomes that this one doesn't know.
    known.unwrap_or(Outcome::Unanswered)
}

/// The text, cut to at most `max` bytes at a character boundary.
pub(super) fn bounded(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_as_it_was_written() {
        for status in Outcome::ALL {
            assert_eq!(status_of(status_code(status)), status);
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(bounded("abc", 5), "abc");
        assert_eq!(bounded("abc", 2), "ab");
        assert_eq!(bounded("aé", 2), "a");
    }
}
