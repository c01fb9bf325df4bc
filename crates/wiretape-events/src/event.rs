//! The four events. Their fields are a promise to other programs: new ones may come, none may change.

use crate::raw::Raw;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wiretape_analyze::call::Outcome;

/// The version of the events.
pub const VERSION: u64 = 1;

/// One event.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A request has come to its end.
    Request(Box<RequestEvent>),
    /// A session has begun.
    Session(SessionEvent),
    /// A server's list of tools, resources or prompts was seen, and is new or has changed.
    Schema(SchemaEvent),
    /// The proxy is there, and this is how it is.
    Heartbeat(HeartbeatEvent),
}

impl Event {
    /// Its id, unlike all others.
    pub fn id(&self) -> &EventId {
        match self {
            Event::Request(event) => &event.event_id,
            Event::Session(event) => &event.event_id,
            Event::Schema(event) => &event.event_id,
            Event::Heartbeat(event) => &event.event_id,
        }
    }

    /// About how many bytes it keeps from being freed.
    pub(crate) fn weight(&self) -> usize {
        let raw = |raw: &Raw| raw.as_bytes().len();
        match self {
            Event::Request(event) => event.weight(),
            Event::Schema(event) => event.items.iter().map(|item| raw(&item.definition)).sum(),
            Event::Session(_) | Event::Heartbeat(_) => 0,
        }
    }
}

/// A request has come to its end, well or not.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RequestEvent {
    /// The version of the events.
    pub v: u64,
    /// Unlike that of any other event.
    pub event_id: EventId,
    /// The JSON-RPC id, as text; for a batch that of its first request. What has none is given a UUID.
    pub request_id: String,
    /// When the exchange ended, in milliseconds since 1970.
    pub ts: i64,
    /// What was asked.
    pub request: LoggedRequest,
    /// What was answered; null if the server's answer never came, or not to its end.
    pub response: Option<LoggedResponse>,
    /// From the request's head to the end of the answer, in microseconds.
    pub latency_us: u64,
    /// How much of it the server took, in microseconds; 0 if it was never asked.
    pub upstream_us: u64,
    /// The stages, each with its share of `latency_us`.
    pub spans: Vec<Span>,
    /// What ChatGPT says of its user: the members of `_meta` that begin with `openai/`, without that.
    pub openai: Option<Raw>,
    /// When the request came, in milliseconds since 1970.
    pub started_at: i64,
    /// From the request's head to the first byte of the answer's body.
    pub first_byte_us: Option<u64>,
    /// How it went.
    #[serde(serialize_with = "as_status")]
    #[schemars(with = "Status")]
    pub status: Outcome,
    /// The code of a JSON-RPC error.
    pub error_code: Option<i64>,
    /// What went wrong, in words.
    pub error_message: Option<String>,
    /// The length of the request's body on the wire.
    pub request_bytes: u64,
    /// The length of the answer's body on the wire.
    pub response_bytes: u64,
    /// The session, or the proxy's own grouping where there are none.
    pub session: Option<Arc<str>>,
    /// The revision of MCP, if it is known.
    pub protocol_version: Option<Arc<str>>,
    /// The listener that it came to.
    pub listener: Arc<str>,
    /// The server.
    pub upstream: Arc<str>,
    /// Whether a Content-Security-Policy of ours was put into the answer.
    pub csp_applied: bool,
    /// The trace that it is recorded in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Arc<str>>,
}

impl RequestEvent {
    fn weight(&self) -> usize {
        let raw = |raw: &Raw| raw.as_bytes().len();
        let request = match &self.request {
            LoggedRequest::Mcp { message, .. } => raw(message),
            LoggedRequest::McpBatch { messages, .. } => messages.iter().map(|call| raw(&call.message)).sum(),
            LoggedRequest::Http { .. } => 0,
        };
        let response = match &self.response {
            Some(LoggedResponse::Mcp { message, .. }) => raw(message),
            Some(LoggedResponse::McpBatch { messages, .. }) => messages.iter().map(raw).sum(),
            Some(LoggedResponse::Http { .. }) | None => 0,
        };
        request + response
    }
}

/// A stage, and how many microseconds it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Span(pub &'static str, pub u64);

/// How a request went, in the words of the event schema. Everything else uses [`Outcome`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It has a result, or whatever HTTP calls success.
    Ok,
    /// The tool says that it failed.
    ToolError,
    /// The answer is a JSON-RPC error.
    ProtocolError,
    /// The answer is an HTTP error, or the server could not be reached.
    HttpError,
    /// The client has cancelled it.
    Cancelled,
    /// It took too long.
    Timeout,
    /// The client went away.
    Disconnected,
}

