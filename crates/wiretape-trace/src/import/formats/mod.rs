//! The formats. A new one is a file here, and a line in [`FORMATS`].

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

/// All formats, in the order in which a source is tried to be recognized: the more particular ones first.
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

/// How the transcripts of a program are read.
pub struct Format {
    /// What users call it.
    pub name: &'static str,
    /// What they may call it too.
    pub aliases: &'static [&'static str],
    /// Where such transcripts come from, in a few words.
    pub about: &'static str,
    /// How a source is cut.
    pub shape: Shape,
    /// How client and server were connected, if the format says so.
    pub transport: Option<&'static str>,
    /// There are calls in it, and nothing else of the session.
    pub calls_only: bool,
    /// Sessions follow one another in one source, and each counts its ids anew.
    pub many_sessions: bool,
    /// Whether the beginning of a source looks like it.
    pub recognize: fn(&Sample<'_>) -> bool,
    /// Reads a unit, which knows nothing of the others.
    pub read: for<'u> fn(&Unit<'u>, &mut Findings<'u>),
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Format").field(&self.name).finish()
    }
}

/// The format of this name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name || format.aliases.contains(&name))
}

/// The format that the beginning of a source looks like.
pub fn detect(beginning: &[u8]) -> Option<&'static Format> {
    let mut text = Vec::new();
    // What can be read of it is enough.
    let _ = super::text::reader(beginning).and_then(|mut reader| reader.read_to_end(&mut text));
    let sample = Sample { text: &text };
    FORMATS.iter().copied().find(|format| (format.recognize)(&sample))
}

/// The beginning of a source, as text.
pub struct Sample<'s> {
    text: &'s [u8],
}

impl<'s> Sample<'s> {
    /// The first byte that is no white space.
    pub fn first(&self) -> Option<u8> {
        self.text.trim_ascii_start().first().copied()
    }

    /// Its lines that are there in full, or the only one, without the empty ones.
    pub fn lines(&self) -> impl Iterator<Item = &'s [u8]> {
        let whole = memchr::memrchr(b'\n', self.text).unwrap_or(self.text.len());
        self.text[..whole].split(|byte| *byte == b'\n').map(trim).filter(|line| !line.is_empty())
    }

    /// Those of its lines that are JSON objects.
    pub(super) fn objects(&self) -> impl Iterator<Item = Value<'s>> {
        self.lines().filter_map(|line| Value::parse(line).ok()).filter(|value| value.is_object())
    }

    /// Tells the units of what is there, cut like this.
    pub(super) fn each_unit(&self, shape: Shape, mut each: impl FnMut(Unit<'_>)) {
        let mut cutter = Cutter::new(shape);
        cutter.push(self.text).into_iter().chain([cutter.finish()]).for_each(|batch| batch.each(&mut each));
    }

    /// Whether this stands somewhere in it.
    pub fn contains(&self, text: &str) -> bool {
        memchr::memmem::find(self.text, text.as_bytes()).is_some()
    }

    /// Whether there is no end of a line in it.
    pub(super) fn is_one_line(&self) -> bool {
        memchr::memchr(b'\n', self.text).is_none()
    }

    /// Whether it is one JSON value over several lines, or a single line that is not whole.
    pub(super) fn is_document(&self) -> bool {
        matches!(self.first(), Some(b'{' | b'[')) && self.objects().next().is_none()
    }
}

/// The JSON value that a unit is; if it is none, that is wrong with it.
fn value_of<'u>(unit: &Unit<'u>, findings: &mut Findings<'u>) -> Option<Value<'u>> {
    match Value::parse(unit.bytes) {
        Ok(value) => Some(value),
        Err(error) => {
            findings.flaw(unit.line_at(error.offset), Defect::NotJson(error));
            None
        }
    }
}

/// Without white space around it, and without NULs, which a crash may leave.
fn trim(line: &[u8]) -> &[u8] {
    let is_inner = |byte: &u8| *byte != 0 && !byte.is_ascii_whitespace();
    match (line.iter().position(is_inner), line.iter().rposition(is_inner)) {
        (Some(start), Some(end)) => &line[start..=end],
        _ => &[],
    }
}
