//! The trace format, version 1, byte for byte.
//!
//! A trace is a UTF-8 file with one JSON object per line. It records the traffic between one MCP client and one MCP
//! server, in the order in which the recorder observed it. File names end in `.jsonl`. A trace that was compressed as a
//! whole ends in `.jsonl.gz` or `.jsonl.zst` and can be read without unpacking it.
//!
//! Fields marked **v1** are those of the open v1 format, and every producer writes them. All others are
//! Wiretape's additions: optional, and ignored by a v1 reader that doesn't know them. A reader must tolerate
//! unknown fields, types, directions and versions, a missing `meta`, a missing `end`, and a torn last line.
//!
//! # On every line but `meta`
//!
//! | field | type | meaning |
//! |---|---|---|
//! | `t` | string, **v1** | UTC time of the observation, ISO 8601 with milliseconds: `2026-05-12T23:00:00.123Z` |
//! | `seq` | integer | the line number within the recording, across all its parts, from 1 (`meta` is not counted) |
//! | `us` | integer | microseconds since the recording began, from a monotonic clock; not in imported traces |
//! | `h` | string | only where `meta` has `chain`: the first 8 hexadecimal digits of the SHA-256 of all bytes of this file before this line |
//!
//! The two pipes of a server are read in parallel, so `t` and `us` may decrease slightly between adjacent lines of different
//! directions. A message is written *before* it is forwarded: a response never precedes its request.
//!
//! # `meta`, the first line
//!
//! | field | type | meaning |
//! |---|---|---|
//! | `v` | integer, **v1** | `1` |
//! | `type` | `"meta"`, **v1** | |
//! | `startedAt` | string, **v1** | when this file began, as `t`; in an imported trace, the first time in the source |
//! | `label` | string, **v1** | a short name for people |
//! | `command` | array of strings, **v1** | the server's command line, or the URL of an HTTP server; redacted like everything else. Other programs write a string, which is read as a single argument |
//! | `mcpTapVersion` | string, **v1**, optional | read, never written: the version of the reference producer |
//! | `id` | string | this file's id, a UUID |
//! | `producer` | object | `name` and `version` of the program that wrote the file |
//! | `transport` | string | `stdio` or `http` |
//! | `imported` | object | only in imported traces: the `format` and `source` (file name) of the transcript, and `callsOnly` if the transcript contains calls and nothing else of the session |
//! | `redacted` | boolean | whether redaction was on |
//! | `part` | object | only in the second and later parts of a rotated recording: `index` (from 2), `of` (the `id` of the first part), `previous` (the file name of the preceding part), `us` (the offset at which this part began), `sha256` (the digest of the preceding part, if it has one) |
//! | `chain` | string | `sha256`: the lines carry check values, `h` on every other line and `sha256` on the last one |
//!
//! # Messages
//!
//! `{"t":…,"dir":…,"seq":…,"us":…,"raw":…}`, without a `type`.
//!
//! | field | type | meaning |
//! |---|---|---|
//! | `dir` | string, **v1** | `in`: client to server. `out`: server to client |
//! | `raw` | any JSON, **v1** | the payload. Wiretape writes the exact bytes from the wire (key order, duplicate keys, number spelling and inner whitespace are preserved), except for redacted values |
//! | `wire` | array of strings | properties of the line on the wire: `bom` (a byte order mark before it; only on the first line of a stream), `crlf` (it ended in `\r\n`), `eof` (the stream ended before its newline) |
//! | `session` | string | the `Mcp-Session-Id` of the message, if there is one |
//! | `assumed` | array of strings | only in imported traces, also on `text`, `stderr` and `http` lines: `t` if the source has no time for it (then `t` repeats the previous one; before the first it is the first, and in a source without times it is 1970-01-01), `dir` if the sender is unknown |
//! | `http` | object | the HTTP exchange that carried it; see below |
//!
//! A body that spans several lines (pretty-printed, or several `data` fields of an event) loses its insignificant
//! whitespace, because every record is a single line. Nothing else changes.
//!
//! Redacted values read `[REDACTED:<rule>:<8 hex digits>]`; see [`crate::redact`].
//!
//! # Other line types
//!
//! | `type` | fields | meaning |
//! |---|---|---|
//! | `text` | `dir`, `text`, `base64`, `wire` | a line on the wire that is not JSON. `base64` contains the bytes if they are not valid UTF-8; `text` then has U+FFFD in place of the invalid ones |
//! | `stderr` | `text`, `base64` | a line of the server's standard error |
//! | `http` | `http`, `session` | an event of an HTTP exchange that no message records: a 401, a 202, a GET that opened a stream, the end of a stream, a broken connection |
//! | `gap` | `lost`, `reason` | `lost` lines could not be written here; `reason` says why |
//! | `rotated` | `next`, `sha256` | the last line of a part: the recording continues in the file `next` |
//! | `end` | see below | the last line of a recording |
//!
//! Other programs write more: `turn` lines, `dir` of `event`, `command` or `telemetry`, `corr_id`. Readers keep
//! and show them.
//!
//! # `http`, an exchange
//!
//! On messages, on `text` lines (an event without JSON: the `endpoint` event of HTTP+SSE, or a priming event) and on `http`
//! lines. Each of the two heads is written once, on the first line after it is known; later lines of the exchange have
//! only its number.
//!
//! | field | type | meaning |
//! |---|---|---|
//! | `x` | integer | the number of the exchange, unique among all traces of one run of the proxy |
//! | `request` | object | `method`, `target` (path and query; in full behind a forward proxy), `version` (`1.0`, `1.1`, `2`), `headers` |
//! | `response` | object | `status`, `version`, `headers` |
//! | `context`, `headers` | object | only in imported traces: the transport context from the source, unchanged |
//! | `sse` | object | fields of the event that carried the message: `event`, `id`, `retry`, each only if present |
//! | `bytes` | integer | the length on the wire of the body that ends with this line, if `raw` has a different length: the body was compressed, redacted or spread over lines, or is an event stream |
//! | `own` | `true` | the recorder generated the message: an error response on behalf of the server, or a new handshake on behalf of the client because the server lost the session |
//! | `again` | integer | the exchange whose message this one resends, to another endpoint or in a new session. This line is written before that exchange ends; the outcome of the message is that of this exchange |
//! | `requestBody`, `responseBody` | object | on `http` lines: a body that is not a JSON-RPC message. `bytes` (its length on the wire), `text` if it is short text, `omitted` (why a message was not recorded) |
//! | `ended` | string | on `http` lines: how the exchange ended. `complete`; `open` (a stream was opened and continues); `client-closed`, `upstream-closed` (before the end); `refused` (by the proxy); `unreachable`; `timeout`; `too-large`; `upgraded`; `stopped` (the proxy was stopped) |
//! | `error` | string | a description of what went wrong |
//! | `durationUs` | integer | on the last line of an exchange, a message or an `http` line: from the request's head to this line. Older recorders wrote it on `http` lines only |
//! | `connectedUs`, `answeredUs`, `firstByteUs`, `respondedUs` | integer | on the line with `durationUs`: from the request's head until there was a connection to the server, the response's head was complete, the first byte of its body arrived, its body was complete. Each only if that happened |
//! | `connection` | object | with `request`, if a proxy recorded it: the client's connection. `number` (unique in one run of the proxy), `client` (address and port), `listener` (the name of the listener) |
//! | `user` | string | with `request`: the `sub` claim of the request's access token, redacted like everything else. Not verified |
//! | `csp` | `true` | on the line with `durationUs`: the proxy had added its Content-Security-Policy to the page, or to a page in an event |
//!
//! `headers` maps lower-case names to a string, or to an array of strings if a header occurred several times.
//!
//! # `end`, the last line
//!
//! | field | type | meaning |
//! |---|---|---|
//! | `type` | `"end"`, **v1** | |
//! | `exitCode` | integer, **v1** | the server's exit code; 128 + n if signal n ended it; 127 if it could not be started. Other programs omit it if they wrapped no process, and write `reason` |
//! | `durationMs` | integer, **v1** | milliseconds since this file's `startedAt`. In a rotated recording this covers the last part only, while `us` counts from the start of the recording. (Before its first release Wiretape counted both from there, so a reader of a part uses `us` minus `part.us`) |
//! | `signal` | integer | the signal that ended the server |
//! | `reason` | string | why the recording ended, if that needs an explanation. It starts with `stopped` if the recorder received a signal and passed it on: then a non-zero exit code is not a failure of the server |
//! | `lost` | integer | lines that could not be written, if any; in an imported trace, parts of the source that could not be imported |
//! | `original` | string | also of `rotated`, directly before `sha256`; only in a redacted copy that differs from its original: the `sha256` of the original |
//! | `sha256` | string | the last member of the last line, also of `rotated`: the SHA-256 of all bytes of this file before `,"sha256"` |
//! | `assumed` | array of strings | only in imported traces: `exitCode`, because no process was observed, and `t` if the source has no times |
//!
//! A trace without an `end` is still being recorded, or its recorder was killed. Everything it observed until then is in the
//! file.

