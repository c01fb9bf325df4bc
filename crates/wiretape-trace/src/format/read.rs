//! Reading traces: a streaming parser that tolerates what it doesn't know and reports what it skipped.
//!
//! Traces come from other programs, newer versions and crashed recorders, so nothing in a line is an error: a
//! damaged line becomes a record, and what is worth knowing becomes a [`Notice`]. Only a failing source is a
//! [`ReadError`]. Payloads are returned as bytes; interpreting them is left to [`crate::message`] and the
//! analyses.

use super::Meta;
use crate::compress::size;
use crate::framing::{LineFrame, LineFramer};
use crate::json::{self, Lexeme, Lexer, SyntaxError, Token};
use crate::message::Direction;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io::{self, Read};

/// Bytes per read from the source.
const CHUNK: usize = 256 * 1024;

/// The longest line that is read, in bytes; longer ones are skipped. A line has to fit in memory as a whole,
/// and the file may come from another program.
pub const MAX_LINE: usize = 512 << 20;

/// One line of a trace, with its position.
#[derive(Debug)]
pub struct Line<'a> {
    /// The line number, from 1; `meta` counts.
    pub number: u64,
    /// Byte offset of the line in the (decompressed) file.
    pub offset: u64,
    /// The line's bytes, without the newline.
    pub bytes: &'a [u8],
    /// The content of the line, parsed.
    pub record: Record<'a>,
}

/// The content of a line, by its `type`.
#[derive(Debug, Clone, PartialEq)]
pub enum Record<'a> {
    /// The first line of a file, which describes it.
    Meta(Box<Meta>),
    /// A JSON-RPC message or batch.
    Message(Message<'a>),
    /// A line on the wire that is not JSON.
    Text(OtherText<'a>),
    /// A line of standard error.
    Stderr(OtherText<'a>),
    /// An event of an HTTP exchange that no message records: a 401, a 202, the end of a stream.
    Http(Exchange<'a>),
    /// A place where lines were lost.
    Gap(Gap),
    /// The recording continues in another file.
    Rotated {
        /// When this file ended.
        stamp: Stamp<'a>,
        /// The name of the next file, without a directory.
        next: String,
    },
    /// The last line of a recording.
    End(End),
    /// A type that this version doesn't know. It is kept and shown verbatim.
    Unknown {
        /// Its `type`, if it has one.
        type_name: Option<Cow<'a, str>>,
        /// When it was observed.
        stamp: Stamp<'a>,
    },
    /// A line that is not a JSON object.
    Damaged(SyntaxError),
}

/// When a line was observed, and its number; each part may be missing in other programs' files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stamp<'a> {
    /// The UTC time, as written.
    pub t: Option<Cow<'a, str>>,
    /// The line's sequence number.
    pub seq: Option<u64>,
    /// Microseconds since the recording began.
    pub us: Option<u64>,
}

impl Stamp<'_> {
    /// Milliseconds since 1970, if `t` is a time.
    pub fn wall_ms(&self) -> Option<i64> {
        parse_time(self.t.as_deref()?)
    }

    /// The same stamp, without borrowing from the line.
    pub fn into_owned(self) -> Stamp<'static> {
        Stamp { t: self.t.map(|t| Cow::Owned(t.into_owned())), seq: self.seq, us: self.us }
    }
}

impl<'a> Record<'a> {
    /// When the line was observed. `None` for lines without a time: `meta`, and lines that can't be parsed.
    pub fn stamp(&self) -> Option<&Stamp<'a>> {
        match self {
            Record::Message(message) => Some(&message.stamp),
            Record::Text(text) | Record::Stderr(text) => Some(&text.stamp),
            Record::Http(exchange) => Some(&exchange.stamp),
            Record::Gap(gap) => Some(&gap.stamp),
            Record::Rotated { stamp, .. } | Record::Unknown { stamp, .. } => Some(stamp),
            Record::End(end) => Some(&end.stamp),
            Record::Meta(_) | Record::Damaged(_) => None,
        }
    }
}

/// An ISO 8601 time as milliseconds since 1970.
pub(crate) fn parse_time(text: &str) -> Option<i64> {
    usual_time(text.as_bytes())
        .or_else(|| text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond))
}

