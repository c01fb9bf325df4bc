//! Filters, and their translation to SQL conditions. Values are always bound, never spliced into the SQL.

use super::names::add_server;
use crate::store::row::{IS_CALL, Kind, status_code};
use rusqlite::types::Value;
use wiretape_analyze::call::Outcome;

/// Selects calls. Fields that are not set match everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Calls that began at this time or later, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Calls that began before this time, in milliseconds since 1970.
    pub until_ms: Option<i64>,
    /// Calls on this server: the name that a listener or a recording gave it, its host and port, or its URL.
    pub server: Option<String>,
    /// Calls of this tool, by its exact name.
    pub tool: Option<String>,
    /// Calls with this JSON-RPC or HTTP method.
    pub method: Option<String>,
    /// Calls of clients with this name.
    pub client: Option<String>,
    /// Calls in sessions whose id begins with this.
    pub session: Option<String>,
    /// Calls that ended in one of these ways; empty matches all.
    pub statuses: Vec<Outcome>,
    /// Only calls whose outcome counts as an error.
    pub errors_only: bool,
    /// Calls of this kind.
    pub kind: Option<Kind>,
    /// Only requests of clients, no plumbing.
    pub calls_only: bool,
}

/// SQL conditions with their bound values.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    conditions: Vec<String>,
    pub(super) values: Vec<Value>,
}

impl Conditions {
    pub(super) fn add(&mut self, condition: &str) {
        self.conditions.push(condition.to_owned());
    }

    pub(super) fn add_with(&mut self, condition: &str, values: impl IntoIterator<Item = Value>) {
        self.add(condition);
        self.values.extend(values);
    }

    fn add_inner(&mut self, before: &str, inner: Conditions) {
        if !inner.conditions.is_empty() {
            self.add_with(&format!("{before} {})", inner.clause()), inner.values);
        }
    }

    /// The `WHERE` clause with a leading space; empty if there are no conditions.
    pub(super) fn clause(&self) -> String {
        match self.conditions.as_slice() {
            [] => String::new(),
            conditions => format!(" WHERE {}", conditions.join(" AND ")),
        }
    }
}

impl Filter {
    /// The conditions for calls, in the columns of `call`.
    pub(super) fn of_calls(&self) -> Conditions {
        let mut conditions = Conditions::default();
        self.add_times(&mut conditions);
        self.add_statuses(&mut conditions);
        // Subqueries and not joins: operations and sessions are few, and the scan of calls stays within the
        // covering index.
        conditions.add_inner("operation IN (SELECT id FROM operation", self.of_operations());
        conditions.add_inner("session IN (SELECT id FROM session", self.of_who());
        conditions
    }

    /// The conditions for sessions, in the columns of `session`: active in that time, and with matching
    /// calls.
    pub(super) fn of_sessions(&self) -> Conditions {
        let mut conditions = self.of_who();
        self.add_server(&mut conditions);
        if let Some(since) = self.since_ms {
            conditions.add_with("last_seen >= ?", [since.into()]);
        }
        if let Some(until) = self.until_ms {
            conditions.add_with("started < ?", [until.into()]);
        }
        if self.asks_for_calls() {
            conditions.add_inner("id IN (SELECT session FROM call INDEXED BY call_by_time", self.of_calls());
        }
        conditions
    }

    /// The conditions for schema changes and violations, in the columns `time`, `server` and `session`.
    pub(super) fn of_incidents(&self) -> Conditions {
        let mut conditions = Conditions::default();
        self.add_times(&mut conditions);
        self.add_server(&mut conditions);
        if let Some(prefix) = &self.session {
            conditions.add_with("session >= ? AND session < ?", prefix_range(prefix));
        }
        conditions
    }

    /// Whether the filter needs more than the session's own row, and so has to look at calls.
    fn asks_for_calls(&self) -> bool {
        self.tool.is_some()
            || self.method.is_some()
            || self.kind.is_some()
            || self.errors_only
            || !self.statuses.is_empty()
    }

    /// Restricts a column `server` to the filter's server.
    pub(super) fn add_server(&self, conditions: &mut Conditions) {
        if let Some(name) = &self.server {
            add_server(conditions, name);
        }
    }

    fn add_times(&self, conditions: &mut Conditions) {
        if let Some(since) = self.since_ms {
            conditions.add_with("time >= ?", [since.into()]);
        }
        if let Some(until) = self.until_ms {
            conditions.add_with("time < ?", [until.into()]);
        }
    }

    fn add_statuses(&self, conditions: &mut Conditions) {
        let is_asked_for = |status: &Outcome| {
            (self.statuses.is_empty() || self.statuses.contains(status))
                && (!self.errors_only || status.is_error())
        };
        let codes: Vec<String> = Outcome::ALL
            .into_iter()
            .filter(is_asked_for)
            .map(|status| status_code(status).to_string())
            .collect();
        if codes.len() < Outcome::ALL.len() {
            conditions.add(&format!("status IN ({})", codes.join(", ")));
        }
    }

    fn of_operations(&self) -> Conditions {
        let mut conditions = Conditions::default();
        self.add_server(&mut conditions);
        let texts = [("tool = ?", &self.tool), ("method = ?", &self.method)];
        for (condition, text) in texts {
            if let Some(text) = text {
                conditions.add_with(condition, [text.clone().into()]);
            }
        }
        if let Some(kind) = self.kind {
            conditions.add_with("kind = ?", [kind.name().to_owned().into()]);
        }
        if self.calls_only {
            conditions.add(IS_CALL);
        }
        conditions
    }

    fn of_who(&self) -> Conditions {
        let mut conditions = Conditions::default();
        if let Some(client) = &self.client {
            conditions.add_with("client_name = ?", [client.clone().into()]);
        }
        if let Some(prefix) = &self.session {
            conditions.add_with("name >= ? AND name < ?", prefix_range(prefix));
        }
        conditions
    }
}

/// The range of all texts with a prefix: from the first value, up to but not including the second. Unlike
/// `LIKE`, it is case-sensitive, has no wildcards and can use an index.
pub(super) fn prefix_range(prefix: &str) -> [Value; 2] {
    [prefix.to_owned().into(), format!("{prefix}{}", char::MAX).into()]
}
