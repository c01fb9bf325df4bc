//! A trace that is brought into the store while it is written.

use super::feed::TraceFeed;
use super::loader::known;
use crate::sink::SinkError;
use crate::store::batcher::Batcher;
use crate::store::retention::Retention;
use std::path::Path;
use std::time::Duration;

/// Brings a trace into the store while it is written. What is wrong with the store never harms the trace.
#[derive(Debug)]
pub struct LiveTrace {
    feed: TraceFeed,
    batcher: Batcher,
}

impl LiveTrace {
    /// For the store at a path.
    pub fn new(path: &Path, retention: Retention) -> Self {
        LiveTrace { feed: TraceFeed::new(known(path)), batcher: Batcher::new(path, retention) }
    }

    /// Takes the trace's next line.
    pub fn line(&mut self, line: &[u8]) -> Result<(), SinkError> {
        self.feed.line(line);
        self.settle()
    }

    /// How soon [`wake`](Self::wake) is to be called if no line comes before.
    pub fn wake_in(&self) -> Option<Duration> {
        self.batcher.wake_in()
    }

    /// Writes what is due.
    pub fn wake(&mut self) -> Result<(), SinkError> {
        self.batcher.wake()
    }

    /// The trace has ended.
    pub fn finish(&mut self) -> Result<(), SinkError> {
        self.feed.finish();
        let result = self.settle();
        self.batcher.finish().and(result)
    }

    fn settle(&mut self) -> Result<(), SinkError> {
        for row in self.feed.take_rows() {
            self.batcher.push(row);
        }
        self.batcher.settle()
    }
}
