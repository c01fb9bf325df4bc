//! The types of the page's API. A test generates the page's TypeScript from them, with these comments.
//!
//! Times are microseconds since 1970, durations microseconds. Calls and lines are identified by a trace and a
//! number: `trace` is the index of a trace in the requested set, from 0, in the order of the URL.

use serde::{Deserialize, Serialize};
#[cfg(test)]
use ts_rs::TS;
use wiretape_library::{PendingCall, TraceStateKind};

/// The start page: all traces.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Home {
    /// The version of Wiretape.
    pub version: String,
    /// The matching traces: those being recorded first, then the newest; at most 500.
    pub traces: Vec<TraceCard>,
    /// The number of matching traces.
    pub found: u64,
    /// The number of all traces.
    pub total: u64,
    /// Whether there is a store.
    pub has_store: bool,
    /// The keys of the traces named on the command line, which are opened at once.
    pub given: Vec<String>,
    /// Messages about files that are named like traces and can't be read.
    pub unreadable: Vec<String>,
}

/// A trace in a list.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct TraceCard {
    /// The key that identifies it in URLs.
    pub key: String,
    /// A short name for people.
    pub label: String,
    /// The name of its file.
    pub file: String,
    /// The client's name and version, once known.
    pub client: Option<String>,
    /// The server's name and version, once known.
    pub server: Option<String>,
    /// When the recording began; unknown if no line has a time.
    pub started_us: Option<i64>,
    /// Its duration, so far.
    pub duration_us: Option<u64>,
    /// The number of calls; unknown until they are counted.
    pub calls: Option<u64>,
    /// The number of failed calls.
    pub errors: Option<u64>,
    /// The number of messages in both directions.
    pub messages: Option<u64>,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// Whether it has ended, continues, or is being recorded.
    #[cfg_attr(test, ts(type = "\"ended\" | \"rotated\" | \"running\" | \"no-end\""))]
    pub state: TraceStateKind,
    /// The state in a few words, such as `exit 1`.
    pub state_text: String,
    /// How the server failed, if it did.
    pub failure: Option<ServerFailure>,
}

/// A call in flight in a running recording.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct PendingRow {
    /// The key of the trace with its request.
    pub trace: String,
    /// The label of the trace.
    pub label: String,
    /// Its number in the trace.
    pub call: u64,
    /// When the request was sent.
    pub at_us: i64,
    /// The time since then.
    pub age_us: Option<u64>,
    /// The direction of the request.
    pub direction: Dir,
    /// The JSON-RPC method.
    pub method: String,
    /// The tool of a `tools/call`.
    pub tool: Option<String>,
    /// The session's id.
    pub session: Option<String>,
    /// The number of its progress notifications.
    pub progress: u64,
}

impl From<&PendingCall> for PendingRow {
    fn from(pending: &PendingCall) -> Self {
        let call = &pending.call;
        PendingRow {
            trace: pending.entry.id().to_owned(),
            label: pending.entry.label().to_owned(),
            call: call.number,
            at_us: pending.at_us,
            age_us: call.duration_us,
            direction: call.direction.into(),
            method: call.method.to_string(),
            tool: call.tool.as_deref().map(str::to_owned),
            session: call.session.as_deref().map(str::to_owned),
            progress: call.progress,
        }
    }
}

/// A server that crashed or could not be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct ServerFailure {
    /// The exit code; unknown after some signals.
    pub exit_code: Option<i64>,
    /// The number of the client's calls that were in flight.
    pub open_calls: u64,
    /// The server's last lines on standard error, oldest first.
    pub last_stderr: Vec<String>,
}

/// The traces named by a URL.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct TraceSet {
    /// The traces, in the order of the URL.
    pub traces: Vec<TraceInfo>,
    /// When the first of them began.
    pub from_us: i64,
    /// When the last line of all of them was observed.
    pub to_us: i64,
    /// Whether this is a report, in which secrets were redacted once more.
    pub is_report: bool,
}

