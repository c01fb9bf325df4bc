//! Whole recordings: which of their parts are in the store already, and what is done about the others.

use super::feed::{TraceFeed, trace_id};
use crate::observe::Snapshot;
use crate::store::error::StoreError;
use crate::store::query::Store;
use crate::store::row::{Progress, Row};
use crate::store::writer::Writer;
use serde::Serialize;
use std::io::Read;
use std::path::Path;
use wiretape_trace::format::{Line, ReadError, TraceReader};

/// How many rows are written at a time.
const BATCH: usize = 4096;

/// What came of loading a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "outcome")]
pub enum Loaded {
    /// It is in the store now.
    Loaded {
        /// Its id.
        trace: String,
        /// How many calls it has.
        calls: u64,
    },
    /// It was in the store already, and nothing was done.
    AlreadyThere {
        /// Its id.
        trace: String,
    },
}

/// A trace can't be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store can't be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Loads a whole trace. One that was loaded before, or that a proxy has told of, is left as it is; one of which only a
/// part was loaded is loaded anew.
pub fn load<R: Read>(mut reader: TraceReader<R>, writer: &mut Writer) -> Result<Loaded, LoadError> {
    load_from(&mut reader, writer)
}

/// Like [`load`], and leaves the reader, which knows what is wrong with the trace.
pub fn load_from<R: Read>(reader: &mut TraceReader<R>, writer: &mut Writer) -> Result<Loaded, LoadError> {
    let mut loader = Loader::new(writer);
    let loaded = loader.part(reader)?;
    let more = loader.finish()?;
    Ok(match loaded {
        Loaded::Loaded { trace, calls } => Loaded::Loaded { trace, calls: calls + more },
        there => there,
    })
}

/// Loads the parts of one recording, in their order. A call may begin in one part and end in a later one.
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

    /// If only some of a recording was loaded, or a part of it to the half, takes that out again, so that all of it can be loaded
    /// as one. For this all its parts must be at hand; these are their ids.
    pub fn forget_half_loaded(&mut self, parts: &[&str]) -> Result<(), LoadError> {
        let progress: Vec<_> =
            parts.iter().map(|id| self.writer.trace(id)).collect::<Result<_, StoreError>>()?;
        if progress.contains(&Some(Progress::Begun)) && !progress.contains(&Some(Progress::Told)) {
            parts.iter().try_for_each(|id| self.writer.forget_trace(id))?;
        }
        Ok(())
    }

    /// Whether a proxy has told of a recording. It may have been killed before all of that was in the store.
    pub fn is_told(&self, parts: &[&str]) -> Result<bool, LoadError> {
        let first = parts.first().map(|id| self.writer.trace(id)).transpose()?;
        Ok(first.flatten() == Some(Progress::Told))
    }

    /// Takes out what a proxy has told of a recording if that is less than the recording has, so that all of it can be loaded.
    pub fn forget_if_fewer(&mut self, parts: &[&str], calls: u64) -> Result<(), LoadError> {
        let Some(first) = parts.first() else { return Ok(()) };
        if self.writer.calls_of_trace(first)? < calls {
            self.writer.forget_trace(first)?;
        }
        Ok(())
    }

    /// Loads the next part. One that is in the store already is left as it is.
    pub fn part<R: Read>(&mut self, reader: &mut TraceReader<R>) -> Result<Loaded, LoadError> {
        let (mut trace, mut calls) = (String::new(), 0);
        while let Some(line) = reader.next_line()? {
            if trace.is_empty()
                && let Some(ids) = trace_id(&line.record)
            {
                if self.is_there(&ids.id, &ids.first)? {
                    self.finish_feed()?;
                    return Ok(Loaded::AlreadyThere { trace: ids.id });
                }
                trace = ids.id;
            }
            calls += self.line(&line)?;
        }
        calls += self.write()?;
        Ok(Loaded::Loaded { trace, calls })
    }

    /// There are no more parts: what is unanswered stays so. Returns how many calls this ends.
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
            Some(Progress::Complete | Progress::Told) => return Ok(true),
            Some(Progress::Begun) => self.writer.forget_trace(id)?,
            None => {}
        }
        // A proxy names the first part of what it tells.
        Ok(first != id && self.writer.trace(first)? == Some(Progress::Told))
    }

    /// Returns how many calls were written.
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

/// Counts the calls of a recording, part by part, and writes nothing.
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
    /// Counts those of the next part.
    pub fn part<R: Read>(&mut self, reader: &mut TraceReader<R>) -> Result<(), ReadError> {
        while let Some(line) = reader.next_line()? {
            self.feed.record(&line);
            if self.feed.waiting() >= BATCH {
                self.settle();
            }
        }
        Ok(())
    }

    /// How many there are, those included that were never answered.
    pub fn finish(mut self) -> u64 {
        self.feed.finish();
        self.settle();
        self.calls
    }

    fn settle(&mut self) {
        self.calls += count_calls(&self.feed.take_rows());
    }
}

fn count_calls(rows: &[Row]) -> u64 {
    rows.iter().filter(|row| matches!(row, Row::Call(_))).count() as u64
}

/// What servers offered when they were last seen. A store that isn't there yet, or is in memory, knows of nothing.
pub(super) fn known(path: &Path) -> Vec<Snapshot> {
    Store::open_read(path).and_then(|store| store.snapshots()).unwrap_or_default()
}
