//! Messages of a trace, read when they are needed.

use std::collections::HashMap;
use std::io::Read;
use wiretape_trace::format::{ReadError, Record, TraceReader};
use wiretape_trace::message::payloads;

/// Where a payload stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadPlace {
    /// The line, from 1.
    pub line: u64,
    /// Its number in a batch, from 0.
    pub index: usize,
}

/// Hands out payloads of a trace that is read on as far as need be.
///
/// It keeps the lines that are still wanted and that were read on the way to others. If payloads are asked for about in
/// the order of the trace, that are few.
#[derive(Debug)]
pub struct Payloads<R> {
    reader: TraceReader<R>,
    /// How often each line is still wanted.
    wanted: HashMap<u64, usize>,
    kept: HashMap<u64, Vec<u8>>,
    read: u64,
}

impl<R: Read> Payloads<R> {
    /// The payloads at these places, each of which is asked for once.
    pub fn new(reader: TraceReader<R>, places: impl IntoIterator<Item = PayloadPlace>) -> Self {
        let mut wanted = HashMap::new();
        for place in places {
            *wanted.entry(place.line).or_default() += 1;
        }
        Payloads { reader, wanted, kept: HashMap::new(), read: 0 }
    }

    /// The payload at a place; `None` if it is not there: the file has been changed since.
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
