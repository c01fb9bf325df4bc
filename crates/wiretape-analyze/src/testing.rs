//! Traces for this crate's tests.

use wiretape_trace::format::{Message, Record, TraceReader};

/// The line of a message.
pub(crate) fn message(dir: &str, us: u64, raw: &str) -> String {
    format!(r#"{{"dir":"{dir}","us":{us},"raw":{raw}}}"#)
}

/// Reads lines as a trace.
pub(crate) fn for_each_record(lines: &[String], mut each: impl FnMut(u64, &Record<'_>)) {
    let trace: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut reader = TraceReader::new(trace.as_bytes());
    while let Some(line) = reader.next_line().unwrap() {
        each(line.number, &line.record);
    }
}

/// Reads lines as a trace, messages only.
pub(crate) fn for_each_message(lines: &[String], mut each: impl FnMut(u64, &Message<'_>)) {
    for_each_record(lines, |number, record| {
        if let Record::Message(message) = record {
            each(number, message);
        }
    });
}
