//! Queries clients, for `clients`: sessions grouped by who opened them.

use super::filter::Filter;
use super::{Store, count};
use crate::store::error::StoreError;
use rusqlite::params_from_iter;
use serde::Serialize;

/// A client, in one version on one platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientRecord {
    /// The client's name; unknown for sessions whose beginning was not seen.
    pub name: Option<String>,
    /// The client's version, from its introduction.
    pub version: Option<String>,
    /// The client's platform, if it or the browser says.
    pub platform: Option<String>,
    /// The number of its sessions.
    pub sessions: u64,
    /// The number of calls in these sessions.
    pub calls: u64,
    /// The number of these calls that failed.
    pub errors: u64,
    /// When it was first seen, in milliseconds since 1970.
    #[serde(serialize_with = "super::iso")]
    pub first_seen: i64,
    /// When it was last seen, in milliseconds since 1970.
    #[serde(serialize_with = "super::iso")]
    pub last_seen: i64,
}

impl Store {
    /// The clients of the sessions that match a filter, the most recently active first.
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
