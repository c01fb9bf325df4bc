//! Deletes what is too old or too much, oldest first, in small steps. Each step is a transaction of its own,
//! so that rows can be written in between, by this process and by others.

use super::error::StoreError;
use super::row::{IS_CALL, Progress};
use super::schema::pragma;
use super::writer::Writer;
use rusqlite::{Connection, Params, Row, Transaction, TransactionBehavior, params};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The number of calls deleted per step.
const STEP: i64 = 2000;

/// The number of free pages returned to the file system per step.
const VACUUM_PAGES: i64 = 2000;

/// How often a run starts: after this much time, or after this many rows.
const EVERY: Duration = Duration::from_mins(10);
const EVERY_ROWS: usize = 100_000;

/// The pause between two steps, in which other processes can get the write lock.
const BREATH: Duration = Duration::from_millis(20);

/// The limits of a store; the default is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Calls older than this are deleted.
    pub max_age: Option<Duration>,
    /// The size above which the oldest calls are deleted, in bytes.
    pub max_bytes: Option<u64>,
}

impl Retention {
    /// Whether there are no limits.
    pub fn keeps_all(&self) -> bool {
        *self == Retention::default()
    }
}

/// The number of deleted rows, by table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PruneResult {
    /// Deleted calls and plumbing requests.
    pub calls: u64,
    /// Deleted sessions without calls.
    pub sessions: u64,
    /// Deleted entries of the history of servers' lists.
    pub schema_changes: u64,
    /// Deleted definitions of servers that nothing else in the store refers to.
    pub schema_items: u64,
    /// The number of deleted reports of policy violations.
    pub violations: u64,
    /// Deleted combinations of server, method and tool without calls.
    pub operations: u64,
    /// Bytes by which the file became smaller.
    pub bytes_freed: u64,
}

/// The effect of a vacuum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VacuumResult {
    /// The size of the file before, in bytes.
    pub before_bytes: u64,
    /// The size of the file after, in bytes.
    pub after_bytes: u64,
}

impl Writer {
    /// Deletes everything beyond the limits, and truncates the file.
    pub fn prune(&mut self, retention: Retention, now_ms: i64) -> Result<PruneResult, StoreError> {
        let mut run = Run::new(retention, now_ms);
        while self.prune_step(&mut run)? == Step::More {}
        self.shrink().map_err(|source| self.error(source))?;
        Ok(run.result)
    }

    /// Rewrites the store without free pages. Blocks all other writers while it runs.
    pub fn vacuum(&mut self) -> Result<VacuumResult, StoreError> {
        let before_bytes = self.bytes().map_err(|source| self.error(source))?;
        self.connection.execute_batch("VACUUM").map_err(|source| self.error(source))?;
        self.shrink().map_err(|source| self.error(source))?;
        let after_bytes = self.bytes().map_err(|source| self.error(source))?;
        Ok(VacuumResult { before_bytes, after_bytes })
    }

    fn bytes(&self) -> rusqlite::Result<u64> {
        let pages = pragma(&self.connection, "page_count")?;
        Ok(u64::try_from(pages.saturating_mul(pragma(&self.connection, "page_size")?)).unwrap_or(0))
    }

    fn prune_step(&mut self, run: &mut Run) -> Result<Step, StoreError> {
        let step = run.step(&mut self.connection);
        // Ids of sessions and operations may have been deleted, so cached ones can't be trusted.
        self.forget_names();
        step.map_err(|source| self.error(source))
    }

    /// Checkpoints the WAL into the file and truncates it; only then does the file have its real size.
    fn shrink(&self) -> rusqlite::Result<()> {
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
    }
}

/// Prunes periodically, a small step at a time, so that pruning never delays rows noticeably.
#[derive(Debug)]
pub(super) struct Pruner {
    retention: Retention,
    run: Option<Run>,
    due: Option<Instant>,
    rows: usize,
}

impl Pruner {
    pub(super) fn new(retention: Retention) -> Self {
        Pruner { retention, run: None, due: None, rows: 0 }
    }

    /// When the next step is due; `None` before the first rows.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Counts written rows. The first ones start a run at once, because a store that wasn't used for long is
    /// full of old rows.
    pub(super) fn written(&mut self, rows: usize) {
        self.rows += rows;
        if !self.retention.keeps_all() && (self.due.is_none() || self.rows >= EVERY_ROWS) {
            self.rows = 0;
            self.due = Some(Instant::now());
        }
    }

    /// Postpones pruning, because no store is open.
    pub(super) fn wait(&mut self) {
        self.due = self.due.map(|_| Instant::now() + EVERY);
    }

