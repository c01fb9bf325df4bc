//! The traces that the page can open, by their names in URLs.
//!
//! Only what is in the directory, what the program was started with, and what the page itself has brought can be
//! opened: a URL that names another file is refused.

use crate::api::types::{Home, PendingRow, TraceCard};
use crate::query::Set;
use crate::query::diff::Comparisons;
use crate::query::info::failure;
use crate::query::select::Selections;
use crate::summary::{Summaries, Summary};
use crate::trace::{OpenTrace, StateOf};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::NamedTempFile;
use wiretape_library::directory::Listing;
use wiretape_library::{CatalogEntry, PendingCalls, TraceDirectory, TraceFileError, TraceState};

/// The limit of traces on the home page; a search finds the others.
const MOST_CARDS: usize = 500;

/// The limit of open traces: the index of each is in memory.
const OPEN: usize = 12;

/// The traces that the page can open.
pub(crate) struct Library {
    directory: Arc<TraceDirectory>,
    /// The traces given on the command line.
    given: Vec<PathBuf>,
    store: Option<PathBuf>,
    /// The open traces, most recently used last.
    open: Mutex<Vec<Arc<OpenTrace>>>,
    brought: Mutex<Vec<UploadedTrace>>,
    summaries: Arc<Summaries>,
    /// The calls in flight, with how far each running recording was read for them.
    pending: Mutex<PendingCalls>,
    pub(crate) selections: Selections,
    pub(crate) comparisons: Comparisons,
}

/// A trace that was uploaded through the page.
struct UploadedTrace {
    key: String,
    name: String,
    file: NamedTempFile,
    /// Whether a live recorder still adds to it.
    is_live: Arc<AtomicBool>,
}

/// The trace that a name refers to.
struct NamedTrace {
    key: String,
    file: String,
    path: PathBuf,
    state_of: StateOf,
}

/// Why a trace could not be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("no trace `{0}` on this machine")]
    Unknown(String),
    #[error("no trace is named")]
    Nothing,
    #[error("{error}{}", cause(error))]
    Failed { error: TraceFileError },
}

/// The innermost cause, because the page shows no chain of causes.
fn cause(error: &TraceFileError) -> String {
    std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default()
}

impl Library {
    pub(crate) fn new(directory: Arc<TraceDirectory>, given: Vec<PathBuf>, store: Option<PathBuf>) -> Self {
        Library {
            pending: Mutex::default(),
            summaries: Summaries::start(Arc::clone(&directory)),
            directory,
            given,
            store,
            open: Mutex::default(),
            brought: Mutex::default(),
            selections: Selections::default(),
            comparisons: Comparisons::default(),
        }
    }

    // Checked each time: the store may be created while the page is open.
    pub(crate) fn store(&self) -> Option<&Path> {
        self.store.as_deref().filter(|path| path.exists())
    }

    /// A counter that grows whenever the home page may have changed.
    pub(crate) fn home_version(&self) -> u64 {
        self.summaries.version()
    }

    /// The home page: the traces that match all words of `search`, those being recorded first.
    pub(crate) fn home(&self, search: &str) -> Home {
        let listing = self.directory.traces();
        let words: Vec<String> = search.split_whitespace().map(str::to_lowercase).collect();
        let mut found: Vec<&CatalogEntry> =
            listing.traces().iter().filter(|entry| self.has_words(&listing, entry, &words)).collect();
        let count = found.len() as u64;
        // A stable sort: among equals the newest stay first.
        found.sort_by_cached_key(|entry| !entry.is_running());
        Home {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            traces: found.iter().take(MOST_CARDS).map(|entry| self.card(&listing, entry)).collect(),
            found: count,
            total: listing.traces().len() as u64,
            has_store: self.store().is_some(),
            given: self.given.iter().map(|path| given_key(path)).collect(),
            unreadable: listing.unreadable(),
        }
    }

