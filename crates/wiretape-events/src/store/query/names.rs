//! The names that people use and see: of servers, of tools, and the shortest unique prefix of a session id.

use super::Store;
use super::filter::Conditions;
use crate::store::error::StoreError;
use rusqlite::params_from_iter;
use rusqlite::types::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A combination of server, listener, method and tool that was called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperationRecord {
    /// The label of a recording, or the URL of a server.
    pub server: String,
    /// The listener's name, if the calls came through one.
    pub listener: Option<String>,
    /// The JSON-RPC method, or the HTTP method if it is not an MCP message.
    pub method: String,
    /// The name of the tool, if one is called.
    pub tool: Option<String>,
}

impl Store {
    /// All operations, in the order in which they were first seen.
    pub fn operations(&self) -> Result<Vec<OperationRecord>, StoreError> {
        self.rows("SELECT server, listener, method, tool FROM operation ORDER BY id", [], |row| {
            Ok(OperationRecord {
                server: row.get(0)?,
                listener: row.get(1)?,
                method: row.get(2)?,
                tool: row.get(3)?,
            })
        })
    }

    /// The names of all tools that were called or are offered.
    pub fn tools(&self) -> Result<BTreeSet<String>, StoreError> {
        let sql = "SELECT tool FROM operation WHERE tool IS NOT NULL UNION \
                   SELECT key FROM schema_item JOIN schema_list ON schema_list.id = list AND method = 'tools/list'";
        Ok(self.rows(sql, [], |row| row.get(0))?.into_iter().collect())
    }

    /// The servers that a name refers to, see [`Filter::server`](super::Filter).
    pub fn servers_named(&self, name: &str) -> Result<BTreeSet<String>, StoreError> {
        let mut conditions = Conditions::default();
        add_server(&mut conditions, name);
        let sql = format!("SELECT DISTINCT server FROM operation{}", conditions.clause());
        Ok(self.rows(&sql, params_from_iter(&conditions.values), |row| row.get(0))?.into_iter().collect())
    }

    /// The name that a listener last gave to each server, by URL.
    pub fn listeners(&self) -> Result<BTreeMap<String, String>, StoreError> {
        let operations = self.operations()?.into_iter();
        Ok(operations.filter_map(|operation| Some((operation.server, operation.listener?))).collect())
    }

    /// The shortest unique prefix of a session's id, with at least `least` characters.
    pub fn short_session_id(&self, id: &str, least: usize) -> Result<String, StoreError> {
        // In sorted order, only the two neighbours can share the longest prefix, so two index lookups are
        // enough.
        let neighbours = self.rows(
            "SELECT max(name) FROM session WHERE name < ?1 UNION ALL SELECT min(name) FROM session WHERE name > ?1",
            [id],
            |row| row.get::<_, Option<String>>(0),
        )?;
        let common = |other: &String| id.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
        let longest = neighbours.iter().flatten().map(common).max().unwrap_or(0);
        Ok(id.chars().take((longest + 1).max(least)).collect())
    }
}

/// Restricts a column `server` to the servers with a name: the name that a listener or a recording gave it,
/// its host and port, or its URL with or without a path.
pub(super) fn add_server(conditions: &mut Conditions, name: &str) {
    let origin = origin(name).to_owned();
    let values = [origin.clone(), format!("http://{origin}"), format!("https://{origin}"), name.to_owned()];
    conditions.add_with(
        "(server IN (?, ?, ?) OR server IN (SELECT server FROM operation WHERE listener = ?))",
        values.map(Value::from),
    );
}

/// A URL without its path; anything else as it is.
fn origin(name: &str) -> &str {
    let Some(host) = name.find("://").map(|at| at + 3) else { return name };
    name[host..].find('/').map_or(name, |path| &name[..host + path])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_known_by_its_origin() {
        assert_eq!(origin("http://127.0.0.1:9801/mcp/x"), "http://127.0.0.1:9801");
        assert_eq!(origin("http://127.0.0.1:9801"), "http://127.0.0.1:9801");
        assert_eq!(origin("npx/files"), "npx/files");
    }
}
