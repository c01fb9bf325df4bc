//! Writing traces: encoding observations as lines.
//!
//! [`Encoder`] only appends to a buffer, so that a recorder can encode under its lock and decide itself when
//! and how often to write. [`TraceWriter`] is the simple case, with a `Write` behind it. Lines are written by
//! hand instead of through `serde`: the order of members is part of what readers rely on (`raw` is last), and
//! a payload is copied as it is.

use super::chain::Chain;
use super::{CHAIN, Meta};
use crate::message::Direction;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use std::io::{self, Write};

/// When a line was observed. Clocks belong to the caller; this crate reads none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// Milliseconds since 1970, UTC.
    pub wall_ms: i64,
    /// Microseconds since the recording began.
    pub us: u64,
}

impl Moment {
    /// The time `us` microseconds earlier.
    pub fn before(self, us: u64) -> Self {
        let ms = i64::try_from(us / 1000).unwrap_or(i64::MAX);
        Moment { wall_ms: self.wall_ms.saturating_sub(ms), us: self.us.saturating_sub(us) }
    }
}

/// Properties of a line on the wire that its payload doesn't show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wire {
    /// A byte order mark preceded the line.
    pub bom: bool,
    /// The line ended in `\r\n`.
    pub crlf: bool,
    /// The stream ended before the line's newline.
    pub eof: bool,
}

impl From<crate::framing::LineFrame<'_>> for Wire {
    fn from(frame: crate::framing::LineFrame<'_>) -> Self {
        Wire { bom: frame.bom, crlf: frame.crlf, eof: frame.unterminated }
    }
}

impl Wire {
    fn names(self) -> impl Iterator<Item = &'static str> {
        [(self.bom, "bom"), (self.crlf, "crlf"), (self.eof, "eof")]
            .into_iter()
            .filter_map(|(there, name)| there.then_some(name))
    }
}

/// The members of a line besides its payload and stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Context<'a> {
    /// Properties of the line on the wire.
    pub wire: Wire,
    /// The `Mcp-Session-Id`, if there is one.
    pub session: Option<&'a str>,
    /// The HTTP exchange that carried it: a JSON object on one line, from [`super::ExchangeNote::encode`].
    pub http: Option<&'a [u8]>,
    /// The fields that an imported line has without a value in the source.
    pub assumed: Assumed,
}

/// The fields that an imported line has without a value in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Assumed {
    /// `t` is not from the source.
    pub time: bool,
    /// `dir` is not from the source.
    pub direction: bool,
}

impl Assumed {
    fn names(self) -> impl Iterator<Item = &'static str> {
        [(self.time, "t"), (self.direction, "dir")]
            .into_iter()
            .filter_map(|(there, name)| there.then_some(name))
    }
}

impl From<Wire> for Context<'_> {
    fn from(wire: Wire) -> Self {
        Context { wire, ..Context::default() }
    }
}

/// The last line of a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LineEnd {
    /// The server's exit code; 128 + n if signal n ended it, 127 if it could not be started.
    pub exit_code: i32,
    /// Milliseconds since this file began.
    pub duration_ms: u64,
    /// The number of the signal that ended the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Why the recording ended, if that needs an explanation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The number of lines that could not be written, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// The names of fields that are not from the source; only in imported traces.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub assumed: &'static [&'static str],
}

/// Formats wall-clock times as the format requires. Caches the last one: most lines fall into the same
/// second, and then only three digits change.
#[derive(Debug, Default)]
pub struct WallClock {
    wall_ms: i64,
    text: String,
}

impl WallClock {
    /// Formats milliseconds since 1970 as `2026-05-12T23:00:00.123Z`.
    pub fn format(&mut self, wall_ms: i64) -> &str {
        if self.text.is_empty() || wall_ms != self.wall_ms {
            self.update(wall_ms);
            self.wall_ms = wall_ms;
        }
        &self.text
    }