impl From<Outcome> for Status {
    /// The event schema's word for an outcome. It has no word of its own for a server that broke off, or for a request
    /// that was never answered.
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Ok => Status::Ok,
            Outcome::ToolError => Status::ToolError,
            Outcome::ProtocolError => Status::ProtocolError,
            Outcome::HttpError | Outcome::Crashed | Outcome::Unanswered => Status::HttpError,
            Outcome::Cancelled => Status::Cancelled,
            Outcome::TimedOut => Status::Timeout,
            Outcome::Disconnected | Outcome::Pending => Status::Disconnected,
        }
    }
}

fn as_status<S: serde::Serializer>(outcome: &Outcome, serializer: S) -> Result<S::Ok, S::Error> {
    Status::from(*outcome).serialize(serializer)
}

/// What was asked.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LoggedRequest {
    /// One JSON-RPC message.
    Mcp {
        /// The method of HTTP.
        method: Arc<str>,
        /// The path.
        path: String,
        /// The method of JSON-RPC; empty if the message is none with a method.
        mcp_method: Arc<str>,
        /// The tool that is called.
        tool: Option<Arc<str>>,
        /// The head of the request.
        parts: Option<Raw>,
        /// The message.
        message: Raw,
    },
    /// Several JSON-RPC messages at once.
    McpBatch {
        /// The method of HTTP.
        method: Arc<str>,
        /// The path.
        path: String,
        /// The head of the request.
        parts: Option<Raw>,
        /// The messages.
        messages: Vec<LoggedCall>,
    },
    /// Anything else.
    Http {
        /// The method.
        method: Arc<str>,
        /// The path and query.
        uri: String,
        /// The length of its body.
        body_size: u64,
    },
}

/// One message of a batch.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LoggedCall {
    /// The JSON-RPC id, as text.
    pub request_id: Option<String>,
    /// The method of JSON-RPC.
    pub mcp_method: Arc<str>,
    /// The tool that is called.
    pub tool: Option<Arc<str>>,
    /// How it went.
    #[serde(serialize_with = "as_status")]
    #[schemars(with = "Status")]
    pub status: Outcome,
    /// The code of a JSON-RPC error.
    pub error_code: Option<i64>,
    /// What went wrong, in words.
    pub error_message: Option<String>,
    /// The message.
    pub message: Raw,
    /// Its length.
    pub request_bytes: u64,
    /// The length of its answer; 0 if there is none.
    pub response_bytes: u64,
}

/// What was answered.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LoggedResponse {
    /// One JSON-RPC message.
    Mcp {
        /// The status of HTTP.
        status: u16,
        /// `ok` or `error`.
        result: &'static str,
        /// The head of the response.
        parts: Option<Raw>,
        /// The message.
        message: Raw,
    },
    /// Several JSON-RPC messages at once.
    McpBatch {
        /// The status of HTTP.
        status: u16,
        /// `ok`, or `error` if that is one of them.
        result: &'static str,
        /// The head of the response.
        parts: Option<Raw>,
        /// The messages.
        messages: Vec<Raw>,
    },
    /// Anything else.
    Http {
        /// The status.
        status: u16,
        /// The length of its body.
        body_size: u64,
    },
}

/// A session has begun.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionEvent {
    /// The version of the events.
    pub v: u64,
    /// Unlike that of any other event.
    pub event_id: EventId,
    /// When the exchange that began it ended, in milliseconds since 1970.
    pub ts: i64,
    /// When its first request came, in milliseconds since 1970.
    pub started_at: i64,
    /// The session, or the proxy's own grouping where there are none.
    pub session_id: Arc<str>,
    /// The client's name.
    pub client_name: Option<String>,
    /// The client's version.
    pub client_version: Option<String>,
    /// The client's platform.
    pub client_platform: Option<String>,
    /// The server.
    pub upstream: Arc<str>,
    /// The revision of MCP that was agreed on.
    pub protocol_version: Option<Arc<str>>,
    /// The server's name, as it says itself.
    pub server_name: Option<String>,
    /// The server's version, as it says itself.
    pub server_version: Option<String>,
    /// The listener that it came to.
    pub listener: Arc<str>,
    /// The trace that it is recorded in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Arc<str>>,
}

