//! Queries servers' definitions: the current ones, their history, and tools without calls; and policy
//! violations.

use super::Store;
use super::filter::{Conditions, Filter};
use super::names::add_server;
use crate::event::SchemaItem;
use crate::observe::Snapshot;
use crate::raw::Raw;
use crate::store::error::StoreError;
use rusqlite::params_from_iter;
use serde::Serialize;

/// A server's current list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SchemaListRecord {
    /// The server's URL without a path, or the label of its recording.
    pub server: String,
    /// The method that lists it, such as `tools/list`.
    pub method: String,
    /// When it last was new or changed, in milliseconds since 1970.
    #[serde(serialize_with = "super::iso")]
    pub last_seen: i64,
    /// The entries, in the order in which they were first seen.
    pub items: Vec<SchemaItemRecord>,
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SchemaItemRecord {
    /// What identifies the entry: a name, or a URI.
    pub key: String,
    /// The entry's JSON as the server sent it.
    pub definition: Raw,
    /// When it was first seen, in milliseconds since 1970.
    #[serde(serialize_with = "super::iso")]
    pub first_seen: i64,
    /// When it last changed, in milliseconds since 1970.
    #[serde(serialize_with = "super::iso")]
    pub changed: i64,
}

/// One change of a server's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SchemaChangeRecord {
    /// When it was observed, in milliseconds since 1970.
    #[serde(serialize_with = "super::iso")]
    pub time: i64,
    /// The server's URL without a path, or the label of its recording.
    pub server: String,
    /// The method that lists it, such as `tools/list`.
    pub method: String,
    /// The session in which it was observed.
    pub session: Option<String>,
    /// `initial`, `added`, `modified` or `removed`.
    pub change: String,
    /// What identifies the entry: a name, or a URI.
    pub key: String,
    /// The entry's JSON after the change; before it, if it was removed.
    pub definition: Raw,
}

/// A tool without calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnusedTool {
    /// The server's URL without a path, or the label of its recording.
    pub server: String,
    /// The name of the tool, as the server listed it.
    pub tool: String,
    /// When it was first seen, in milliseconds since 1970.
    #[serde(serialize_with = "super::iso")]
    pub first_seen: i64,
}

/// A browser's report that a Content-Security-Policy blocked something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ViolationRecord {
    /// When it was reported, in milliseconds since 1970.
    #[serde(serialize_with = "super::iso")]
    pub time: i64,
    /// The URL of the server whose page it was.
    pub server: String,
    /// The session, if it is known.
    pub session: Option<String>,
    /// The blocked URI, as the browser reports it.
    pub blocked_uri: String,
    /// The directive that blocked it.
    pub directive: String,
}

impl Store {
    /// The current lists of all servers, or of one server, given by any of its names.
    pub fn schema(&self, server: Option<&str>) -> Result<Vec<SchemaListRecord>, StoreError> {
        let mut conditions = Conditions::default();
        server.inspect(|name| add_server(&mut conditions, name));
        let sql = format!(
            "SELECT id, server, method, last_seen FROM schema_list{} ORDER BY server, method",
            conditions.clause()
        );
        let lists = self.rows(&sql, params_from_iter(&conditions.values), |row| {
            let list = SchemaListRecord {
                server: row.get(1)?,
                method: row.get(2)?,
                last_seen: row.get(3)?,
                items: Vec::new(),
            };
            Ok((row.get(0)?, list))
        })?;
        lists.into_iter().map(|(id, list)| Ok(SchemaListRecord { items: self.items(id)?, ..list })).collect()
    }

    fn items(&self, list: i64) -> Result<Vec<SchemaItemRecord>, StoreError> {
        self.rows(
            "SELECT key, definition, first_seen, changed FROM schema_item WHERE list = ?1 ORDER BY id",
            [list],
            |row| {
                Ok(SchemaItemRecord {
                    key: row.get(0)?,
                    definition: row.get::<_, Vec<u8>>(1)?.into(),
                    first_seen: row.get(2)?,
                    changed: row.get(3)?,
                })
            },
        )
    }

    /// The changes that match the filter's time, server, session, method and tool, the latest first.
    pub fn schema_changes(&self, filter: &Filter, limit: u32) -> Result<Vec<SchemaChangeRecord>, StoreError> {
        let mut conditions = filter.of_incidents();
        if let Some(method) = &filter.method {
            conditions.add_with("method = ?", [method.clone().into()]);
        }
        if let Some(tool) = &filter.tool {
            conditions.add_with("key = ?", [tool.clone().into()]);
        }
        let sql = format!(
            "SELECT time, server, method, session, change, key, definition FROM schema_change{} \
             ORDER BY time DESC, id DESC LIMIT {limit}",
            conditions.clause()
        );
        self.rows(&sql, params_from_iter(&conditions.values), |row| {
            Ok(SchemaChangeRecord {
                time: row.get(0)?,
                server: row.get(1)?,
                method: row.get(2)?,
                session: row.get(3)?,
                change: row.get(4)?,
                key: row.get(5)?,
                definition: row.get::<_, Vec<u8>>(6)?.into(),
            })
        })
    }

    /// The tools that are currently offered and that no call matching the filter has used.
    pub fn unused_tools(&self, filter: &Filter) -> Result<Vec<UnusedTool>, StoreError> {
        let used = filter.of_calls();
        let mut conditions = Conditions::default();
        conditions.add_with(
            &format!(
                "(server, key) NOT IN (SELECT server, tool FROM operation WHERE tool IS NOT NULL \
                 AND id IN (SELECT operation FROM call INDEXED BY call_by_time{}))",
                used.clause()
            ),
            used.values,
        );
        filter.add_server(&mut conditions);
        let sql = format!(
            "SELECT server, key, first_seen FROM schema_item \
             JOIN schema_list ON schema_list.id = list AND method = 'tools/list'{} ORDER BY server, schema_item.id",
            conditions.clause()
        );
        self.rows(&sql, params_from_iter(&conditions.values), |row| {
            Ok(UnusedTool { server: row.get(0)?, tool: row.get(1)?, first_seen: row.get(2)? })
        })
    }

    /// The last known lists, so that a proxy notices changes that happened while none was running.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>, StoreError> {
        let item = |item: SchemaItemRecord| SchemaItem { key: item.key, definition: item.definition };
        let snapshot = |list: SchemaListRecord| Snapshot {
            upstream: list.server,
            mcp_method: list.method,
            items: list.items.into_iter().map(item).collect(),
        };
        Ok(self.schema(None)?.into_iter().map(snapshot).collect())
    }

    /// The violations that match the filter's time, server and session, the latest first.
    pub fn violations(&self, filter: &Filter, limit: u32) -> Result<Vec<ViolationRecord>, StoreError> {
        let conditions = filter.of_incidents();
        let sql = format!(
            "SELECT time, server, session, blocked_uri, directive FROM violation{} \
             ORDER BY time DESC, id DESC LIMIT {limit}",
            conditions.clause()
        );
        self.rows(&sql, params_from_iter(&conditions.values), |row| {
            Ok(ViolationRecord {
                time: row.get(0)?,
                server: row.get(1)?,
                session: row.get(2)?,
                blocked_uri: row.get(3)?,
                directive: row.get(4)?,
            })
        })
    }
}
