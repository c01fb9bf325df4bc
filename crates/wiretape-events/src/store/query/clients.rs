//! Who calls.

use super::filter::Filter;
use super::{Store, count};
use crate::store::error::StoreError;
use rusqlite::params_from_iter;
use serde::Serialize;

/// A client, in one version on one platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientRecord {
    /// Its name; unknown for sessions whose beginning was not seen.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Its platform.
    pub platform: Option<String>,
    /// How many sessions it had.
    pub sessions: u64,
    /// How many calls there were in these.
    pub calls: u64,
    /// How many of the calls failed.
    pub errors: u64,
    /// When it was first seen, in milliseconds since 1970.
    #[serde(serialize_with = "super::iso")]
    pub first_seen: i64,
    /// When it was last seen.
    #[serde(serialize_with = "super::iso")]
    pub last_seen: i64,
}

impl Store {
    /// The clients of the sessions that a filter means; the one last heard of first.
    pub fn clients(&self, filter: &Filter) -> Result<Vec<ClientRecord>, StoreError> {
        let conditions = filter.of_sessions();
        let sql = format!(
            "SELECT client_name, client_version, client_platform, count(*), sum(calls), sum(errors), min(started), \
             max(last_seen) FROM session{} GROUP BY 1, 2, 3 ORDER BY 8 DESC, 1, 2, 3",
            conditions.clause()
        );
        self.rows(&sql, params_from_iter(&conditions.values), |row| {
            Ok(ClientRecord {
                name: row.get(0)?,
                version: row.get(1)?,
                platform: row.get(2)?,
                sessions: count(row, 3)?,
                calls: count(row, 4)?,
                errors: count(row, 5)?,
                first_seen: row.get(6)?,
                last_seen: row.get(7)?,
            })
        })
    }
}
