//! Queries sessions, and the calls of one session.

use super::calls::CallRecord;
use super::filter::{Filter, prefix_range};
use super::{Store, count};
use crate::store::error::StoreError;
use rusqlite::{Row, params_from_iter};
use serde::Serialize;

/// How many candidates an error about an ambiguous id names.
const MAX_CANDIDATES: u32 = 5;

/// A session. The JSON output of `sessions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRecord {
    /// The session's id, or the name of our grouping.
    pub id: String,
    /// The server's URL without a path, or the label of its recording.
    pub server: String,
    /// The name of the proxy's listener; `None` over stdio.
    pub listener: Option<String>,
    /// The transport: `http` or `stdio`.
    pub transport: String,
    /// The client's name, from its introduction.
    pub client_name: Option<String>,
    /// The client's version, from its introduction.
    pub client_version: Option<String>,
    /// The client's platform, if it or the browser says.
    pub client_platform: Option<String>,
    /// The MCP revision that was agreed on.
    pub protocol_version: Option<String>,
    /// The server's name, from its introduction.
    pub server_name: Option<String>,
    /// The server's version, from its introduction.
    pub server_version: Option<String>,
    /// The id of the trace that it was first seen in.
    pub trace: Option<String>,
    /// When it began, in milliseconds since 1970.
    #[serde(serialize_with = "super::iso")]
    pub started: i64,
    /// When its last call ended, in milliseconds since 1970.
    #[serde(serialize_with = "super::iso")]
    pub last_seen: i64,
    /// When it ended, if that was observed, or if its proxy had to end it because it was idle for so long.
    #[serde(serialize_with = "super::iso_or_null")]
    pub ended: Option<i64>,
    /// If its server crashed: the exit status, and the last line on standard error.
    pub crash: Option<String>,
    /// The number of its calls in the store.
    pub calls: u64,
    /// The number of these that failed.
    pub errors: u64,
    #[serde(skip)]
    row: i64,
    #[serde(skip)]
    rows: (Option<i64>, Option<i64>),
}

/// A session with its calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionCalls {
    /// The session's own row.
    pub session: SessionRecord,
    /// Its calls, in the order in which they began.
    pub calls: Vec<CallRecord>,
}

// A proxy that was killed ends no sessions, and after a restart it doesn't know those that are not used again. So a
// proxy's session counts as ended after thirty minutes without an exchange, the default of `--session-idle`, as if
// the proxy had ended it then. A session without a listener, such as one over stdio, may be idle for longer.
const SELECT: &str = "SELECT name, server, listener, transport, client_name, client_version, client_platform, \
     protocol_version, server_name, server_version, trace, started, last_seen, \
     coalesce(ended, CASE WHEN listener IS NOT NULL AND last_seen + 1800000 < unixepoch() * 1000 \
         THEN last_seen + 1800000 END), calls, errors, id, first_call, last_call, CASE WHEN ended IS NULL THEN NULL ELSE crash END FROM session";

impl Store {
    /// The sessions that were active in the filter's time and have matching calls, the most recently active
    /// first. Their counts include all their calls.
    pub fn sessions(&self, filter: &Filter, limit: u32) -> Result<Vec<SessionRecord>, StoreError> {
        let conditions = filter.of_sessions();
        let sql = format!("{SELECT}{} ORDER BY last_seen DESC, id DESC LIMIT {limit}", conditions.clause());
        self.rows(&sql, params_from_iter(&conditions.values), read)
    }

    /// The session with this id, or the only one whose id begins with it, and its calls.
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
        // An exact match wins over longer ids with the same beginning. Two exact matches are of different
        // servers.
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
        // A session that is used after its end continues, however it ended then.
        crash: row.get(19)?,
    })
}
