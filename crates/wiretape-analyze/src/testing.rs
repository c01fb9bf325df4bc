//! Traces for this crate's tests.

use crate::reading::{Analysis, Reading, RecordingState};
use wiretape_trace::format::{Line, TraceReader};

/// A trace line with a message.
pub(crate) fn message(dir: &str, us: u64, raw: &str) -> String {
    format!(r#"{{"dir":"{dir}","us":{us},"raw":{raw}}}"#)
}

/// Reads lines as a trace.
pub(crate) fn for_each_line(lines: &[String], mut each: impl FnMut(&Line<'_>)) {
    let trace: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut reader = TraceReader::new(trace.as_bytes());
    while let Some(line) = reader.next_line().unwrap() {
        each(&line);
    }
}

/// Runs an analysis over the lines of a complete trace.
pub(crate) fn read<A: Analysis>(analysis: A, lines: &[String]) -> A {
    let mut reading = Reading::new(analysis);
    for_each_line(lines, |line| reading.observe(line));
    reading.finish(RecordingState::Over)
}