mod chain;
mod http;
mod read;
mod write;

pub use http::{
    Answers, BodyNote, ConnectionNote, Ended, ExchangeNote, ExchangeProgress, Head, HeadJson, HeaderValues,
    HttpContext, HttpRequest, HttpResponse, Policy, SseContext, Stages,
};

pub use chain::{Chain, CopyChain, Integrity, check_integrity};
pub(crate) use read::parse_time;
pub use read::{
    DirectionField, End, Exchange, Gap, Line, MAX_LINE, Message, Notice, OtherText, ReadError, Record, Stamp,
    TraceReader, parse_line, parse_line_unseen,
};
pub use write::{Assumed, Context, Encoder, LineEnd, Moment, TraceWriter, WallClock, Wire};

use serde::{Deserialize, Serialize};

/// The prefix of `reason` in an `end` line if the recorder was stopped by a signal.
pub const STOPPED: &str = "stopped";

/// The value of `chain` in `meta`: SHA-256 over the bytes of the file.
pub const CHAIN: &str = "sha256";

/// The version of the format that is written.
pub const VERSION: u64 = 1;

/// The first line of a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta {
    /// The version of the format.
    pub v: u64,
    /// Written as `meta`; carries no data here.
    #[serde(rename = "type", skip_deserializing, serialize_with = "write_type")]
    pub kind: (),
    /// When the file began: UTC, ISO 8601 with milliseconds.
    pub started_at: String,
    /// A short name for people, derived from the command by default.
    pub label: String,
    /// The server's command line; other producers write it as one string.
    #[serde(deserialize_with = "read_command")]
    pub command: Vec<String>,
    /// The file's id, a UUID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The program that wrote the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub producer: Option<Producer>,
    /// How client and server were connected: `stdio` or `http`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// Where an imported trace comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// Whether redaction was on; unknown for other producers' files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
    /// The position of this file in a rotated recording; `None` for the first part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// The algorithm of the check values that the lines carry, if they do; [`Encoder`] sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
    /// The version of the reference producer, in its files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_tap_version: Option<String>,
}

fn write_type<S: serde::Serializer>((): &(), serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("meta")
}

fn read_command<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum CommandField {
        Words(Vec<String>),
        Line(String),
    }
    Ok(match CommandField::deserialize(deserializer)? {
        CommandField::Words(words) => words,
        // The quoting rules are unknown, so the line is not split.
        CommandField::Line(line) => Vec::from_iter(Some(line).filter(|line| !line.is_empty())),
    })
}

/// The program that wrote a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Producer {
    /// The program's name, `wiretape` for ours.
    pub name: String,
    /// The program's version, in its own scheme.
    pub version: String,
}

/// Where an imported trace comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Imported {
    /// The name of the import format, such as `har`.
    pub format: String,
    /// The file name of the source.
    pub source: String,
    /// Whether the source contains calls and nothing else of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_only: Option<bool>,
}

/// The position of a file in a rotated recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Part {
    /// The number of the part, from 2: the first part has no `part`.
    pub index: u64,
    /// The id of the first part.
    pub of: String,
    /// The file name of the preceding part.
    pub previous: String,
    /// Microseconds from the start of the recording to the start of this part.
    pub us: u64,
    /// The digest of the preceding part, from its last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}