    fn update(&mut self, wall_ms: i64) {
        let (second, millis) = (wall_ms.div_euclid(1000), wall_ms.rem_euclid(1000));
        if self.text.is_empty() || second != self.wall_ms.div_euclid(1000) {
            // A time outside jiff's range is a broken clock or source, and must not cost the line.
            let time = jiff::Timestamp::from_second(second).unwrap_or(jiff::Timestamp::MAX);
            self.text = format!("{}.000Z", time.strftime("%Y-%m-%dT%H:%M:%S"));
        }
        // The same second: only the three digits and the `Z` are replaced. Formatting a calendar time again
        // for every line would cost far more.
        self.text.truncate(self.text.len() - 4);
        for divisor in [100, 10, 1] {
            self.text.push(char::from(b'0' + (millis / divisor % 10) as u8));
        }
        self.text.push('Z');
    }
}

/// Encodes observations as lines of a trace, and numbers them.
#[derive(Debug, Default)]
pub struct Encoder {
    clock: WallClock,
    seq: u64,
    without_offsets: bool,
    chain: Option<Chain>,
}

impl Encoder {
    /// An encoder at the start of a recording.
    pub fn new() -> Self {
        Self::default()
    }

    /// An encoder whose lines carry check values; see [`Chain`].
    pub fn chained() -> Self {
        Encoder { chain: Some(Chain::default()), ..Self::default() }
    }

    /// The check values so far, to be restored if the lines encoded next can't be written.
    pub fn chain(&self) -> Option<&Chain> {
        self.chain.as_ref()
    }

    /// Resets the check values to those of the bytes that were really written.
    pub fn restore_chain(&mut self, chain: Option<Chain>) {
        self.chain = chain;
    }

    /// An encoder for imported traces: without `us`, since the sources have no monotonic clock.
    pub fn without_offsets() -> Self {
        Encoder { without_offsets: true, ..Self::default() }
    }

    /// Encodes a message's line up to its payload. The caller writes the payload and
    /// [`Encoder::MESSAGE_TAIL`] after it, and calls [`Encoder::absorb_payload`]. This way a large payload is
    /// not copied into the buffer.
    pub fn message_head(&mut self, out: &mut Vec<u8>, at: Moment, dir: Direction, context: Context<'_>) {
        let start = out.len();
        self.stamp(out, at, None, Some(dir));
        push_context(out, context);
        out.extend_from_slice(b",\"raw\":");
        self.absorb(&out[start..]);
    }

    /// Adds a payload that went to the file without passing through the encoder to the check values.
    pub fn absorb_payload(&mut self, raw: &[u8]) {
        self.absorb(raw);
        self.absorb(Self::MESSAGE_TAIL);
    }

    fn absorb(&mut self, bytes: &[u8]) {
        if let Some(chain) = &mut self.chain {
            chain.absorb(bytes);
        }
    }

    /// Ends the last line of a file, with the digest of the file if lines carry check values. The line begins
    /// at `start` in `out`.
    fn finish_file(&mut self, out: &mut Vec<u8>, start: usize) {
        match &mut self.chain {
            Some(chain) => chain.push_head(out, start),
            None => out.extend_from_slice(b"}\n"),
        }
    }

    /// The end of a message's line, after the payload.
    pub const MESSAGE_TAIL: &'static [u8] = b"}\n";

    /// Encodes a message. `raw` must be one JSON value in UTF-8 without a newline.
    pub fn message(
        &mut self,
        out: &mut Vec<u8>,
        at: Moment,
        dir: Direction,
        context: Context<'_>,
        raw: &[u8],
    ) {
        // In release builds callers are trusted: scanning every payload for a newline is what the framer has
        // just done.
        debug_assert!(!raw.contains(&b'\n'), "a payload must stand on one line");
        self.message_head(out, at, dir, context);
        out.extend_from_slice(raw);
        out.extend_from_slice(Self::MESSAGE_TAIL);
        self.absorb_payload(raw);
    }

