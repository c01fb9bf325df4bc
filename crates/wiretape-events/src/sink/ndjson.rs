//! The sink behind `--events`: lines of JSON, to a file or standard output.

use super::{Signal, SignalBody, Sink, SinkError};
use std::io::{self, Write};
use std::sync::Arc;

/// Writes lines as they arrive, one write per batch of signals.
pub struct NdjsonSink {
    out: Box<dyn Write + Send>,
    place: String,
    buffer: Vec<u8>,
    trouble: bool,
}

impl NdjsonSink {
    /// Writes to `out`; error messages call it `place`.
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
        for signal in signals.iter().filter(|signal| matches!(signal.what, SignalBody::Line(_))) {
            signal.append_json(&mut self.buffer);
            self.buffer.push(b'\n');
            count += 1;
        }
        // Flushed per batch, so that a program that tails the file sees a line within milliseconds.
        let result = self.out.write_all(&self.buffer).and_then(|()| self.out.flush());
        self.note(result, count)
    }
}

impl NdjsonSink {
    /// Warns when writing begins to fail, not for every batch; losses are counted each time.
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