/// The one spelling that the format writes, `2026-05-12T23:00:00.123Z`. A general parser took a fifth of the
/// time of `calls` (`cargo xtask bench analyze`).
fn usual_time(text: &[u8]) -> Option<i64> {
    let text: &[u8; 24] = text.try_into().ok()?;
    let digits = |range: std::ops::Range<usize>| {
        text[range].iter().try_fold(0i64, |number, byte| {
            byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0'))
        })
    };
    // Compared at fixed offsets, because the length was checked: this is the one spelling that the format
    // writes.
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
    if marks.iter().any(|(at, mark)| text[*at] != *mark) {
        return None;
    }
    let (year, month, day) = (digits(0..4)?, digits(5..7)?, digits(8..10)?);
    let (hour, minute, second, ms) = (digits(11..13)?, digits(14..16)?, digits(17..19)?, digits(20..23)?);
    // Days that not every month has, and leap seconds, are left to the general parser.
    if !(1..=12).contains(&month) || !(1..=28).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = ((days_since_1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Some(seconds * 1000 + ms)
}

/// Days since 1970 in the Gregorian calendar. Years are counted from March, so that the leap day is the last of a year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, month) = (year.div_euclid(400), (month + 9) % 12);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The `dir` member of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectionField<'a> {
    /// `in` (client to server) or `out` (server to client).
    Known(Direction),
    /// Another value, verbatim: other programs write `event`, `command` or `telemetry`.
    Other(Cow<'a, str>),
    /// The member is missing or not a string.
    Missing,
}

impl DirectionField<'_> {
    /// The direction, if it is `in` or `out`.
    pub fn known(&self) -> Option<Direction> {
        match self {
            DirectionField::Known(direction) => Some(*direction),
            _ => None,
        }
    }
}

/// A line with a JSON-RPC payload.
#[derive(Debug, Clone, PartialEq)]
pub struct Message<'a> {
    /// When it was observed.
    pub stamp: Stamp<'a>,
    /// The sender, from `dir`.
    pub dir: DirectionField<'a>,
    /// The payload's bytes, as they were on the wire except for redacted values.
    pub raw: &'a [u8],
    /// The `Mcp-Session-Id`, if there is one.
    pub session: Option<Cow<'a, str>>,
    /// The bytes of its HTTP context; see [`super::HttpContext::parse`].
    pub http: Option<&'a [u8]>,
}

/// A line about an HTTP exchange.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange<'a> {
    /// When it was observed.
    pub stamp: Stamp<'a>,
    /// The `Mcp-Session-Id`, if there is one.
    pub session: Option<Cow<'a, str>>,
    /// The bytes of its HTTP context; see [`super::HttpContext::parse`].
    pub http: &'a [u8],
}

impl OtherText<'_> {
    /// Whether it is an event of a stream that is not meant to be JSON: the empty event that primes a stream
    /// (2025-11-25), the `endpoint` of HTTP+SSE, an event of another type.
    pub fn is_stream_event(&self) -> bool {
        let sse = self.http.and_then(|http| super::HttpContext::parse(http).sse);
        sse.is_some_and(|sse| {
            self.text.trim().is_empty()
                || sse.event.is_some_and(|event| !event.is_empty() && event != "message")
        })
    }
}

/// A line that is not a message: text on the wire, or a line of standard error.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherText<'a> {
    /// When it was observed.
    pub stamp: Stamp<'a>,
    /// The sender, from `dir`. Missing for standard error.
    pub dir: DirectionField<'a>,
    /// The line's text; bytes that are not UTF-8 are U+FFFD.
    pub text: Cow<'a, str>,
    /// The bytes of its HTTP context; see [`super::HttpContext::parse`].
    pub http: Option<&'a [u8]>,
}

/// A place where lines were lost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Gap {
    /// When the `gap` line was written, which is when writing worked again.
    #[serde(skip)]
    pub stamp: Stamp<'static>,
    /// The number of lines that could not be written.
    pub lost: u64,
    /// Why they could not be written, for people.
    pub reason: String,
}

/// The last line of a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct End {
    /// When it was written.
    #[serde(skip)]
    pub stamp: Stamp<'static>,
    /// The server's exit code; 128 + n if signal n ended it. `None` if no process was observed.
    pub exit_code: Option<i64>,
    /// Milliseconds since the file began. Before its first release, Wiretape counted from the beginning of
    /// the recording in the last part of a rotated one: [`End::duration_us`] is right for both.
    pub duration_ms: Option<u64>,
    /// The number of the signal that ended the server.
    pub signal: Option<i32>,
    /// Why the recording ended, if that needs an explanation.
    pub reason: Option<String>,
    /// The number of lines that could not be written.
    pub lost: Option<u64>,
}

impl End {
    /// Whether the server failed: it could not be started, exited with an error, or was killed. A server that
    /// ended because the recorder received a signal did not fail, whatever its exit code.
    pub fn is_failure(&self) -> bool {
        let failed = self.signal.is_some() || self.exit_code.is_some_and(|code| code != 0);
        failed && !self.was_stopped()
    }

    /// Whether the recorder received a signal and passed it on.
    pub fn was_stopped(&self) -> bool {
        self.reason.as_deref().is_some_and(|reason| reason.starts_with(super::STOPPED))
    }

    /// How long the file with this `meta` took, in microseconds.
    pub fn duration_us(&self, meta: &super::Meta) -> Option<u64> {
        match (&meta.part, self.stamp.us) {
            // `us` has always counted from the recording's beginning, whatever `durationMs` did.
            (Some(part), Some(us)) => Some(us.saturating_sub(part.us)),
            _ => self.duration_ms.map(|ms| ms.saturating_mul(1000)),
        }
    }
}

