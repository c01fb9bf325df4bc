//! What a unit says, and what is wrong with it.

use crate::json::SyntaxError;
use crate::message::Direction;
use std::borrow::Cow;

/// One thing that a source says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item<'u> {
    /// The line of the source that it begins on, from 1.
    pub line: u64,
    /// When it was seen, in milliseconds since 1970, if the source says so.
    pub at_ms: Option<i64>,
    /// Which server it belongs to, where a source has several.
    pub server: Option<Cow<'u, str>>,
    /// The session that it belongs to.
    pub session: Option<Cow<'u, str>>,
    /// The HTTP exchange that carried it: a JSON object, as a trace has it.
    pub http: Option<Cow<'u, [u8]>>,
    /// What it is.
    pub what: What<'u>,
}

impl<'u> Item<'u> {
    /// Something on a line, of which nothing else is known.
    pub fn new(line: u64, what: What<'u>) -> Self {
        Item { line, at_ms: None, server: None, session: None, http: None, what }
    }
}

/// What an [`Item`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What<'u> {
    /// A payload, as it was on the wire. It need not be JSON: that is found out later.
    Message {
        /// Who sent it, if the source says so.
        from: Option<Direction>,
        /// The payload.
        raw: Cow<'u, [u8]>,
    },
    /// Something on the wire that was no message, and was not meant to be one.
    Text {
        /// Who sent it.
        from: Direction,
        /// What it said.
        text: Cow<'u, [u8]>,
    },
    /// A line of the server's standard error.
    Stderr {
        /// What it said.
        text: Cow<'u, [u8]>,
    },
    /// An HTTP exchange, or a part of one, without a message.
    Exchange,
    /// From here on ids may be used again: another connection begins, or another client speaks.
    FreshIds,
}

/// What a unit says, in order, and what is wrong with it.
#[derive(Debug, Default)]
pub struct Findings<'u> {
    /// What it says.
    pub items: Vec<Item<'u>>,
    /// What is wrong with it.
    pub flaws: Vec<Flaw>,
}

impl Findings<'_> {
    /// Something is wrong on a line.
    pub fn flaw(&mut self, line: u64, defect: Defect) {
        self.flaws.push(Flaw { line, entry: None, defect });
    }
}

/// Something that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}{}: {defect}", entry.map(|entry| format!(", entry {entry}")).unwrap_or_default())]
pub struct Flaw {
    /// The line of the source, from 1.
    pub line: u64,
    /// The element of a document's array, from 1: a document is often one line.
    pub entry: Option<u64>,
    /// What is wrong there.
    pub defect: Defect,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is lost.
    Note,
    /// Something could not be brought in.
    Loss,
    /// The source may not be brought in at all.
    Fatal,
}

/// What may be wrong with a source. The texts never hold a part of it, for that may be secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Defect {
    /// It is not JSON.
    #[error("{0}")]
    NotJson(SyntaxError),
    /// It is JSON, but no message.
    #[error("not a JSON-RPC message")]
    NotAMessage,
    /// Bytes that are no text.
    #[error("invalid UTF-8")]
    NotUtf8,
    /// NULs around a message, as a crash of the machine leaves them.
    #[error("NUL bytes around a message")]
    Nul,
    /// A name stands twice in a message.
    #[error("duplicate member name in an object")]
    DuplicateKey,
    /// A batch with something in it that is no message.
    #[error("an element of the batch is not a JSON-RPC message")]
    BatchElement,
    /// Commas and colons that are missing, or too many.
    #[error("missing or extra comma or colon")]
    Separator,
    /// A message that is a JSON string once more.
    #[error("the event's data is a message that was encoded twice, as a JSON string; decoded")]
    EncodedTwice,
    /// An event that should be a message.
    #[error("the data of an event named `message` is not a JSON-RPC message")]
    EventNotAMessage,
    /// The source ends in the middle of something.
    #[error("the source is cut off within the item that starts here")]
    CutOff,
    /// The source ends in the middle of its compression.
    #[error("the compressed source is damaged or cut off after this line")]
    TruncatedCompression,
    /// A text was shortened by the program that wrote the source.
    #[error("the message was truncated by the program that wrote it")]
    Shortened,
    /// An element of the wrong kind.
    #[error("expected {expected}")]
    Unexpected {
        /// What should stand there.
        expected: &'static str,
    },
    /// The document is no document of its format.
    #[error("the document is not {expected}")]
    WrongDocument {
        /// What it should be.
        expected: &'static str,
    },
    /// An entry with too few or too many.
    #[error("an entry must have exactly one of `request`, `response` and `sse`")]
    EntryShape,
    /// The transport is that of another format.
    #[error("`transport` must be \"{expected}\"")]
    Transport {
        /// What it must be.
        expected: &'static str,
    },
    /// An id that is none.
    #[error("the `id` of a message must be a string or a number")]
    IdType,
    /// A call that stands in the source again, and is written once.
    #[error("duplicate of an earlier call in the source; skipped")]
    RepeatedCall,
    /// A call with the id of another.
    #[error("a `tools/call` request has the `id` of an earlier one")]
    DuplicateCall,
}

impl Defect {
    /// How bad it is.
    pub fn severity(self) -> Severity {
        match self {
            Defect::Nul
            | Defect::BatchElement
            | Defect::Separator
            | Defect::DuplicateKey
            | Defect::EncodedTwice
            | Defect::EventNotAMessage
            | Defect::RepeatedCall => Severity::Note,
            Defect::NotJson(_)
            | Defect::NotAMessage
            | Defect::NotUtf8
            | Defect::CutOff
            | Defect::TruncatedCompression
            | Defect::Shortened
            | Defect::Unexpected { .. } => Severity::Loss,
            Defect::WrongDocument { .. }
            | Defect::EntryShape
            | Defect::Transport { .. }
            | Defect::IdType
            | Defect::DuplicateCall => Severity::Fatal,
        }
    }
}