/// A trace, as far as it is indexed.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct TraceInfo {
    /// The key that identifies it in URLs.
    pub key: String,
    /// A short name for people.
    pub label: String,
    /// The name of its file.
    pub file: String,
    /// The client's name and version, once known.
    pub client: Option<String>,
    /// The server's name and version, once known.
    pub server: Option<String>,
    /// The MCP revision that was agreed on.
    pub revision: Option<String>,
    /// The transport: `stdio`, `http` …
    pub transport: Option<String>,
    /// The server's command or URL.
    pub command: Option<String>,
    /// When the recording began; 0 if no line has a time.
    pub started_us: i64,
    /// When its last line was observed.
    pub last_us: i64,
    /// Whether it has ended, continues, or is being recorded.
    #[cfg_attr(test, ts(type = "\"ended\" | \"rotated\" | \"running\" | \"no-end\""))]
    pub state: TraceStateKind,
    /// The state in a few words, such as `exit 1`.
    pub state_text: String,
    /// How the server failed, if it did.
    pub failure: Option<ServerFailure>,
    /// Remarks: damaged lines, lines of an unknown type, a missing end.
    pub notices: Vec<String>,
    /// The number of indexed lines.
    pub lines: u64,
    /// The number of messages.
    pub messages: u64,
    /// The number of calls.
    pub calls: u64,
    /// The number of failed calls.
    pub errors: u64,
    /// How much of it is indexed.
    pub progress: Progress,
}

/// The progress of reading something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The bytes read so far.
    pub done: u64,
    /// The bytes to read.
    pub total: u64,
    /// Whether everything was read.
    pub is_complete: bool,
}

/// A change, sent by `/api/watch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Increases with each change of the list of traces.
    pub home: u64,
    /// One for each trace of the set, in order.
    pub traces: Vec<TraceChange>,
}

/// The current extent of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct TraceChange {
    /// The number of lines.
    pub lines: u64,
    /// The number of calls.
    pub calls: u64,
    /// Increases with every change, for example when a call is answered.
    pub version: u64,
    /// How much of it is indexed.
    pub progress: Progress,
    /// The progress of the linter, once it was requested.
    pub lint: Option<Progress>,
    /// The progress of counting tokens, once it was requested.
    pub tokens: Option<Progress>,
    /// Whether it has ended, continues, or is being recorded.
    #[cfg_attr(test, ts(type = "\"ended\" | \"rotated\" | \"running\" | \"no-end\""))]
    pub state: TraceStateKind,
}

/// A page of the calls that match a filter.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct CallPage {
    /// The number of matching calls.
    pub total: u64,
    /// The number of all calls.
    pub all: u64,
    /// The index of the first row, from 0.
    pub from: u64,
    /// The rows of this page.
    pub rows: Vec<CallRow>,
}

/// A call in a list.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct CallRow {
    /// The index of its trace in the set.
    pub trace: u32,
    /// Its number in the trace: requests are counted from 1.
    pub call: u64,
    /// The line of the request, from 1.
    pub line: u64,
    /// The line of the response, from 1.
    pub response_line: Option<u64>,
    /// When the request was sent.
    pub at_us: i64,
    /// The direction of the request.
    pub direction: Dir,
    /// The request's id, as text.
    pub id: Option<String>,
    /// The `Mcp-Session-Id` of the request; none over stdio.
    pub session: Option<String>,
    /// The JSON-RPC method, such as `tools/call`.
    pub method: String,
    /// The tool of a `tools/call`.
    pub tool: Option<String>,
    /// The name of the outcome, see `docs/calls.md`.
    pub status: String,
    /// Whether the outcome is a failure.
    pub is_error: bool,
    /// Whether the call is open in a recording that is still running.
    pub is_open: bool,
    /// The JSON-RPC error code, or the HTTP status.
    pub code: Option<i64>,
    /// From the request to its outcome: the response, the cancellation, or the end of the exchange.
    pub latency_us: Option<u64>,
    /// The part of the latency during which the client waited for the user.
    pub person_us: u64,
    /// The part of the latency during which the client handled other requests of the server.
    pub client_us: u64,
    /// The size of the request in bytes.
    pub request_bytes: u64,
    /// The size of the response in bytes.
    pub response_bytes: Option<u64>,
    /// The number of its progress notifications.
    pub progress: u64,
    /// The number of requests that the other side sent during it.
    pub nested: u64,
    /// The call during which the other side sent this one.
    pub parent: Option<u64>,
    /// The first call of the operation it belongs to.
    pub operation: Option<u64>,
    /// A one-line summary of the request.
    pub about: String,
}

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
pub enum Dir {
    /// From client to server.
    In,
    /// From server to client.
    Out,
    /// The direction is not known.
    Unknown,
}

