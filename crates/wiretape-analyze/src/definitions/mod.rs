//! The definitions of a server: its tools, prompts, resources and resource templates, and its facts about itself.
//!
//! [`Page`] is one answer to a list request, [`Gatherer`] joins the pages of a list, and [`Collector`] finds all
//! definitions in a trace. [`crate::drift`] compares them.

mod collect;
mod gather;
mod page;

pub use collect::Collector;
pub use gather::{Gatherer, ListState};
pub use page::{ListKind, Page, cursor};

use std::collections::BTreeMap;

/// The definitions of a server, as far as they were seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definitions {
    /// The server's facts about itself.
    pub server: BTreeMap<ServerFact, Definition>,
    /// The lists that were seen.
    pub lists: BTreeMap<ListKind, Listing>,
    /// Other versions of definitions: from earlier lists, or duplicates within a list.
    pub others: Vec<(ListKind, String, Definition)>,
}

/// A list, as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Its entries by name or URI.
    pub entries: BTreeMap<String, Definition>,
    /// Whether all of its pages were seen.
    pub extent: Extent,
    /// The line of its last page in the trace.
    pub line: Option<u64>,
}

/// How many pages of a list were seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Every page of the list was seen.
    Whole,
    /// Some of its pages.
    Partial,
}

/// A definition or fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Its JSON, as the server sent it.
    pub raw: Vec<u8>,
    /// Its position in the trace; `None` if it comes from a baseline file.
    pub spot: Option<Spot>,
}

/// A position in a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The line, from 1.
    pub line: u64,
    /// The JSON pointer into the message on that line.
    pub pointer: String,
}

/// A fact that a server states in its answer to `initialize` or `server/discover`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ServerFact {
    /// The capabilities that it declares.
    Capabilities,
    /// Its instructions to the model.
    Instructions,
    /// Its name and version.
    ServerInfo,
}

impl ServerFact {
    /// All facts, in the order in which they are compared.
    pub const ALL: [ServerFact; 3] =
        [ServerFact::Capabilities, ServerFact::Instructions, ServerFact::ServerInfo];

    /// The member of the result that holds it.
    pub fn member(self) -> &'static str {
        match self {
            ServerFact::Capabilities => "capabilities",
            ServerFact::Instructions => "instructions",
            ServerFact::ServerInfo => "serverInfo",
        }
    }
}

/// The methods whose results hold [`ServerFact`]s.
pub(crate) const INTRODUCTIONS: [&str; 2] = ["initialize", "server/discover"];

impl Definitions {
    /// Whether nothing was seen.
    pub fn is_empty(&self) -> bool {
        self.server.is_empty() && self.lists.is_empty()
    }
}
