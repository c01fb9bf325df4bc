//! Writing traces.

use super::chain::Chain;
use super::{CHAIN, Meta};
use crate::message::Direction;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use std::io::{self, Write};

/// When a line was observed. Time is always a value here: the clocks are the caller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// Milliseconds since 1970, UTC.
    pub wall_ms: i64,
    /// Microseconds since the recording began.
    pub us: u64,
}

/// What else a line had on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wire {
    /// A byte order mark before it.
    pub bom: bool,
    /// It ended in `\r\n`.
    pub crlf: bool,
    /// The stream ended before its newline.
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

/// What a line says beside its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Context<'a> {
    /// What else the line had on the wire.
    pub wire: Wire,
    /// The session that it belongs to.
    pub session: Option<&'a str>,
    /// The HTTP exchange that carried it: a JSON object, as [`super::ExchangeNote::encode`] makes it.
    pub http: Option<&'a [u8]>,
    /// What an imported line says although its source doesn't.
    pub assumed: Assumed,
}

/// What an imported line says although its source doesn't.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Assumed {
    /// When it was observed.
    pub time: bool,
    /// Who sent it.
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
    /// The server's exit code.
    pub exit_code: i32,
    /// Milliseconds since this file began.
    pub duration_ms: u64,
    /// The signal that ended the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Why it ended, where that needs a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Lines that could not be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// What the line says although its source doesn't.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub assumed: &'static [&'static str],
}

/// Formats wall-clock times as the format wants them, fast when many fall into one second.
#[derive(Debug, Default)]
pub struct WallClock {
    wall_ms: i64,
    text: String,
}

impl WallClock {
    /// `wall_ms` as `2026-05-12T23:00:00.123Z`.
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
            let time = jiff::Timestamp::from_second(second).unwrap_or(jiff::Timestamp::MAX);
            self.text = format!("{}.000Z", time.strftime("%Y-%m-%dT%H:%M:%S"));
        }
        self.text.truncate(self.text.len() - 4);
        for divisor in [100, 10, 1] {
            self.text.push(char::from(b'0' + (millis / divisor % 10) as u8));
        }
        self.text.push('Z');
    }
}

