//! The parsed content of a unit, and its defects.
//!
//! These types are the interface between the formats and the rest of the import: a format turns the bytes of
//! a unit into items and flaws, and knows nothing about traces.

use crate::json::SyntaxError;
use crate::message::Direction;
use std::borrow::Cow;

/// One entry of a source: a message, a line of text, or an event of the transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item<'u> {
    /// The line of the source that it begins on, from 1.
    pub line: u64,
    /// When it was observed, in milliseconds since 1970, if the source has a time.
    pub at_ms: Option<i64>,
    /// The name of its server, if the source has several.
    pub server: Option<Cow<'u, str>>,
    /// The `Mcp-Session-Id`, if there is one.
    pub session: Option<Cow<'u, str>>,
    /// The HTTP exchange that carried it: a JSON object, as in a trace's `http`.
    pub http: Option<Cow<'u, [u8]>>,
    /// The message, text or event.
    pub what: ItemContent<'u>,
}

impl<'u> Item<'u> {
    /// An item of which only the line and the content are known.
    pub fn new(line: u64, what: ItemContent<'u>) -> Self {
        Item { line, at_ms: None, server: None, session: None, http: None, what }
    }
}

/// The content of an [`Item`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemContent<'u> {
    /// A payload, as it was on the wire. Whether it is JSON is checked later.
    Message {
        /// The sender, if the source has it.
        from: Option<Direction>,
        /// The payload's bytes, before redaction.
        raw: Cow<'u, [u8]>,
    },
    /// Text on the wire that was not meant to be a message.
    Text {
        /// The sender, which such sources always state.
        from: Direction,
        /// The text's bytes, before redaction.
        text: Cow<'u, [u8]>,
    },
    /// A line of the server's standard error.
    Stderr {
        /// The line's bytes, before redaction.
        text: Cow<'u, [u8]>,
    },
    /// An HTTP exchange, or a part of one, without a message.
    Exchange,
    /// From here on, ids may be reused: another connection begins, or another client sends.
    FreshIds,
}

/// The items of a unit, in order, and its flaws.
#[derive(Debug, Default)]
pub struct Findings<'u> {
    /// The items, in the order of the source.
    pub items: Vec<Item<'u>>,
    /// The flaws, in the order in which they were found.
    pub flaws: Vec<Flaw>,
}

impl Findings<'_> {
    /// Records a defect on a line.
    pub fn flaw(&mut self, line: u64, defect: Defect) {
        self.flaws.push(Flaw { line, entry: None, defect });
    }
}

/// A defect and its position in the source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}{}: {defect}", entry.map(|entry| format!(", entry {entry}")).unwrap_or_default())]
pub struct Flaw {
    /// The line of the source, from 1.
    pub line: u64,
    /// The element of a document's array, from 1: a document is often one line.
    pub entry: Option<u64>,
    /// The kind of defect.
    pub defect: Defect,
}

/// How severe a defect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth a remark; nothing is lost.
    Note,
    /// Part of the source could not be imported.
    Loss,
    /// The source is rejected, because its meaning is ambiguous.
    Fatal,
}

/// A defect of a source. The messages never contain part of it, because that may be secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Defect {
    /// The unit is not JSON.
    #[error("{0}")]
    NotJson(SyntaxError),
    /// The unit is JSON, but not a message.
    #[error("not a JSON-RPC message")]
    NotAMessage,
    /// The bytes are not UTF-8.
    #[error("invalid UTF-8")]
    NotUtf8,
    /// NUL bytes around a message, as a crash of the machine leaves them.
    #[error("NUL bytes around a message")]
    Nul,
    /// A member name occurs twice in an object of a message.
    #[error("duplicate member name in an object")]
    DuplicateKey,
    /// An element of a batch is not a message.
    #[error("an element of the batch is not a JSON-RPC message")]
    BatchElement,
    /// Commas or colons are missing or superfluous.
    #[error("missing or extra comma or colon")]
    Separator,
    /// A message that was encoded as a JSON string once more.
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
    /// An element of the wrong type.
    #[error("expected {expected}")]
    Unexpected {
        /// What was expected there, for people.
        expected: &'static str,
    },
    /// The document is not one of its format.
    #[error("the document is not {expected}")]
    WrongDocument {
        /// What was expected, for people.
        expected: &'static str,
    },
    /// An entry has none, or more than one, of the members of which it must have one.
    #[error("an entry must have exactly one of `request`, `response` and `sse`")]
    EntryShape,
    /// The transport is that of another format.
    #[error("`transport` must be \"{expected}\"")]
    Transport {
        /// The transport of the chosen format.
        expected: &'static str,
    },
    /// An id that is neither a string nor a number.
    #[error("the `id` of a message must be a string or a number")]
    IdType,
    /// A call that occurs in the source again; it is written once.
    #[error("duplicate of an earlier call in the source; skipped")]
    RepeatedCall,
    /// A call with the id of an earlier call, so that answers are ambiguous.
    #[error("a `tools/call` request has the `id` of an earlier one")]
    DuplicateCall,
}

impl Defect {
    /// How severe the defect is. The three levels are explained in `docs/design/0006-import.md`.
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