/// The calls in a range of the timeline.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// The calls in the order of their time; if there are too many, failed and long ones first.
    pub bars: Vec<Bar>,
    /// The number of calls in the range.
    pub total: u64,
}

/// A call on the timeline.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Bar {
    /// The index of its trace in the set.
    pub trace: u32,
    /// Its number in the trace.
    pub call: u64,
    /// When the request was sent.
    pub at_us: i64,
    /// Its duration; unknown if it was not answered.
    pub latency_us: Option<u64>,
    /// The name of the outcome.
    pub status: String,
    /// Whether the outcome is a failure.
    pub is_error: bool,
    /// The direction of the request.
    pub direction: Dir,
    /// The tool, or the method.
    pub name: String,
    /// The call during which the other side sent this one.
    pub parent: Option<u64>,
    /// The number of its progress notifications.
    pub progress: u64,
}

/// Activity over time: the map above the timeline.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Density {
    /// When the first bucket begins.
    pub from_us: i64,
    /// When the last bucket ends.
    pub to_us: i64,
    /// The number of calls that began, by bucket.
    pub calls: Vec<u32>,
    /// The number of these that failed, by bucket.
    pub errors: Vec<u32>,
    /// The number of stderr lines, by bucket.
    pub stderr: Vec<u32>,
}

/// A page of the lines that match a filter.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct MessagePage {
    /// The number of matching lines.
    pub total: u64,
    /// The number of all lines.
    pub all: u64,
    /// The index of the first row, from 0.
    pub from: u64,
    /// The rows of this page.
    pub rows: Vec<MessageRow>,
}

/// A line of a trace.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct MessageRow {
    /// The index of its trace in the set.
    pub trace: u32,
    /// Its number in the trace, from 1.
    pub line: u64,
    /// When it was observed.
    pub at_us: i64,
    /// The direction of the message.
    pub direction: Dir,
    /// The kind of line.
    pub kind: LineKind,
    /// The method; for a response, that of its request.
    pub method: Option<String>,
    /// The tool; for a response, that of its request.
    pub tool: Option<String>,
    /// The request's id, as text.
    pub id: Option<String>,
    /// The call that it belongs to.
    pub call: Option<u64>,
    /// For a response, the outcome of its call.
    pub status: Option<String>,
    /// Whether the outcome is a failure.
    pub is_error: bool,
    /// The size of the line in bytes.
    pub bytes: u64,
    /// A one-line summary of the content.
    pub about: String,
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "kebab-case")]
pub enum LineKind {
    /// The first line, with facts about the recording.
    Meta,
    /// A JSON-RPC message with a method and an id.
    Request,
    /// A JSON-RPC message with a result or an error.
    Response,
    /// A JSON-RPC message with a method and no id.
    Notification,
    /// An array of JSON-RPC messages.
    Batch,
    /// JSON that is not a JSON-RPC message.
    Odd,
    /// A line on the wire that is not JSON.
    Text,
    /// A line of the server's stderr.
    Stderr,
    /// Something about an HTTP exchange.
    Http,
    /// A place where lines were lost.
    Gap,
    /// The recording continues in another file.
    Rotated,
    /// The last line of a recording that has ended.
    End,
    /// A line of a type that this version doesn't know.
    Unknown,
    /// A line of the trace that is not JSON.
    Damaged,
    /// An SSE event that is not meant to be a message.
    Stream,
}

