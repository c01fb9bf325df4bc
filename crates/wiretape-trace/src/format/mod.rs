//! The trace format, version 1, byte for byte.
//!
//! A trace is a UTF-8 file of JSON objects, one a line, that records the traffic between one MCP client and one
//! MCP server, in the order in which the recorder saw it. The names end in `.jsonl`; a trace compressed whole
//! ends in `.jsonl.gz` or `.jsonl.zst` and is read as it is.
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
//! | `seq` | integer | counts the lines of a recording, over all its parts, from 1 (`meta` is not counted) |
//! | `us` | integer | microseconds since the recording began, on a clock that never runs backwards; not in imported traces |
//!
//! The two pipes of a server are read side by side, so `t` and `us` may run backwards by a little between
//! neighbours of different directions. A message is written *before* it is passed on: a response never stands
//! before its request.
//!
//! # `meta`, the first line
//!
//! | field | type | meaning |
//! |---|---|---|
//! | `v` | integer, **v1** | `1` |
//! | `type` | `"meta"`, **v1** | |
//! | `startedAt` | string, **v1** | when this file began, as `t`; in an imported trace, the first time that the source gives |
//! | `label` | string, **v1** | a short name for people |
//! | `command` | array of strings, **v1** | the server's command line, or the URL of a server that was reached over HTTP; redacted like everything else. Other programs write a string, which is read as one word |
//! | `mcpTapVersion` | string, **v1**, optional | read, never written: the version of the reference producer |
//! | `id` | string | this file's id, a UUID |
//! | `producer` | object | `name` and `version` of the program that wrote the file |
//! | `transport` | string | `stdio` or `http` |
//! | `imported` | object | only in traces that were made of another program's transcript: `format` and `source` (its name), and `callsOnly` if the transcript has calls and nothing else of the session |
//! | `redacted` | boolean | whether redaction was on |
//! | `part` | object | only in the second and later parts of a rotated recording: `index` (from 2), `of` (the `id` of the first part), `previous` (the file name of the part before), `us` (the offset at which this part began) |
//!
//! # Messages
//!
//! `{"t":…,"dir":…,"seq":…,"us":…,"raw":…}`, without a `type`.
//!
//! | field | type | meaning |
//! |---|---|---|
//! | `dir` | string, **v1** | `in`: client to server. `out`: server to client |
//! | `raw` | any JSON, **v1** | the payload. Wiretape writes the very bytes of the wire (key order, duplicate keys, number spelling and inner white space survive), but for redacted places |
//! | `wire` | array of strings | what else the line had: `bom` (a byte order mark before it; only on the first line of a stream), `crlf` (it ended in `\r\n`), `eof` (the stream ended before its newline) |
//! | `session` | string | the `Mcp-Session-Id` that it belongs to, where there is one |
//! | `assumed` | array of strings | only in imported traces, also on `text`, `stderr` and `http` lines: `t` if the source gives no time (then `t` repeats the last that it gave; before the first it is that first one, and in a source without any it is the beginning of 1970), `dir` if nothing tells who sent it |
//! | `http` | object | the HTTP exchange that carried it; see below |
//!
//! A body that was spread over several lines (pretty-printed, or in several `data` fields of an event) loses its
//! insignificant white space, because a trace's line is one line. Nothing else changes.
//!
//! Redacted places read `[REDACTED:<rule>:<8 hex digits>]`; see [`crate::redact`].
//!
//! # Other line types
//!
//! | `type` | fields | meaning |
//! |---|---|---|
//! | `text` | `dir`, `text`, `base64`, `wire` | a line on the wire that is not JSON. `base64` is there only if the bytes were not UTF-8, and holds them; `text` then has U+FFFD in their place |
//! | `stderr` | `text`, `base64` | a line of the server's standard error |
//! | `http` | `http`, `session` | something about an HTTP exchange that no message tells: a 401, a 202, a GET that opened a stream, the end of a stream, a connection that broke |
//! | `gap` | `lost`, `reason` | `lost` lines could not be written here, and why |
//! | `rotated` | `next` | the last line of a part: the recording goes on in the file of that name |
//! | `end` | see below | the last line of a recording |
//!
//! Other programs write more: `turn` lines, `dir` of `event`, `command` or `telemetry`, `corr_id`. Readers keep
//! and show them.
//!
//! # `http`, an exchange
//!
//! On messages, on `text` lines (an event without JSON: the `endpoint` of HTTP+SSE, an event that primes a stream) and
//! on `http` lines. The two heads stand once each, on the first line that is written after they are known; later
//! lines of the exchange have its number only.
//!
//! | field | type | meaning |
//! |---|---|---|
//! | `x` | integer | which exchange: unique among all traces that one proxy writes while it runs |
//! | `request` | object | `method`, `target` (path and query; in full behind a forward proxy), `version` (`1.0`, `1.1`, `2`), `headers` |
//! | `response` | object | `status`, `version`, `headers` |
//! | `context`, `headers` | object | only in imported traces: what the source says of the transport, as it stands there |
//! | `sse` | object | of the event that carried the message: `event`, `id`, `retry`, each only if it stood there |
//! | `bytes` | integer | the length on the wire of the body that ends with this line, where `raw` has another: it was compressed, redacted or spread over lines, or it is a stream of events |
//! | `own` | `true` | the message is the recorder's own: an answer in the server's stead, or a handshake in the client's, because the server has lost the session |
//! | `again` | integer | the exchange whose message this one sends again, to another endpoint or in a new session. It stands before that one's end; what becomes of the message is this one's to tell |
//! | `requestBody`, `responseBody` | object | on `http` lines: a body that is no message. `bytes` (its length on the wire), `text` if it is text and not long |
//! | `ended` | string | on `http` lines: how the exchange ended. `complete`; `open` (a stream has begun, and goes on); `client-closed`, `upstream-closed` (in the middle); `refused` (by the proxy); `unreachable`; `timeout`; `too-large`; `upgraded`; `stopped` (the proxy ended) |
//! | `error` | string | what went wrong, in words |
//! | `durationUs` | integer | on `http` lines that tell of the end: from the request's head to the end |
//!
//! `headers` maps names in lower case to a string, or to an array of strings where a name stood several times.
//!
//! # `end`, the last line
//!
//! | field | type | meaning |
//! |---|---|---|
//! | `type` | `"end"`, **v1** | |
//! | `exitCode` | integer, **v1** | the server's exit code; 128 + n if signal n ended it; 127 if it could not be started. Other programs leave it out where no process was wrapped, and write `reason` |
//! | `durationMs` | integer, **v1** | milliseconds since this file's `startedAt`. Of a rotated recording, this is the last part alone; `us` counts from the recording's beginning. (Wiretape before its first release counted both from there, so a reader of a part takes `us` minus `part.us`) |
//! | `signal` | integer | the signal that ended the server |
//! | `reason` | string | why it ended, where that needs a word. It starts with `stopped` if the recorder was told to stop and passed that on: then the exit code is no failure of the server's |
//! | `lost` | integer | lines that could not be written, if any; in an imported trace, parts of the source that could not be brought in |
//! | `assumed` | array of strings | only in imported traces: `exitCode`, for no process was seen, and `t` if the source gives no times |
//!
//! A trace without an `end` belongs to a recorder that is still running, or that was killed. All it saw until
//! then is in the file.

