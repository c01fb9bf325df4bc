//! Reads the messages of a trace on demand.

use std::collections::HashMap;
use std::io::Read;
use wiretape_trace::format::{ReadError, Record, TraceReader};
use wiretape_trace::message::payloads;

/// The position of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadPlace {
    /// The line, from 1.
    pub line: u64,
    /// Its index in a batch, from 0.
    pub index: usize,
}

/// Reads payloads of a trace, advancing as far as needed.
///
/// It keeps lines that were passed and are still needed. If payloads are requested roughly in the order of the trace, these are
/// few.
#[derive(Debug)]
pub struct Payloads<R> {
    reader: TraceReader<R>,
    /// How often each line is still needed.
    wanted: HashMap<u64, usize>,
    kept: HashMap<u64, Vec<u8>>,
    read: u64,
}

impl<R: Read> Payloads<R> {
    /// A reader for these positions, each requested once.
    pub fn new(reader: TraceReader<R>, places: impl IntoIterator<Item = PayloadPlace>) -> Self {
        let mut wanted = HashMap::new();
        for place in places {
            *wanted.entry(place.line).or_default() += 1;
        }
        Payloads { reader, wanted, kept: HashMap::new(), read: 0 }
    }

    /// The payload at a position; `None` if it is missing because the file changed.
    pub fn take(&mut self, place: PayloadPlace) -> Result<Option<Vec<u8>>, ReadError> {
        while self.read < place.line {
            let Some(line) = self.reader.next_line()? else { break };
            self.read = line.number;
            if let Record::Message(message) = &line.record
                && self.wanted.contains_key(&line.number)
            {
                self.kept.insert(line.number, message.raw.to_vec());
            }
        }
        let payload = self.kept.get(&place.line).map(|raw| payloads(raw));
        let payload = payload.and_then(|all| all.get(place.index).map(|payload| payload.to_vec()));
        if let Some(left) = self.wanted.get_mut(&place.line) {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.wanted.remove(&place.line);
                self.kept.remove(&place.line);
            }
        }
        Ok(payload)
    }
}
