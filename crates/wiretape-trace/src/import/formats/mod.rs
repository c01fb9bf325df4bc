//! The import formats. To add one, add a file here and a line in [`FORMATS`].
//!
//! A format is two pure functions: one recognizes the beginning of a source, one parses a unit. Splitting,
//! redaction, senders and writing are the same for all formats and are not done here.

mod claude_code;
mod claude_desktop;
mod envelope;
mod exchange;
mod har;
mod inspector;
mod jsonrpc;
mod mcp_rec;
mod mcporter;
mod mcpsnoop;
#[cfg(test)]
mod testing;
mod vscode;

use super::cut::{Cutter, Shape, Unit};
use super::fields::Value;
use super::item::{Defect, Findings};

/// All formats, in the order in which they are tried on a source: the more specific ones first.
pub static FORMATS: &[&Format] = &[
    &envelope::STREAMABLE_HTTP,
    &envelope::HTTP_SSE,
    &har::HAR,
    &vscode::VSCODE,
    &claude_desktop::CLAUDE_DESKTOP,
    &claude_code::CLAUDE_CODE,
    &mcporter::MCPORTER,
    &mcpsnoop::MCPSNOOP,
    &mcp_rec::MCP_REC,
    &inspector::INSPECTOR,
    &jsonrpc::JSONRPC,
];

/// A transcript format: how it is recognized and parsed.
pub struct Format {
    /// The name on the command line and in `meta`.
    pub name: &'static str,
    /// Further names that the command line accepts.
    pub aliases: &'static [&'static str],
    /// Where such transcripts come from, in a few words.
    pub about: &'static str,
    /// How a source is split into units.
    pub shape: Shape,
    /// The `transport` of the traces, if all transcripts of this format have the same.
    pub transport: Option<&'static str>,
    /// The source contains calls and nothing else of the session.
    pub calls_only: bool,
    /// A source may contain several sessions, each of which starts its ids over.
    pub many_sessions: bool,
    /// Whether the beginning of a source has this format.
    pub recognize: fn(&Sample<'_>) -> bool,
    /// Parses a unit, without knowing the others.
    pub read: for<'u> fn(&Unit<'u>, &mut Findings<'u>),
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Format").field(&self.name).finish()
    }
}

/// The format with this name or alias.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name || format.aliases.contains(&name))
}

/// The format of a source, judged by its beginning.
pub fn detect(beginning: &[u8]) -> Option<&'static Format> {
    let mut text = Vec::new();
    // An error in the middle is ignored: what was decoded before it is enough to recognize the format.
    let _ = super::text::reader(beginning).and_then(|mut reader| reader.read_to_end(&mut text));
    let sample = Sample { text: &text };
    FORMATS.iter().copied().find(|format| (format.recognize)(&sample))
}

/// The beginning of a source, as text.
pub struct Sample<'s> {
    text: &'s [u8],
}

impl<'s> Sample<'s> {
    /// The first byte that is not white space.
    pub fn first(&self) -> Option<u8> {
        self.text.trim_ascii_start().first().copied()
    }

    /// The complete, non-empty lines; the only line if there is no newline.
    pub fn lines(&self) -> impl Iterator<Item = &'s [u8]> {
        let whole = memchr::memrchr(b'\n', self.text).unwrap_or(self.text.len());
        self.text[..whole].split(|byte| *byte == b'\n').map(trim).filter(|line| !line.is_empty())
    }

    /// The lines that are JSON objects.
    pub(super) fn objects(&self) -> impl Iterator<Item = Value<'s>> {
        self.lines().filter_map(|line| Value::parse(line).ok()).filter(|value| value.is_object())
    }

    /// Calls `each` for the units of the sample, split by `shape`.
    pub(super) fn each_unit(&self, shape: Shape, mut each: impl FnMut(Unit<'_>)) {
        let mut cutter = Cutter::new(shape);
        cutter.push(self.text).into_iter().chain([cutter.finish()]).for_each(|batch| batch.each(&mut each));
    }

    /// Whether the sample contains a text.
    pub fn contains(&self, text: &str) -> bool {
        memchr::memmem::find(self.text, text.as_bytes()).is_some()
    }

    /// Whether the sample has no newline.
    pub(super) fn is_one_line(&self) -> bool {
        memchr::memchr(b'\n', self.text).is_none()
    }

    /// Whether the sample is one JSON value over several lines, or a single incomplete line.
    pub(super) fn is_document(&self) -> bool {
        matches!(self.first(), Some(b'{' | b'[')) && self.objects().next().is_none()
    }
}

/// Parses a unit as JSON. Records a flaw if it is not JSON.
fn value_of<'u>(unit: &Unit<'u>, findings: &mut Findings<'u>) -> Option<Value<'u>> {
    match Value::parse(unit.bytes) {
        Ok(value) => Some(value),
        Err(error) => {
            findings.flaw(unit.line_at(error.offset), Defect::NotJson(error));
            None
        }
    }
}

/// Removes white space and NULs at both ends; a crash of the machine may leave NULs.
fn trim(line: &[u8]) -> &[u8] {
    let is_inner = |byte: &u8| *byte != 0 && !byte.is_ascii_whitespace();
    match (line.iter().position(is_inner), line.iter().rposition(is_inner)) {
        (Some(start), Some(end)) => &line[start..=end],
        _ => &[],
    }
}
