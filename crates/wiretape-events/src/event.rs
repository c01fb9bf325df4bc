//! The four events. Their fields are a contract with other programs: fields may be added, but none may
//! change. The doc comments are the descriptions in the generated schema (`docs/schemas`).

use crate::raw::Raw;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wiretape_analyze::call::Outcome;

/// The version of the event schema, which every event has as `v`.
pub const VERSION: u64 = 1;

/// One of the four events, distinguished by `type`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A request has ended.
    Request(Box<RequestEvent>),
    /// A session has started.
    Session(SessionEvent),
    /// A server's list of tools, resources or prompts is new or has changed.
    Schema(SchemaEvent),
    /// The periodic status of the proxy.
    Heartbeat(HeartbeatEvent),
}

impl Event {
    /// The event's unique id.
    pub fn id(&self) -> &EventId {
        match self {
            Event::Request(event) => &event.event_id,
            Event::Session(event) => &event.event_id,
            Event::Schema(event) => &event.event_id,
            Event::Heartbeat(event) => &event.event_id,
        }
    }

    /// About how many bytes the event keeps allocated: its messages, which share the buffers they were read
    /// into.
    pub(crate) fn weight(&self) -> usize {
        let raw = |raw: &Raw| raw.as_bytes().len();
        match self {
            Event::Request(event) => event.weight(),
            Event::Schema(event) => event.items.iter().map(|item| raw(&item.definition)).sum(),
            Event::Session(_) | Event::Heartbeat(_) => 0,
        }
    }
}

/// A request that has ended, successfully or not.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RequestEvent {
    /// The version of the event schema.
    pub v: u64,
    /// The event's unique id.
    pub event_id: EventId,
    /// The JSON-RPC id, as text; for a batch, that of its first request; a UUID if there is none.
    pub request_id: String,
    /// When the exchange ended, in milliseconds since 1970.
    pub ts: i64,
    /// The request, as far as it is logged.
    pub request: LoggedRequest,
    /// The response; null if the server did not respond, or not completely.
    pub response: Option<LoggedResponse>,
    /// From the request's head to the end of the response, in microseconds.
    pub latency_us: u64,
    /// The duration of the call, in microseconds, as the analysis of a trace has it: from the request's message
    /// to its answer or, without one, to the end. The store needs it; the event schema doesn't have it.
    #[serde(skip)]
    pub call_us: u64,
    /// How long the server had the request, in microseconds; 0 if it was not reached.
    pub upstream_us: u64,
    /// The stages of the exchange; their durations add up to `latency_us`.
    pub spans: Vec<Span>,
    /// User metadata sent by ChatGPT: the members of `_meta` that begin with `openai/`, without the
    /// prefix.
    pub openai: Option<Raw>,
    /// When the request arrived, in milliseconds since 1970.
    pub started_at: i64,
    /// From the request's head to the first byte of the response's body, in microseconds.
    pub first_byte_us: Option<u64>,
    /// How the request ended.
    #[serde(serialize_with = "as_status")]
    #[schemars(with = "Status")]
    pub status: Outcome,
    /// The JSON-RPC error code.
    pub error_code: Option<i64>,
    /// What went wrong, human-readable.
    pub error_message: Option<String>,
    /// The length of the request's body on the wire, in bytes.
    pub request_bytes: u64,
    /// The length of the response's body on the wire, in bytes.
    pub response_bytes: u64,
    /// The session's id, or the name of the proxy's own grouping if there are no sessions.
    pub session: Option<Arc<str>>,
    /// The MCP revision, if known.
    pub protocol_version: Option<Arc<str>>,
    /// The name of the listener that received it.
    pub listener: Arc<str>,
    /// The server's URL, without a path.
    pub upstream: Arc<str>,
    /// Whether the proxy added its Content-Security-Policy to the response.
    pub csp_applied: bool,
    /// The id of the trace it is recorded in.
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

/// The name of a stage, and its duration in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Span(pub &'static str, pub u64);

/// How a request ended, in the terms of the event schema. Everything else uses [`Outcome`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It has a result, or a successful HTTP status.
    Ok,
    /// The tool reported an error.
    ToolError,
    /// The response is a JSON-RPC error.
    ProtocolError,
    /// The response is an HTTP error, or the server could not be reached.
    HttpError,
    /// The client cancelled it.
    Cancelled,
    /// The client or the proxy stopped waiting.
    Timeout,
    /// The client disconnected before the response was complete.
    Disconnected,
}

