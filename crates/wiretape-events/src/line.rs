//! The lines of `--events`: a small, flat form of the same observations as the events, for scripts. Their
//! fields are a contract with other programs, too. The doc comments are the descriptions in the generated
//! schema (`docs/schemas`).

use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

/// One line of `--events`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Line {
    /// When it happened: ISO 8601 in UTC, with milliseconds.
    pub ts: String,
    /// The type of the line, and the fields of that type.
    #[serde(flatten)]
    pub what: LineWhat,
    /// The session's id; empty if there is none.
    pub session: Arc<str>,
    /// The server's URL, without a path.
    pub upstream: Arc<str>,
    /// Whether the proxy added its Content-Security-Policy to the response.
    pub csp_applied: bool,
}

/// What happened, with the fields that only this type of line has.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LineWhat {
    /// A tool was called.
    ToolCall {
        /// Always `tools/call`.
        method: &'static str,
        /// The name of the tool.
        tool: Arc<str>,
        /// From the request to the end of the response, in milliseconds.
        latency_ms: f64,
        /// `ok`, or `error` for every other outcome.
        status: &'static str,
        /// The user according to the access token, if known.
        user: Option<String>,
        /// If the status is `error`: the JSON-RPC error code, else an HTTP status of 400 or more, else 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_code: Option<i64>,
        /// If the status is `error`: what went wrong, human-readable.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// The list of tools was requested.
    ToolList {
        /// Always `tools/list`.
        method: &'static str,
        /// From the request to the end of the response, in milliseconds.
        latency_ms: f64,
        /// `ok`, or `error` for every other outcome.
        status: &'static str,
        /// As for a tool call.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_code: Option<i64>,
        /// As for a tool call.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// A session has started.
    SessionStart,
    /// A session has ended: the client ended it, it was idle for too long, or the proxy was stopped.
    SessionEnd,
    /// An HTML page or widget was served.
    WidgetServe {
        /// The path of the page or widget.
        path: String,
    },
    /// A browser blocked something because of a Content-Security-Policy.
    CspViolation {
        /// The blocked URI, as the browser reports it.
        blocked_uri: String,
        /// The directive that blocked it.
        directive: String,
    },
}
