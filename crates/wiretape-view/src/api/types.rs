//! What the page is told. The page's own types are made from these, by a test.
//!
//! Times are microseconds since 1970, and durations microseconds. Calls and lines are named by a trace and a number:
//! `trace` counts the traces of the set that was asked for, from 0, in the order of the URL.

use serde::{Deserialize, Serialize};
#[cfg(test)]
use ts_rs::TS;
use wiretape_library::TraceStateKind;

/// The first page: what there is to look at.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Home {
    /// The version of the program.
    pub version: String,
    /// The traces that were found, those that are being recorded first, then the newest; 500 at most.
    pub traces: Vec<TraceCard>,
    /// How many were found.
    pub found: u64,
    /// How many traces there are.
    pub total: u64,
    /// Whether there is a store of events.
    pub has_store: bool,
    /// The traces that the program was started with; they are to be opened at once.
    pub given: Vec<String>,
    /// Files that are named like traces and can't be read, in words.
    pub unreadable: Vec<String>,
}

/// One trace among others.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct TraceCard {
    /// What it goes by in URLs.
    pub key: String,
    /// A short name for people.
    pub label: String,
    /// The name of its file.
    pub file: String,
    /// The client's name and version, once they are known.
    pub client: Option<String>,
    /// The server's name and version, once they are known.
    pub server: Option<String>,
    /// When it began.
    pub started_us: Option<i64>,
    /// How long it took, or has taken so far.
    pub duration_us: Option<u64>,
    /// How many calls it has; unknown until somebody has counted.
    pub calls: Option<u64>,
    /// How many of these failed.
    pub errors: Option<u64>,
    /// How many messages it has.
    pub messages: Option<u64>,
    /// The size of the file.
    pub bytes: u64,
    /// Where it stands.
    #[cfg_attr(test, ts(type = "\"ended\" | \"rotated\" | \"running\" | \"no-end\""))]
    pub state: TraceStateKind,
    /// The same in a few words, as `exit 1`.
    pub state_text: String,
}

/// The traces that a URL names.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct TraceSet {
    /// In the order of the URL.
    pub traces: Vec<TraceInfo>,
    /// When the first of them began.
    pub from_us: i64,
    /// When the last line of all was seen.
    pub to_us: i64,
    /// Whether secrets were taken out again, as in a report.
    pub is_report: bool,
}

/// One trace, as far as it was read.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct TraceInfo {
    /// What it goes by in URLs.
    pub key: String,
    /// A short name for people.
    pub label: String,
    /// The name of its file.
    pub file: String,
    /// The client's name and version.
    pub client: Option<String>,
    /// The server's name and version.
    pub server: Option<String>,
    /// The revision of the protocol that was agreed on.
    pub revision: Option<String>,
    /// `stdio`, `http` …
    pub transport: Option<String>,
    /// The command or the URL of the server.
    pub command: Option<String>,
    /// When it began.
    pub started_us: i64,
    /// When its last line was seen.
    pub last_us: i64,
    /// Where it stands.
    #[cfg_attr(test, ts(type = "\"ended\" | \"rotated\" | \"running\" | \"no-end\""))]
    pub state: TraceStateKind,
    /// The same in a few words.
    pub state_text: String,
    /// What is worth telling: damaged lines, lines of an unknown type, a missing end.
    pub notices: Vec<String>,
    /// How many lines were read.
    pub lines: u64,
    /// How many messages.
    pub messages: u64,
    /// How many calls.
    pub calls: u64,
    /// How many of these failed.
    pub errors: u64,
    /// How far it was read.
    pub progress: Progress,
}

/// How far something was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Bytes that were read.
    pub done: u64,
    /// Bytes that there are.
    pub total: u64,
    /// Whether all that is there was read.
    pub is_complete: bool,
}

/// Something has changed: sent by `/api/watch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Grows with each change of the list of traces.
    pub home: u64,
    /// For each trace of the set, in order.
    pub traces: Vec<TraceChange>,
}