    /// The calls in flight in all running recordings.
    pub(crate) fn pending(&self) -> Vec<PendingRow> {
        let listing = self.directory.traces();
        // Held while reading: concurrent requests wait for the one that reads instead of reading the same.
        let snapshot = self.pending.lock().now(&listing.catalog);
        // A recording that can't be read is among the unreadable files of the home page.
        snapshot.calls.iter().map(PendingRow::from).collect()
    }

    /// Whether a trace matches all words. The digest is checked last, because that reads the index.
    fn has_words(&self, listing: &Listing, entry: &CatalogEntry, words: &[String]) -> bool {
        if words.is_empty() {
            return true;
        }
        let file = entry.path.file_name().unwrap_or_default().to_string_lossy();
        let text = format!("{} {file}", entry.label()).to_lowercase();
        let mut missing = words.iter().filter(|word| !text.contains(word.as_str())).peekable();
        if missing.peek().is_none() {
            return true;
        }
        let state = if entry.is_running() { "running" } else { "" };
        let Some(digest) = self.directory.known_digest(listing, entry) else {
            return missing.all(|word| state.contains(word.as_str()));
        };
        let state = TraceState::new(&entry.path, &digest.ending.ending()).describe();
        let peers = [digest.client, digest.server].map(Option::unwrap_or_default);
        let text = format!("{} {state}", peers.join(" ")).to_lowercase();
        missing.all(|word| text.contains(word.as_str()))
    }

    fn card(&self, listing: &Listing, entry: &CatalogEntry) -> TraceCard {
        let state = self.directory.state(&entry.path);
        // An open trace was already counted.
        // The shadowed guard lives until the end of the function, so nothing below may lock `open` again.
        let open = self.open.lock();
        let open = open.iter().find(|trace| trace.key == entry.id()).cloned();
        let summary = match open {
            Some(trace) => Summary::of_open(&trace),
            None => self.summaries.of(listing, entry),
        };
        TraceCard {
            key: entry.id().to_owned(),
            label: entry.label().to_owned(),
            file: entry.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            client: summary.as_ref().and_then(|summary| summary.client.clone()),
            server: summary.as_ref().and_then(|summary| summary.server.clone()),
            started_us: entry.facts.started_ms.map(|ms| ms.saturating_mul(1000)),
            duration_us: summary.as_ref().and_then(|summary| summary.duration_us),
            calls: summary.as_ref().map(|summary| summary.calls),
            errors: summary.as_ref().map(|summary| summary.errors),
            messages: summary.as_ref().map(|summary| summary.messages),
            bytes: entry.bytes(),
            state: state.kind(),
            state_text: state.describe(),
            failure: summary.as_ref().map_or_else(
                || failure(&state, 0, &[]),
                |summary| failure(&state, summary.crashed_calls, &summary.last_stderr),
            ),
        }
    }

    /// The traces that a URL names, separated by semicolons.
    pub(crate) fn set(&self, names: &str) -> Result<Set, OpenError> {
        let names: Vec<&str> = names.split(';').map(str::trim).filter(|name| !name.is_empty()).collect();
        if names.is_empty() {
            return Err(OpenError::Nothing);
        }
        let mut traces: Vec<Arc<OpenTrace>> = Vec::new();
        for name in names {
            // Without this, merging would show every line twice, and locking its index twice could deadlock.
            let trace = self.trace(name)?;
            // A trace that is named twice is opened once.
            if !traces.iter().any(|other| Arc::ptr_eq(other, &trace)) {
                traces.push(trace);
            }
        }
        Ok(Set { traces })
    }