    /// Does one step, if it is due.
    pub(super) fn work(&mut self, writer: &mut Writer, now_ms: i64) -> Result<(), StoreError> {
        let Some(due) = self.due.filter(|due| *due <= Instant::now()) else { return Ok(()) };
        let mut run = self.run.take().unwrap_or_else(|| Run::new(self.retention, now_ms));
        // Set before the step: if it fails, the next attempt is a whole interval later, and not at once.
        self.due = Some(due.max(Instant::now()) + EVERY);
        if writer.prune_step(&mut run)? == Step::More {
            self.run = Some(run);
            self.due = Some(Instant::now() + BREATH);
        }
        Ok(())
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    More,
    Done,
}

/// The stages of a run, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    OldCalls,
    TooMany,
    Rest,
    Vacuum,
}

/// One run, from its first step to its last.
#[derive(Debug)]
struct Run {
    retention: Retention,
    /// Everything older than this is deleted, in milliseconds since 1970.
    before: i64,
    stage: Stage,
    result: PruneResult,
}

impl Run {
    fn new(retention: Retention, now_ms: i64) -> Self {
        let age = retention.max_age.map(|age| i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
        let before = age.map_or(i64::MIN, |age| now_ms.saturating_sub(age));
        Run { retention, before, stage: Stage::OldCalls, result: PruneResult::default() }
    }

    fn step(&mut self, connection: &mut Connection) -> rusqlite::Result<Step> {
        match self.stage {
            Stage::OldCalls => {
                if self.delete_calls(connection, self.before)? == 0 {
                    self.stage = Stage::TooMany;
                }
            }
            Stage::TooMany => {
                if !self.is_too_large(connection)? || self.delete_oldest(connection)? == 0 {
                    self.stage = Stage::Rest;
                }
            }
            Stage::Rest => {
                self.delete_rest(connection)?;
                self.stage = Stage::Vacuum;
            }
            Stage::Vacuum => return self.vacuum(connection),
        }
        Ok(Step::More)
    }

    fn is_too_large(&self, connection: &Connection) -> rusqlite::Result<bool> {
        let Some(max) = self.retention.max_bytes else { return Ok(false) };
        // Free pages don't count: deleting rows frees pages, but the file shrinks only in the last stage.
        let pages = pragma(connection, "page_count")? - pragma(connection, "freelist_count")?;
        let bytes = pages.saturating_mul(pragma(connection, "page_size")?);
        Ok(u64::try_from(bytes).is_ok_and(|bytes| bytes > max))
    }

    /// Deletes one step's worth of the oldest calls, and everything else of that age.
    fn delete_oldest(&mut self, connection: &mut Connection) -> rusqlite::Result<u64> {
        let gone = self.delete_calls(connection, i64::MAX)?;
        let oldest: Option<i64> = connection.query_row("SELECT min(time) FROM call", [], |row| row.get(0))?;
        self.before = self.before.max(oldest.unwrap_or(i64::MAX));
        Ok(gone + self.delete_rest(connection)?)
    }

    fn delete_calls(&mut self, connection: &mut Connection, before: i64) -> rusqlite::Result<u64> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let gone = delete_calls(&transaction, before)?;
        transaction.commit()?;
        self.result.calls += gone;
        Ok(gone)
    }

    /// Deletes what is old besides calls, and what nothing refers to any more.
    fn delete_rest(&mut self, connection: &mut Connection) -> rusqlite::Result<u64> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let before = [self.before];
        let delete = |sql, values: &[&dyn rusqlite::ToSql]| -> rusqlite::Result<u64> {
            Ok(transaction.execute(sql, values)? as u64)
        };
        let sessions = delete("DELETE FROM session WHERE calls = 0 AND last_seen < ?1", params![before[0]])?;
        let changes = delete("DELETE FROM schema_change WHERE time < ?1", params![before[0]])?;
        let violations = delete("DELETE FROM violation WHERE time < ?1", params![before[0]])?;
        let operations = delete("DELETE FROM operation WHERE calls = 0", &[])?;
        // The current list of a server is kept, however old, while the store has anything else about that
        // server: the next list is compared with it.
        delete(
            "DELETE FROM schema_list WHERE last_seen < ?1 \
             AND server NOT IN (SELECT server FROM operation) AND server NOT IN (SELECT server FROM session)",
            params![before[0]],
        )?;
        let items = delete("DELETE FROM schema_item WHERE list NOT IN (SELECT id FROM schema_list)", &[])?;
        // Nothing of these traces is left, so they may be loaded again.
        let traces = delete(
            "DELETE FROM trace WHERE loaded < ?1 AND id NOT IN (SELECT trace FROM session WHERE trace IS NOT NULL) \
             AND id NOT IN (SELECT trace FROM call WHERE trace IS NOT NULL)",
            params![before[0]],
        )?;
        delete(
            "DELETE FROM trace_digest WHERE stored < ?1 AND trace NOT IN (SELECT id FROM trace)",
            params![before[0]],
        )?;
        // Other processes cache ids of these rows, and compare this counter before they use them.
        if sessions + operations + traces > 0 {
            delete("UPDATE pruning SET count = count + 1", &[])?;
        }
        transaction.commit()?;
        self.result.sessions += sessions;
        self.result.schema_changes += changes;
        self.result.violations += violations;
        self.result.operations += operations;
        self.result.schema_items += items;
        Ok(sessions + changes + violations + operations + items)
    }

    /// Returns free pages to the file system.
    fn vacuum(&mut self, connection: &Connection) -> rusqlite::Result<Step> {
        let free = pragma(connection, "freelist_count")?;
        if free == 0 {
            return Ok(Step::Done);
        }
        let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({VACUUM_PAGES})"))?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        let freed = free - pragma(connection, "freelist_count")?;
        let page = pragma(connection, "page_size")?;
        self.result.bytes_freed += u64::try_from(freed * page).unwrap_or(0);
        // A store that was created without `auto_vacuum` can't shrink; without this, the stage would never
        // end.
        Ok(if freed > 0 { Step::More } else { Step::Done })
    }
}

