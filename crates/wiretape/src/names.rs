//! Display names of servers and sessions: the configured name instead of an address, and the shortest unique prefix
//! instead of an id. Both depend on everything in the store, not only on the rows that are shown.

use crate::calls::{DisplayFormat, tool_or_method};
use crate::error::CommandError;
use crate::text::{self, printable};
use std::collections::{BTreeMap, HashMap};
use wiretape_events::server_name;
use wiretape_events::store::Store;
use wiretape_events::store::query::OperationRecord;

/// The minimum length of a session id prefix, in characters. Shorter ones are unique today and ambiguous tomorrow.
const SHORTEST_ID: usize = 8;

/// Names from a store.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The configured name of each server, by its address.
    servers: BTreeMap<String, Option<String>>,
    /// The shortest unique prefix of each session id.
    sessions: HashMap<String, String>,
    /// The width of the longest method with its tool.
    widest_call: usize,
}

impl Names {
    /// The names of a store's servers.
    pub(crate) fn of(store: &Store) -> Result<Self, CommandError> {
        let mut names = Names::default();
        store.operations()?.iter().for_each(|operation| names.add(operation));
        Ok(names)
    }

    fn add(&mut self, operation: &OperationRecord) {
        let name = self.servers.entry(operation.server.clone()).or_default();
        // Calls that were loaded from a trace have no listener.
        *name = operation.listener.clone().or(name.take());
        // For tables that grow: the width of rows that are not there yet.
        let call = tool_or_method(&operation.method, operation.tool.as_deref(), None);
        self.widest_call = self.widest_call.max(text::width(&call));
    }

    /// Looks up the prefixes of more sessions.
    pub(crate) fn learn<'a>(
        &mut self,
        store: &Store,
        sessions: impl Iterator<Item = &'a str>,
    ) -> Result<(), CommandError> {
        for id in sessions {
            if !self.sessions.contains_key(id) {
                self.sessions.insert(id.to_owned(), store.short_session_id(id, SHORTEST_ID)?);
            }
        }
        Ok(())
    }

    /// The name of the server behind a listener, or the one that a trace names.
    pub(crate) fn server(&self, server: &str, listener: Option<&str>) -> String {
        let known = || self.servers.get(server)?.as_deref();
        printable(server_name(listener.or_else(known), server)).into_owned()
    }

    /// The shortest unique prefix of a session id on a terminal, the full id in a pipe.
    pub(crate) fn session(&self, id: &str, look: &DisplayFormat) -> String {
        let short = self.sessions.get(id).filter(|_| matches!(look, DisplayFormat::Short { .. }));
        printable(short.map_or(id, String::as_str)).into_owned()
    }

    /// Whether there is more than one server.
    pub(crate) fn has_several_servers(&self) -> bool {
        self.servers.len() > 1
    }

    /// The width of the longest server name.
    pub(crate) fn widest_server(&self) -> usize {
        self.servers.keys().map(|server| text::width(&self.server(server, None))).max().unwrap_or(0)
    }

    /// The width of the longest method with its tool.
    pub(crate) fn widest_call(&self) -> usize {
        self.widest_call
    }

    /// The names of all servers.
    pub(crate) fn servers(&self) -> Vec<String> {
        let mut names: Vec<String> = self.servers.keys().map(|server| self.server(server, None)).collect();
        // Two addresses may have the same configured name.
        names.sort();
        names.dedup();
        names
    }
}