mod http;
mod read;
mod write;

pub use http::{
    Answers, BodyNote, Ended, ExchangeNote, Head, HeaderValues, HttpContext, HttpRequest, HttpResponse,
    SseContext,
};

pub(crate) use read::parse_time;
pub use read::{
    DirectionField, End, Exchange, Gap, Line, MAX_LINE, Message, Notice, OtherText, ReadError, Record, Stamp,
    TraceReader, parse_line, parse_line_unseen,
};
pub use write::{Assumed, Context, Encoder, LineEnd, Moment, TraceWriter, WallClock, Wire};

use serde::{Deserialize, Serialize};

/// What `reason` of an `end` starts with if the recorder was told to stop.
pub const STOPPED: &str = "stopped";

/// The version of the format that is written.
pub const VERSION: u64 = 1;

/// The first line of a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta {
    /// The version of the format.
    pub v: u64,
    /// Always `meta` in the file; here it holds nothing.
    #[serde(rename = "type", skip_deserializing, serialize_with = "write_type")]
    pub kind: (),
    /// When the file began.
    pub started_at: String,
    /// A short name for people.
    pub label: String,
    /// The server's command line; other producers write it as one string.
    #[serde(deserialize_with = "read_command")]
    pub command: Vec<String>,
    /// The file's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub producer: Option<Producer>,
    /// How client and server were connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// Where an imported trace comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// Whether redaction was on; unknown for other producers' files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
    /// Where this file stands in a rotated recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
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
        // How a shell would split it is not known, so it stays one word.
        CommandField::Line(line) => Vec::from_iter(Some(line).filter(|line| !line.is_empty())),
    })
}

/// The program that wrote a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Producer {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Where an imported trace comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Imported {
    /// The format of the source.
    pub format: String,
    /// The name of the source.
    pub source: String,
    /// Whether the source has calls and nothing else of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_only: Option<bool>,
}

/// The place of a file in a rotated recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Part {
    /// Counts the parts; the first, which has no `part`, is 1.
    pub index: u64,
    /// The id of the first part.
    pub of: String,
    /// The file name of the part before.
    pub previous: String,
    /// The offset at which this part began.
    pub us: u64,
}
