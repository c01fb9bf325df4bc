//! The lines of `--events`, to a file or standard output.

use super::{Signal, Sink, SinkError, What};
use std::io::{self, Write};
use std::sync::Arc;

/// Writes lines as they come.
pub struct NdjsonSink {
    out: Box<dyn Write + Send>,
    place: String,
    buffer: Vec<u8>,
    trouble: bool,
}

impl NdjsonSink {
    /// Writes to `out`, which is called `place` when something is wrong with it.
    pub fn new(out: Box<dyn Write + Send>, place: String) -> Self {
        NdjsonSink { out, place, buffer: Vec::new(), trouble: false }
    }
}

impl Sink for NdjsonSink {
    fn name(&self) -> &str {
        "ndjson"
    }

    fn take(&mut self, signals: &[Arc<Signal>]) -> Result<(), SinkError> {
        self.buffer.clear();
        let mut count = 0;
        for signal in signals.iter().filter(|signal| matches!(signal.what, What::Line(_))) {
            self.buffer.extend_from_slice(signal.json());
            self.buffer.push(b'\n');
            count += 1;
        }
        let result = self.out.write_all(&self.buffer).and_then(|()| self.out.flush());
        self.note(result, count)
    }
}

impl NdjsonSink {
    /// The user is told when it begins to fail; what is lost is counted in any case.
    fn note(&mut self, result: io::Result<()>, lost: u64) -> Result<(), SinkError> {
        let Err(error) = result else {
            self.trouble = false;
            return Ok(());
        };
        let again = std::mem::replace(&mut self.trouble, true);
        let message =
            if again { String::new() } else { format!("can't write events to {}: {error}", self.place) };
        Err(SinkError { message, lost })
    }
}