/// A remark about a trace that could still be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(rename_all = "kebab-case", tag = "notice")]
pub enum Notice {
    /// The first line is not `meta`.
    #[error("line 1: no `meta` line; label and command are unknown")]
    MissingMeta,
    /// The file states a later version of the format.
    #[error(
        "line {line}: format version {version} is newer than this program supports: upgrade wiretape to read it reliably"
    )]
    NewerVersion {
        /// Line number, from 1.
        line: u64,
        /// The version in the file's `meta`.
        version: u64,
    },
    /// A line that is not JSON.
    #[error("line {line}: not a JSON object (byte {offset}: {what}); skipped")]
    DamagedLine {
        /// Line number, from 1.
        line: u64,
        /// Byte offset of the error in the line.
        offset: usize,
        /// The syntax error, for people.
        what: &'static str,
    },
    /// A line that is too long to be read.
    #[error("line {line}: longer than {}; skipped", size(*.limit as u64))]
    LongLine {
        /// Line number, from 1.
        line: u64,
        /// The limit that the line exceeds, in bytes.
        limit: usize,
    },
    /// The last line was cut off, as by a crash.
    #[error("line {line}: the last line was cut off after {bytes} bytes; skipped")]
    TornLine {
        /// Line number, from 1.
        line: u64,
        /// The number of bytes before the file ends.
        bytes: usize,
    },
    /// A type this version doesn't know.
    #[error("line {line}: unknown line type; kept verbatim")]
    UnknownType {
        /// Line number, from 1.
        line: u64,
    },
    /// A direction other than `in` and `out`.
    #[error("line {line}: unknown direction; kept verbatim")]
    UnknownDirection {
        /// Line number, from 1.
        line: u64,
    },
    /// A line that is not UTF-8.
    #[error("line {line}: not UTF-8; invalid bytes are shown as U+FFFD")]
    NotUtf8 {
        /// Line number, from 1.
        line: u64,
    },
    /// The compressed file ends in the middle.
    #[error("after line {line}: the compressed file is cut off; only the lines before were read")]
    TruncatedCompression {
        /// The last line that could be read.
        line: u64,
    },
    /// The compressed file is larger than the limits of decompression allow.
    #[error("after line {line}: {reason}; the rest was not read")]
    DecompressionStopped {
        /// The last line that could be read.
        line: u64,
        /// The limit that was reached.
        reason: String,
    },
    /// There is no `end` line, nor a `rotated` one.
    #[error("no `end` line: the recording is still running, or the recorder was killed")]
    MissingEnd,
}

impl Notice {
    /// Whether part of the trace could not be read.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Notice::DamagedLine { .. }
                | Notice::LongLine { .. }
                | Notice::TornLine { .. }
                | Notice::TruncatedCompression { .. }
                | Notice::DecompressionStopped { .. }
        )
    }
}

/// The source failed in the middle of a trace.
#[derive(Debug, thiserror::Error)]
#[error("can't read past line {line}")]
pub struct ReadError {
    /// The last line that could be read.
    pub line: u64,
    /// The error of the source.
    #[source]
    pub source: io::Error,
}

/// Reads a trace, line by line.
///
/// ```
/// use wiretape_trace::format::{Record, TraceReader};
///
/// let trace = br#"{"t":"2026-05-12T23:00:00.123Z","dir":"in","raw":{"jsonrpc":"2.0","id":1,"method":"ping"}}"#;
/// let mut reader = TraceReader::new(&trace[..]);
/// let line = reader.next_line().unwrap().unwrap();
/// assert!(matches!(line.record, Record::Message(_)));
/// assert!(reader.next_line().unwrap().is_none());
/// assert_eq!(reader.notices().len(), 2); // no meta, no end
/// ```
#[derive(Debug)]
pub struct TraceReader<R> {
    source: R,
    framer: LineFramer,
    chunk: Vec<u8>,
    follow: bool,
    parse: fn(&[u8]) -> Record<'_>,
    max_line: usize,
    number: u64,
    state: ReaderState,
    notices: Vec<Notice>,
    more_notices: u64,
}

#[derive(Debug, Default)]
struct ReaderState {
    finished: bool,
    /// Byte offset of the line that is being skipped because it is too long.
    skipped: Option<u64>,
    ended: bool,
    rotated: bool,
}

impl<R: Read> TraceReader<R> {
    /// The most notices that are kept. A file of another kind would otherwise give one for each of its lines.
    const MAX_NOTICES: usize = 100;

    /// Reads a trace to its end.
    pub fn new(source: R) -> Self {
        TraceReader {
            source,
            framer: LineFramer::new(),
            chunk: vec![0; CHUNK],
            follow: false,
            parse: parse_line,
            max_line: MAX_LINE,
            number: 0,
            state: ReaderState::default(),
            notices: Vec::new(),
            more_notices: 0,
        }
    }

    /// Reads a trace to its end with [`parse_line_unseen`], for callers that parse every payload themselves.
    pub fn unseen(source: R) -> Self {
        TraceReader { parse: parse_line_unseen, ..Self::new(source) }
    }

    /// Reads a trace that is still growing: at the current end, `next_line` returns `None` and may be called
    /// again later. An incomplete last line is waited for.
    pub fn following(source: R) -> Self {
        TraceReader { follow: true, ..Self::new(source) }
    }

