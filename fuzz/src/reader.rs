//! Reading traces, and reading back what was written.

use std::io::Read;
use wiretape_trace::compress;
use wiretape_trace::format::{Encoder, Moment, Record, TraceReader, Wire, parse_line};
use wiretape_trace::json;
use wiretape_trace::message::Direction;

/// The most bytes that are decompressed: a few compressed bytes can become gigabytes.
const MOST: u64 = 1 << 20;

/// A reader accepts anything, loses no line, and reads back what the writer wrote.
pub fn reader(data: &[u8]) {
    let read = read_all(TraceReader::new(data));
    let pieces = read_all(TraceReader::new(TinyReads(data)));
    assert_eq!(read, pieces, "what is read depends on how the bytes were cut");
    let followed = read_all(TraceReader::following(data));
    // A following reader waits for the newline, so an unfinished last line is not returned.
    let whole = data.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(followed.len(), whole, "a line was lost");
    assert_eq!(followed[..], read[..whole], "a growing trace reads differently");

    if let Ok(source) = compress::reader(data) {
        let mut reader = TraceReader::new(source.take(MOST));
        while let Ok(Some(_)) = reader.next_line() {}
    }
    check_round_trip(data);
}

fn read_all<R: Read>(mut reader: TraceReader<R>) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    while let Some(line) = reader.next_line().expect("reading from a slice never fails") {
        assert_eq!(line.number, lines.len() as u64 + 1, "lines are counted one by one");
        check_record(line.bytes, &line.record);
        lines.push(line.bytes.to_vec());
    }
    assert!(
        reader.next_line().expect("reading from a slice never fails, also not at its end").is_none(),
        "there is something after the end"
    );
    lines
}

fn check_record(bytes: &[u8], record: &Record<'_>) {
    assert_eq!(parse_line(bytes), *record, "a line reads differently on its own");
    match record {
        Record::Message(message) => {
            assert!(json::validate(message.raw).is_ok(), "a payload that is not JSON");
        }
        Record::Damaged(error) => assert!(error.offset <= bytes.len(), "an error outside the line"),
        _ => assert!(json::validate(bytes).is_ok(), "a line that is not JSON was taken for one"),
    }
}

/// Any line of the wire survives being written and read.
fn check_round_trip(data: &[u8]) {
    let line: Vec<u8> = data.iter().copied().filter(|byte| *byte != b'\n').collect();
    let expected = String::from_utf8_lossy(&line).into_owned();
    let (at, dir) = (Moment::default(), Direction::ServerToClient);
    let wire = Wire { bom: line.len() % 2 == 1, crlf: line.len() % 3 == 1, eof: line.len() % 5 == 1 };
    let mut encoder = Encoder::new();
    let mut trace = Vec::new();
    encoder.text(&mut trace, at, dir, wire.into(), &line);
    encoder.stderr(&mut trace, at, wire.into(), &line);
    encoder.gap(&mut trace, at, 7, &expected);
    encoder.rotated(&mut trace, at, &expected);
    let is_json = json::is_utf8(&line) && json::validate(&line).is_ok();
    if is_json {
        encoder.message(&mut trace, at, dir, wire.into(), &line);
    }
    let mut reader = TraceReader::new(&trace[..]);
    let mut kinds = 0;
    while let Some(written) = reader.next_line().expect("reading from a slice never fails") {
        kinds += 1;
        match written.record {
            Record::Text(text) => assert_eq!((text.text.as_ref(), text.dir.known()), (&*expected, Some(dir))),
            Record::Stderr(text) => assert_eq!(text.text, expected),
            Record::Gap(gap) => assert_eq!((gap.lost, gap.reason), (7, expected.clone())),
            Record::Rotated { next, .. } => assert_eq!(next, expected),
            Record::Message(message) => {
                assert_eq!(message.raw.trim_ascii(), line.trim_ascii(), "a payload changed on its way");
            }
            other => panic!("something else was read: {other:?}"),
        }
    }
    assert_eq!(kinds, if is_json { 5 } else { 4 }, "a line was lost");
}

/// A source that returns three bytes per read.
struct TinyReads<'a>(&'a [u8]);

impl Read for TinyReads<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let size = 3.min(self.0.len()).min(buffer.len());
        let (crumb, rest) = self.0.split_at(size);
        buffer[..size].copy_from_slice(crumb);
        self.0 = rest;
        Ok(size)
    }
}
