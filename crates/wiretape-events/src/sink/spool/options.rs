//! The spool's bounds and pauses.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where a spool is, how much it takes, and when it sends. [`new`](Self::new) has the defaults.
#[derive(Debug, Clone)]
pub struct SpoolOptions {
    /// The spool's directory. Created if it doesn't exist.
    pub directory: PathBuf,
    /// The size limit of the sealed segments, counted in blocks of 4 KiB. Beyond it, the oldest are dropped.
    pub max_bytes: u64,
    /// A segment is sealed when it has this many events,
    pub batch_events: u64,
    /// or when another event would make it longer than this, in bytes before compression,
    pub batch_bytes: u64,
    /// or when its first event is this old.
    pub batch_time: Duration,
    /// The timeout of one attempt, from connecting to the end of the response.
    pub timeout: Duration,
    /// The longest first pause after a failure. The pause itself is random.
    pub backoff_base: Duration,
    /// The limit up to which the longest pause doubles with each further failure.
    pub backoff_cap: Duration,
    /// How long to keep sending at shutdown. What remains is sent at the next start.
    pub shutdown: Duration,
}

impl SpoolOptions {
    /// The default settings for this directory.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        SpoolOptions {
            directory: directory.into(),
            max_bytes: 64 << 20,
            batch_events: 500,
            batch_bytes: 1 << 20,
            batch_time: Duration::from_secs(5),
            timeout: Duration::from_secs(10),
            backoff_base: Duration::from_secs(1),
            backoff_cap: Duration::from_secs(60),
            shutdown: Duration::from_secs(10),
        }
    }
}

/// Why a spool can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpoolError {
    /// The directory can't be created, locked or listed.
    #[error("can't use the spool {}", path.display())]
    Directory {
        /// The directory that failed.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// The operating system refused to start the sender's thread.
    #[error("can't start the spool's thread")]
    Thread(#[source] io::Error),
}

impl SpoolError {
    pub(super) fn directory(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| SpoolError::Directory { path: path.to_owned(), source }
    }
}