impl From<Outcome> for Status {
    /// The event schema's name for an outcome. It has none for a server that broke off, or for a request that
    /// was never answered; both become `HttpError`.
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

/// A request, by what its body contains.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LoggedRequest {
    /// A single JSON-RPC message.
    Mcp {
        /// The HTTP method, such as `POST`.
        method: Arc<str>,
        /// The request's path, without the query.
        path: String,
        /// The JSON-RPC method; empty if the message has none.
        mcp_method: Arc<str>,
        /// The name of the called tool.
        tool: Option<Arc<str>>,
        /// The request's head: its method, target and headers.
        parts: Option<Raw>,
        /// The JSON-RPC message, redacted; long parameters are omitted.
        message: Raw,
    },
    /// A JSON-RPC batch: an array of messages.
    McpBatch {
        /// The HTTP method, such as `POST`.
        method: Arc<str>,
        /// The request's path, without the query.
        path: String,
        /// The request's head: its method, target and headers.
        parts: Option<Raw>,
        /// The messages of the batch.
        messages: Vec<LoggedCall>,
    },
    /// A request without a JSON-RPC message.
    Http {
        /// The HTTP method, such as `GET`.
        method: Arc<str>,
        /// The request's path and query.
        uri: String,
        /// The length of the request's body, in bytes.
        body_size: u64,
    },
}

/// One message of a batch.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LoggedCall {
    /// The JSON-RPC id, as text.
    pub request_id: Option<String>,
    /// The JSON-RPC method; empty if the message has none.
    pub mcp_method: Arc<str>,
    /// The name of the called tool.
    pub tool: Option<Arc<str>>,
    /// How the call ended.
    #[serde(serialize_with = "as_status")]
    #[schemars(with = "Status")]
    pub status: Outcome,
    /// The JSON-RPC error code.
    pub error_code: Option<i64>,
    /// What went wrong, human-readable.
    pub error_message: Option<String>,
    /// The JSON-RPC message, redacted; long parameters are omitted.
    pub message: Raw,
    /// The length of the message, in bytes.
    pub request_bytes: u64,
    /// The length of its response, in bytes; 0 if there is none.
    pub response_bytes: u64,
}

/// A response, by what its body contains.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LoggedResponse {
    /// A single JSON-RPC message.
    Mcp {
        /// The HTTP status code.
        status: u16,
        /// `ok`, or `error` if the message is an error.
        result: &'static str,
        /// The response's head: its status and headers.
        parts: Option<Raw>,
        /// The JSON-RPC message, redacted; long results are omitted.
        message: Raw,
    },
    /// A JSON-RPC batch: an array of messages.
    McpBatch {
        /// The HTTP status code.
        status: u16,
        /// `ok`, or `error` if one of the messages is an error.
        result: &'static str,
        /// The response's head: its status and headers.
        parts: Option<Raw>,
        /// The messages of the batch.
        messages: Vec<Raw>,
    },
    /// A response without a JSON-RPC message.
    Http {
        /// The HTTP status code.
        status: u16,
        /// The length of the response's body, in bytes.
        body_size: u64,
    },
}

/// A session that has started.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionEvent {
    /// The version of the event schema.
    pub v: u64,
    /// The event's unique id.
    pub event_id: EventId,
    /// When the exchange that began the session ended, in milliseconds since 1970.
    pub ts: i64,
    /// When its first request arrived, in milliseconds since 1970.
    pub started_at: i64,
    /// The session's id, or the name of the proxy's own grouping if there are no sessions.
    pub session_id: Arc<str>,
    /// The client's name, from its introduction.
    pub client_name: Option<String>,
    /// The client's version, from its introduction.
    pub client_version: Option<String>,
    /// The client's platform, if it or the browser says.
    pub client_platform: Option<String>,
    /// The server's URL, without a path.
    pub upstream: Arc<str>,
    /// The MCP revision that was agreed on.
    pub protocol_version: Option<Arc<str>>,
    /// The server's name, from its introduction.
    pub server_name: Option<String>,
    /// The server's version, from its introduction.
    pub server_version: Option<String>,
    /// The name of the listener that received it.
    pub listener: Arc<str>,
    /// The id of the trace it is recorded in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Arc<str>>,
}

/// A server's list that is new or has changed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SchemaEvent {
    /// The version of the event schema.
    pub v: u64,
    /// The event's unique id.
    pub event_id: EventId,
    /// When the exchange ended in which the change was observed, in milliseconds since 1970.
    pub ts: i64,
    /// The method that lists it, such as `tools/list`.
    pub mcp_method: &'static str,
    /// The server's URL, without a path.
    pub upstream: Arc<str>,
    /// The entries that `change_type` applies to, as the server sent them; for `removed`, in their last form.
    pub items: Vec<SchemaItem>,
    /// How the entries changed.
    pub change_type: ChangeType,
    /// The session in which the change was observed.
    pub session: Option<Arc<str>>,
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaItem {
    /// What identifies the entry: the name of a tool or prompt, the URI of a resource or template.
    pub key: String,
    /// The entry's JSON, as the server sent it.
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
        schemars::json_schema!({ "type": "object", "description": "An entry, as the server sent it." })
    }
}