    /// Skips lines longer than this many bytes, instead of those longer than [`MAX_LINE`].
    pub fn with_line_limit(self, max_line: usize) -> Self {
        TraceReader { max_line, ..self }
    }

    /// The notices so far. Complete once `next_line` has returned `None`.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The number of notices that were dropped because too many came before.
    pub fn more_notices(&self) -> u64 {
        self.more_notices
    }

    /// Byte offset of the next line in the (decompressed) file.
    pub fn offset(&self) -> u64 {
        self.framer.offset()
    }

    /// Whether an `end` line has been read.
    pub fn ended(&self) -> bool {
        self.state.ended
    }

    /// The next line, or `None` at the end.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>, ReadError> {
        if !self.fill()? {
            return self.last_line();
        }
        self.number += 1;
        let number = self.number;
        if let Some(offset) = self.state.skipped.take() {
            return Ok(Some(self.long_line(offset)));
        }
        let offset = self.framer.offset();
        // The limit also applies to a line that arrived within one chunk, so that the outcome doesn't depend
        // on chunking.
        if self.framer.frame_len() > self.max_line {
            self.framer.next_frame();
            return Ok(Some(self.long_line(offset)));
        }
        let (offset, bytes) =
            self.framer.next_frame().map_or((offset, &b""[..]), |frame| within(offset, frame));
        let record = (self.parse)(bytes);
        let utf8 = json::is_utf8(bytes);
        note(&mut self.notices, &mut self.more_notices, &mut self.state, number, &record, utf8);
        Ok(Some(Line { number, offset, bytes, record }))
    }

    /// A damaged record in place of a line that was too long.
    fn long_line(&mut self, offset: u64) -> Line<'_> {
        self.push_notice(Notice::LongLine { line: self.number, limit: self.max_line });
        // The line that was skipped may have been `meta`; its content is unknown either way.
        if self.number == 1 {
            self.push_notice(Notice::MissingMeta);
        }
        let error = SyntaxError { offset: self.max_line, what: TOO_LONG };
        Line { number: self.number, offset, bytes: b"", record: Record::Damaged(error) }
    }

    /// Reads until a whole line is available or has been skipped. Returns false at the end of the source.
    fn fill(&mut self) -> Result<bool, ReadError> {
        loop {
            if self.framer.is_skipping() {
                // The newline of the skipped line has not been read yet.
            } else if self.state.skipped.is_some() || self.framer.has_frame() {
                return Ok(true);
            } else if self.framer.pending() > self.max_line {
                self.state.skipped = Some(self.framer.offset());
                // From here on the line's bytes are dropped as they arrive, so a line of any length needs no
                // more memory than the limit.
                self.framer.skip_line();
            }
            if self.state.finished {
                return Ok(false);
            }
            match self.source.read(&mut self.chunk) {
                Ok(0) => return Ok(false),
                Ok(n) => self.framer.push(&self.chunk[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // A decoder's way to report a truncated file. What was decoded before is still good.
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                    self.push_notice(Notice::TruncatedCompression { line: self.number });
                    return Ok(false);
                }
                Err(e) if e.kind() == io::ErrorKind::FileTooLarge => {
                    let (line, reason) = (self.number, e.to_string());
                    self.push_notice(Notice::DecompressionStopped { line, reason });
                    return Ok(false);
                }
                Err(source) => return Err(ReadError { line: self.number, source }),
            }
        }
    }

    fn last_line(&mut self) -> Result<Option<Line<'_>>, ReadError> {
        // When following, an incomplete line is not torn: the rest is still to come.
        if self.follow || self.state.finished {
            return Ok(None);
        }
        self.state.finished = true;
        if self.state.skipped.take().is_some() {
            self.number += 1;
            self.push_notice(Notice::LongLine { line: self.number, limit: self.max_line });
            self.note_end();
            return Ok(None);
        }
        let pending = self.framer.pending();
        if pending == 0 {
            self.note_end();
            return Ok(None);
        }
        self.number += 1;
        let number = self.number;
        // A last line without a newline is complete if it is JSON: other programs don't write the newline.
        if !self.framer.pending_is_json() {
            self.push_notice(Notice::TornLine { line: number, bytes: pending });
            self.note_end();
            return Ok(None);
        }
        let offset = self.framer.offset();
        let (offset, bytes) = self.framer.finish().map_or((offset, &b""[..]), |frame| within(offset, frame));
        let record = (self.parse)(bytes);
        note(&mut self.notices, &mut self.more_notices, &mut self.state, number, &record, true);
        if !self.state.ended && !self.state.rotated {
            push_notice(&mut self.notices, &mut self.more_notices, Notice::MissingEnd);
        }
        Ok(Some(Line { number, offset, bytes, record }))
    }

    fn note_end(&mut self) {
        if !self.state.ended && !self.state.rotated {
            self.push_notice(Notice::MissingEnd);
        }
    }

    fn push_notice(&mut self, notice: Notice) {
        push_notice(&mut self.notices, &mut self.more_notices, notice);
    }
}

