//! Counts the requests and notifications of a trace: its lines are read, and the envelope of each payload is scanned.
//!
//! That is the least that can be done with a trace, and so the floor of the benchmarks.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example is a program, with files and output"
)]

use std::fs::File;
use std::process::ExitCode;
use wiretape_trace::format::{Record, TraceReader};
use wiretape_trace::message::{Envelope, payloads};

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else { return ExitCode::from(2) };
    let Ok(file) = File::open(path) else { return ExitCode::FAILURE };
    let mut reader = TraceReader::new(file);
    let mut requests = 0_u64;
    while let Ok(Some(line)) = reader.next_line() {
        if let Record::Message(message) = &line.record {
            for payload in payloads(message.raw) {
                requests += u64::from(Envelope::scan(payload).method.is_some());
            }
        }
    }
    println!("{requests}");
    ExitCode::SUCCESS
}