    /// The trace with this name, opened if needed.
    pub(crate) fn trace(&self, name: &str) -> Result<Arc<OpenTrace>, OpenError> {
        if let Some(trace) = self.already_open(name) {
            return Ok(trace);
        }
        // Opened without the lock: reading the first lines of a large trace takes time, and other requests
        // must not wait for it.
        let named = self.find(name).ok_or_else(|| OpenError::Unknown(name.to_owned()))?;
        if let Some(trace) = self.already_open(&named.key) {
            return Ok(trace);
        }
        let NamedTrace { key, file, path, state_of } = named;
        let trace =
            OpenTrace::open(key, file, &path, state_of).map_err(|error| OpenError::Failed { error })?;
        let mut open = self.open.lock();
        // Another request may have opened it in the meantime; there must be only one index of a trace.
        if let Some(trace) = open.iter().find(|other| other.key == trace.key) {
            return Ok(Arc::clone(trace));
        }
        open.push(Arc::clone(&trace));
        // Dropping it also ends its reader's thread, which holds only a weak reference.
        if open.len() > OPEN {
            open.remove(0);
        }
        Ok(trace)
    }

    /// An open trace, which becomes the most recently used.
    fn already_open(&self, key: &str) -> Option<Arc<OpenTrace>> {
        let mut open = self.open.lock();
        let at = open.iter().position(|trace| trace.key == key)?;
        let trace = open.remove(at);
        open.push(Arc::clone(&trace));
        Some(trace)
    }

    fn find(&self, name: &str) -> Option<NamedTrace> {
        let given = self.given.iter().find(|path| given_key(path) == name);
        self.find_brought(name)
            .or_else(|| Some(self.on_disk(name.to_owned(), given?.clone())))
            .or_else(|| self.find_in_directory(name))
    }

    fn find_brought(&self, name: &str) -> Option<NamedTrace> {
        let brought = self.brought.lock();
        let brought = brought.iter().find(|brought| brought.key == name)?;
        let (path, is_live) = (brought.file.path().to_owned(), Arc::clone(&brought.is_live));
        let ending = self.directory.state(&path);
        let directory = Arc::clone(&self.directory);
        let of_file = path.clone();
        // The ending of an uploaded file is looked up once, unless it has none: then a live recorder may
        // still have written it.
        let state_of: StateOf = Arc::new(move || match is_live.load(Ordering::Acquire) {
            true => TraceState::Running,
            false if ending == TraceState::NoEnd => directory.state(&of_file),
            false => ending.clone(),
        });
        Some(NamedTrace { key: brought.key.clone(), file: brought.name.clone(), path, state_of })
    }

    fn find_in_directory(&self, name: &str) -> Option<NamedTrace> {
        let listing = self.directory.traces();
        let is_named = |entry: &&CatalogEntry| entry.id() == name || entry.path == Path::new(name);
        if let Some(entry) = listing.traces().iter().find(is_named) {
            return Some(self.on_disk(entry.id().to_owned(), entry.path.clone()));
        }
        // A unique prefix of an id, as on the command line.
        let begins = listing.traces().iter().filter(|entry| entry.id().starts_with(name));
        match begins.collect::<Vec<_>>().as_slice() {
            [entry] => Some(self.on_disk(entry.id().to_owned(), entry.path.clone())),
            _ => None,
        }
    }

    fn on_disk(&self, key: String, path: PathBuf) -> NamedTrace {
        let (directory, of) = (Arc::clone(&self.directory), path.clone());
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        NamedTrace { key, file, path, state_of: Arc::new(move || directory.state(&of)) }
    }

    /// The key of a trace by the id or path in the store.
    pub(crate) fn key_of(&self, name: &str) -> Option<String> {
        self.find_in_directory(name).map(|named| named.key)
    }

    /// Adds a trace that was uploaded through the page; `name` is only displayed.
    pub(crate) fn bring(&self, name: &str, file: NamedTempFile, is_live: Arc<AtomicBool>) -> String {
        let mut brought = self.brought.lock();
        let is_plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
        // It appears in URLs and headers, so anything that could have a meaning there is replaced.
        let name: String = name.chars().map(|c| if is_plain(c) { c } else { '-' }).take(80).collect();
        let key = format!("{}~{name}", brought.len() + 1);
        brought.push(UploadedTrace { key: key.clone(), name, file, is_live });
        key
    }
}

/// The key of a trace that was given on the command line.
fn given_key(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