    /// Encodes a line on the wire that is not JSON.
    pub fn text(&mut self, out: &mut Vec<u8>, at: Moment, dir: Direction, context: Context<'_>, text: &[u8]) {
        let start = out.len();
        self.stamp(out, at, Some("text"), Some(dir));
        push_context(out, context);
        push_text(out, text);
        self.finish_line(out, start);
    }

    /// Encodes a line of the server's standard error.
    pub fn stderr(&mut self, out: &mut Vec<u8>, at: Moment, context: Context<'_>, text: &[u8]) {
        let start = out.len();
        self.stamp(out, at, Some("stderr"), None);
        push_context(out, context);
        push_text(out, text);
        self.finish_line(out, start);
    }

    /// Encodes an event of an HTTP exchange that no message records.
    pub fn http(&mut self, out: &mut Vec<u8>, at: Moment, context: Context<'_>) {
        let start = out.len();
        self.stamp(out, at, Some("http"), None);
        push_context(out, context);
        self.finish_line(out, start);
    }

    /// Encodes a gap: `lost` lines could not be written here.
    pub fn gap(&mut self, out: &mut Vec<u8>, at: Moment, lost: u64, reason: &str) {
        let start = out.len();
        self.stamp(out, at, Some("gap"), None);
        out.extend_from_slice(b",\"lost\":");
        push_number(out, lost);
        out.extend_from_slice(b",\"reason\":");
        push_string(out, reason);
        self.finish_line(out, start);
    }

    /// Encodes the last line of a part that another one follows.
    pub fn rotated(&mut self, out: &mut Vec<u8>, at: Moment, next: &str) {
        let start = out.len();
        self.stamp(out, at, Some("rotated"), None);
        out.extend_from_slice(b",\"next\":");
        push_string(out, next);
        self.finish_file(out, start);
    }

    /// Encodes the last line of a recording.
    pub fn end(&mut self, out: &mut Vec<u8>, at: Moment, end: &LineEnd) {
        let start = out.len();
        self.stamp(out, at, Some("end"), None);
        let fields = serde_json::to_vec(end).expect("plain fields always serialize");
        out.push(b',');
        // Without the braces: the members continue the object that `stamp` began.
        out.extend_from_slice(&fields[1..fields.len() - 1]);
        self.finish_file(out, start);
    }

    /// Encodes the first line of a file, and starts the check values over.
    pub fn meta(&mut self, out: &mut Vec<u8>, at: Moment, meta: &Meta) {
        let start = out.len();
        let meta = Meta {
            v: super::VERSION,
            started_at: self.clock.format(at.wall_ms).to_owned(),
            chain: self.chain.as_ref().map(|_| CHAIN.to_owned()),
            ..meta.clone()
        };
        serde_json::to_writer(&mut *out, &meta).expect("plain fields always serialize");
        out.push(b'\n');
        if let Some(chain) = &mut self.chain {
            // Every file has its own digest, so that a part can be checked without the others.
            *chain = Chain::default();
            chain.absorb(&out[start..]);
        }
    }

    /// Copies a line that this encoder wrote, with another time. An import learns the first time in its
    /// source only after it has encoded the lines before it.
    pub(crate) fn restamp(&mut self, out: &mut Vec<u8>, wall_ms: i64, line: &[u8]) {
        out.extend_from_slice(BEFORE_TIME);
        out.extend_from_slice(self.clock.format(wall_ms).as_bytes());
        let time_and_rest =
            line.strip_prefix(BEFORE_TIME).expect("every line but `meta` begins with its time");
        let rest = memchr::memchr(b'"', time_and_rest).expect("a time ends with its quote");
        out.extend_from_slice(&time_and_rest[rest..]);
    }

