//! Queries calls, for `logs` and `slow`.

use super::filter::{Conditions, Filter};
use super::{Store, count, count_or_none};
use crate::event::EventId;
use crate::store::error::StoreError;
use crate::store::row::status_of;
use crate::store::schema::pragma;
use rusqlite::{Row, params_from_iter};
use serde::Serialize;
use wiretape_analyze::call::Outcome;

/// A call, with the names it refers to. The JSON output of `logs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    /// The row's id in the store, which increases with each call.
    pub row: i64,
    /// When it began, in milliseconds since 1970.
    #[serde(serialize_with = "super::iso")]
    pub time: i64,
    /// The server's URL without a path, or the label of its recording.
    pub server: String,
    /// The name of the proxy's listener; `None` over stdio.
    pub listener: Option<String>,
    /// The transport: `http` or `stdio`.
    pub transport: String,
    /// `mcp`, `batch` or `http`.
    pub kind: String,
    /// The JSON-RPC method, or the HTTP method if it is not an MCP message.
    pub method: String,
    /// The name of the called tool.
    pub tool: Option<String>,
    /// The path of an HTTP request that is not an MCP message.
    pub path: Option<String>,
    /// The resource's URI or the prompt's name that the request is about.
    pub subject: Option<String>,
    /// The JSON-RPC id as text; empty, and `null` in JSON, if there is none.
    #[serde(serialize_with = "super::text_or_null")]
    pub request_id: String,
    /// The outcome of the call.
    #[serde(serialize_with = "by_name")]
    pub status: Outcome,
    /// The JSON-RPC error code, if the answer is an error.
    pub error_code: Option<i64>,
    /// What went wrong, for people.
    pub error_message: Option<String>,
    /// Microseconds from the request to the end of the answer, or until it was given up.
    pub latency_us: Option<u64>,
    /// Microseconds during which the server had the request.
    pub upstream_us: Option<u64>,
    /// Microseconds from the request to the first byte of the response's body.
    pub first_byte_us: Option<u64>,
    /// The length of the request in bytes.
    pub request_bytes: u64,
    /// The length of the response in bytes; 0 if there is none.
    pub response_bytes: u64,
    /// The HTTP status; `None` over stdio or without a response.
    pub http_status: Option<u16>,
    /// The id of its session.
    pub session: Option<String>,
    /// The client's name, from its session.
    pub client: Option<String>,
    /// The id of the trace it is recorded in.
    pub trace: Option<String>,
    /// The event that reported it, or would have if a proxy had; `None` if the trace has no id.
    pub event_id: Option<EventId>,
}

fn by_name<S: serde::Serializer>(outcome: &Outcome, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(outcome.name())
}

/// The order of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By start, the latest first.
    Newest,
    /// By start, the earliest first.
    Oldest,
    /// By duration, the longest first. Calls without a duration are left out.
    Slowest,
}

impl Order {
    fn sql(self) -> &'static str {
        match self {
            Order::Newest => "time DESC, id DESC",
            Order::Oldest => "time, id",
            Order::Slowest => "latency_us DESC, id DESC",
        }
    }
}

const SELECT: &str = "SELECT call.id AS id, call.time AS time, operation.server, operation.listener, \
     operation.transport, operation.kind, operation.method, operation.tool, call.path, call.request_id, call.status, \
     call.error_code, call.error_message, call.latency_us AS latency_us, call.upstream_us, call.first_byte_us, \
     call.request_bytes, call.response_bytes, call.http_status, session.name, session.client_name, \
     coalesce(call.trace, session.trace), call.event_run, call.event_number, call.subject \
     FROM call LEFT JOIN operation ON operation.id = call.operation LEFT JOIN session ON session.id = call.session";

impl Store {
    /// The first `limit` calls in an order.
    pub fn calls(&self, filter: &Filter, order: Order, limit: u32) -> Result<Vec<CallRecord>, StoreError> {
        let mut conditions = filter.of_calls();
        if order == Order::Slowest {
            conditions.add("latency_us IS NOT NULL");
        }
        self.select(&conditions, "INDEXED BY call_by_time", order.sql(), limit)
    }