/// Everything about one call.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct CallDetail {
    /// The call, as in a list.
    pub row: CallRow,
    /// The request's JSON, and its line.
    pub request: Payload,
    /// The response's JSON, and its line; none if there was no response.
    pub response: Option<Payload>,
    /// What happened during the call, in order.
    pub meanwhile: Vec<Meanwhile>,
    /// The number of further entries, which are left out.
    pub more: u64,
    /// The requests that the other side sent during the call.
    pub nested: Vec<CallRow>,
    /// The operation that it belongs to.
    pub operation: Option<OperationView>,
    /// The linter's findings on its lines; empty until the linter, which this request starts, is done.
    pub findings: Vec<Finding>,
    /// The HTTP exchange, if it was sent over HTTP.
    pub http: Option<HttpView>,
    /// The request as a curl command line, if it was sent over HTTP.
    pub curl: Option<String>,
    /// The number of the previous call in the trace.
    pub previous: Option<u64>,
    /// The number of the next call in the trace.
    pub next: Option<u64>,
}

/// The JSON of a message.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Payload {
    /// The number of its line.
    pub line: u64,
    /// The JSON as it was on the wire; only the beginning if it is very long.
    pub text: String,
    /// The full length in bytes.
    pub bytes: u64,
    /// Whether `text` is only the beginning.
    pub is_cut: bool,
}

/// Something that happened during a call.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Meanwhile {
    /// The number of its line.
    pub line: u64,
    /// The time since the request.
    pub after_us: Option<u64>,
    /// The kind of entry.
    pub kind: MeanwhileKind,
    /// The call that a request or a response belongs to.
    pub call: Option<u64>,
    /// The entry in one line, for the list.
    pub about: String,
}

/// What happened during a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "kebab-case")]
pub enum MeanwhileKind {
    /// A progress notification for the call.
    Progress,
    /// The cancellation of the call.
    Cancellation,
    /// A request from the other side.
    Request,
    /// The response to a request from the other side.
    Answer,
    /// A line of the server's stderr.
    Stderr,
}

/// Calls that belong together.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct OperationView {
    /// The number of the first call.
    pub first: u64,
    /// The calls, in order.
    pub calls: Vec<CallRow>,
}

/// The HTTP exchange of a call.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct HttpView {
    /// The HTTP method; unknown if the trace does not have the head of the request.
    pub method: Option<String>,
    /// The URL of the request.
    pub url: Option<String>,
    /// The HTTP status code.
    pub status: Option<u16>,
    /// The headers of the request.
    pub request_headers: Vec<HeaderField>,
    /// The headers of the response.
    pub response_headers: Vec<HeaderField>,
}

/// A header field of a request or a response.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct HeaderField {
    /// The name, in lower case.
    pub name: String,
    /// The value, with secrets redacted.
    pub value: String,
}

/// Lines of the file, unchanged.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct RawPage {
    /// The number of all lines.
    pub total: u64,
    /// The requested lines, in the order of the file.
    pub lines: Vec<RawLine>,
}

/// A line of the file, unchanged.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct RawLine {
    /// Its number, from 1.
    pub line: u64,
    /// The text; only the beginning if it is very long.
    pub text: String,
    /// The full length in bytes.
    pub bytes: u64,
    /// Whether `text` is only the beginning.
    pub is_cut: bool,
}

/// The tools and methods of a set of traces.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct ToolsReport {
    /// The tools, the most called first, unused ones last.
    pub tools: Vec<ToolRow>,
    /// The other methods, the most called first.
    pub methods: Vec<ToolRow>,
    /// The name of the encoding that tokens are counted with.
    pub encoding: String,
    /// The progress of counting tokens in results.
    pub tokens: Progress,
    /// The upper bounds of the histograms' buckets, in microseconds; the last bucket has none.
    pub buckets_us: Vec<u64>,
}

