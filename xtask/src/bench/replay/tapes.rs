//! Generates the traces that are replayed. The requests must equal those of the load byte for byte in what matching
//! compares.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use wiretape_testkit::payload::{self, FIRST_MARKED};

use crate::bench::import::{answer, call, prose};
use crate::failure::{Context, Result};

/// The number of ids reserved for each connection, the same as in `wiretape_testkit::load`.
const IDS: u64 = 10_000_000;

/// Writes a trace call by call.
struct Writer {
    out: BufWriter<File>,
    lines: u64,
    bytes: u64,
}

impl Writer {
    fn new(path: &Path) -> Result<Self> {
        let file = File::create(path).context("a trace to play")?;
        let mut writer = Writer { out: BufWriter::with_capacity(1 << 20, file), lines: 0, bytes: 0 };
        writer.line(r#"{"v":1,"type":"meta","startedAt":"2026-05-12T23:00:00.000Z","label":"bench","command":["bench"]}"#)?;
        writer.call(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#,
            r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}}"#,
        )?;
        Ok(writer)
    }

    fn call(&mut self, request: &str, response: &str) -> Result {
        for (dir, payload) in [("in", request), ("out", response)] {
            self.lines += 1;
            let (seq, us) = (self.lines, self.lines * 7);
            self.line(&format!(
                r#"{{"t":"2026-05-12T23:00:00.123Z","dir":"{dir}","seq":{seq},"us":{us},"raw":{payload}}}"#
            ))?;
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result {
        self.bytes += line.len() as u64 + 1;
        writeln!(self.out, "{line}").context("a trace to play")
    }

    fn finish(mut self) -> Result {
        self.out.flush().context("a trace to play")
    }
}

/// The calls of [`payload::small_calls`], with answers of similar length.
pub(super) fn small_calls(path: &Path, count: u64) -> Result {
    let mut writer = Writer::new(path)?;
    let text = "x".repeat(120);
    for id in 1..=count {
        let request = String::from_utf8_lossy(&payload::small_call(id)).trim_end().to_owned();
        let response = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
        );
        writer.call(&request, &response)?;
    }
    writer.finish()
}

/// The calls that the load makes on `connections` connections.
pub(super) fn marked_calls(path: &Path, connections: usize, count: u64) -> Result {
    let mut writer = Writer::new(path)?;
    for connection in 0..connections as u64 {
        for number in 1..=count {
            let id = FIRST_MARKED + connection * IDS + number;
            let request = String::from_utf8_lossy(&marked_call(connection, id)).into_owned();
            let mark = payload::MARKER;
            let response = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"echoed"}}],"structuredContent":{{"from":"{mark}-{id}"}}}}}}"#
            );
            writer.call(&request, &response)?;
        }
    }
    writer.finish()
}

/// A call as the load writes it: the text of the connection's first call with this call's number.
fn marked_call(connection: u64, id: u64) -> Vec<u8> {
    let first = FIRST_MARKED + connection * IDS;
    String::from_utf8_lossy(&payload::marked_call(first))
        .replace(&first.to_string(), &id.to_string())
        .into_bytes()
}

/// A trace of about `bytes` bytes, with messages of 1.6 kB.
pub(super) fn long(path: &Path, bytes: u64) -> Result {
    let mut writer = Writer::new(path)?;
    let prose = prose();
    for id in 1.. {
        writer.call(&call(id, &prose), &answer(id, &prose))?;
        if writer.bytes >= bytes {
            break;
        }
    }
    writer.finish()
}
