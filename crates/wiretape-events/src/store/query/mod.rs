//! Reading the store: typed answers, while others write.

mod calls;
mod clients;
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
use super::schema::{self as tables, Standing, VERSION};
use super::writer::Writer;
use rusqlite::{Connection, OpenFlags, Params, Row};
use serde::{Serialize, Serializer};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long another program is waited for. Readers wait for nobody but who brings a store up to date.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// A store, to read.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
}

impl Store {
    /// Opens a store for reading. A writer may write meanwhile. One that is older is brought up to date first.
    pub fn open_read(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Missing { path: path.to_owned() });
        }
        if path.is_dir() {
            return Err(StoreError::Directory { path: path.to_owned() });
        }
        match Self::open_current(path).map_err(StoreError::while_opening) {
            Ok(Standing::Store(version)) if version < VERSION => drop(Writer::open(path)?),
            Ok(Standing::Store(_)) => {}
            Ok(Standing::Empty) => return Err(StoreError::Missing { path: path.to_owned() }),
            Err(error @ StoreError::ReadOnly { .. }) => {
                file::readable(path).map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
                return Err(error);
            }
            Err(error) => return Err(error),
        }
        let connection = connect(path)?;
        Ok(Store { path: path.to_owned(), connection })
    }

    /// Reads what a writer has written, in memory or in a file.
    pub fn of(writer: Writer) -> Self {
        Store { path: writer.path().to_owned(), connection: writer.connection }
    }

    fn open_current(path: &Path) -> Result<Standing, StoreError> {
        tables::standing(&connect(path)?, path, VERSION)
    }

    /// Where it is.
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

/// Opens a file for reading. Where the files that readers share can't be made, a store that nobody writes is read alone.
fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let of_sqlite = |source| StoreError::from_sqlite(path.to_owned(), source);
    let shared = || Connection::open_with_flags(path, flags).and_then(usable);
    let alone =
        || Connection::open_with_flags(immutable(path), flags | OpenFlags::SQLITE_OPEN_URI).and_then(usable);
    if file::is_read_only(path) && !file::has_companions(path) {
        // They would be as read-only as the store, and stay so.
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
    connection.pragma_update(None, "cache_size", -32_768)?;
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

/// A time as programs are told it: ISO 8601, in UTC.
fn iso<S: Serializer>(ms: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    iso_or_null(&Some(*ms), serializer)
}

fn iso_or_null<S: Serializer>(ms: &Option<i64>, serializer: S) -> Result<S::Ok, S::Error> {
    let time = ms.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.map(|time| time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()).serialize(serializer)
}

/// A text that is empty where there is none.
fn text_or_null<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    Some(text).filter(|text| !text.is_empty()).serialize(serializer)
}

/// Numbers that can't be negative, as they stand in the store.
fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

fn count_or_none(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<u64>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(|number| u64::try_from(number).unwrap_or(0)))
}