    fn stamp(&mut self, out: &mut Vec<u8>, at: Moment, kind: Option<&str>, dir: Option<Direction>) {
        // Counted even if the line is lost later, so that a gap shows in the numbers.
        self.seq += 1;
        out.extend_from_slice(BEFORE_TIME);
        out.extend_from_slice(self.clock.format(at.wall_ms).as_bytes());
        if let Some(kind) = kind {
            out.extend_from_slice(b"\",\"type\":\"");
            out.extend_from_slice(kind.as_bytes());
        }
        match dir {
            Some(Direction::ClientToServer) => out.extend_from_slice(b"\",\"dir\":\"in"),
            Some(Direction::ServerToClient) => out.extend_from_slice(b"\",\"dir\":\"out"),
            None => {}
        }
        out.extend_from_slice(b"\",\"seq\":");
        push_number(out, self.seq);
        if !self.without_offsets {
            out.extend_from_slice(b",\"us\":");
            push_number(out, at.us);
        }
        if let Some(chain) = &self.chain {
            // Before the payload: a reader finds the value near the beginning of the line, whatever a peer
            // sent.
            chain.push_check(out);
        }
    }

    fn finish_line(&mut self, out: &mut Vec<u8>, start: usize) {
        out.extend_from_slice(b"}\n");
        self.absorb(&out[start..]);
    }
}

/// The first bytes of every line except `meta`.
const BEFORE_TIME: &[u8] = b"{\"t\":\"";

pub(super) fn push_number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

pub(super) fn push_string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("writing a string into memory can't fail");
}

fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(b",\"text\":");
    match std::str::from_utf8(text) {
        Ok(text) => push_string(out, text),
        Err(_) => {
            // JSON has to be UTF-8; the exact bytes follow in Base64.
            push_string(out, &String::from_utf8_lossy(text));
            out.extend_from_slice(b",\"base64\":");
            push_string(out, &STANDARD.encode(text));
        }
    }
}

fn push_context(out: &mut Vec<u8>, context: Context<'_>) {
    push_names(out, "wire", context.wire.names());
    push_names(out, "assumed", context.assumed.names());
    if let Some(session) = context.session {
        out.extend_from_slice(b",\"session\":");
        push_string(out, session);
    }
    if let Some(http) = context.http {
        debug_assert!(!http.contains(&b'\n'), "a context must stand on one line");
        out.extend_from_slice(b",\"http\":");
        out.extend_from_slice(http);
    }
}

/// Appends a list of names as a member, unless it is empty.
fn push_names(out: &mut Vec<u8>, list: &str, names: impl Iterator<Item = &'static str>) {
    // No list of strings is collected: most lines have none of these names.
    let mut before = "[";
    for name in names {
        if before == "[" {
            out.extend_from_slice(b",\"");
            out.extend_from_slice(list.as_bytes());
            out.extend_from_slice(b"\":");
        }
        out.extend_from_slice(before.as_bytes());
        out.push(b'"');
        out.extend_from_slice(name.as_bytes());
        out.push(b'"');
        before = ",";
    }
    if before == "," {
        out.push(b']');
    }
}

/// Writes a trace, line by line. Returns the first error; a recorder that survives full disks is the proxy
/// crate's journal.
#[derive(Debug)]
pub struct TraceWriter<W> {
    sink: W,
    encoder: Encoder,
    line: Vec<u8>,
}

impl<W: Write> TraceWriter<W> {
    /// Starts a trace by writing its `meta` line.
    pub fn new(sink: W, at: Moment, meta: &Meta) -> io::Result<Self> {
        let mut writer = TraceWriter { sink, encoder: Encoder::new(), line: Vec::new() };
        writer.encoder.meta(&mut writer.line, at, meta);
        writer.write_line()?;
        Ok(writer)
    }

    /// Writes a message. A payload that can't be written as `raw` (not JSON, or not UTF-8) is written as
    /// text.
    pub fn message(&mut self, at: Moment, dir: Direction, raw: &[u8]) -> io::Result<()> {
        if crate::message::is_recordable(raw) && !raw.contains(&b'\n') {
            self.encoder.message(&mut self.line, at, dir, Context::default(), raw);
        } else {
            self.encoder.text(&mut self.line, at, dir, Context::default(), raw);
        }
        self.write_line()
    }