/// Turns observations into the lines of a trace, and counts them.
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

    /// The check values so far: where to go back to if lines can't be written.
    pub fn chain(&self) -> Option<&Chain> {
        self.chain.as_ref()
    }

    /// Goes back to what was really written.
    pub fn restore_chain(&mut self, chain: Option<Chain>) {
        self.chain = chain;
    }

    /// An encoder for what was observed by somebody else, with a coarser clock.
    pub fn without_offsets() -> Self {
        Encoder { without_offsets: true, ..Self::default() }
    }

    /// What a message's line has before its payload; after it comes [`Encoder::MESSAGE_TAIL`], and
    /// [`Encoder::absorb_payload`] is called.
    pub fn message_head(&mut self, out: &mut Vec<u8>, at: Moment, dir: Direction, context: Context<'_>) {
        let start = out.len();
        self.stamp(out, at, None, Some(dir));
        push_context(out, context);
        out.extend_from_slice(b",\"raw\":");
        self.absorb(&out[start..]);
    }

    /// The payload behind a [`message_head`](Encoder::message_head), which goes to the file without passing through here.
    pub fn absorb_payload(&mut self, raw: &[u8]) {
        self.absorb(raw);
        self.absorb(Self::MESSAGE_TAIL);
    }

    fn absorb(&mut self, bytes: &[u8]) {
        if let Some(chain) = &mut self.chain {
            chain.absorb(bytes);
        }
    }

    /// Ends the last line of a file, which begins at `start`.
    fn finish_file(&mut self, out: &mut Vec<u8>, start: usize) {
        match &mut self.chain {
            Some(chain) => chain.push_head(out, start),
            None => out.extend_from_slice(b"}\n"),
        }
    }

    /// What a message's line has after its payload.
    pub const MESSAGE_TAIL: &'static [u8] = b"}\n";

    /// A message. `raw` must be one JSON value in UTF-8 without a newline.
    pub fn message(
        &mut self,
        out: &mut Vec<u8>,
        at: Moment,
        dir: Direction,
        context: Context<'_>,
        raw: &[u8],
    ) {
        debug_assert!(!raw.contains(&b'\n'), "a payload must stand on one line");
        self.message_head(out, at, dir, context);
        out.extend_from_slice(raw);
        out.extend_from_slice(Self::MESSAGE_TAIL);
        self.absorb_payload(raw);
    }

    /// A line on the wire that is not JSON.
    pub fn text(&mut self, out: &mut Vec<u8>, at: Moment, dir: Direction, context: Context<'_>, text: &[u8]) {
        let start = out.len();
        self.stamp(out, at, Some("text"), Some(dir));
        push_context(out, context);
        push_text(out, text);
        self.finish_line(out, start);
    }

    /// A line of the server's standard error.
    pub fn stderr(&mut self, out: &mut Vec<u8>, at: Moment, context: Context<'_>, text: &[u8]) {
        let start = out.len();
        self.stamp(out, at, Some("stderr"), None);
        push_context(out, context);
        push_text(out, text);
        self.finish_line(out, start);
    }

    /// Something about an HTTP exchange that no message tells.
    pub fn http(&mut self, out: &mut Vec<u8>, at: Moment, context: Context<'_>) {
        let start = out.len();
        self.stamp(out, at, Some("http"), None);
        push_context(out, context);
        self.finish_line(out, start);
    }

    /// A place where lines were lost.
    pub fn gap(&mut self, out: &mut Vec<u8>, at: Moment, lost: u64, reason: &str) {
        let start = out.len();
        self.stamp(out, at, Some("gap"), None);
        out.extend_from_slice(b",\"lost\":");
        push_number(out, lost);
        out.extend_from_slice(b",\"reason\":");
        push_string(out, reason);
        self.finish_line(out, start);
    }

    /// The last line of a part that is not the last.
    pub fn rotated(&mut self, out: &mut Vec<u8>, at: Moment, next: &str) {
        let start = out.len();
        self.stamp(out, at, Some("rotated"), None);
        out.extend_from_slice(b",\"next\":");
        push_string(out, next);
        self.finish_file(out, start);
    }

    /// The last line of a recording.
    pub fn end(&mut self, out: &mut Vec<u8>, at: Moment, end: &LineEnd) {
        let start = out.len();
        self.stamp(out, at, Some("end"), None);
        let fields = serde_json::to_vec(end).expect("plain fields always serialize");
        out.push(b',');
        out.extend_from_slice(&fields[1..fields.len() - 1]);
        self.finish_file(out, start);
    }

    /// The first line of a file.
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
            *chain = Chain::default();
            chain.absorb(&out[start..]);
        }
    }

    /// Copies a line that this encoder wrote, with another time.
    pub(crate) fn restamp(&mut self, out: &mut Vec<u8>, wall_ms: i64, line: &[u8]) {
        out.extend_from_slice(BEFORE_TIME);
        out.extend_from_slice(self.clock.format(wall_ms).as_bytes());
        let time_and_rest =
            line.strip_prefix(BEFORE_TIME).expect("every line but `meta` begins with its time");
        let rest = memchr::memchr(b'"', time_and_rest).expect("a time ends with its quote");
        out.extend_from_slice(&time_and_rest[rest..]);
    }

    fn stamp(&mut self, out: &mut Vec<u8>, at: Moment, kind: Option<&str>, dir: Option<Direction>) {
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
            chain.push_check(out);
        }
    }

    fn finish_line(&mut self, out: &mut Vec<u8>, start: usize) {
        out.extend_from_slice(b"}\n");
        self.absorb(&out[start..]);
    }
}

/// How every line but `meta` begins.
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

/// Writes a list of names, if there are any.
fn push_names(out: &mut Vec<u8>, list: &str, names: impl Iterator<Item = &'static str>) {
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

/// Writes a trace, line by line, to anything that can be written to. For a recorder that must survive full
/// disks see the proxy crate; this one returns the first error.
#[derive(Debug)]
pub struct TraceWriter<W> {
    sink: W,
    encoder: Encoder,
    line: Vec<u8>,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace.
    pub fn new(sink: W, at: Moment, meta: &Meta) -> io::Result<Self> {
        let mut writer = TraceWriter { sink, encoder: Encoder::new(), line: Vec::new() };
        writer.encoder.meta(&mut writer.line, at, meta);
        writer.write_line()?;
        Ok(writer)
    }

    /// Writes a message; what can't stand as `raw` (it is not JSON, or not UTF-8) is written as text.
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
