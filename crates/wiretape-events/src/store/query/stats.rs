//! Calls, failures and latencies by server, method and tool.

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

/// What was called how often, and how it went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// By server, method and tool; the most called first.
    pub rows: Vec<StatsRecord>,
    /// All of them together, without names.
    pub totals: StatsRecord,
}

/// The calls of one tool or method at one server. Latencies are in microseconds, percentiles by nearest rank, of
/// calls that were answered; unknown if none was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatsRecord {
    /// The server.
    pub server: String,
    /// The method.
    pub method: String,
    /// The tool.
    pub tool: Option<String>,
    /// All calls.
    pub calls: u64,
    /// Those that failed.
    pub errors: u64,
    /// How they went.
    #[serde(serialize_with = "by_name")]
    pub counts: CallCounts,
    /// How many were answered after a known time.
    pub measured: u64,
    /// The median.
    pub p50_us: Option<u64>,
    /// What 95 of 100 calls did not exceed.
    pub p95_us: Option<u64>,
    /// What 99 of 100 calls did not exceed.
    pub p99_us: Option<u64>,
    /// The mean.
    pub mean_us: Option<u64>,
    /// The longest.
    pub max_us: Option<u64>,
    /// The length of all requests.
    pub request_bytes: u64,
    /// The length of all answers.
    pub response_bytes: u64,
}

/// Counts under the names of their outcomes.
fn by_name<S: serde::Serializer>(counts: &CallCounts, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(Outcome::ALL.map(|outcome| (outcome.name(), counts.get(outcome))))
}

/// What is summed up of calls.
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
        if let Some(us) = row.get::<_, Option<i64>>(1)?.filter(|_| !status.is_unanswered()) {
            self.latencies.add(u64::try_from(us).unwrap_or(0));
        }
        self.request_bytes += count(row, 2)?;
        self.response_bytes += count(row, 3)?;
        Ok(())
    }

    /// All of them in one, by halves: each is looked at a few times, not once for every other.
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

/// What calls are counted under.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    server: String,
    method: String,
    tool: Option<String>,
}

impl Store {
    /// What was called how often, and how it went.
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
        // The sort is stable, and the map is in the order of names.
        rows.sort_by_key(|row| std::cmp::Reverse(row.calls));
        Ok(Stats { rows, totals: totals.record(Name::default()) })
    }

    fn tallies(&self, filter: &Filter) -> rusqlite::Result<BTreeMap<i64, Tally>> {
        /// What fits a status.
        const STATUSES: i64 = 16;
        let conditions = filter.of_calls();
        // One column for both: each column that is read takes a tenth of the time.
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