/// The error of a line that was skipped.
const TOO_LONG: &str = "the line is too long";

/// A line's bytes and their offset, without the byte order mark if there is one.
fn within(offset: u64, frame: LineFrame<'_>) -> (u64, &[u8]) {
    (if frame.bom { offset + 3 } else { offset }, frame.bytes)
}

fn push_notice(notices: &mut Vec<Notice>, more: &mut u64, notice: Notice) {
    if notices.len() < TraceReader::<&[u8]>::MAX_NOTICES {
        notices.push(notice);
    } else {
        *more += 1;
    }
}

fn note(
    notices: &mut Vec<Notice>,
    more: &mut u64,
    state: &mut ReaderState,
    line: u64,
    record: &Record<'_>,
    utf8: bool,
) {
    let mut push = |notice| push_notice(notices, more, notice);
    if line == 1 && !matches!(record, Record::Meta(_)) {
        push(Notice::MissingMeta);
    }
    if !utf8 {
        push(Notice::NotUtf8 { line });
    }
    match record {
        Record::Meta(meta) if meta.v > super::VERSION => push(Notice::NewerVersion { line, version: meta.v }),
        Record::Message(message) if message.dir.known().is_none() => push(Notice::UnknownDirection { line }),
        Record::Unknown { .. } => push(Notice::UnknownType { line }),
        Record::Damaged(error) => push(Notice::DamagedLine { line, offset: error.offset, what: error.what }),
        Record::End(_) => state.ended = true,
        Record::Rotated { .. } => state.rotated = true,
        _ => {}
    }
}

/// Parses one line of a trace.
pub fn parse_line(bytes: &[u8]) -> Record<'_> {
    match Fields::scan(bytes) {
        Ok(fields) => fields.record(bytes),
        Err(error) => Record::Damaged(error),
    }
}

/// Parses one line, but assumes without scanning it that a payload at the end of the line is one JSON value.
/// A caller that parses the payload anyway notices if it isn't, and then calls [`parse_line`]. This saves
/// scanning each payload twice.
pub fn parse_line_unseen(bytes: &[u8]) -> Record<'_> {
    match Fields::scan_to_raw(bytes) {
        Some(fields) => fields.record(bytes),
        None => parse_line(bytes),
    }
}

/// The positions of a line's known members.
#[derive(Default)]
struct Fields {
    type_name: Option<Lexeme>,
    t: Option<Lexeme>,
    dir: Option<Lexeme>,
    seq: Option<Lexeme>,
    us: Option<Lexeme>,
    text: Option<Lexeme>,
    session: Option<Lexeme>,
    assumed: Option<(usize, usize)>,
    http: Option<(usize, usize)>,
    raw: Option<(usize, usize)>,
}

impl Fields {
    fn scan(bytes: &[u8]) -> Result<Self, SyntaxError> {
        let mut lexer = Lexer::new(bytes);
        let mut fields = Fields::default();
        match lexer.next_token()? {
            Some(Lexeme { token: Token::BeginObject, .. }) => {}
            _ => return Err(SyntaxError { offset: 0, what: "expected an object" }),
        }
        while let Some(key) = lexer.next_token()?.filter(|lexeme| lexeme.token == Token::Key) {
            let Some(value) = lexer.next_token()? else { break };
            let end = lexer.finish_value(value)?;
            fields.set(key.text(bytes).raw, value, end);
        }
        // Anything after the object makes the line damaged.
        lexer.next_token()?;
        Ok(fields)
    }

    /// The members before a payload that seems to be the last member. `None` if there is no such payload.
    fn scan_to_raw(bytes: &[u8]) -> Option<Self> {
        // Wiretape writes `raw` last, so the payload ends one byte before the line does.
        let payload_end = bytes.strip_suffix(b"}")?.len();
        if !matches!(bytes[..payload_end].last(), Some(b'}' | b']')) {
            return None;
        }
        let mut lexer = Lexer::new(bytes);
        let mut fields = Fields::default();
        lexer.next_token().ok()??;
        loop {
            let key = lexer.next_token().ok()?.filter(|lexeme| lexeme.token == Token::Key)?;
            let value = lexer.next_token().ok()??;
            if key.text(bytes).raw == b"raw" {
                let is_container = matches!(value.token, Token::BeginObject | Token::BeginArray);
                fields.raw = (is_container && value.end < payload_end).then_some((value.start, payload_end));
                return fields.raw.map(|_| fields);
            }
            let end = lexer.finish_value(value).ok()?;
            fields.set(key.text(bytes).raw, value, end);
        }
    }

    fn set(&mut self, name: &[u8], value: Lexeme, end: usize) {
        match name {
            b"type" => self.type_name = Some(value),
            b"t" => self.t = Some(value),
            b"dir" => self.dir = Some(value),
            b"seq" => self.seq = Some(value),
            b"us" => self.us = Some(value),
            b"text" => self.text = Some(value),
            b"session" => self.session = Some(value),
            b"assumed" => self.assumed = Some((value.start, end)),
            b"http" => self.http = Some((value.start, end)),
            b"raw" => self.raw = Some((value.start, end)),
            _ => {}
        }
    }