/// A tool or a method.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct ToolRow {
    /// The index of its trace in the set.
    pub trace: u32,
    /// The name of the tool or method.
    pub name: String,
    /// The direction of its requests.
    pub direction: Dir,
    /// The number of calls.
    pub calls: u64,
    /// The share of all calls, from 0 to 1.
    pub share: f64,
    /// The number of failed calls.
    pub errors: u64,
    /// The number of calls without a response.
    pub unanswered: u64,
    /// The mean latency of the calls with a response.
    pub mean_us: Option<u64>,
    /// The median latency of the calls with a response.
    pub p50_us: Option<u64>,
    /// The 95th percentile of the latency.
    pub p95_us: Option<u64>,
    /// The 99th percentile of the latency.
    pub p99_us: Option<u64>,
    /// The longest latency of the calls with a response.
    pub max_us: Option<u64>,
    /// The number of calls by latency, see `buckets_us`.
    pub histogram: Vec<u32>,
    /// The number of calls over time, in equal parts of the whole.
    pub sparkline: Vec<u32>,
    /// The total size of the requests in bytes.
    pub request_bytes: u64,
    /// The total size of the responses in bytes.
    pub response_bytes: u64,
    /// The number of tokens of the definition, if it was listed.
    pub definition_tokens: Option<u64>,
    /// The number of tokens of all results, once they are counted.
    pub result_tokens: Option<u64>,
    /// The definition's JSON as it was on the wire, if it was listed.
    pub definition: Option<String>,
}

/// A session of a set of traces.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct SessionRow {
    /// The index of its trace in the set.
    pub trace: u32,
    /// The session's id, if it has one.
    pub session: Option<String>,
    /// The client's name and version.
    pub client: Option<String>,
    /// The server's name and version.
    pub server: Option<String>,
    /// The MCP revision that was agreed on.
    pub revision: Option<String>,
    /// When it began: its first line, or its `initialize`.
    pub from_us: i64,
    /// When something last happened in it; for the only session of a trace, the last line.
    pub to_us: i64,
    /// The number of calls.
    pub calls: u64,
    /// The number of failed calls.
    pub errors: u64,
    /// The number of calls without a response.
    pub unanswered: u64,
}

/// The linter's findings, as far as it has read the traces.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct LintReport {
    /// The progress of the linter.
    pub progress: Progress,
    /// The violated rules, the most severe first.
    pub rules: Vec<RuleFindings>,
    /// The number of errors.
    pub errors: u64,
    /// The number of warnings.
    pub warnings: u64,
    /// The number of informational findings.
    pub infos: u64,
}

/// A violated rule, with its findings.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct RuleFindings {
    /// The rule's code, such as `M003`.
    pub code: String,
    /// The rule's name, such as `id-null`.
    pub name: String,
    /// The group that the rule belongs to.
    pub family: String,
    /// `error`, `warning` or `info`.
    pub severity: String,
    /// What the rule checks.
    pub what: String,
    /// Why the rule exists, in a sentence or two.
    pub why: String,
    /// How to fix a violation.
    pub fix: String,
    /// The title of the specification's section.
    pub section: String,
    /// The URL of the specification's section.
    pub url: String,
    /// The number of findings.
    pub count: u64,
    /// The findings; at most some hundred.
    pub findings: Vec<Finding>,
}

/// One violation of a rule.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The index of its trace in the set.
    pub trace: u32,
    /// The rule's code, such as `M003`.
    pub code: String,
    /// The rule's name, such as `id-null`.
    pub rule: String,
    /// `error`, `warning` or `info`.
    pub severity: String,
    /// The number of the line.
    pub line: u64,
    /// The call that the line belongs to.
    pub call: Option<u64>,
    /// A JSON pointer into the line's message.
    pub pointer: String,
    /// What is wrong here.
    pub message: String,
    /// How to fix it.
    pub fix: String,
    /// The text before the marked part.
    pub before: String,
    /// The part of the JSON that the finding is about.
    pub marked: String,
    /// The text after the marked part.
    pub after: String,
}

/// The comparison of two traces.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct DiffReport {
    /// How much of both traces is indexed. There are rows only when both are complete.
    pub progress: Progress,
    /// The number of calls that are equal in both.
    pub same: u64,
    /// The number of calls that differ.
    pub changed: u64,
    /// The number of calls only in the first trace.
    pub removed: u64,
    /// The number of calls only in the second trace.
    pub added: u64,
    /// The number of calls that are slower in the second trace.
    pub slower: u64,
    /// The number of calls that are faster in the second trace.
    pub faster: u64,
    /// The differences between the definitions.
    pub definitions: Vec<DefinitionChange>,
    /// The number of matching rows.
    pub total: u64,
    /// The index of the first row, from 0.
    pub from: u64,
    /// The rows of this page.
    pub rows: Vec<DiffRow>,
}

