//! What a server offers: its tools, prompts, resources and resource templates, and what it says of itself.
//!
//! [`Page`] is one answer to a list request, [`Gatherer`] puts the pages of lists together, and [`Collector`] finds all
//! of it in a trace. How offers differ is for [`crate::drift`].

mod collect;
mod gather;
mod page;

pub use collect::Collector;
pub use gather::{Gathered, Gatherer};
pub use page::{ListKind, Page, cursor};

use std::collections::BTreeMap;

/// What a server offers, as far as it was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definitions {
    /// What the server says of itself, by the name of the member.
    pub server: BTreeMap<ServerFact, Definition>,
    /// The lists that were seen.
    pub lists: BTreeMap<ListKind, Listing>,
    /// Other definitions that were given: by earlier lists, or under a name that stands in a list twice.
    pub others: Vec<(ListKind, String, Definition)>,
}

/// A list, as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Its entries, by what they go by.
    pub entries: BTreeMap<String, Definition>,
    /// Whether all of its pages were seen.
    pub extent: Extent,
    /// The line of a trace where it was seen last.
    pub line: Option<u64>,
}

/// How much of a list was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// Some of its pages.
    Partial,
}

/// One thing that a server offers or says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Its JSON, as it was written.
    pub raw: Vec<u8>,
    /// Where it stands.
    pub spot: Option<Spot>,
}

/// A place in a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The line, from 1.
    pub line: u64,
    /// The JSON pointer into the message on that line.
    pub pointer: String,
}

/// What a server says of itself, in its answer to `initialize` or `server/discover`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ServerFact {
    /// What it can do.
    Capabilities,
    /// What the model is to know of it.
    Instructions,
    /// Its name and version.
    ServerInfo,
}

impl ServerFact {
    /// All of them.
    pub const ALL: [ServerFact; 3] =
        [ServerFact::Capabilities, ServerFact::Instructions, ServerFact::ServerInfo];

    /// The name of the member that has it.
    pub fn member(self) -> &'static str {
        match self {
            ServerFact::Capabilities => "capabilities",
            ServerFact::Instructions => "instructions",
            ServerFact::ServerInfo => "serverInfo",
        }
    }
}

/// The methods whose answers say what a server is.
pub(crate) const INTRODUCTIONS: [&str; 2] = ["initialize", "server/discover"];

impl Definitions {
    /// Whether nothing was seen.
    pub fn is_empty(&self) -> bool {
        self.server.is_empty() && self.lists.is_empty()
    }
}