/// How far a trace is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct TraceChange {
    /// How many lines there are.
    pub lines: u64,
    /// How many calls there are.
    pub calls: u64,
    /// Grows with everything that changes, as when a call is answered.
    pub version: u64,
    /// How far it was read.
    pub progress: Progress,
    /// How far the check is, once somebody asked for it.
    pub lint: Option<Progress>,
    /// How far the counting of tokens is, once somebody asked for it.
    pub tokens: Option<Progress>,
    /// Where it stands.
    #[cfg_attr(test, ts(type = "\"ended\" | \"rotated\" | \"running\" | \"no-end\""))]
    pub state: TraceStateKind,
}

/// Some of the calls that pass a filter.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct CallPage {
    /// How many pass.
    pub total: u64,
    /// How many calls there are in all.
    pub all: u64,
    /// The number of the first row, from 0.
    pub from: u64,
    /// The rows.
    pub rows: Vec<CallRow>,
}

/// A call.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct CallRow {
    /// Which trace of the set.
    pub trace: u32,
    /// Counts the requests of the trace from 1.
    pub call: u64,
    /// The line of the request.
    pub line: u64,
    /// The line of the response.
    pub response_line: Option<u64>,
    /// When it was asked.
    pub at_us: i64,
    /// Who asked.
    pub direction: Dir,
    /// The request's id, as text.
    pub id: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The method.
    pub method: String,
    /// The tool of a `tools/call`.
    pub tool: Option<String>,
    /// What became of it: `ok`, `tool-error`, `protocol-error`, `http-error`, `cancelled`, `timed-out`, `late`,
    /// `disconnected`, `no-response`, `abandoned`.
    pub status: String,
    /// Whether that is a failure.
    pub is_error: bool,
    /// Whether the call is still open in a recording that goes on.
    pub is_open: bool,
    /// The code of a protocol error, or the HTTP status.
    pub code: Option<i64>,
    /// From request to response.
    pub latency_us: Option<u64>,
    /// The part of it during which a person was asked.
    pub person_us: u64,
    /// The part of it during which the client answered requests of the server.
    pub client_us: u64,
    /// The size of the request.
    pub request_bytes: u64,
    /// The size of the response.
    pub response_bytes: Option<u64>,
    /// How many progress notifications it has.
    pub progress: u64,
    /// How many requests the other side made during it.
    pub nested: u64,
    /// The call during which the other side made this one.
    pub parent: Option<u64>,
    /// The first call of the operation that it belongs to.
    pub operation: Option<u64>,
    /// What it asks, in a few words.
    pub about: String,
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
pub enum Dir {
    /// The client, to the server.
    In,
    /// The server, to the client.
    Out,
    /// It is unknown which side sent it.
    Unknown,
}

/// The calls of a part of the timeline.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// The calls, in the order of their time; of too many those that took longest.
    pub bars: Vec<Bar>,
    /// How many there are in that part.
    pub total: u64,
}

/// A call on the timeline.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Bar {
    /// Which trace of the set.
    pub trace: u32,
    /// The call.
    pub call: u64,
    /// When it was asked.
    pub at_us: i64,
    /// How long it took; unknown if it was not answered.
    pub latency_us: Option<u64>,
    /// What became of it.
    pub status: String,
    /// Whether that is a failure.
    pub is_error: bool,
    /// Who asked.
    pub direction: Dir,
    /// The tool, or the method.
    pub name: String,
    /// The call during which the other side made this one.
    pub parent: Option<u64>,
    /// How many progress notifications it has.
    pub progress: u64,
}

/// How much happened when: the map above the timeline.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Density {
    /// When the first bucket begins.
    pub from_us: i64,
    /// When the last bucket ends.
    pub to_us: i64,
    /// Calls that began, by bucket.
    pub calls: Vec<u32>,
    /// Those of them that failed.
    pub errors: Vec<u32>,
    /// Lines of standard error, by bucket.
    pub stderr: Vec<u32>,
}