    fn record<'a>(&self, bytes: &'a [u8]) -> Record<'a> {
        let type_name = string(self.type_name, bytes);
        match (type_name.as_deref(), self.raw) {
            (None | Some("message"), Some((start, end))) => Record::Message(Message {
                stamp: self.stamp(bytes),
                dir: self.direction(bytes),
                raw: &bytes[start..end],
                session: string(self.session, bytes),
                http: self.http(bytes),
            }),
            (Some("meta"), _) => Record::Meta(Box::new(lenient(bytes))),
            (Some("end"), _) => Record::End(self.end(bytes)),
            (Some("http"), _) if self.http.is_some() => Record::Http(Exchange {
                stamp: self.stamp(bytes),
                session: string(self.session, bytes),
                http: self.http(bytes).unwrap_or_default(),
            }),
            (Some("gap"), _) => {
                Record::Gap(Gap { stamp: self.stamp(bytes).into_owned(), ..lenient::<Gap>(bytes) })
            }
            (Some("rotated"), _) => {
                Record::Rotated { stamp: self.stamp(bytes), next: lenient::<NextFile>(bytes).next }
            }
            (Some("text"), _) if self.text.is_some() => Record::Text(self.other_text(bytes)),
            (Some("stderr"), _) => Record::Stderr(self.other_text(bytes)),
            _ => Record::Unknown { type_name, stamp: self.stamp(bytes) },
        }
    }

    fn end(&self, bytes: &[u8]) -> End {
        let end: End = lenient(bytes);
        let exit_code = end.exit_code.filter(|_| !self.assumes(bytes, "exitCode"));
        // Without times in the source, the duration is not a measurement.
        let duration_ms = end.duration_ms.filter(|_| !self.assumes(bytes, "t"));
        End { stamp: self.stamp(bytes).into_owned(), duration_ms, exit_code, ..end }
    }

    fn other_text<'a>(&self, bytes: &'a [u8]) -> OtherText<'a> {
        OtherText {
            stamp: self.stamp(bytes),
            dir: self.direction(bytes),
            text: string(self.text, bytes).unwrap_or_default(),
            http: self.http(bytes),
        }
    }

    fn http<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        self.http.map(|(start, end)| &bytes[start..end])
    }

    fn stamp<'a>(&self, bytes: &'a [u8]) -> Stamp<'a> {
        // A time that the source doesn't have is unknown, although the format requires a value on every line.
        let t = string(self.t, bytes).filter(|_| !self.assumes(bytes, "t"));
        Stamp { t, seq: number(self.seq, bytes), us: number(self.us, bytes) }
    }

    /// Whether the line lists a field as assumed: written without a value in the source.
    fn assumes(&self, bytes: &[u8], what: &str) -> bool {
        self.assumed.is_some_and(|(start, end)| {
            lenient_list(&bytes[start..end]).iter().any(|assumed| assumed == what)
        })
    }

    fn direction<'a>(&self, bytes: &'a [u8]) -> DirectionField<'a> {
        match string(self.dir, bytes) {
            Some(dir) if dir == "in" => DirectionField::Known(Direction::ClientToServer),
            Some(dir) if dir == "out" => DirectionField::Known(Direction::ServerToClient),
            Some(dir) => DirectionField::Other(dir),
            None => DirectionField::Missing,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NextFile {
    next: String,
}

fn string(lexeme: Option<Lexeme>, bytes: &[u8]) -> Option<Cow<'_, str>> {
    let lexeme = lexeme.filter(|lexeme| lexeme.token == Token::String)?;
    Some(lexeme.text(bytes).decode())
}

fn lenient_list(json: &[u8]) -> Vec<String> {
    serde_json::from_slice(json).unwrap_or_default()
}

fn number(lexeme: Option<Lexeme>, bytes: &[u8]) -> Option<u64> {
    let lexeme = lexeme.filter(|lexeme| lexeme.token == Token::Number)?;
    std::str::from_utf8(lexeme.bytes(bytes)).ok()?.parse().ok()
}

