//! Loads a trace into the store while it is being written.

use super::feed::TraceFeed;
use super::loader::known;
use crate::sink::SinkError;
use crate::store::batcher::Batcher;
use crate::store::retention::Retention;
use std::path::Path;
use std::time::Duration;

/// Loads a trace into the store while it is being written. Errors of the store never affect the trace.
#[derive(Debug)]
pub struct LiveTrace {
    feed: TraceFeed,
    batcher: Batcher,
}

impl LiveTrace {
    /// For the store at `path`, which is opened when the first rows are written.
    pub fn new(path: &Path, retention: Retention) -> Self {
        LiveTrace { feed: TraceFeed::new(known(path)), batcher: Batcher::new(path, retention) }
    }

    /// Reads the trace's next line.
    pub fn line(&mut self, line: &[u8]) -> Result<(), SinkError> {
        self.feed.line(line);
        self.write_due()
    }

    /// How soon [`wake`](Self::wake) is to be called if no line arrives before.
    pub fn wake_in(&self) -> Option<Duration> {
        self.batcher.wake_in()
    }

    /// Writes the rows that are due.
    pub fn wake(&mut self) -> Result<(), SinkError> {
        self.batcher.wake()
    }

    /// The trace has ended: writes all remaining rows.
    pub fn finish(&mut self) -> Result<(), SinkError> {
        self.feed.finish();
        let result = self.write_due();
        self.batcher.finish().and(result)
    }

    fn write_due(&mut self) -> Result<(), SinkError> {
        for row in self.feed.take_rows() {
            self.batcher.push(row);
        }
        self.batcher.write_due()
    }
}
