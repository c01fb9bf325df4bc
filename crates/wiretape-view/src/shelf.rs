//! Where traces lie: told by whoever starts the server, for this crate knows no directories and no recorders.

use crate::api::types::TraceState;
use std::path::{Path, PathBuf};

/// The traces of this machine.
pub trait Shelf: Send + Sync {
    /// All traces, the newest first.
    fn traces(&self) -> ShelfList;
    /// Where the recording of a trace stands.
    fn standing(&self, path: &Path) -> Standing;
}

/// What lies on a shelf.
#[derive(Debug, Clone, Default)]
pub struct ShelfList {
    /// The traces.
    pub traces: Vec<ShelfEntry>,
    /// Files that can't be read, in words.
    pub unreadable: Vec<String>,
}

/// A trace on a shelf.
#[derive(Debug, Clone)]
pub struct ShelfEntry {
    /// Its id.
    pub id: String,
    /// A short name for people.
    pub label: String,
    /// Its file.
    pub path: PathBuf,
    /// When it began, in milliseconds since 1970.
    pub started_ms: Option<i64>,
    /// The size of its file.
    pub bytes: u64,
}

/// Where a recording stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// In a word.
    pub state: TraceState,
    /// In a few words, as `exit 1`.
    pub text: String,
}
