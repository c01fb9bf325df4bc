//! Statistics: calls, failures and latencies by server, method and tool.
//!
//! Percentiles are computed here and not in SQL, which would take seconds for a million calls
//! (`docs/design/0007-events-and-the-store.md`).

use super::filter::Filter;
use super::{Store, count};
use crate::store::error::StoreError;
use crate::store::row::status_of;
use rusqlite::{Row, params_from_iter};
use serde::Serialize;
use std::collections::BTreeMap;
use wiretape_analyze::call::Outcome;
use wiretape_analyze::latency::Latencies;
use wiretape_analyze::stats::CallCounts;

/// Statistics of calls. The JSON output of `stats`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// One row for each server, method and tool, the most called first.
    pub rows: Vec<StatsRecord>,
    /// All rows together, without names.
    pub totals: StatsRecord,
}

/// The calls of one tool or method on one server. Latencies are in microseconds and only of answered calls,
/// percentiles are by nearest rank; `None` if no call was answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatsRecord {
    /// The server's URL without a path, or the label of its recording.
    pub server: String,
    /// The JSON-RPC or HTTP method.
    pub method: String,
    /// The tool's name, if the method calls one.
    pub tool: Option<String>,
    /// The number of all calls.
    pub calls: u64,
    /// The number of failed calls.
    pub errors: u64,
    /// The number of calls by outcome.
    #[serde(serialize_with = "by_name")]
    pub counts: CallCounts,
    /// The number of calls that were answered and have a duration.
    pub measured: u64,
    /// The median latency in microseconds, by nearest rank.
    pub p50_us: Option<u64>,
    /// The 95th percentile of the latency.
    pub p95_us: Option<u64>,
    /// The 99th percentile of the latency.
    pub p99_us: Option<u64>,
    /// The mean latency in microseconds.
    pub mean_us: Option<u64>,
    /// The longest latency in microseconds.
    pub max_us: Option<u64>,
    /// The total length of all requests, in bytes.
    pub request_bytes: u64,
    /// The total length of all responses, in bytes.
    pub response_bytes: u64,
}

/// Serializes counts with the names of the outcomes as keys.
fn by_name<S: serde::Serializer>(counts: &CallCounts, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(Outcome::ALL.map(|outcome| (outcome.name(), counts.get(outcome))))
}

/// The running sums of one group of calls.
#[derive(Debug, Default)]
struct Tally {
    counts: CallCounts,
    latencies: Latencies,
    request_bytes: u64,
    response_bytes: u64,
}

impl Tally {
    fn add(&mut self, status: Outcome, row: &Row<'_>) -> rusqlite::Result<()> {
        self.counts.add(status);
        if let Some(us) = row.get::<_, Option<i64>>(1)?.filter(|_| status.is_measured()) {
            self.latencies.add(u64::try_from(us).unwrap_or(0));
        }
        self.request_bytes += count(row, 2)?;
        self.response_bytes += count(row, 3)?;
        Ok(())
    }

    /// Merges all tallies pairwise, so that each latency is merged a logarithmic number of times, and not
    /// once for every other tally.
    fn sum(mut tallies: Vec<Tally>) -> Tally {
        while tallies.len() > 1 {
            let half = tallies.split_off(tallies.len().div_ceil(2));
            tallies.iter_mut().zip(&half).for_each(|(tally, other)| tally.merge(other));
        }
        tallies.pop().unwrap_or_default()
    }

    fn merge(&mut self, other: &Tally) {
        self.counts.merge(&other.counts);
        self.latencies.merge(&other.latencies);
        self.request_bytes += other.request_bytes;
        self.response_bytes += other.response_bytes;
    }

    fn record(&self, name: Name) -> StatsRecord {
        StatsRecord {
            server: name.server,
            method: name.method,
            tool: name.tool,
            calls: self.counts.calls,
            errors: self.counts.errors(),
            counts: self.counts,
            measured: self.latencies.measured(),
            p50_us: self.latencies.percentile(50),
            p95_us: self.latencies.percentile(95),
            p99_us: self.latencies.percentile(99),
            mean_us: self.latencies.mean(),
            max_us: self.latencies.max(),
            request_bytes: self.request_bytes,
            response_bytes: self.response_bytes,
        }
    }
}

/// What calls are grouped by.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    server: String,
    method: String,
    tool: Option<String>,
}

impl Store {
    /// The statistics of the calls that match a filter.
    pub fn stats(&self, filter: &Filter) -> Result<Stats, StoreError> {
        let by_operation = self.tallies(filter).map_err(|source| self.error(source))?;
        let mut names = self.names()?;
        let mut by_name: BTreeMap<Name, Vec<Tally>> = BTreeMap::new();
        for (operation, tally) in by_operation {
            by_name.entry(names.remove(&operation).unwrap_or_default()).or_default().push(tally);
        }
        let by_name: Vec<(Name, Tally)> =
            by_name.into_iter().map(|(name, tallies)| (name, Tally::sum(tallies))).collect();
        let mut rows: Vec<StatsRecord> =
            by_name.iter().map(|(name, tally)| tally.record(name.clone())).collect();
        let totals = Tally::sum(by_name.into_iter().map(|(_, tally)| tally).collect());
        // The sort is stable, so rows with the same number of calls stay in the order of their names.
        rows.sort_by_key(|row| std::cmp::Reverse(row.calls));
        Ok(Stats { rows, totals: totals.record(Name::default()) })
    }

    fn tallies(&self, filter: &Filter) -> rusqlite::Result<BTreeMap<i64, Tally>> {
        /// An upper bound for the codes of outcomes, see `status_code`.
        const STATUSES: i64 = 16;
        let conditions = filter.of_calls();
        // Operation and status in one column, because each column that is read takes a tenth of the query's
        // time.
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT operation * {STATUSES} + status, latency_us, request_bytes, response_bytes \
             FROM call INDEXED BY call_by_time{}",
            conditions.clause()
        ))?;
        let mut rows = statement.query(params_from_iter(&conditions.values))?;
        let mut tallies: BTreeMap<i64, Tally> = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let operation_and_status: i64 = row.get(0)?;
            let tally = tallies.entry(operation_and_status / STATUSES).or_default();
            tally.add(status_of(operation_and_status % STATUSES), row)?;
        }
        Ok(tallies)
    }

    fn names(&self) -> Result<BTreeMap<i64, Name>, StoreError> {
        let names = self.rows("SELECT id, server, method, tool FROM operation", [], |row| {
            Ok((row.get(0)?, Name { server: row.get(1)?, method: row.get(2)?, tool: row.get(3)? }))
        })?;
        Ok(names.into_iter().collect())
    }
}
