//! What is written: rows that own what they need, and no payloads.

use crate::event::{ChangeType, EventId, SchemaItem};
use serde::Serialize;
use std::sync::Arc;
use wiretape_analyze::call::Outcome;

/// Something to write.
#[derive(Debug, Clone)]
pub enum Row {
    /// A call has ended.
    Call(Box<CallRow>),
    /// A session has begun, or more is known of it.
    Session(Box<SessionRow>),
    /// A session has ended.
    SessionEnd {
        /// Which.
        session: SessionKey,
        /// When, in milliseconds since 1970.
        time: i64,
    },
    /// A server's list is new, or has changed.
    Schema(SchemaRow),
    /// A browser has blocked something.
    Violation(ViolationRow),
    /// The lines of a trace are being loaded, or all are.
    Trace {
        /// Its id.
        id: Arc<str>,
        /// When, in milliseconds since 1970.
        time: i64,
        /// Whether all of it was loaded.
        progress: Progress,
    },
}

/// How far a trace was loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More is to come, or the program ended in the middle.
    Begun,
    /// All of it is there.
    Complete,
    /// The proxy that wrote it has told of its calls, and of those in its later parts.
    Told,
}

impl Progress {
    /// As it is in the store.
    pub(super) fn code(self) -> i64 {
        match self {
            Progress::Begun => 0,
            Progress::Complete => 1,
            Progress::Told => 2,
        }
    }

    pub(super) fn of(code: i64) -> Self {
        match code {
            0 => Progress::Begun,
            2 => Progress::Told,
            _ => Progress::Complete,
        }
    }
}

/// A call.
#[derive(Debug, Clone)]
pub struct CallRow {
    /// When it began, in milliseconds since 1970.
    pub time: i64,
    /// What was called, and where.
    pub operation: Operation,
    /// The session, if there is one.
    pub session: Option<SessionKey>,
    /// The trace that it is recorded in.
    pub trace: Option<Arc<str>>,
    /// How it went.
    pub status: Outcome,
    /// From the request to the end of the answer, or until it was given up.
    pub latency_us: Option<u64>,
    /// How much of it the server took.
    pub upstream_us: Option<u64>,
    /// From the request to the first byte of the answer's body.
    pub first_byte_us: Option<u64>,
    /// The request's length.
    pub request_bytes: u64,
    /// The answer's length.
    pub response_bytes: u64,
    /// The status of HTTP.
    pub http_status: Option<u16>,
    /// The code of a JSON-RPC error.
    pub error_code: Option<i64>,
    /// What went wrong, in words.
    pub error_message: Option<String>,
    /// The JSON-RPC id, as text; empty if there is none.
    pub request_id: String,
    /// The path, where no method of MCP was called.
    pub path: Option<String>,
    /// The resource's URI or the prompt's name, where it is for one.
    pub subject: Option<String>,
    /// The event that told of it.
    pub event: Option<EventId>,
}

/// What calls have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Operation {
    /// The server.
    pub server: Arc<str>,
    /// The listener, if it came through one.
    pub listener: Option<Arc<str>>,
    /// How client and server are connected.
    pub transport: Transport,
    /// What kind of request it is.
    pub kind: Kind,
    /// The method of JSON-RPC, or that of HTTP.
    pub method: Arc<str>,
    /// The tool.
    pub tool: Option<Arc<str>>,
}

/// How client and server are connected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// By HTTP.
    Http,
    /// By pipes.
    #[default]
    Stdio,
}

impl Transport {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Http => "http",
            Transport::Stdio => "stdio",
        }
    }
}

/// What kind of request it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// One JSON-RPC message.
    Mcp,
    /// One message of several at once.
    Batch,
    /// Anything else.
    Http,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Mcp, Kind::Batch, Kind::Http];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Mcp => "mcp",
            Kind::Batch => "batch",
            Kind::Http => "http",
        }
    }
}

impl Operation {
    /// Whether it is a client's request. The rest is plumbing: streams that a GET opens, DELETE, notifications, and what a
    /// client answers to the server's own requests.
    pub fn is_call(&self) -> bool {
        self.kind != Kind::Http && !self.method.is_empty() && !self.method.starts_with("notifications/")
    }
}

/// The same as [`Operation::is_call`], in the columns of `operation`.
pub(super) const IS_CALL: &str = "kind != 'http' AND method != '' AND method NOT LIKE 'notifications/%'";

/// What tells a session from all others: two servers may give the same id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionKey {
    /// The server.
    pub server: Arc<str>,
    /// The session's id.
    pub id: Arc<str>,
}

/// A session. What is unknown leaves what was known before.
#[derive(Debug, Clone)]
pub struct SessionRow {
    /// Which.
    pub key: SessionKey,
    /// When it began, in milliseconds since 1970.
    pub started: i64,
    /// The listener, if it came through one.
    pub listener: Option<Arc<str>>,
    /// How client and server are connected.
    pub transport: Transport,
    /// The client's name.
    pub client_name: Option<String>,
    /// The client's version.
    pub client_version: Option<String>,
    /// The client's platform.
    pub client_platform: Option<String>,
    /// The revision of MCP.
    pub protocol_version: Option<Arc<str>>,
    /// The server's name, as it says itself.
    pub server_name: Option<String>,
    /// The server's version, as it says itself.
    pub server_version: Option<String>,
    /// The trace that it is recorded in.
    pub trace: Option<Arc<str>>,
}

/// Entries of a server's list that are new or have changed.
#[derive(Debug, Clone)]
pub struct SchemaRow {
    /// When, in milliseconds since 1970.
    pub time: i64,
    /// The server.
    pub server: Arc<str>,
    /// Which list.
    pub method: &'static str,
    /// The session in which it was seen.
    pub session: Option<Arc<str>>,
    /// What has happened to them.
    pub change: ChangeType,
    /// The entries.
    pub items: Vec<SchemaItem>,
}

/// A browser has blocked something.
#[derive(Debug, Clone)]
pub struct ViolationRow {
    /// When, in milliseconds since 1970.
    pub time: i64,
    /// The server.
    pub server: Arc<str>,
    /// The session, if it is known.
    pub session: Option<Arc<str>>,
    /// What was blocked.
    pub blocked_uri: String,
    /// The directive that forbids it.
    pub directive: String,
}

/// The number of an outcome in the store; never given to another.
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

/// The outcome with this number in the store.
pub(super) fn status_of(code: i64) -> Outcome {
    let known = Outcome::ALL.into_iter().find(|outcome| status_code(*outcome) == code);
    // A later version may know more of them.
    known.unwrap_or(Outcome::Unanswered)
}

/// The beginning of a text that may be long.
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