/// Some of the lines that pass a filter.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct MessagePage {
    /// How many pass.
    pub total: u64,
    /// How many lines there are in all.
    pub all: u64,
    /// The number of the first row, from 0.
    pub from: u64,
    /// The rows.
    pub rows: Vec<MessageRow>,
}

/// A line of a trace.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct MessageRow {
    /// Which trace of the set.
    pub trace: u32,
    /// The line, from 1.
    pub line: u64,
    /// When it was seen.
    pub at_us: i64,
    /// Who said it.
    pub direction: Dir,
    /// What it is.
    pub kind: LineKind,
    /// The method; a response's is that of its request.
    pub method: Option<String>,
    /// The tool; a response's is that of its request.
    pub tool: Option<String>,
    /// The request's id, as text.
    pub id: Option<String>,
    /// The call that it belongs to.
    pub call: Option<u64>,
    /// What a response says of its call.
    pub status: Option<String>,
    /// Whether that is a failure.
    pub is_error: bool,
    /// The size of the line.
    pub bytes: u64,
    /// What it says, in a few words.
    pub about: String,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "kebab-case")]
pub enum LineKind {
    /// The first line.
    Meta,
    /// A request.
    Request,
    /// A response.
    Response,
    /// A notification.
    Notification,
    /// Several messages in one.
    Batch,
    /// A payload that is no JSON-RPC.
    Odd,
    /// A line on the wire that is not JSON.
    Text,
    /// A line of the server's standard error.
    Stderr,
    /// Something about an HTTP exchange.
    Http,
    /// A place where lines were lost.
    Gap,
    /// The recording continues in another file.
    Rotated,
    /// The last line.
    End,
    /// A line of a type that this version doesn't know.
    Unknown,
    /// A line that is not JSON.
    Damaged,
    /// An event of an HTTP stream that is not meant to be a message.
    Stream,
}

/// One call whole.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct CallDetail {
    /// The call.
    pub row: CallRow,
    /// What was asked.
    pub request: Payload,
    /// What was answered.
    pub response: Option<Payload>,
    /// What came in between, in order.
    pub meanwhile: Vec<Meanwhile>,
    /// How much more came in between.
    pub more: u64,
    /// The requests that the other side made during it.
    pub nested: Vec<CallRow>,
    /// The operation that it belongs to.
    pub operation: Option<OperationView>,
    /// What the check finds on its lines; empty until the check, which asking for a call begins, is complete.
    pub findings: Vec<Finding>,
    /// The HTTP exchange, if it went over HTTP.
    pub http: Option<HttpView>,
    /// The request as a command line for curl, if it went over HTTP.
    pub curl: Option<String>,
    /// The call before it in the trace.
    pub previous: Option<u64>,
    /// The call after it in the trace.
    pub next: Option<u64>,
}

/// The JSON of a message.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Payload {
    /// The line that it stands in.
    pub line: u64,
    /// Its text, as it was written; the beginning only if it is very long.
    pub text: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// Whether `text` is only its beginning.
    pub is_cut: bool,
}

/// Something that came while a call was open.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Meanwhile {
    /// The line.
    pub line: u64,
    /// How long after the request.
    pub after_us: Option<u64>,
    /// What it is.
    pub kind: MeanwhileKind,
    /// The call that a request or an answer belongs to.
    pub call: Option<u64>,
    /// What it says, in a few words.
    pub about: String,
}

/// What came while a call was open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "kebab-case")]
pub enum MeanwhileKind {
    /// Progress.
    Progress,
    /// Its cancellation.
    Cancellation,
    /// A request of the other side.
    Request,
    /// The answer to that.
    Answer,
    /// A line of standard error.
    Stderr,
}

/// Calls that belong together.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct OperationView {
    /// The number of its first call.
    pub first: u64,
    /// Its calls, in order.
    pub calls: Vec<CallRow>,
}

/// The HTTP exchange of a call.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct HttpView {
    /// The HTTP method.
    pub method: Option<String>,
    /// The address.
    pub url: Option<String>,
    /// The status.
    pub status: Option<u16>,
    /// The request's header fields.
    pub request_headers: Vec<HeaderField>,
    /// The response's.
    pub response_headers: Vec<HeaderField>,
}