/// What a server offers is new, or has changed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SchemaEvent {
    /// The version of the events.
    pub v: u64,
    /// Unlike that of any other event.
    pub event_id: EventId,
    /// When the exchange ended in which it was seen, in milliseconds since 1970.
    pub ts: i64,
    /// Which list it is.
    pub mcp_method: &'static str,
    /// The server.
    pub upstream: Arc<str>,
    /// The entries of which `change_type` is true, as the server gave them; for `removed` as it gave them last.
    pub items: Vec<SchemaItem>,
    /// What has happened to them.
    pub change_type: ChangeType,
    /// The session in which it was seen.
    pub session: Option<Arc<str>>,
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaItem {
    /// What it goes by: a tool's or prompt's name, a resource's URI, a template's.
    pub key: String,
    /// The entry.
    pub definition: Raw,
}

impl Serialize for SchemaItem {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.definition.serialize(serializer)
    }
}

impl JsonSchema for SchemaItem {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SchemaItem".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "object", "description": "An entry, as the server gave it." })
    }
}

/// What has happened to entries of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeType {
    /// The list was never seen before.
    Initial,
    /// They are new.
    Added,
    /// They have changed.
    Modified,
    /// They are gone.
    Removed,
}

impl ChangeType {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ChangeType::Initial => "initial",
            ChangeType::Added => "added",
            ChangeType::Modified => "modified",
            ChangeType::Removed => "removed",
        }
    }
}

/// The proxy is there, and this is how it is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HeartbeatEvent {
    /// The version of the events.
    pub v: u64,
    /// Unlike that of any other event.
    pub event_id: EventId,
    /// When the event was made, in milliseconds since 1970.
    pub ts: i64,
    /// `running` if the server takes connections, `unreachable` if not, `unknown` where there is no one server.
    pub mcp_status: &'static str,
    /// Always `disabled`: there are no tunnels.
    pub tunnel_status: &'static str,
    /// Always null.
    pub tunnel_address: Option<String>,
    /// The server.
    pub upstream: Arc<str>,
    /// The port that the proxy listens on.
    pub export_port: u16,
    /// The listener's name.
    pub listener: Arc<str>,
    /// Requests that have come to their end since the proxy was started, at all listeners.
    pub requests: u64,
    /// Seconds since the proxy was started.
    pub uptime_s: u64,
    /// How the sinks are.
    pub sinks: Vec<SinkStatus>,
}

/// How a sink is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SinkStatus {
    /// Its name.
    pub name: String,
    /// What it has taken.
    pub taken: u64,
    /// What waits for it.
    pub queued: u64,
    /// What it never got, for it could not follow, or has lost.
    pub dropped: u64,
}

/// An id unlike all others: which run of the program, and which event of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventId {
    run: u64,
    number: u64,
}

impl EventId {
    /// From its text.
    pub fn parse(text: &str) -> Option<Self> {
        let (run, number) = text.split_once('-')?;
        Some(EventId {
            run: u64::from_str_radix(run, 16).ok()?,
            number: u64::from_str_radix(number, 16).ok()?,
        })
    }

    /// Which run of the program, and which event of it.
    pub fn parts(self) -> (u64, u64) {
        (self.run, self.number)
    }

    /// From what [`parts`](Self::parts) gives.
    pub fn from_parts(run: u64, number: u64) -> Self {
        EventId { run, number }
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{:012x}", self.run, self.number)
    }
}

impl Serialize for EventId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for EventId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EventId".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^[0-9a-f]{16}-[0-9a-f]{12,16}$",
            "description": "Unlike that of any other event."
        })
    }
}

/// Gives events their ids.
#[derive(Debug)]
pub struct EventIds {
    run: u64,
    next: AtomicU64,
}

impl EventIds {
    /// Ids for this run of the program.
    pub fn new() -> Self {
        let mut run = [0; 8];
        // Without randomness the time and the process have to do.
        let run = match getrandom::fill(&mut run) {
            Ok(()) => u64::from_le_bytes(run),
            Err(_) => jiff::Timestamp::now().as_nanosecond() as u64 ^ u64::from(std::process::id()) << 48,
        };
        EventIds { run, next: AtomicU64::new(1) }
    }

    /// The next one.
    pub fn next(&self) -> EventId {
        EventId { run: self.run, number: self.next.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Default for EventIds {
    fn default() -> Self {
        Self::new()
    }
}
