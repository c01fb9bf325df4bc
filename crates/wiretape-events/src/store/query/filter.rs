//! Which calls or sessions are asked for.

use super::names::add_server;
use crate::store::row::{IS_CALL, Kind, status_code};
use rusqlite::types::Value;
use wiretape_analyze::call::Outcome;

/// Which calls are meant. What is not given is not asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// From this time on, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Before this time, in milliseconds since 1970.
    pub until_ms: Option<i64>,
    /// At this server: by the name that a listener or a recording gave it, by host and port, or by its URL.
    pub server: Option<String>,
    /// Of this tool.
    pub tool: Option<String>,
    /// With this method.
    pub method: Option<String>,
    /// By a client of this name.
    pub client: Option<String>,
    /// In sessions whose id begins so.
    pub session: Option<String>,
    /// That went one of these ways; any, if there are none.
    pub statuses: Vec<Outcome>,
    /// Only those that failed.
    pub errors_only: bool,
    /// Of this kind.
    pub kind: Option<Kind>,
    /// Only requests of clients: no streams, no notifications, no answers to the server's own requests.
    pub calls_only: bool,
}

/// Conditions of SQL, with their values.
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

    /// ` WHERE …`, or nothing.
    pub(super) fn clause(&self) -> String {
        match self.conditions.as_slice() {
            [] => String::new(),
            conditions => format!(" WHERE {}", conditions.join(" AND ")),
        }
    }
}

impl Filter {
    /// What calls must fulfil, in the columns of `call`.
    pub(super) fn of_calls(&self) -> Conditions {
        let mut conditions = Conditions::default();
        self.add_times(&mut conditions);
        self.add_statuses(&mut conditions);
        conditions.add_inner("operation IN (SELECT id FROM operation", self.of_operations());
        conditions.add_inner("session IN (SELECT id FROM session", self.of_who());
        conditions
    }

    /// What sessions must fulfil, in the columns of `session`: they were alive in that time, and have such calls.
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

    /// What changes must fulfil, in columns `time`, `server` and `session`.
    pub(super) fn of_incidents(&self) -> Conditions {
        let mut conditions = Conditions::default();
        self.add_times(&mut conditions);
        self.add_server(&mut conditions);
        if let Some(prefix) = &self.session {
            conditions.add_with("session >= ? AND session < ?", prefix_range(prefix));
        }
        conditions
    }

    /// Whether it says something that the sessions' own rows don't tell.
    fn asks_for_calls(&self) -> bool {
        self.tool.is_some()
            || self.method.is_some()
            || self.kind.is_some()
            || self.errors_only
            || !self.statuses.is_empty()
    }

    /// What is at its server, in a column `server`.
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

/// All texts that begin so are from the first to before the second.
pub(super) fn prefix_range(prefix: &str) -> [Value; 2] {
    [prefix.to_owned().into(), format!("{prefix}{}", char::MAX).into()]
}
