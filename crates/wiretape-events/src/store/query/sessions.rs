//! Sessions, and what was called in one.

use super::calls::CallRecord;
use super::filter::{Filter, prefix_range};
use super::{Store, count};
use crate::store::error::StoreError;
use rusqlite::{Row, params_from_iter};
use serde::Serialize;

/// How many sessions are named where one was meant.
const MAX_CANDIDATES: u32 = 5;

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRecord {
    /// Its id.
    pub id: String,
    /// The server.
    pub server: String,
    /// The listener, if it came through one.
    pub listener: Option<String>,
    /// `http` or `stdio`.
    pub transport: String,
    /// The client's name.
    pub client_name: Option<String>,
    /// The client's version.
    pub client_version: Option<String>,
    /// The client's platform.
    pub client_platform: Option<String>,
    /// The revision of MCP.
    pub protocol_version: Option<String>,
    /// The server's name, as it says itself.
    pub server_name: Option<String>,
    /// The server's version, as it says itself.
    pub server_version: Option<String>,
    /// The trace that it is recorded in.
    pub trace: Option<String>,
    /// When it began, in milliseconds since 1970.
    #[serde(serialize_with = "super::iso")]
    pub started: i64,
    /// When its last call began.
    #[serde(serialize_with = "super::iso")]
    pub last_seen: i64,
    /// When it ended, if that was seen.
    #[serde(serialize_with = "super::iso_or_null")]
    pub ended: Option<i64>,
    /// How many of its calls are in the store.
    pub calls: u64,
    /// How many of these failed.
    pub errors: u64,
    #[serde(skip)]
    row: i64,
    #[serde(skip)]
    rows: (Option<i64>, Option<i64>),
}

/// A session and its calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionCalls {
    /// The session.
    pub session: SessionRecord,
    /// Its calls, in the order in which they began.
    pub calls: Vec<CallRecord>,
}

const SELECT: &str = "SELECT name, server, listener, transport, client_name, client_version, client_platform, \
     protocol_version, server_name, server_version, trace, started, last_seen, ended, calls, errors, id, \
     first_call, last_call FROM session";

impl Store {
    /// The sessions that were alive in the filter's time and have such calls; the one last heard of first. Their counts
    /// are of all their calls.
    pub fn sessions(&self, filter: &Filter, limit: u32) -> Result<Vec<SessionRecord>, StoreError> {
        let conditions = filter.of_sessions();
        let sql = format!("{SELECT}{} ORDER BY last_seen DESC, id DESC LIMIT {limit}", conditions.clause());
        self.rows(&sql, params_from_iter(&conditions.values), read)
    }

    /// The session whose id is this, or begins so, and its calls.
    pub fn session(&self, id: &str) -> Result<SessionCalls, StoreError> {
        let session = self.find_session(id)?;
        let calls = match session.rows {
            (Some(first), Some(last)) => self.calls_of_session(session.row, (first, last))?,
            _ => Vec::new(),
        };
        Ok(SessionCalls { session, calls })
    }

    fn find_session(&self, id: &str) -> Result<SessionRecord, StoreError> {
        let sql = format!(
            "{SELECT} WHERE name >= ? AND name < ? ORDER BY name = ? DESC, last_seen DESC LIMIT {MAX_CANDIDATES}"
        );
        let [from, to] = prefix_range(id);
        let mut found = self.rows(&sql, params_from_iter([from.clone(), to, from]), read)?;
        let exact = found.iter().filter(|session| session.id == id).count();
        match (found.len(), exact) {
            (0, _) => Err(StoreError::UnknownSession { id: id.to_owned() }),
            (1, _) | (_, 1) => Ok(found.swap_remove(0)),
            _ => Err(StoreError::AmbiguousSession {
                id: id.to_owned(),
                candidates: found
                    .iter()
                    .map(|session| format!("{} ({})", session.id, session.server))
                    .collect(),
            }),
        }
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
    Ok(SessionRecord {
        id: row.get(0)?,
        server: row.get(1)?,
        listener: row.get(2)?,
        transport: row.get(3)?,
        client_name: row.get(4)?,
        client_version: row.get(5)?,
        client_platform: row.get(6)?,
        protocol_version: row.get(7)?,
        server_name: row.get(8)?,
        server_version: row.get(9)?,
        trace: row.get(10)?,
        started: row.get(11)?,
        last_seen: row.get(12)?,
        ended: row.get(13)?,
        calls: count(row, 14)?,
        errors: count(row, 15)?,
        row: row.get(16)?,
        rows: (row.get(17)?, row.get(18)?),
    })
}
