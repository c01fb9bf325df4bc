//! The summaries of traces on the home page, counted in the background once for each state of a file.

use crate::query::info::introduction;
use crate::trace::OpenTrace;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;
use wiretape_library::directory::Listing;
use wiretape_library::index::FileStamp;
use wiretape_library::{CatalogEntry, TraceDigest, TraceDirectory};

/// The counts of one trace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Summary {
    pub(crate) client: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) duration_us: Option<u64>,
    pub(crate) calls: u64,
    pub(crate) errors: u64,
    pub(crate) messages: u64,
    /// The calls that were in flight when the server crashed.
    pub(crate) crashed_calls: u64,
    pub(crate) last_stderr: Vec<String>,
}

impl Summary {
    /// The summary of an open trace; `None` if it can't be read.
    pub(crate) fn of_open(trace: &OpenTrace) -> Option<Self> {
        let peers = introduction(trace, |_| true).ok()?;
        let index = trace.index();
        let duration_us = index.times().and_then(|(first, last)| u64::try_from(last - first).ok());
        Some(Summary {
            client: peers.client,
            server: peers.server,
            duration_us,
            calls: index.client_calls.calls,
            errors: index.client_calls.errors(),
            messages: index.messages,
            crashed_calls: index.client_calls.crashed,
            last_stderr: index.last_stderr().to_vec(),
        })
    }
}

impl From<TraceDigest> for Summary {
    fn from(digest: TraceDigest) -> Self {
        Summary {
            duration_us: digest.duration_us,
            calls: digest.calls.calls,
            errors: digest.calls.errors(),
            messages: digest.messages(),
            crashed_calls: digest.calls.crashed,
            last_stderr: digest.last_stderr,
            client: digest.client,
            server: digest.server,
        }
    }
}

/// The summaries of all traces. Missing ones are counted in the background.
pub(crate) struct Summaries {
    directory: Arc<TraceDirectory>,
    asked: Mutex<HashMap<PathBuf, CountedTrace>>,
    wanted: Mutex<Sender<(PathBuf, FileStamp)>>,
    version: AtomicU64,
}

/// A trace that is being counted, or was counted.
struct CountedTrace {
    /// The stamp of the file that was counted.
    stamp: FileStamp,
    /// The last result, which is shown until a growing file has been counted again.
    last: Option<Summary>,
}

/// The interval between checks of the directory.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// The idle time after which the index is written.
const IDLE: Duration = Duration::from_secs(1);

impl Summaries {
    /// Starts the threads that count and watch.
    pub(crate) fn start(directory: Arc<TraceDirectory>) -> Arc<Self> {
        let (sender, receiver) = mpsc::channel();
        let summaries = Arc::new(Summaries {
            directory: Arc::clone(&directory),
            asked: Mutex::default(),
            wanted: Mutex::new(sender),
            version: AtomicU64::new(0),
        });
        let counting = Arc::downgrade(&summaries);
        thread::spawn(move || count(&counting, &receiver));
        let watching = Arc::downgrade(&summaries);
        thread::spawn(move || watch(&watching, &directory));
        summaries
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The last summary of a trace; queues it for counting if the file has changed.
    pub(crate) fn of(&self, listing: &Listing, entry: &CatalogEntry) -> Option<Summary> {
        if let Some(digest) = self.directory.known_digest(listing, entry) {
            return Some(digest.into());
        }
        let mut asked = self.asked.lock();
        if let Some(asked) = asked.get(&entry.path).filter(|asked| asked.stamp == entry.stamp) {
            return asked.last.clone();
        }
        let last = asked.remove(&entry.path).and_then(|before| before.last);
        asked.insert(entry.path.clone(), CountedTrace { stamp: entry.stamp, last: last.clone() });
        // Unbounded, but each trace is queued once for each state of its file.
        let wanted = self.wanted.lock();
        // Fails only when the program ends and the receiver is gone.
        let _ = wanted.send((entry.path.clone(), entry.stamp));
        last
    }

    fn counted(&self, path: PathBuf, stamp: FileStamp, digest: TraceDigest) {
        let mut asked = self.asked.lock();
        if let Some(asked) = asked.get_mut(&path) {
            asked.last = Some(digest.clone().into());
        }
        // Released before the directory's locks are taken.
        drop(asked);
        self.directory.remember(path, stamp, digest);
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}

fn count(summaries: &Weak<Summaries>, wanted: &Receiver<(PathBuf, FileStamp)>) {
    let mut is_saved = true;
    loop {
        match wanted.recv_timeout(IDLE) {
            Ok((path, stamp)) => {
                // Counted without a strong reference: a large trace takes seconds, and must not keep a closed
                // page's data alive.
                // A trace that can't be read has no summary; the listing says why.
                let digest = TraceDigest::read(&path);
                let Some(summaries) = summaries.upgrade() else { return };
                if let Ok(digest) = digest {
                    summaries.counted(path, stamp, digest);
                    is_saved = false;
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                let Some(summaries) = summaries.upgrade() else { return };
                // Saved when idle, not after each trace: every save rewrites a file.
                if !is_saved {
                    summaries.directory.save();
                    is_saved = true;
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Watches the directory for traces that appear, disappear, grow or end.
fn watch(summaries: &Weak<Summaries>, directory: &TraceDirectory) {
    let mut before = None;
    loop {
        thread::sleep(POLL_INTERVAL);
        let Some(summaries) = summaries.upgrade() else { return };
        let now = fingerprint(&directory.traces());
        // The first look has nothing to compare with, and must not count as a change.
        if before.is_some_and(|before| before != now) {
            summaries.version.fetch_add(1, Ordering::AcqRel);
        }
        before = Some(now);
    }
}

/// A hash that changes when a trace appears, disappears, changes or loses its recorder.
fn fingerprint(listing: &Listing) -> u64 {
    let mut hasher = DefaultHasher::new();
    for entry in listing.traces() {
        entry.path.file_name().hash(&mut hasher);
        (entry.stamp.size, entry.stamp.modified_ns, entry.is_running()).hash(&mut hasher);
    }
    hasher.finish()
}
