//! A change of a definition: what changed, where, and whether it breaks callers.

use crate::definitions::{ListKind, ServerFact, Spot};

/// A change of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The definition or server fact that changed.
    pub subject: Subject,
    /// The kind of change.
    pub kind: ChangeKind,
    /// Whether it breaks existing callers.
    pub effect: Effect,
    /// JSON pointer into the definition; empty if the whole definition is meant.
    pub pointer: String,
    /// The position in the trace; for a removed definition, the list that lacks it.
    pub spot: Option<Spot>,
    /// The change as a sentence, lower case and without a full stop.
    pub sentence: String,
    /// The earlier value, as JSON.
    pub before: Option<Vec<u8>>,
    /// The later value, as JSON.
    pub after: Option<Vec<u8>>,
}

impl Change {
    /// How to react to it.
    pub fn advice(&self) -> &'static str {
        match (self.kind, self.effect) {
            (ChangeKind::Added, _) => "review it; if you accept it, pin it with a new baseline",
            (ChangeKind::Removed, _) => "stop calling it, or restore it on the server",
            (ChangeKind::Renamed, _) => "call it by its new name, or restore the old one on the server",
            (ChangeKind::Description | ChangeKind::Title | ChangeKind::Instructions, _) => {
                "compare both versions: the model follows this text, so a server can steer it; if the change is harmless, pin it with a new baseline"
            }
            (ChangeKind::Annotations, Effect::Breaking) => {
                "review what it does before it runs without confirmation again; if you accept it, pin it with a new baseline"
            }
            (_, Effect::Breaking) => {
                "update the callers or revert the change on the server; then pin it with a new baseline"
            }
            (_, Effect::Informing) => "if the change is intended, pin it with a new baseline",
        }
    }
}

/// The subject of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// An entry of a list.
    Entry {
        /// The list that the entry is in.
        list: ListKind,
        /// Its current name or URI; the earlier one if it was removed.
        name: String,
    },
    /// A fact that the server states about itself.
    Server(ServerFact),
}

impl Subject {
    /// The noun in JSON output: `tool`, `server`.
    pub fn noun(&self) -> &'static str {
        match self {
            Subject::Entry { list, .. } => list.noun(),
            Subject::Server(_) => "server",
        }
    }

    /// The name or URI of an entry, or the member of a server fact.
    pub fn name(&self) -> &str {
        match self {
            Subject::Entry { name, .. } => name,
            Subject::Server(fact) => fact.member(),
        }
    }
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// The definition is not in the baseline.
    Added,
    /// The definition is no longer listed.
    Removed,
    /// The definition has a new name.
    Renamed,
    /// Its description changed, or that of an argument.
    Description,
    /// Its title for people changed.
    Title,
    /// Its hints about side effects changed.
    Annotations,
    /// Its arguments changed, or their schema.
    Input,
    /// The schema of its results changed.
    Output,
    /// The server's capabilities changed.
    Capabilities,
    /// The server's instructions to the model changed.
    Instructions,
    /// The server's name or version changed.
    ServerInfo,
    /// A member changed that no other kind covers.
    Other,
}

impl ChangeKind {
    /// The name in JSON output.
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

/// The effect of a change on existing callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// A call that worked may fail, or a result may violate the earlier schema.
    Breaking,
    /// Existing callers keep working.
    Informing,
}

impl Effect {
    /// The name in JSON output.
    pub fn name(self) -> &'static str {
        match self {
            Effect::Breaking => "breaking",
            Effect::Informing => "informing",
        }
    }
}
