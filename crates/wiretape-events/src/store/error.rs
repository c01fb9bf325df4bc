//! What can be wrong with a store.

use super::file;
use rusqlite::ErrorCode;
use std::io;
use std::path::PathBuf;

/// A store can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is none yet.
    #[error("there is no store at {path} yet: a proxy with a store, or loading a trace, makes one")]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A later version of this program wrote it.
    #[error(
        "{path} was written by a newer wiretape (store version {version}, this one knows {known}): upgrade to use it"
    )]
    Newer {
        /// The store.
        path: PathBuf,
        /// Its version.
        version: i64,
        /// The latest version known here.
        known: i64,
    },
    /// A database, but another program's.
    #[error("{path} is a database of another program: name another file for the store")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// No file at all.
    #[error("{path} is a directory: name a file for the store")]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// A file that never was a database.
    #[error(
        "{path} is no store, and no database at all: name another file for the store, or move this one away"
    )]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// A database with damage.
    #[error("{path} is damaged: move it away, and a new one is begun")]
    Corrupt {
        /// The store.
        path: PathBuf,
        /// What SQLite says.
        #[source]
        source: rusqlite::Error,
    },
    /// Another program holds it.
    #[error("{path} is locked by another program: try again")]
    Locked {
        /// The store.
        path: PathBuf,
        /// What SQLite says.
        #[source]
        source: rusqlite::Error,
    },
    /// It may not be written.
    #[error("{path} can't be written: check its permissions and those of its directory")]
    ReadOnly {
        /// The store.
        path: PathBuf,
        /// What SQLite says.
        #[source]
        source: rusqlite::Error,
    },
    /// There is no room.
    #[error("there is no room to write {path}: free some, or give the store a limit")]
    Full {
        /// The store.
        path: PathBuf,
        /// What SQLite says.
        #[source]
        source: rusqlite::Error,
    },
    /// The file or its directory can't be made or opened.
    #[error("can't open {path}")]
    Open {
        /// The store.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Anything else that SQLite says.
    #[error("can't use {path}")]
    Sqlite {
        /// The store.
        path: PathBuf,
        /// What SQLite says.
        #[source]
        source: rusqlite::Error,
    },
    /// No session has that id.
    #[error("no session's id begins with `{id}`")]
    UnknownSession {
        /// What was asked for.
        id: String,
    },
    /// Several sessions have an id that begins so.
    #[error("`{id}` is the beginning of several sessions' ids: {}", .candidates.join(", "))]
    AmbiguousSession {
        /// What was asked for.
        id: String,
        /// Some that it could be.
        candidates: Vec<String>,
    },
}

impl StoreError {
    /// What SQLite says of a file.
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

    /// What was meant, of an error that came while a file was opened. The file itself is looked at only now: closing it gives
    /// up the locks that this process holds on it.
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

    /// With all causes, on one line.
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
