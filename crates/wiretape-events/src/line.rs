//! The lines of `--events`. Their fields are a promise to other programs, too.

use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

/// One line.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Line {
    /// When, as ISO 8601 in UTC with milliseconds.
    pub ts: String,
    /// What.
    #[serde(flatten)]
    pub what: LineWhat,
    /// The session; empty if there is none.
    pub session: Arc<str>,
    /// The server.
    pub upstream: Arc<str>,
    /// Whether a Content-Security-Policy of ours was put into the answer.
    pub csp_applied: bool,
}

/// What a line tells of.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LineWhat {
    /// A tool was called.
    ToolCall {
        /// `tools/call`.
        method: &'static str,
        /// The tool.
        tool: Arc<str>,
        /// From the request to the end of the answer, in milliseconds.
        latency_ms: f64,
        /// `ok` or `error`.
        status: &'static str,
        /// Who called, where that is known.
        user: Option<String>,
        /// If the status is `error`: the code of the JSON-RPC error, else an HTTP status of 400 or more, else 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_code: Option<i64>,
        /// If the status is `error`: what went wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// The list of tools was asked for.
    ToolList {
        /// `tools/list`.
        method: &'static str,
        /// From the request to the end of the answer, in milliseconds.
        latency_ms: f64,
        /// `ok` or `error`.
        status: &'static str,
        /// As of a call.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_code: Option<i64>,
        /// As of a call.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// A session has begun.
    SessionStart,
    /// A session has ended: the client said so, nothing was heard of it for long, or the proxy ended.
    SessionEnd,
    /// HTML was served.
    WidgetServe {
        /// Its path.
        path: String,
    },
    /// A browser has blocked something.
    CspViolation {
        /// What was blocked.
        blocked_uri: String,
        /// The directive that forbids it.
        directive: String,
    },
}
