//! Loads whole recordings: decides which parts are already in the store, and what to do about the others.

use super::feed::{DigestReader, TraceFeed, trace_id};
use crate::observe::Snapshot;
use crate::store::error::StoreError;
use crate::store::query::Store;
use crate::store::row::{Progress, Row};
use crate::store::writer::Writer;
use serde::Serialize;
use std::io::Read;
use std::path::Path;
use wiretape_trace::format::{Line, ReadError, TraceReader};

/// The number of rows per transaction.
const BATCH: usize = 4096;

/// The result of loading a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "outcome")]
pub enum Loaded {
    /// The trace is now in the store.
    Loaded {
        /// The id of the trace.
        trace: String,
        /// The number of its calls.
        calls: u64,
    },
    /// The trace was already in the store; nothing was done.
    AlreadyThere {
        /// The id of the trace.
        trace: String,
    },
}

/// Why a trace can't be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The trace can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store can't be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Loads a whole trace. A trace that was loaded before, or whose calls a proxy has reported, is skipped; one
/// that was loaded in part is loaded again.
pub fn load<R: Read>(mut reader: TraceReader<R>, writer: &mut Writer) -> Result<Loaded, LoadError> {
    load_from(&mut reader, writer)
}

/// Like [`load`], but leaves the reader to the caller, which can ask it for problems of the trace.
pub fn load_from<R: Read>(reader: &mut TraceReader<R>, writer: &mut Writer) -> Result<Loaded, LoadError> {
    let mut loader = Loader::new(writer);
    let loaded = loader.part(reader)?;
    let more = loader.finish()?;
    Ok(match loaded {
        Loaded::Loaded { trace, calls } => Loaded::Loaded { trace, calls: calls + more },
        there => there,
    })
}

/// Loads the parts of one recording, in order. A call may begin in one part and end in a later one.
#[derive(Debug)]
pub struct Loader<'a> {
    writer: &'a mut Writer,
    feed: Option<TraceFeed>,
}

impl<'a> Loader<'a> {
    /// At the beginning of a recording.
    pub fn new(writer: &'a mut Writer) -> Self {
        Loader { writer, feed: None }
    }

    /// If only some parts of a recording were loaded, or one of them incompletely, deletes them, so that the
    /// recording can be loaded as a whole. `parts` are the ids of all its parts, which must all be available.
    pub fn forget_half_loaded(&mut self, parts: &[&str]) -> Result<(), LoadError> {
        let progress: Vec<_> =
            parts.iter().map(|id| self.writer.trace(id)).collect::<Result<_, StoreError>>()?;
        if progress.contains(&Some(Progress::Partial)) && !progress.contains(&Some(Progress::ReportedByProxy))
        {
            parts.iter().try_for_each(|id| self.writer.forget_trace(id))?;
        }
        Ok(())
    }

    /// Whether a proxy has reported the calls of a recording. It may have been killed before all of them were
    /// in the store.
    pub fn is_reported_by_proxy(&self, parts: &[&str]) -> Result<bool, LoadError> {
        let first = parts.first().map(|id| self.writer.trace(id)).transpose()?;
        Ok(first.flatten() == Some(Progress::ReportedByProxy))
    }

    /// Deletes what a proxy has reported of a recording if the recording has more calls, so that all of it
    /// can be loaded.
    pub fn forget_if_fewer(&mut self, parts: &[&str], calls: u64) -> Result<(), LoadError> {
        let Some(first) = parts.first() else { return Ok(()) };
        if self.writer.calls_of_trace(first)? < calls {
            self.writer.forget_trace(first)?;
        }
        Ok(())
    }

    /// Loads the next part. A part that is already in the store is skipped.
    pub fn part<R: Read>(&mut self, reader: &mut TraceReader<R>) -> Result<Loaded, LoadError> {
        let (mut trace, mut calls) = (String::new(), 0);
        while let Some(line) = reader.next_line()? {
            if trace.is_empty()
                && let Some(ids) = trace_id(&line.record)
            {
                if self.is_there(&ids.id, &ids.first)? {
                    let mut digest = DigestReader::default();
                    digest.line(&line);
                    self.finish_feed()?;
                    self.add_digest(digest, reader, &ids.id)?;
                    return Ok(Loaded::AlreadyThere { trace: ids.id });
                }
                trace = ids.id;
            }
            calls += self.line(&line)?;
        }
        calls += self.write()?;
        Ok(Loaded::Loaded { trace, calls })
    }