/// How entries of a list changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeType {
    /// The list was not known before.
    Initial,
    /// The entries are new.
    Added,
    /// The entries have changed.
    Modified,
    /// The entries were removed.
    Removed,
}

impl ChangeType {
    /// The name in the schema and in the store.
    pub fn name(self) -> &'static str {
        match self {
            ChangeType::Initial => "initial",
            ChangeType::Added => "added",
            ChangeType::Modified => "modified",
            ChangeType::Removed => "removed",
        }
    }
}

/// The periodic status of the proxy.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HeartbeatEvent {
    /// The version of the event schema.
    pub v: u64,
    /// The event's unique id.
    pub event_id: EventId,
    /// When the event was created, in milliseconds since 1970.
    pub ts: i64,
    /// `running` if the server accepts connections, `unreachable` if not, `unknown` if there is no single
    /// server.
    pub mcp_status: &'static str,
    /// Always `disabled`: there are no tunnels.
    pub tunnel_status: &'static str,
    /// Always null, because there are no tunnels.
    pub tunnel_address: Option<String>,
    /// The server's URL, without a path.
    pub upstream: Arc<str>,
    /// The port that the proxy listens on.
    pub export_port: u16,
    /// The name of the listener.
    pub listener: Arc<str>,
    /// Requests that have ended since the proxy was started, on all listeners.
    pub requests: u64,
    /// Seconds since the proxy was started.
    pub uptime_s: u64,
    /// The status of the sinks.
    pub sinks: Vec<SinkStatus>,
}

/// The status of a sink.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SinkStatus {
    /// The name of the sink.
    pub name: String,
    /// The number of signals it has accepted.
    pub taken: u64,
    /// The number of signals that are waiting or not completed yet.
    pub queued: u64,
    /// The number of signals that were dropped because it couldn't keep up, or lost.
    pub dropped: u64,
}

/// A unique id: a number for the run of the program or for the trace, and the number of the event in it. Unique without
/// coordination, and cheaper than a UUID for each event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventId {
    run: u64,
    number: u64,
}

impl EventId {
    /// Parses the text that `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (run, number) = text.split_once('-')?;
        Some(EventId {
            run: u64::from_str_radix(run, 16).ok()?,
            number: u64::from_str_radix(number, 16).ok()?,
        })
    }

    /// The two numbers, for storing: the run, and the event in it.
    pub fn parts(self) -> (u64, u64) {
        (self.run, self.number)
    }

    /// The id of the one event about an exchange that is recorded in a trace. The proxy and everyone who loads the trace
    /// arrive at the same.
    pub fn of_exchange(trace: &str, x: u64) -> Self {
        EventId { run: hash(trace), number: x }
    }

    /// The id of a call that no exchange carries, by its number in the recording. The same however often and
    /// wherever the recording is loaded.
    pub fn of_call(trace: &str, number: u64) -> Self {
        // The bit keeps these apart from the exchanges of the same trace.
        EventId { run: hash(trace), number: 1 << 62 | number }
    }

    /// A UUID of this event, for what has no id of its own.
    pub(crate) fn uuid(self) -> uuid::Uuid {
        uuid::Builder::from_custom_bytes((u128::from(self.run) << 64 | u128::from(self.number)).to_be_bytes())
            .into_uuid()
    }

    /// The inverse of [`parts`](Self::parts).
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
            "description": "The event's unique id."
        })
    }
}

/// FNV-1a, 64 bits. Unlike the standard library's, it is the same in every version and on every machine. The names it is
/// for are UUIDs, random already.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Generates the ids of events.
#[derive(Debug)]
pub struct EventIds {
    run: u64,
    next: AtomicU64,
}

impl EventIds {
    /// A generator for this run of the program.
    pub fn new() -> Self {
        // 64 random bits make it unlikely that two runs on one store ever share a number.
        let mut run = [0; 8];
        // Without randomness the time and the process have to do.
        let run = match getrandom::fill(&mut run) {
            Ok(()) => u64::from_le_bytes(run),
            Err(_) => jiff::Timestamp::now().as_nanosecond() as u64 ^ u64::from(std::process::id()) << 48,
        };
        EventIds { run, next: AtomicU64::new(1) }
    }

    /// The next id. Ids increase within a run.
    pub fn next(&self) -> EventId {
        EventId { run: self.run, number: self.next.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Default for EventIds {
    fn default() -> Self {
        Self::new()
    }
}