/// A header field.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct HeaderField {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Lines of a file, as they are.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct RawPage {
    /// How many lines there are.
    pub total: u64,
    /// The lines.
    pub lines: Vec<RawLine>,
}

/// A line of a file, as it is.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct RawLine {
    /// Counts from 1.
    pub line: u64,
    /// Its text; the beginning only if it is very long.
    pub text: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// Whether `text` is only its beginning.
    pub is_cut: bool,
}

/// The tools and the methods of a set of traces.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct ToolsReport {
    /// Tools, the most called first, those that nobody called last.
    pub tools: Vec<ToolRow>,
    /// Other methods.
    pub methods: Vec<ToolRow>,
    /// The encoding by which tokens are counted.
    pub encoding: String,
    /// How far the counting of tokens in results is.
    pub tokens: Progress,
    /// The upper bounds of the buckets of histograms, in microseconds; the last bucket has none.
    pub buckets_us: Vec<u64>,
}

/// A tool, or a method.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct ToolRow {
    /// Which trace of the set.
    pub trace: u32,
    /// Its name.
    pub name: String,
    /// Who calls it.
    pub direction: Dir,
    /// How often it was called.
    pub calls: u64,
    /// Of all calls, from 0 to 1.
    pub share: f64,
    /// How many of the calls failed.
    pub errors: u64,
    /// How many were not answered.
    pub unanswered: u64,
    /// The mean latency.
    pub mean_us: Option<u64>,
    /// Half of the calls took no longer.
    pub p50_us: Option<u64>,
    /// 95 of 100 took no longer.
    pub p95_us: Option<u64>,
    /// 99 of 100 took no longer.
    pub p99_us: Option<u64>,
    /// The longest.
    pub max_us: Option<u64>,
    /// How many calls took how long, by bucket.
    pub histogram: Vec<u32>,
    /// How many calls there were when, in equal parts of the whole time.
    pub sparkline: Vec<u32>,
    /// The size of all requests.
    pub request_bytes: u64,
    /// The size of all responses.
    pub response_bytes: u64,
    /// How many tokens the definition has, if it was listed.
    pub definition_tokens: Option<u64>,
    /// How many tokens all results have, once they are counted.
    pub result_tokens: Option<u64>,
    /// The definition's JSON, as it was written, if it was listed.
    pub definition: Option<String>,
}

/// The sessions of a set of traces.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct SessionRow {
    /// Which trace of the set.
    pub trace: u32,
    /// The session's id, if it has one.
    pub session: Option<String>,
    /// The client's name and version.
    pub client: Option<String>,
    /// The server's name and version.
    pub server: Option<String>,
    /// The revision that was agreed on.
    pub revision: Option<String>,
    /// When its first call was.
    pub from_us: i64,
    /// When its last call was.
    pub to_us: i64,
    /// How many calls it has.
    pub calls: u64,
    /// How many of these failed.
    pub errors: u64,
    /// How many were not answered.
    pub unanswered: u64,
}

/// What departs from the specification.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct LintReport {
    /// How far the check is.
    pub progress: Progress,
    /// The rules that are broken, the worst first.
    pub rules: Vec<RuleFindings>,
    /// How many errors.
    pub errors: u64,
    /// How many warnings.
    pub warnings: u64,
    /// How many remarks.
    pub infos: u64,
}

/// A rule that is broken, and where.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct RuleFindings {
    /// Its code.
    pub code: String,
    /// Its name.
    pub name: String,
    /// What it is about.
    pub family: String,
    /// `error`, `warning` or `info`.
    pub severity: String,
    /// What is found.
    pub what: String,
    /// Why it matters.
    pub why: String,
    /// What to do about it.
    pub fix: String,
    /// The title of the section of the specification.
    pub section: String,
    /// Where it is read.
    pub url: String,
    /// How often it is broken.
    pub count: u64,
    /// Where; no more than some hundred.
    pub findings: Vec<Finding>,
}

