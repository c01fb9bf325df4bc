//! Collects rows for the writer, and keeps them while the store can't be written: a locked or full store must
//! cost neither the traffic nor, if it lasts only briefly, any rows.

use super::error::StoreError;
use super::file;
use super::retention::{Pruner, Retention};
use super::row::Row;
use super::writer::Writer;
use crate::sink::SinkError;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long rows wait for more. A transaction costs far more than a row, and a query may well be a tenth of a second behind.
const GATHER: Duration = Duration::from_millis(100);

/// The number of rows at which a batch is written without waiting.
const BATCH: usize = 4096;

/// The number of rows kept while the store can't be written. Beyond it, the oldest are dropped.
const MAX_KEPT: usize = 100_000;

/// The pause between attempts to write to a store that failed.
const RETRY: Duration = Duration::from_secs(1);

/// Collects rows and writes them in batches. It never blocks for longer than the writer's busy timeout.
#[derive(Debug)]
pub struct Batcher {
    path: PathBuf,
    writer: Option<Writer>,
    pending: Vec<Row>,
    /// When the pending rows have to be written.
    due: Option<Instant>,
    trouble: Option<Trouble>,
    pruner: Pruner,
    max_kept: usize,
}

/// Why the store can't be written at the moment.
#[derive(Debug)]
struct Trouble {
    message: String,
    lost: u64,
    retry_at: Instant,
}

impl Batcher {
    /// A batcher for the store at `path`, which is opened when the first rows are written.
    pub fn new(path: &Path, retention: Retention) -> Self {
        Batcher {
            path: path.to_owned(),
            writer: None,
            pending: Vec::new(),
            due: None,
            trouble: None,
            pruner: Pruner::new(retention),
            max_kept: MAX_KEPT,
        }
    }

    /// Opens the store now, so that problems are reported at startup and not with the first call.
    pub fn open(&mut self) -> Result<(), SinkError> {
        self.attempt(Attempt::Open)
    }

    /// Adds a row. It is written by [`write_due`](Self::write_due).
    pub fn push(&mut self, row: Row) {
        self.pending.push(row);
    }

    /// Writes the pending rows, if there are enough or they have waited long enough.
    pub fn write_due(&mut self) -> Result<(), SinkError> {
        let now = Instant::now();
        if let Some(trouble) = &self.trouble
            && now < trouble.retry_at
        {
            return self.shed();
        }
        if self.pending.is_empty() {
            self.due = None;
            return Ok(());
        }
        let due = *self.due.get_or_insert(now + GATHER);
        if self.pending.len() < BATCH && now < due {
            return Ok(());
        }
        self.attempt(Attempt::Write)?;
        // Under load `wake` is never called, because there is always something to take.
        self.prune()
    }

    /// How soon [`wake`](Self::wake) is to be called; `None` if nothing is due.
    pub fn wake_in(&self) -> Option<Duration> {
        let now = Instant::now();
        let next = match &self.trouble {
            Some(trouble) => Some(trouble.retry_at),
            None => [self.due, self.pruner.due()].into_iter().flatten().min(),
        };
        next.map(|at| at.saturating_duration_since(now))
    }

    /// Writes the rows that are due, and does one step of pruning if that is due.
    pub fn wake(&mut self) -> Result<(), SinkError> {
        self.write_due()?;
        self.prune()
    }

    /// Writes all pending rows, at shutdown. There is no later attempt.
    pub fn finish(&mut self) -> Result<(), SinkError> {
        let lost = self.pending.len() as u64;
        let result = self.attempt(Attempt::Write);
        if self.pending.is_empty() {
            return result;
        }
        // The process is about to exit, so these rows are lost.
        self.pending.clear();
        let missing = format!("{lost} calls were not stored");
        let message = match (&self.trouble, result) {
            // A new error, which was not reported before.
            (Some(trouble), Err(_)) => format!("{}; {missing}", trouble.message),
            _ => missing,
        };
        Err(SinkError { message, lost })
    }

    fn attempt(&mut self, attempt: Attempt) -> Result<(), SinkError> {
        match self.try_write(attempt) {
            Ok(()) => self.recovered(),
            Err(error @ StoreError::Corrupt { .. }) => self.replace_damaged(&error),
            Err(error) => self.failed(&error),
        }
    }

