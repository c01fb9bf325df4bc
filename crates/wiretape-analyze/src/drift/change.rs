//! What can become of a definition.

use crate::definitions::{ListKind, ServerFact, Spot};

/// Something that has become of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Of what.
    pub subject: Subject,
    /// What.
    pub kind: ChangeKind,
    /// Whether it breaks who calls.
    pub effect: Effect,
    /// The JSON pointer of what has changed, in the definition; empty if it is the whole definition.
    pub pointer: String,
    /// Where it stands in the trace; of what was removed, where it is missing.
    pub spot: Option<Spot>,
    /// What has happened, in a sentence without its full stop.
    pub sentence: String,
    /// What there was, as JSON.
    pub before: Option<Vec<u8>>,
    /// What there is now, as JSON.
    pub after: Option<Vec<u8>>,
}

impl Change {
    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        match (self.kind, self.effect) {
            (ChangeKind::Added, _) => "look at what it does; if it may be there, pin it with a new baseline",
            (ChangeKind::Removed, _) => "stop calling it, or bring it back on the server",
            (ChangeKind::Renamed, _) => "call it by its new name, or bring the old one back on the server",
            (ChangeKind::Description | ChangeKind::Title | ChangeKind::Instructions, _) => {
                "read both: the model follows these words, so a server may steer it with them; if they are harmless, pin them with a new baseline"
            }
            (ChangeKind::Annotations, Effect::Breaking) => {
                "look at what it does before it runs unasked again; if that is in order, pin it with a new baseline"
            }
            (_, Effect::Breaking) => {
                "adapt who calls it, or undo the change on the server; then pin it with a new baseline"
            }
            (_, Effect::Informing) => "if it is meant to be so, pin it with a new baseline",
        }
    }
}

/// What a change is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// An entry of a list.
    Entry {
        /// Which list.
        list: ListKind,
        /// What it goes by now; before, if it was removed.
        name: String,
    },
    /// What the server says of itself.
    Server(ServerFact),
}

impl Subject {
    /// What it is called, for other programs.
    pub fn noun(&self) -> &'static str {
        match self {
            Subject::Entry { list, .. } => list.noun(),
            Subject::Server(_) => "server",
        }
    }

    /// What it goes by.
    pub fn name(&self) -> &str {
        match self {
            Subject::Entry { name, .. } => name,
            Subject::Server(fact) => fact.member(),
        }
    }
}

/// What has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It goes by another name.
    Renamed,
    /// Its description is another, or that of one of its arguments.
    Description,
    /// Its title is another.
    Title,
    /// What it says of its effects is another.
    Annotations,
    /// It takes other arguments.
    Input,
    /// It gives other results.
    Output,
    /// What the server can do is another.
    Capabilities,
    /// What the server tells the model is another.
    Instructions,
    /// The server goes by another name or version.
    ServerInfo,
    /// Something else about it is another.
    Other,
}

impl ChangeKind {
    /// Its name, for other programs.
    pub fn name(self) -> &'static str {
        match self {
            ChangeKind::Added => "added",
            ChangeKind::Removed => "removed",
            ChangeKind::Renamed => "renamed",
            ChangeKind::Description => "description",
            ChangeKind::Title => "title",
            ChangeKind::Annotations => "annotations",
            ChangeKind::Input => "input",
            ChangeKind::Output => "output",
            ChangeKind::Capabilities => "capabilities",
            ChangeKind::Instructions => "instructions",
            ChangeKind::ServerInfo => "server-info",
            ChangeKind::Other => "other",
        }
    }
}

/// What a change does to who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// A call that worked may fail, or an answer may not be what was promised.
    Breaking,
    /// It is worth knowing.
    Informing,
}

impl Effect {
    /// Its name, for other programs.
    pub fn name(self) -> &'static str {
        match self {
            Effect::Breaking => "breaking",
            Effect::Informing => "informing",
        }
    }
}