/// A place where a rule is broken.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Which trace of the set.
    pub trace: u32,
    /// The rule's code.
    pub code: String,
    /// The rule's name.
    pub rule: String,
    /// `error`, `warning` or `info`.
    pub severity: String,
    /// The line.
    pub line: u64,
    /// The call that the line belongs to.
    pub call: Option<u64>,
    /// A JSON pointer into that line.
    pub pointer: String,
    /// What is wrong here.
    pub message: String,
    /// What to do about it.
    pub fix: String,
    /// What stands before what is meant.
    pub before: String,
    /// What is meant.
    pub marked: String,
    /// What stands after it.
    pub after: String,
}

/// Two traces side by side.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct DiffReport {
    /// How far both traces were read; there are rows only when both are complete.
    pub progress: Progress,
    /// Calls that are the same in both.
    pub same: u64,
    /// Calls in both that are not the same.
    pub changed: u64,
    /// Calls in the first only.
    pub removed: u64,
    /// Calls in the second only.
    pub added: u64,
    /// Calls that are slower in the second.
    pub slower: u64,
    /// Calls that are faster in the second.
    pub faster: u64,
    /// How the definitions differ.
    pub definitions: Vec<DefinitionChange>,
    /// How many rows pass.
    pub total: u64,
    /// The number of the first row, from 0.
    pub from: u64,
    /// The rows.
    pub rows: Vec<DiffRow>,
}

/// A definition that has changed.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct DefinitionChange {
    /// What it is: `tool`, `prompt` …
    pub of: String,
    /// Its name.
    pub name: String,
    /// What became of it.
    pub change: String,
    /// Whom it hurts: `breaking` …
    pub effect: String,
    /// Where in the definition.
    pub pointer: String,
    /// What has changed.
    pub message: String,
    /// What to do about it.
    pub advice: String,
    /// What it was.
    pub before: Option<String>,
    /// What it is.
    pub after: Option<String>,
}

/// A call of either trace, or one of each.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct DiffRow {
    /// Counts all rows from 0; `/api/diff/row` takes it.
    pub row: u64,
    /// `same`, `changed`, `removed` or `added`.
    pub status: String,
    /// `slower` or `faster`, if it is much so.
    pub pace: Option<String>,
    /// Who asked.
    pub direction: Dir,
    /// The method.
    pub method: String,
    /// The tool or prompt.
    pub name: Option<String>,
    /// The call of the first trace.
    pub a: Option<DiffSide>,
    /// The call of the second.
    pub b: Option<DiffSide>,
}

/// One of two calls.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct DiffSide {
    /// The call's number in its trace.
    pub call: u64,
    /// The line of its request.
    pub line: u64,
    /// What became of it.
    pub status: String,
    /// Whether that is a failure.
    pub is_error: bool,
    /// How long the side that was asked took.
    pub took_us: Option<u64>,
    /// What it asks, in a few words.
    pub about: String,
}

/// How two calls differ.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct DiffDetail {
    /// The differences.
    pub differences: Vec<DifferenceView>,
    /// Whether there are more.
    pub has_more: bool,
}

/// A value that is another in the second trace.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct DifferenceView {
    /// `params`, `result` or `error`.
    pub part: String,
    /// A JSON pointer into that part.
    pub pointer: String,
    /// The value's JSON in the first trace, if it is there.
    pub before: Option<String>,
    /// The value's JSON in the second, if it is there.
    pub after: Option<String>,
    /// Where a text is JSON in itself: how that differs.
    pub inside: Vec<DifferenceView>,
}

/// What the store tells.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct StoreReport {
    /// Calls per second in the last minutes, the newest last.
    pub rates: Vec<StoreRate>,
    /// All calls of the time that was asked for.
    pub calls: u64,
    /// Those that failed.
    pub errors: u64,
    /// By server and tool or method.
    pub rows: Vec<StoreStat>,
    /// The slowest calls.
    pub slow: Vec<StoreCall>,
    /// The newest calls.
    pub newest: Vec<StoreCall>,
    /// The clients.
    pub clients: Vec<StoreClient>,
    /// What servers have changed in what they offer, the newest first.
    pub changes: Vec<StoreChange>,
}