    fn try_write(&mut self, attempt: Attempt) -> Result<(), StoreError> {
        if self.writer.as_ref().is_some_and(|writer| !writer.is_in_place()) {
            // The file was moved or deleted. Rows written to the old one would never be found.
            self.writer = None;
        }
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(Writer::open(&self.path)?),
        };
        if attempt == Attempt::Write && !self.pending.is_empty() {
            writer.write(&self.pending)?;
            self.pruner.written(self.pending.len());
        }
        if attempt == Attempt::Write {
            self.pending.clear();
            self.due = None;
        }
        Ok(())
    }

    /// Reports once that the store can be written again.
    fn recovered(&mut self) -> Result<(), SinkError> {
        let Some(trouble) = self.trouble.take() else { return Ok(()) };
        let path = self.path.display();
        let lost = match trouble.lost {
            0 => "nothing was lost".to_owned(),
            lost => format!("{lost} rows were lost"),
        };
        Err(SinkError { message: format!("{path} is writable again; {lost}"), lost: 0 })
    }

    /// Reports an error once, and schedules the next attempt.
    fn failed(&mut self, error: &StoreError) -> Result<(), SinkError> {
        if !matches!(error, StoreError::Locked { .. }) {
            // After a disk error, SQLite may keep failing on this connection.
            self.writer = None;
        }
        let message = error.in_full();
        let retry_at = Instant::now() + RETRY;
        let (known, lost) = match self.trouble.take() {
            Some(trouble) => (trouble.message == message, trouble.lost),
            None => (false, 0),
        };
        self.trouble = Some(Trouble { message: message.clone(), lost, retry_at });
        let shed = self.shed();
        if known || shed.is_err() {
            return shed;
        }
        let kept = "calls are buffered until it can be written";
        Err(SinkError { message: format!("{message}; {kept}"), lost: 0 })
    }

    /// Drops the oldest rows beyond the limit.
    fn shed(&mut self) -> Result<(), SinkError> {
        let Some(over) = self.pending.len().checked_sub(self.max_kept).filter(|over| *over > 0) else {
            return Ok(());
        };
        self.pending.drain(..over);
        let Some(trouble) = &mut self.trouble else { return Ok(()) };
        trouble.lost += over as u64;
        Err(SinkError {
            message: format!("{}; the oldest buffered calls are dropped", trouble.message),
            lost: over as u64,
        })
    }

    /// Moves a damaged store aside, and continues with a new one.
    fn replace_damaged(&mut self, damage: &StoreError) -> Result<(), SinkError> {
        // If the path has another file already, another process has moved the damaged one: moving again would
        // remove its new store.
        let in_place = self.writer.as_ref().is_none_or(Writer::is_in_place);
        self.writer = None;
        let path = self.path.clone();
        let aside = match in_place.then(|| file::move_aside(&path, now_ms())) {
            Some(Err(source)) => return self.failed(&StoreError::Open { path, source }),
            Some(Ok(aside)) => format!("it was moved to {}, and a new store was created", aside.display()),
            None => "another process has already created a new one".to_owned(),
        };
        let cause = std::error::Error::source(damage).map(ToString::to_string).unwrap_or_default();
        let message = format!("{} was damaged ({cause}): {aside}", path.display());
        match self.try_write(Attempt::Write) {
            Ok(()) => {
                self.trouble = None;
                Err(SinkError { message, lost: 0 })
            }
            Err(error) => {
                self.failed(&error).ok();
                Err(SinkError {
                    message: format!("{message}, but that failed: {}", error.in_full()),
                    lost: 0,
                })
            }
        }
    }

    fn prune(&mut self) -> Result<(), SinkError> {
        if self.trouble.is_some() {
            return Ok(());
        }
        let Some(writer) = &mut self.writer else {
            self.pruner.wait();
            return Ok(());
        };
        match self.pruner.work(writer, now_ms()) {
            Ok(()) => Ok(()),
            // Pruning can wait. If the store stays locked, the next rows report it.
            Err(StoreError::Locked { .. }) => Ok(()),
            Err(error @ StoreError::Corrupt { .. }) => self.replace_damaged(&error),
            Err(error) => self.failed(&error),
        }
    }
}

/// What to attempt: only opening, or also writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Open,
    Write,
}

/// The wall clock, in milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

#[cfg(test)]
mod tests {
    use super::super::row::ViolationRow;
    use super::*;
    use std::sync::Arc;

    fn row(time: i64) -> Row {
        Row::Violation(ViolationRow {
            time,
            server: Arc::from("server"),
            session: None,
            blocked_uri: "x".repeat(400),
            directive: String::new(),
        })
    }

    fn times(path: &Path) -> Vec<i64> {
        let store = super::super::Store::open_read(path).unwrap();
        let violations = store.violations(&super::super::Filter::default(), u32::MAX).unwrap();
        violations.iter().rev().map(|violation| violation.time).collect()
    }

    /// Does not wait for the next try.
    fn retry(batcher: &mut Batcher) -> Result<(), SinkError> {
        batcher.trouble.as_mut().unwrap().retry_at = Instant::now();
        batcher.due = Some(Instant::now());
        batcher.write_due()
    }

    #[test]
    fn rows_are_kept_while_the_disk_is_full() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        let mut batcher = Batcher::new(&path, Retention::default());
        batcher.open().unwrap();
        let fill = |batcher: &mut Batcher| {
            let connection = &batcher.writer.as_ref().unwrap().connection;
            let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
            connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).unwrap();
        };
        fill(&mut batcher);
        (0..100).for_each(|time| batcher.push(row(time)));
        let full = batcher.attempt(Attempt::Write).unwrap_err();
        assert!(full.message.contains("no space left") && full.lost == 0, "{full}");
        batcher.write_due().unwrap();
        let over = retry(&mut batcher).unwrap_err();
        assert!(over.message.contains("nothing was lost"), "{over}");
        assert_eq!(times(&path), (0..100).collect::<Vec<_>>());
        assert_eq!(batcher.wake_in(), None);
    }

    #[test]
    fn the_oldest_rows_go_when_too_many_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        std::fs::create_dir(&path).unwrap();
        let mut batcher = Batcher { max_kept: 10, ..Batcher::new(&path, Retention::default()) };
        (0..8).for_each(|time| batcher.push(row(time)));
        assert_eq!(batcher.attempt(Attempt::Write).unwrap_err().lost, 0);
        (8..13).for_each(|time| batcher.push(row(time)));
        assert_eq!(batcher.write_due().unwrap_err().lost, 3);
        batcher.write_due().unwrap();
        std::fs::remove_dir(&path).unwrap();
        let over = retry(&mut batcher).unwrap_err();
        assert!(over.message.contains("3 rows were lost") && over.lost == 0, "{over}");
        assert_eq!(times(&path), (3..13).collect::<Vec<_>>());
    }
}
