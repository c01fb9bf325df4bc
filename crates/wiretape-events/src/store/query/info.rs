//! Facts about the store itself, for `store info`.

use super::{Store, count};
use crate::store::error::StoreError;
use crate::store::schema::pragma;
use serde::Serialize;
use std::path::PathBuf;

/// Facts about a store. The JSON output of `store info`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    /// The path of the store's main file.
    pub path: PathBuf,
    /// The version of its tables, see the migrations.
    pub version: i64,
    /// Its size in bytes, including free pages.
    pub bytes: u64,
    /// How much of the size is free pages, in bytes.
    pub free_bytes: u64,
    /// The number of rows in each table.
    pub rows: TableRows,
    /// When the oldest call began, in milliseconds since 1970.
    #[serde(serialize_with = "super::iso_or_null")]
    pub oldest: Option<i64>,
    /// When the latest call began, in milliseconds since 1970.
    #[serde(serialize_with = "super::iso_or_null")]
    pub newest: Option<i64>,
}

/// The number of rows in each table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TableRows {
    /// Calls and plumbing requests.
    pub calls: u64,
    /// Sessions, named or grouped.
    pub sessions: u64,
    /// Combinations of server, listener, method and tool.
    pub operations: u64,
    /// Current definitions of servers.
    pub schema_items: u64,
    /// Entries in the history of definitions.
    pub schema_changes: u64,
    /// Policy violations that browsers reported.
    pub violations: u64,
    /// Traces that were loaded or reported.
    pub traces: u64,
}

impl Store {
    /// Facts about this store.
    pub fn info(&self) -> Result<Info, StoreError> {
        let pragma = |name| pragma(&self.connection, name).map_err(|source| self.error(source));
        let page = pragma("page_size")?;
        let bytes = |pages: i64| u64::try_from(pages * page).unwrap_or(0);
        let (oldest, newest) =
            self.row("SELECT (SELECT min(time) FROM call), (SELECT max(time) FROM call)", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        Ok(Info {
            path: self.path.clone(),
            version: pragma("user_version")?,
            bytes: bytes(pragma("page_count")?),
            free_bytes: bytes(pragma("freelist_count")?),
            rows: self.table_rows()?,
            oldest,
            newest,
        })
    }

    fn table_rows(&self) -> Result<TableRows, StoreError> {
        // Uses the counters of the operations, because counting calls scans a whole index.
        let sql = "SELECT (SELECT coalesce(sum(calls), 0) FROM operation), (SELECT count(*) FROM session), \
                   (SELECT count(*) FROM operation), (SELECT count(*) FROM schema_item), \
                   (SELECT count(*) FROM schema_change), (SELECT count(*) FROM violation), \
                   (SELECT count(*) FROM trace)";
        self.row(sql, [], |row| {
            Ok(TableRows {
                calls: count(row, 0)?,
                sessions: count(row, 1)?,
                operations: count(row, 2)?,
                schema_items: count(row, 3)?,
                schema_changes: count(row, 4)?,
                violations: count(row, 5)?,
                traces: count(row, 6)?,
            })
        })
    }
}
