//! Calls, for `logs` and `slow`.

use super::filter::{Conditions, Filter};
use super::{Store, count, count_or_none};
use crate::event::EventId;
use crate::store::error::StoreError;
use crate::store::row::status_of;
use crate::store::schema::pragma;
use rusqlite::{Row, params_from_iter};
use serde::Serialize;
use wiretape_analyze::call::Outcome;

/// A call, as it is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    /// Its number in the store: later ones are higher.
    pub row: i64,
    /// When it began, in milliseconds since 1970.
    #[serde(serialize_with = "super::iso")]
    pub time: i64,
    /// The server.
    pub server: String,
    /// The listener, if it came through one.
    pub listener: Option<String>,
    /// `http` or `stdio`.
    pub transport: String,
    /// `mcp`, `batch` or `http`.
    pub kind: String,
    /// The method of JSON-RPC, or that of HTTP.
    pub method: String,
    /// The tool.
    pub tool: Option<String>,
    /// The path, where no method of MCP was called.
    pub path: Option<String>,
    /// The resource's URI or the prompt's name, where it is for one.
    pub subject: Option<String>,
    /// The JSON-RPC id, as text; empty, and `null` in JSON, if there is none.
    #[serde(serialize_with = "super::text_or_null")]
    pub request_id: String,
    /// How it went.
    #[serde(serialize_with = "by_name")]
    pub status: Outcome,
    /// The code of a JSON-RPC error.
    pub error_code: Option<i64>,
    /// What went wrong, in words.
    pub error_message: Option<String>,
    /// From the request to the end of the answer, or until it was given up.
    pub latency_us: Option<u64>,
    /// How much of it the server took.
    pub upstream_us: Option<u64>,
    /// From the request to the first byte of the answer's body.
    pub first_byte_us: Option<u64>,
    /// The request's length.
    pub request_bytes: u64,
    /// The answer's length.
    pub response_bytes: u64,
    /// The status of HTTP.
    pub http_status: Option<u16>,
    /// The session.
    pub session: Option<String>,
    /// The client's name.
    pub client: Option<String>,
    /// The trace that it is recorded in.
    pub trace: Option<String>,
    /// The event that told of it.
    pub event_id: Option<EventId>,
}

fn by_name<S: serde::Serializer>(outcome: &Outcome, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(outcome.name())
}

/// Which calls come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The latest.
    Newest,
    /// The earliest.
    Oldest,
    /// Those that took longest.
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
    /// The first calls in an order.
    pub fn calls(&self, filter: &Filter, order: Order, limit: u32) -> Result<Vec<CallRecord>, StoreError> {
        let mut conditions = filter.of_calls();
        if order == Order::Slowest {
            conditions.add("latency_us IS NOT NULL");
        }
        self.select(&conditions, "INDEXED BY call_by_time", order.sql(), limit)
    }

    /// The calls of one session, in the order in which they came.
    pub(super) fn calls_of_session(
        &self,
        session: i64,
        rows: (i64, i64),
    ) -> Result<Vec<CallRecord>, StoreError> {
        let mut conditions = Conditions::default();
        conditions.add_with("id BETWEEN ? AND ?", [rows.0.into(), rows.1.into()]);
        conditions.add_with("session = ?", [session.into()]);
        self.select(&conditions, "NOT INDEXED", Order::Oldest.sql(), u32::MAX)
    }

    /// Calls that have come since a row, in the order in which they came. If the store has only lower rows, it was
    /// emptied or begun anew, and all of them have come since.
    pub fn calls_after(&self, row: i64, filter: &Filter, limit: u32) -> Result<Vec<CallRecord>, StoreError> {
        let row = if self.newest_row()? < row { 0 } else { row };
        let mut conditions = filter.of_calls();
        conditions.add_with("id > ?", [row.into()]);
        self.select(&conditions, "NOT INDEXED", "id", limit)
    }

    /// The call in this row, if there is one.
    pub fn call(&self, row: i64) -> Result<Option<CallRecord>, StoreError> {
        let mut conditions = Conditions::default();
        conditions.add_with("id = ?", [row.into()]);
        Ok(self.select(&conditions, "NOT INDEXED", "id", 1)?.pop())
    }

    /// The number of the row that was written last; 0 if there is none.
    pub fn newest_row(&self) -> Result<i64, StoreError> {
        self.row("SELECT coalesce(max(id), 0) FROM call", [], |row| row.get(0))
    }

    /// Changes whenever anything was written.
    pub fn data_version(&self) -> Result<i64, StoreError> {
        pragma(&self.connection, "data_version").map_err(|source| self.error(source))
    }

    /// First the rows are found, then only those that are wanted are read.
    fn select(
        &self,
        conditions: &Conditions,
        index: &str,
        order: &str,
        limit: u32,
    ) -> Result<Vec<CallRecord>, StoreError> {
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
