//! Import of arbitrary bytes in every format.

use std::io;
use wiretape_trace::format::{Meta, Record, TraceReader};
use wiretape_trace::import::{self, ImportOptions, SinkDecision, TraceSink};

#[derive(Default)]
struct Memory(Vec<Vec<u8>>);

impl TraceSink for Memory {
    fn begin(&mut self, _: Option<&str>) -> io::Result<SinkDecision> {
        self.0.push(Vec::new());
        Ok(SinkDecision::Wanted { id: None })
    }

    fn write(&mut self, trace: usize, lines: &[u8]) -> io::Result<()> {
        self.0[trace].extend_from_slice(lines);
        Ok(())
    }
}

/// Every format accepts or rejects any bytes, and what it writes are valid traces with as many messages as it
/// reports.
pub fn import(data: &[u8]) {
    let _ = import::detect(data);
    for format in import::FORMATS {
        let options = ImportOptions {
            format,
            redactor: None,
            strict: false,
            workers: 1,
            meta: Meta::default(),
            source: String::new(),
        };
        let mut memory = Memory::default();
        let Ok(report) = import::import(data, &options, &mut memory) else { continue };
        let messages: u64 = memory.0.iter().map(|trace| count(trace)).sum();
        assert_eq!(messages, report.messages, "{}", format.name);
    }
}

/// The number of messages of a trace that must be complete.
fn count(trace: &[u8]) -> u64 {
    let mut reader = TraceReader::new(trace);
    let mut messages = 0;
    while let Some(line) = reader.next_line().expect("reading from a slice never fails") {
        messages += u64::from(matches!(line.record, Record::Message(_)));
    }
    assert!(reader.notices().is_empty(), "{:?}", reader.notices());
    messages
}