/// Calls in a piece of time.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct StoreRate {
    /// When it begins, in milliseconds since 1970.
    pub at_ms: i64,
    /// Calls.
    pub calls: u64,
    /// Those that failed.
    pub errors: u64,
}

/// The calls of one kind that the store knows of.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct StoreStat {
    /// The server.
    pub server: String,
    /// The method.
    pub method: String,
    /// The tool.
    pub tool: Option<String>,
    /// How many.
    pub calls: u64,
    /// How many failed.
    pub errors: u64,
    /// Half took no longer.
    pub p50_us: Option<u64>,
    /// 95 of 100 took no longer.
    pub p95_us: Option<u64>,
    /// The longest.
    pub max_us: Option<u64>,
}

/// A call that the store knows of.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct StoreCall {
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// The server.
    pub server: String,
    /// The method.
    pub method: String,
    /// The tool.
    pub tool: Option<String>,
    /// The request's id.
    pub id: String,
    /// What became of it.
    pub status: String,
    /// Whether that is a failure.
    pub is_error: bool,
    /// The error's words.
    pub error: Option<String>,
    /// How long it took.
    pub latency_us: Option<u64>,
    /// The session.
    pub session: Option<String>,
    /// The trace that it is in, if this program can open it: the key for the URL.
    pub trace: Option<String>,
}

/// A client that the store knows of.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct StoreClient {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// How many sessions it had.
    pub sessions: u64,
    /// How many calls it made.
    pub calls: u64,
    /// How many of these failed.
    pub errors: u64,
    /// When it was last seen, in milliseconds since 1970.
    pub last_ms: i64,
}

/// A change in what a server offers.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct StoreChange {
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// The server.
    pub server: String,
    /// What it is about.
    pub method: String,
    /// What became of it.
    pub change: String,
    /// The name of what has changed.
    pub name: Option<String>,
}

/// A trace that was brought in: by a drop, a URL, or a live recorder.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    /// What it goes by in URLs.
    pub key: String,
}

/// A live recorder to be listened to.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct LiveRequest {
    /// Its address, on this machine: `ws://127.0.0.1:PORT/…`.
    pub url: String,
}

/// A trace and all that is known of it, as a report carries it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The version of the program.
    pub version: String,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: i64,
    /// In how many lines something secret was taken out on the way.
    pub redacted: u64,
    /// The traces.
    pub set: TraceSet,
    /// Their calls, in the order of time.
    pub calls: Vec<CallRow>,
    /// Their lines, in the order of time.
    pub messages: Vec<MessageRow>,
    /// What else is known of each call.
    pub details: Vec<ReportDetail>,
    /// Their tools.
    pub tools: ToolsReport,
    /// Their sessions.
    pub sessions: Vec<SessionRow>,
    /// What departs from the specification.
    pub lint: LintReport,
}

/// What is known of a call beside its row and its lines.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct ReportDetail {
    /// Which trace of the set.
    pub trace: u32,
    /// The call.
    pub call: u64,
    /// Which message of a batch the request is, from 0; unknown if its line has one message.
    pub request_index: Option<u32>,
    /// Which message of a batch the response is.
    pub response_index: Option<u32>,
    /// What came in between.
    pub meanwhile: Vec<Meanwhile>,
    /// How much more came in between.
    pub more: u64,
    /// The HTTP exchange.
    pub http: Option<HttpView>,
    /// The request as a command line for curl.
    pub curl: Option<String>,
}

/// Some lines of a trace, packed.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct ReportLines {
    /// The number of the first.
    pub first: u64,
    /// The lines, each ended by a newline: gzip, in base64.
    pub data: String,
}

/// Why something was refused.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// What is wrong.
    pub error: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Where in the filter, if that is wrong: the first byte, and the one after the last.
    pub span: Option<[u32; 2]>,
}