    /// The calls of one session, in the order of their start. `rows` is the range of ids between its first
    /// and last call.
    pub(super) fn calls_of_session(
        &self,
        session: i64,
        rows: (i64, i64),
    ) -> Result<Vec<CallRecord>, StoreError> {
        let mut conditions = Conditions::default();
        // There is no index by session: the range of rows is what keeps this from scanning the whole table.
        conditions.add_with("id BETWEEN ? AND ?", [rows.0.into(), rows.1.into()]);
        conditions.add_with("session = ?", [session.into()]);
        self.select(&conditions, "NOT INDEXED", Order::Oldest.sql(), u32::MAX)
    }

    /// Calls added after a row, in the order in which they were added. If the store has only lower rows, it
    /// was emptied or replaced, and all its calls are new.
    pub fn calls_after(&self, row: i64, filter: &Filter, limit: u32) -> Result<Vec<CallRecord>, StoreError> {
        let row = if self.newest_row()? < row { 0 } else { row };
        let mut conditions = filter.of_calls();
        conditions.add_with("id > ?", [row.into()]);
        self.select(&conditions, "NOT INDEXED", "id", limit)
    }

    /// The call in this row; `None` if it doesn't exist, or no longer.
    pub fn call(&self, row: i64) -> Result<Option<CallRecord>, StoreError> {
        let mut conditions = Conditions::default();
        conditions.add_with("id = ?", [row.into()]);
        Ok(self.select(&conditions, "NOT INDEXED", "id", 1)?.pop())
    }

    /// The id of the newest row; 0 if there is none.
    pub fn newest_row(&self) -> Result<i64, StoreError> {
        self.row("SELECT coalesce(max(id), 0) FROM call", [], |row| row.get(0))
    }

    /// A number that changes whenever another connection has written. Cheaper to poll than a query.
    pub fn data_version(&self) -> Result<i64, StoreError> {
        pragma(&self.connection, "data_version").map_err(|source| self.error(source))
    }

    /// Selects ids from the index first, and then reads only the wanted rows.
    fn select(
        &self,
        conditions: &Conditions,
        index: &str,
        order: &str,
        limit: u32,
    ) -> Result<Vec<CallRecord>, StoreError> {
        // `INDEXED BY` keeps SQLite from choosing the index by trace or a full scan, whatever its statistics
        // say.
        let clause = conditions.clause();
        let found = format!("SELECT id FROM call {index}{clause} ORDER BY {order} LIMIT {limit}");
        let sql = format!("{SELECT} WHERE call.id IN ({found}) ORDER BY {}", qualified(order));
        self.rows(&sql, params_from_iter(&conditions.values), read)
    }
}

fn qualified(order: &str) -> String {
    order.split(", ").map(|term| format!("call.{term}")).collect::<Vec<_>>().join(", ")
}

fn read(row: &Row<'_>) -> rusqlite::Result<CallRecord> {
    let event = (row.get::<_, Option<i64>>(22)?, row.get::<_, Option<i64>>(23)?);
    Ok(CallRecord {
        row: row.get(0)?,
        time: row.get(1)?,
        server: row.get::<_, Option<_>>(2)?.unwrap_or_default(),
        listener: row.get(3)?,
        transport: row.get::<_, Option<_>>(4)?.unwrap_or_default(),
        kind: row.get::<_, Option<_>>(5)?.unwrap_or_default(),
        method: row.get::<_, Option<_>>(6)?.unwrap_or_default(),
        tool: row.get(7)?,
        path: row.get(8)?,
        subject: row.get(24)?,
        request_id: row.get(9)?,
        status: status_of(row.get(10)?),
        error_code: row.get(11)?,
        error_message: row.get(12)?,
        latency_us: count_or_none(row, 13)?,
        upstream_us: count_or_none(row, 14)?,
        first_byte_us: count_or_none(row, 15)?,
        request_bytes: count(row, 16)?,
        response_bytes: count(row, 17)?,
        http_status: row.get(18)?,
        session: row.get(19)?,
        client: row.get(20)?,
        trace: row.get(21)?,
        event_id: event.0.zip(event.1).map(|(run, number)| EventId::from_parts(run as u64, number as u64)),
    })
}
