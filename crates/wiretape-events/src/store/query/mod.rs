//! Reads the store: typed queries, while other processes write.

mod calls;
mod clients;
mod digest;
mod filter;
mod info;
mod names;
mod rates;
mod schema;
mod sessions;
mod stats;

pub use calls::{CallRecord, Order};
pub use clients::ClientRecord;
pub use filter::Filter;
pub use info::{Info, TableRows};
pub use names::OperationRecord;
pub use rates::RateRecord;
pub use schema::{SchemaChangeRecord, SchemaItemRecord, SchemaListRecord, UnusedTool, ViolationRecord};
pub use sessions::{SessionCalls, SessionRecord};
pub use stats::{Stats, StatsRecord};

use super::error::StoreError;
use super::file;
use super::schema::{self as tables, Content, VERSION};
use super::writer::Writer;
use rusqlite::{Connection, OpenFlags, Params, Row};
use serde::{Serialize, Serializer};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for another process. In WAL mode, readers only have to wait for a migration.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// The read connection to a store.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
}

impl Store {
    /// Opens a store for reading, while others may write. An older store is migrated first.
    pub fn open_read(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Missing { path: path.to_owned() });
        }
        if path.is_dir() {
            return Err(StoreError::Directory { path: path.to_owned() });
        }
        match Self::open_current(path).map_err(StoreError::while_opening) {
            Ok(Content::Store(version)) if version < VERSION => drop(Writer::open(path)?),
            Ok(Content::Store(_)) => {}
            Ok(Content::Empty) => return Err(StoreError::Missing { path: path.to_owned() }),
            Err(error @ StoreError::ReadOnly { .. }) => {
                file::readable(path).map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
                return Err(error);
            }
            Err(error) => return Err(error),
        }
        let connection = connect(path)?;
        Ok(Store { path: path.to_owned(), connection })
    }

    /// Queries what a writer has written, in memory or in a file.
    pub fn of(writer: Writer) -> Self {
        Store { path: writer.path().to_owned(), connection: writer.connection }
    }

    fn open_current(path: &Path) -> Result<Content, StoreError> {
        tables::content(&connect(path)?, path, VERSION)
    }

    /// The path of the store; `:memory:` for one in memory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn rows<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = || -> rusqlite::Result<Vec<T>> {
            self.connection.prepare_cached(sql)?.query_map(values, read)?.collect()
        };
        rows().map_err(|source| self.error(source))
    }

    fn row<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.connection.query_row(sql, values, read).map_err(|source| self.error(source))
    }

    fn error(&self, source: rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(self.path.clone(), source)
    }
}

/// Opens a file for reading. If the companion files that WAL readers share can't be created, and there are
/// none, the store is opened as immutable: no process writes to it.
fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let of_sqlite = |source| StoreError::from_sqlite(path.to_owned(), source);
    let shared = || Connection::open_with_flags(path, flags).and_then(usable);
    let alone =
        || Connection::open_with_flags(immutable(path), flags | OpenFlags::SQLITE_OPEN_URI).and_then(usable);
    if file::is_read_only(path) && !file::has_companions(path) {
        // SQLite would create companion files with the store's read-only mode, and could never remove them.
        return alone().map_err(of_sqlite);
    }
    match shared().map_err(of_sqlite) {
        Err(StoreError::ReadOnly { .. }) if !file::has_companions(path) => alone().map_err(of_sqlite),
        other => other,
    }
}

fn usable(connection: Connection) -> rusqlite::Result<Connection> {
    tables::harden(&connection)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Negative means KiB: 32 MiB of page cache, because statistics scan the whole index.
    connection.pragma_update(None, "cache_size", -32_768)?;
    // Opening is lazy: only a query shows whether the file can be read.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

fn immutable(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri + "?immutable=1"
}

/// Serializes a time as ISO 8601 in UTC.
fn iso<S: Serializer>(ms: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    iso_or_null(&Some(*ms), serializer)
}

fn iso_or_null<S: Serializer>(ms: &Option<i64>, serializer: S) -> Result<S::Ok, S::Error> {
    let time = ms.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.map(|time| time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()).serialize(serializer)
}

/// Serializes an empty text as null.
fn text_or_null<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    Some(text).filter(|text| !text.is_empty()).serialize(serializer)
}

/// Reads a number that can't be negative; SQLite's integers are signed.
fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

fn count_or_none(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<u64>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(|number| u64::try_from(number).unwrap_or(0)))
}