/// A change in a server's definitions.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct DefinitionChange {
    /// What is defined: `tool`, `prompt` …
    pub of: String,
    /// The name of the definition.
    pub name: String,
    /// The kind of change: `added`, `removed`, `renamed`, `description` …
    pub change: String,
    /// The effect on users: `breaking` …
    pub effect: String,
    /// A JSON pointer into the definition.
    pub pointer: String,
    /// A description of the change.
    pub message: String,
    /// What to do about it.
    pub advice: String,
    /// The old value as JSON; none if it was added.
    pub before: Option<String>,
    /// The new value as JSON; none if it was removed.
    pub after: Option<String>,
}

/// A row of a comparison: a call of one trace, or a pair.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct DiffRow {
    /// Its index among all rows, from 0, for `/api/diff/row`.
    pub row: u64,
    /// `same`, `changed`, `removed` or `added`.
    pub status: String,
    /// `slower` or `faster`, if the difference is significant.
    pub pace: Option<String>,
    /// The direction of the request.
    pub direction: Dir,
    /// The JSON-RPC method, such as `tools/call`.
    pub method: String,
    /// The name of the tool or prompt.
    pub name: Option<String>,
    /// The call in the first trace.
    pub a: Option<DiffSide>,
    /// The call in the second trace.
    pub b: Option<DiffSide>,
}

/// One side of a pair of calls.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct DiffSide {
    /// The call's number in its trace.
    pub call: u64,
    /// The line of its request.
    pub line: u64,
    /// The name of the outcome.
    pub status: String,
    /// Whether the outcome is a failure.
    pub is_error: bool,
    /// The duration without the time that the responding side waited for the user or the other side.
    pub took_us: Option<u64>,
    /// A one-line summary of the request.
    pub about: String,
}

/// The differences between two calls.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct DiffDetail {
    /// The values that differ, in the order of the message.
    pub differences: Vec<DifferenceView>,
    /// Whether there are more, which are left out.
    pub has_more: bool,
}

/// A value that differs between two traces.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct DifferenceView {
    /// The part of the message: `params`, `result` or `error`.
    pub part: String,
    /// A JSON pointer into the part.
    pub pointer: String,
    /// The JSON in the first trace, if the value exists there.
    pub before: Option<String>,
    /// The JSON in the second trace, if the value exists there.
    pub after: Option<String>,
    /// If the value is a text that contains JSON: the differences within that.
    pub inside: Vec<DifferenceView>,
}

/// The Activity view: what the store knows.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct StoreReport {
    /// Call rates in the last minutes, the newest last.
    pub rates: Vec<StoreRate>,
    /// The number of calls in the requested time.
    pub calls: u64,
    /// The number of failed calls.
    pub errors: u64,
    /// Statistics by server and tool or method.
    pub rows: Vec<StoreStat>,
    /// The slowest calls, slowest first.
    pub slow: Vec<StoreCall>,
    /// The newest calls, newest first.
    pub newest: Vec<StoreCall>,
    /// The clients, most recently active first.
    pub clients: Vec<StoreClient>,
    /// Changes of servers' definitions, the newest first.
    pub changes: Vec<StoreChange>,
}

/// The calls in one interval.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct StoreRate {
    /// When the interval begins, in milliseconds since 1970.
    pub at_ms: i64,
    /// The number of calls.
    pub calls: u64,
    /// The number of failed calls.
    pub errors: u64,
}

/// Statistics of one tool or method on one server.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct StoreStat {
    /// The name of the server.
    pub server: String,
    /// The JSON-RPC method, such as `tools/call`.
    pub method: String,
    /// The name of the tool, if one is called.
    pub tool: Option<String>,
    /// The number of calls.
    pub calls: u64,
    /// The number of failed calls.
    pub errors: u64,
    /// The median latency of the calls with a response.
    pub p50_us: Option<u64>,
    /// The 95th percentile of the latency.
    pub p95_us: Option<u64>,
    /// The longest latency of the calls with a response.
    pub max_us: Option<u64>,
}