    /// Writes a line of standard error.
    pub fn stderr(&mut self, at: Moment, text: &[u8]) -> io::Result<()> {
        self.encoder.stderr(&mut self.line, at, Context::default(), text);
        self.write_line()
    }

    /// Writes the last line, and hands the sink back.
    pub fn end(mut self, at: Moment, end: &LineEnd) -> io::Result<W> {
        self.encoder.end(&mut self.line, at, end);
        self.write_line()?;
        self.sink.flush()?;
        Ok(self.sink)
    }

    fn write_line(&mut self) -> io::Result<()> {
        self.sink.write_all(&self.line)?;
        self.line.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Part;

    const AT: Moment = Moment { wall_ms: 1_778_626_800_123, us: 42 };

    fn line(encode: impl FnOnce(&mut Encoder, &mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        encode(&mut Encoder::new(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_are_as_specified() {
        let dir = Direction::ClientToServer;
        let wire = Wire { bom: true, crlf: true, eof: false };
        assert_eq!(
            line(|e, out| e.message(out, AT, dir, Context::default(), b"{\"id\": 1.0}")),
            "{\"t\":\"2026-05-12T23:00:00.123Z\",\"dir\":\"in\",\"seq\":1,\"us\":42,\"raw\":{\"id\": 1.0}}\n"
        );
        assert_eq!(
            line(|e, out| e.text(out, AT, dir.reverse(), wire.into(), b"hi \"you\"\xff")),
            "{\"t\":\"2026-05-12T23:00:00.123Z\",\"type\":\"text\",\"dir\":\"out\",\"seq\":1,\"us\":42,\"wire\":[\"bom\",\"crlf\"],\"text\":\"hi \\\"you\\\"\u{fffd}\",\"base64\":\"aGkgInlvdSL/\"}\n"
        );
        assert_eq!(
            line(|e, out| {
                let context =
                    Context { session: Some("s\"1"), http: Some(b"{\"x\":7}"), ..Context::default() };
                e.http(out, AT, context);
            }),
            "{\"t\":\"2026-05-12T23:00:00.123Z\",\"type\":\"http\",\"seq\":1,\"us\":42,\"session\":\"s\\\"1\",\"http\":{\"x\":7}}\n"
        );
        assert_eq!(
            line(|e, out| e.end(
                out,
                AT,
                &LineEnd { exit_code: 137, duration_ms: 7, signal: Some(9), ..LineEnd::default() }
            )),
            "{\"t\":\"2026-05-12T23:00:00.123Z\",\"type\":\"end\",\"seq\":1,\"us\":42,\"exitCode\":137,\"durationMs\":7,\"signal\":9}\n"
        );
    }

    #[test]
    fn meta_has_all_that_v1_requires() {
        let meta = Meta {
            label: "x".into(),
            command: vec!["a".into()],
            part: Some(Part { index: 2, of: "i".into(), previous: "p".into(), us: 3, sha256: None }),
            ..Meta::default()
        };
        assert_eq!(
            line(|e, out| e.meta(out, AT, &meta)),
            "{\"v\":1,\"type\":\"meta\",\"startedAt\":\"2026-05-12T23:00:00.123Z\",\"label\":\"x\",\"command\":[\"a\"],\"part\":{\"index\":2,\"of\":\"i\",\"previous\":\"p\",\"us\":3}}\n"
        );
    }

    #[test]
    fn the_clock_crosses_seconds() {
        let mut clock = WallClock::default();
        assert_eq!(clock.format(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(clock.format(999), "1970-01-01T00:00:00.999Z");
        assert_eq!(clock.format(1000), "1970-01-01T00:00:01.000Z");
        assert_eq!(clock.format(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(clock.format(i64::MAX).len(), 24);
    }
}