/// Deletes one step's worth of calls older than `before`. Their traces are marked as incomplete, so that
/// loading them again restores what was deleted.
fn delete_calls(transaction: &Transaction<'_>, before: i64) -> rusqlite::Result<u64> {
    let removal = CallRemoval::by(
        transaction,
        "id IN (SELECT id FROM call WHERE time < ?1 ORDER BY time LIMIT ?2)",
        params![before, STEP],
    )?;
    removal.mark_traces(transaction)?;
    Ok(removal.calls)
}

/// A deletion of calls, and what to subtract from the counters of operations and sessions.
#[derive(Debug, Default)]
pub(super) struct CallRemoval {
    pub(super) calls: u64,
    operations: BTreeMap<i64, i64>,
    /// For each session: calls, and failed calls.
    sessions: BTreeMap<i64, (i64, i64)>,
    traces: BTreeSet<String>,
}

impl CallRemoval {
    /// Deletes the calls that match a condition, and updates the counters.
    pub(super) fn by(
        transaction: &Transaction<'_>,
        condition: &str,
        values: impl Params,
    ) -> rusqlite::Result<Self> {
        let mut removal = CallRemoval::default();
        let mut calls = transaction.prepare_cached(&format!("SELECT id FROM operation WHERE {IS_CALL}"))?;
        let calls: BTreeSet<i64> = calls.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let mut delete = transaction.prepare_cached(&format!(
            "DELETE FROM call WHERE {condition} RETURNING operation, session, status, trace"
        ))?;
        let mut rows = delete.query(values)?;
        while let Some(row) = rows.next()? {
            removal.add(row, &calls)?;
        }
        drop(rows);
        removal.take_from_counts(transaction)?;
        Ok(removal)
    }

    /// Counts a deleted row. `counted` are the operations that sessions count; plumbing is not among them.
    fn add(&mut self, row: &Row<'_>, counted: &BTreeSet<i64>) -> rusqlite::Result<()> {
        self.calls += 1;
        let operation = row.get(0)?;
        *self.operations.entry(operation).or_default() += 1;
        if let Some(session) = row.get::<_, Option<i64>>(1)?.filter(|_| counted.contains(&operation)) {
            let (calls, errors) = self.sessions.entry(session).or_default();
            *calls += 1;
            *errors += i64::from(super::row::status_of(row.get(2)?).is_error());
        }
        self.traces.extend(row.get::<_, Option<String>>(3)?);
        Ok(())
    }

    fn take_from_counts(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let mut update =
            transaction.prepare_cached("UPDATE operation SET calls = calls - ?2 WHERE id = ?1")?;
        for (id, calls) in &self.operations {
            update.execute(params![id, calls])?;
        }
        let mut update = transaction
            .prepare_cached("UPDATE session SET calls = calls - ?2, errors = errors - ?3 WHERE id = ?1")?;
        for (id, (calls, errors)) in &self.sessions {
            update.execute(params![id, calls, errors])?;
        }
        Ok(())
    }

    fn mark_traces(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let partial = Progress::Partial.code();
        let mut named = transaction.prepare_cached("UPDATE trace SET complete = ?2 WHERE id = ?1")?;
        for trace in &self.traces {
            named.execute(params![trace, partial])?;
        }
        let mut of_session = transaction.prepare_cached(
            "UPDATE trace SET complete = ?2 WHERE id = (SELECT trace FROM session WHERE id = ?1)",
        )?;
        for session in self.sessions.keys() {
            of_session.execute(params![session, partial])?;
        }
        Ok(())
    }
}