/// A call in the store.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct StoreCall {
    /// When it began, in milliseconds since 1970.
    pub at_ms: i64,
    /// The name of the server.
    pub server: String,
    /// The JSON-RPC method, such as `tools/call`.
    pub method: String,
    /// The name of the tool, if one is called.
    pub tool: Option<String>,
    /// The request's id, as text.
    pub id: String,
    /// The name of the outcome.
    pub status: String,
    /// Whether the outcome is a failure.
    pub is_error: bool,
    /// The error message, truncated; none if the call succeeded.
    pub error: Option<String>,
    /// From the request to the end of the response, or until the call was abandoned.
    pub latency_us: Option<u64>,
    /// The id of its session, as in `wiretape sessions`.
    pub session: Option<String>,
    /// The key of the trace it is recorded in, if this server can open it.
    pub trace: Option<String>,
}

/// A client in the store.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct StoreClient {
    /// The name in the client's `clientInfo`.
    pub name: String,
    /// The version in the client's `clientInfo`.
    pub version: Option<String>,
    /// The number of sessions.
    pub sessions: u64,
    /// The number of calls.
    pub calls: u64,
    /// The number of failed calls.
    pub errors: u64,
    /// When it was last seen, in milliseconds since 1970.
    pub last_ms: i64,
}

/// A change of a server's definitions.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct StoreChange {
    /// When it was observed, in milliseconds since 1970.
    pub at_ms: i64,
    /// The name of the server.
    pub server: String,
    /// The method that lists the definition.
    pub method: String,
    /// How it changed: `initial`, `added`, `modified` or `removed`.
    pub change: String,
    /// The name of the changed definition.
    pub name: Option<String>,
}

/// A trace that was opened from the page: dropped, from a URL, or from a live recorder.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    /// The key that identifies it in URLs.
    pub key: String,
}

/// A request to connect to a live recorder.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct LiveRequest {
    /// The recorder's address on this machine: `ws://127.0.0.1:PORT/…`.
    pub url: String,
}

/// A report: traces with everything that the page needs.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The version of Wiretape.
    pub version: String,
    /// When it was created, in milliseconds since 1970.
    pub created_ms: i64,
    /// The number of lines in which secrets were redacted for the report.
    pub redacted: u64,
    /// The traces of the report.
    pub set: TraceSet,
    /// All calls, in the order of their time.
    pub calls: Vec<CallRow>,
    /// All lines, in the order of their time.
    pub messages: Vec<MessageRow>,
    /// Further facts about each call.
    pub details: Vec<ReportDetail>,
    /// The tools and methods.
    pub tools: ToolsReport,
    /// The sessions in all traces.
    pub sessions: Vec<SessionRow>,
    /// The findings of the linter, which has read everything.
    pub lint: LintReport,
}

/// Facts about a call that are not in its row or lines.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct ReportDetail {
    /// The index of its trace in the set.
    pub trace: u32,
    /// The call's number in its trace.
    pub call: u64,
    /// The index of the request in its batch, from 0; unknown if it is not in a batch.
    pub request_index: Option<u32>,
    /// The index of the response in its batch, from 0.
    pub response_index: Option<u32>,
    /// What happened during the call.
    pub meanwhile: Vec<Meanwhile>,
    /// The number of further entries, which are left out.
    pub more: u64,
    /// The HTTP exchange, if it was sent over HTTP.
    pub http: Option<HttpView>,
    /// The request as a curl command line.
    pub curl: Option<String>,
}

/// A compressed chunk of a trace's lines.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct ReportLines {
    /// The number of its first line.
    pub first: u64,
    /// The lines, each with a newline: gzip in base64.
    pub data: String,
}

/// Why a request was refused.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// What is wrong, as a sentence for people.
    pub error: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// If the filter is invalid: the byte range of the error in it.
    pub span: Option<[u32; 2]>,
}