    /// Adds the digest of a trace whose calls are already in the store: a proxy reports only calls, and older versions stored
    /// no digests. `digest` has read the first line.
    fn add_digest<R: Read>(
        &mut self,
        mut digest: DigestReader,
        reader: &mut TraceReader<R>,
        id: &str,
    ) -> Result<(), LoadError> {
        if !digest.expects_digest() || self.writer.has_digest(id)? {
            return Ok(());
        }
        // A trace that can't be read to its end has no digest to add, and its calls are already there.
        while let Ok(Some(line)) = reader.next_line() {
            if let Some(digest) = digest.line(&line) {
                return Ok(self.writer.write(&[Row::TraceDigest(digest)])?);
            }
        }
        Ok(())
    }

    /// Ends the recording: open requests stay unanswered. Returns the number of calls this closes.
    pub fn finish(mut self) -> Result<u64, LoadError> {
        self.finish_feed()
    }

    fn finish_feed(&mut self) -> Result<u64, LoadError> {
        let Some(feed) = &mut self.feed else { return Ok(0) };
        feed.finish();
        let calls = self.write()?;
        self.feed = None;
        Ok(calls)
    }

    fn is_there(&mut self, id: &str, first: &str) -> Result<bool, LoadError> {
        match self.writer.trace(id)? {
            Some(Progress::Complete | Progress::ReportedByProxy) => return Ok(true),
            Some(Progress::Partial) => self.writer.forget_trace(id)?,
            None => {}
        }
        // A proxy names the first part in everything it reports.
        Ok(first != id && self.writer.trace(first)? == Some(Progress::ReportedByProxy))
    }

    /// Reads a line; returns how many calls were written.
    fn line(&mut self, line: &Line<'_>) -> Result<u64, LoadError> {
        let feed = match &mut self.feed {
            Some(feed) => feed,
            none => none.insert(TraceFeed::new(known(self.writer.path()))),
        };
        feed.record(line);
        if feed.waiting() >= BATCH { self.write() } else { Ok(0) }
    }

    fn write(&mut self) -> Result<u64, LoadError> {
        let Some(feed) = &mut self.feed else { return Ok(0) };
        let rows = feed.take_rows();
        self.writer.write(&rows)?;
        Ok(count_calls(&rows))
    }
}

/// Counts the calls of a recording, part by part, without writing anything.
#[derive(Debug)]
pub struct CallCounter {
    feed: TraceFeed,
    calls: u64,
}

impl Default for CallCounter {
    fn default() -> Self {
        CallCounter { feed: TraceFeed::new(Vec::new()), calls: 0 }
    }
}

impl CallCounter {
    /// Counts the calls of the next part.
    pub fn part<R: Read>(&mut self, reader: &mut TraceReader<R>) -> Result<(), ReadError> {
        while let Some(line) = reader.next_line()? {
            self.feed.record(&line);
            if self.feed.waiting() >= BATCH {
                self.count_rows();
            }
        }
        Ok(())
    }

    /// The number of calls, including those that were never answered.
    pub fn finish(mut self) -> u64 {
        self.feed.finish();
        self.count_rows();
        self.calls
    }

    fn count_rows(&mut self) {
        self.calls += count_calls(&self.feed.take_rows());
    }
}

fn count_calls(rows: &[Row]) -> u64 {
    rows.iter().filter(|row| matches!(row, Row::Call(_))).count() as u64
}

/// The last known lists in the store at `path`. Empty if there is no store yet, or if it is in memory.
pub(super) fn known(path: &Path) -> Vec<Snapshot> {
    Store::open_read(path).and_then(|store| store.snapshots()).unwrap_or_default()
}
