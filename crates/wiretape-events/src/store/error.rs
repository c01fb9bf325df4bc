//! The errors of the store, with a hint about what to do in each message.

use super::file;
use rusqlite::ErrorCode;
use std::io;
use std::path::PathBuf;

/// Why a store can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file doesn't exist.
    #[error("no store at {path} yet: `wiretape proxy`, `record` and `store load` create one")]
    Missing {
        /// The path that was tried.
        path: PathBuf,
    },
    /// A newer version of Wiretape wrote it.
    #[error(
        "{path} was written by a newer wiretape (store version {version}, this one knows {known}): upgrade to use it"
    )]
    Newer {
        /// The path of the store.
        path: PathBuf,
        /// The version found in the file.
        version: i64,
        /// The newest version that this program supports.
        known: i64,
    },
    /// An SQLite database of another program.
    #[error("{path} is a database of another program: choose another file for the store")]
    Foreign {
        /// The path of the database.
        path: PathBuf,
    },
    /// The path is a directory.
    #[error("{path} is a directory: choose a file for the store")]
    Directory {
        /// The path that was given.
        path: PathBuf,
    },
    /// A file that is not an SQLite database.
    #[error("{path} is not a store or any other database: choose another file, or move this one away")]
    NotADatabase {
        /// The path of the file.
        path: PathBuf,
    },
    /// SQLite found the database to be damaged.
    #[error("{path} is damaged: move it away; a new store will be created")]
    Corrupt {
        /// The path of the store.
        path: PathBuf,
        /// The error that SQLite returned.
        #[source]
        source: rusqlite::Error,
    },
    /// Another process held the lock for too long.
    #[error("{path} is locked by another program: try again")]
    Locked {
        /// The path of the store.
        path: PathBuf,
        /// The error that SQLite returned.
        #[source]
        source: rusqlite::Error,
    },
    /// The file or its directory isn't writable.
    #[error("{path} can't be written: check its permissions and those of its directory")]
    ReadOnly {
        /// The path of the store.
        path: PathBuf,
        /// The error that SQLite returned.
        #[source]
        source: rusqlite::Error,
    },
    /// The disk is full.
    #[error("no space left to write {path}: free disk space, or limit the size of the store")]
    Full {
        /// The path of the store.
        path: PathBuf,
        /// The error that SQLite returned.
        #[source]
        source: rusqlite::Error,
    },
    /// The file or its directory can't be created or opened.
    #[error("can't open {path}")]
    Open {
        /// The path of the store.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        source: io::Error,
    },
    /// Any other error of SQLite.
    #[error("can't use {path}")]
    Sqlite {
        /// The path of the store.
        path: PathBuf,
        /// The error that SQLite returned.
        #[source]
        source: rusqlite::Error,
    },
    /// No session's id begins with the given text.
    #[error("no session id starts with `{id}`")]
    UnknownSession {
        /// The id, or its beginning, as given.
        id: String,
    },
    /// Several sessions' ids begin with the given text.
    #[error("`{id}` is a prefix of several session ids: {}", .candidates.join(", "))]
    AmbiguousSession {
        /// The beginning of an id, as given.
        id: String,
        /// Some of the ids that match.
        candidates: Vec<String>,
    },
}

impl StoreError {
    /// Classifies an error of SQLite, because each kind needs another reaction: retry, move aside, or give
    /// up.
    pub(crate) fn from_sqlite(path: PathBuf, source: rusqlite::Error) -> Self {
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::Corrupt { path, source }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked { path, source },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                StoreError::ReadOnly { path, source }
            }
            Some(ErrorCode::DiskFull) => StoreError::Full { path, source },
            _ => StoreError::Sqlite { path, source },
        }
    }

    /// Refines an error from opening a file. The file itself is read only after SQLite has failed, because
    /// closing it drops the POSIX locks of this process on it.
    pub(super) fn while_opening(self) -> Self {
        match self {
            StoreError::Corrupt { path, source }
                if source.sqlite_error_code() == Some(ErrorCode::NotADatabase)
                    && !file::looks_like_sqlite(&path) =>
            {
                StoreError::NotADatabase { path }
            }
            other => other,
        }
    }

    /// The error with all its causes, on one line.
    pub(crate) fn in_full(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }
}