/// Parses a struct field by field: a field that is missing or of another type keeps its default.
pub(super) fn lenient<T: serde::de::DeserializeOwned + Default>(bytes: &[u8]) -> T {
    let text = String::from_utf8_lossy(bytes);
    // The usual case. Trying every field alone takes one parse per field.
    if let Ok(whole) = serde_json::from_str(&text) {
        return whole;
    }
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(&text) else { return T::default() };
    let mut good = serde_json::Map::new();
    for (key, value) in fields {
        let alone = serde_json::Map::from_iter([(key.clone(), value.clone())]);
        if serde_json::from_value::<T>(serde_json::Value::Object(alone)).is_ok() {
            good.insert(key, value);
        }
    }
    serde_json::from_value(serde_json::Value::Object(good)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_spelling_of_a_time_means_what_the_general_parser_says() {
        let general = |text: &str| text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond);
        for year in [0, 1, 1583, 1900, 1969, 1970, 1999, 2000, 2024, 2026, 2100, 9999] {
            for (month, day) in
                [(1, 1), (2, 28), (2, 29), (3, 1), (4, 31), (12, 28), (12, 31), (13, 1), (0, 1)]
            {
                let text = format!("{year:04}-{month:02}-{day:02}T23:59:58.123Z");
                assert_eq!(parse_time(&text), general(&text), "{text}");
            }
        }
        for odd in [
            "2026-05-12T23:00:60.123Z",
            "2026-05-12 23:00:00.123Z",
            "2026-05-12T24:00:00.123Z",
            "+026-05-12T23:00:00.123Z",
        ] {
            assert_eq!(parse_time(odd), general(odd), "{odd}");
        }
    }

    #[test]
    fn a_payload_that_is_not_looked_at_reaches_to_the_end_of_its_line() {
        let raw = |line: &str| match parse_line_unseen(line.as_bytes()) {
            Record::Message(message) => String::from_utf8(message.raw.to_vec()).unwrap(),
            other => format!("{other:?}"),
        };
        assert_eq!(raw(r#"{"t":"x","dir":"in","raw":{"id":1}}"#), r#"{"id":1}"#);
        assert_eq!(raw(r#"{"raw":[1]}"#), "[1]");
        assert_eq!(raw(r#"{"raw":{"id":1},"dir":"in"}"#), r#"{"id":1}"#);
        assert_eq!(raw(r#"{"raw":{"id":1},"more":{}}"#), r#"{"id":1},"more":{}"#);
        assert_eq!(raw(r#"{"raw":7,"dir":"in"}"#), "7");
        assert!(raw(r#"{"raw":{"id":1"#).starts_with("Damaged"));
        assert!(raw(r#"{"type":"end","exitCode":0}"#).starts_with("End"));
    }
    use proptest::prelude::*;

    #[test]
    fn a_command_that_is_one_string_is_read() {
        let command = |written: &str| {
            let line = format!(r#"{{"v":1,"type":"meta","label":"x","command":{written}}}"#);
            match parse_line(line.as_bytes()) {
                Record::Meta(meta) => (meta.label.clone(), meta.command.clone()),
                other => panic!("{other:?}"),
            }
        };
        let expected = |words: &[&str]| ("x".to_owned(), words.iter().map(ToString::to_string).collect());
        assert_eq!(command(r#""npx server""#), expected(&["npx server"]));
        assert_eq!(command(r#"["npx","server"]"#), expected(&["npx", "server"]));
        for nothing in ["\"\"", "null", "7", "[]"] {
            assert_eq!(command(nothing), expected(&[]), "{nothing}");
        }
    }

    fn read(trace: &[u8]) -> (Vec<String>, Vec<String>) {
        let mut reader = TraceReader::new(trace);
        let mut records = Vec::new();
        while let Some(line) = reader.next_line().unwrap() {
            let name = match line.record {
                Record::Meta(meta) => format!("meta {} {:?}", meta.label, meta.command),
                Record::Message(m) => {
                    format!("message {:?} {}", m.dir.known(), String::from_utf8_lossy(m.raw))
                }
                Record::Unknown { type_name, .. } => format!("unknown {type_name:?}"),
                Record::Text(text) => format!("text {}", text.text),
                Record::Stderr(text) => format!("stderr {}", text.text),
                Record::Http(exchange) => format!("http {}", String::from_utf8_lossy(exchange.http)),
                Record::Gap(gap) => format!("gap {}", gap.lost),
                Record::Rotated { next, .. } => format!("rotated {next}"),
                Record::End(end) => format!("end {:?} {:?}", end.exit_code, end.reason),
                Record::Damaged(_) => "damaged".to_owned(),
            };
            records.push(name);
        }
        (records, reader.notices().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_whole_trace_reads_without_notices() {
        let trace = br#"{"v":1,"type":"meta","startedAt":"2026-05-12T23:00:00.000Z","label":"fs","command":["a","b"],"new":{"x":1}}
{"t":"2026-05-12T23:00:00.123Z","dir":"in","raw":{"id": 12345678901234567890, "a":1, "a":1.0}}
{"t":"2026-05-12T23:00:00.124Z","type":"stderr","seq":2,"us":5,"text":"oh\n"}
{"t":"2026-05-12T23:00:00.124Z","type":"text","dir":"out","text":"hello"}
{"t":"2026-05-12T23:00:30.000Z","type":"end","exitCode":0,"durationMs":30000}
"#;
        let (records, notices) = read(trace);
        assert_eq!(
            records,
            [
                r#"meta fs ["a", "b"]"#,
                r#"message Some(ClientToServer) {"id": 12345678901234567890, "a":1, "a":1.0}"#,
                "stderr oh\n",
                "text hello",
                "end Some(0) None"
            ]
        );
        assert_eq!(notices, Vec::<String>::new());
    }

    #[test]
    fn lines_say_where_they_stand() {
        let trace = "\u{feff}{\"type\":\"a\"}\r\n\n{\"type\":\"b\"}\n{\"type\":\"c\"}".as_bytes();
        let mut reader = TraceReader::new(trace);
        let mut offsets = Vec::new();
        while let Some(line) = reader.next_line().unwrap() {
            let at = usize::try_from(line.offset).unwrap();
            assert_eq!(&trace[at..at + line.bytes.len()], line.bytes);
            offsets.push(at);
        }
        assert_eq!(offsets, [3, 17, 18, 31]);
    }

    #[test]
    fn odd_traces_read_with_notices() {
        let trace = br#"{"t":"x","dir":"event","raw":[1]}
{"type":"turn","role":"user"}
noise
{"v":2,"type":"meta","label":7,"command":7,"startedAt":"s"}
{"type":"end","reason":"closed"}
{"t":"2026-05-12T23:00"#;
        let (records, notices) = read(trace);
        assert_eq!(
            records,
            [
                "message None [1]",
                "unknown Some(\"turn\")",
                "damaged",
                "meta  []",
                "end None Some(\"closed\")"
            ]
        );
        assert_eq!(
            notices,
            [
                "line 1: no `meta` line; label and command are unknown",
                "line 1: unknown direction; kept verbatim",
                "line 2: unknown line type; kept verbatim",
                "line 3: not a JSON object (byte 0: expected true, false or null); skipped",
                "line 4: format version 2 is newer than this program supports: upgrade wiretape to read it reliably",
                "line 6: the last line was cut off after 22 bytes; skipped",
            ]
        );
    }

    #[test]
    fn a_last_line_without_newline_counts_if_it_is_whole() {
        let (records, notices) = read(br#"{"type":"end","exitCode":3}"#);
        assert_eq!(records, ["end Some(3) None"]);
        assert_eq!(notices.len(), 1);
    }

    #[test]
    fn lines_that_are_too_long_are_skipped_and_counted() {
        let long = "A".repeat(3 * CHUNK);
        let check = |trace: &str, expected: &[&str], notices: &[&str]| {
            let mut reader = TraceReader::new(trace.as_bytes()).with_line_limit(20);
            let mut lines = Vec::new();
            while let Some(line) = reader.next_line().unwrap() {
                let at = usize::try_from(line.offset).unwrap();
                assert!(at == 0 || trace.as_bytes()[at - 1] == b'\n');
                lines.push(format!("{} {}", line.number, String::from_utf8_lossy(line.bytes)));
            }
            assert_eq!(lines, expected);
            let met: Vec<String> = reader.notices().iter().map(ToString::to_string).collect();
            assert_eq!(met[..met.len() - 1], *notices);
        };
        let no_meta = "line 1: no `meta` line; label and command are unknown";
        let unknown = "line 1: unknown line type; kept verbatim";
        let skipped = "line 2: longer than 20 bytes; skipped";
        let known = "line 3: unknown line type; kept verbatim";
        for middle in [&long[..21], &long[..CHUNK], &long] {
            let trace = format!("{{\"type\":\"a\"}}\n{middle}\n{{\"type\":\"b\"}}\n");
            let lines = ["1 {\"type\":\"a\"}", "2 ", "3 {\"type\":\"b\"}"];
            check(&trace, &lines, &[no_meta, unknown, skipped, known]);
        }
        check(&format!("{{\"type\":\"a\"}}\n{long}"), &["1 {\"type\":\"a\"}"], &[no_meta, unknown, skipped]);
    }

    #[test]
    fn a_growing_trace_is_followed_past_its_end() {
        struct Growing(Vec<&'static [u8]>);
        impl Read for Growing {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                if self.0.is_empty() { Ok(0) } else { self.0.remove(0).read(buffer) }
            }
        }
        let mut reader =
            TraceReader::following(Growing(vec![b"{\"type\":\"st", b"", b"derr\",\"text\":\"x\"}\n"]));
        assert!(reader.next_line().unwrap().is_none());
        assert!(matches!(reader.next_line().unwrap().unwrap().record, Record::Stderr(_)));
        assert!(reader.next_line().unwrap().is_none());
    }

    proptest! {
        #[test]
        fn a_reader_never_panics(trace in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'{'), Just(b'"')], 0..300)) {
            read(&trace);
        }

        #[test]
        fn any_prefix_of_a_trace_reads(cut in 0usize..400) {
            let trace = br#"{"v":1,"type":"meta","startedAt":"2026-05-12T23:00:00.000Z","label":"fs","command":["a"]}
{"t":"2026-05-12T23:00:00.123Z","dir":"in","seq":1,"us":3,"raw":{"id":1,"method":"ping","jsonrpc":"2.0"}}
{"t":"2026-05-12T23:00:30.000Z","type":"end","exitCode":0,"durationMs":30000}
"#;
            let cut = cut.min(trace.len());
            let whole_lines = trace[..cut].iter().filter(|&&b| b == b'\n').count();
            let (records, _) = read(&trace[..cut]);
            prop_assert!(records.len() == whole_lines || records.len() == whole_lines + 1);
            prop_assert!(!records.contains(&"damaged".to_owned()));
        }
    }
}
