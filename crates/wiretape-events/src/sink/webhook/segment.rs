//! A sealed batch: the name and the content of its file.

use crate::event::EventId;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::fmt;
use std::io::{self, Read, Write};

const ENDING: &str = ".ndjson.gz";

/// What a segment's file is called: its place in the order, how many events are in it, and the id of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentName {
    pub(super) number: u64,
    pub(super) events: u64,
    pub(super) first: EventId,
}

impl SegmentName {
    /// `None` if it is no name of ours.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut fields = text.strip_suffix(ENDING)?.splitn(3, '-');
        let number = u64::from_str_radix(fields.next()?, 16).ok()?;
        let events = fields.next()?.parse().ok()?;
        let first = EventId::parse(fields.next()?)?;
        let name = SegmentName { number, events, first };
        (events > 0 && name.to_string() == text).then_some(name)
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}-{}{ENDING}", self.number, self.events, self.first)
    }
}

/// What is sent at once: a segment, or a part of one that the receiver finds too large.
pub(super) struct Part {
    /// The same for every attempt, and in every run.
    pub(super) key: String,
    pub(super) events: u64,
    pub(super) body: Vec<u8>,
}

impl Part {
    /// A whole segment; `None` if its file is not what was written.
    pub(super) fn whole(name: SegmentName, body: Vec<u8>) -> Option<Self> {
        let part = Part { key: format!("{}-{}", name.first, name.events), events: name.events, body };
        (count_lines(&part.body).ok()? == part.events).then_some(part)
    }

    /// Two halves; `None` if it is a single event.
    pub(super) fn halves(&self) -> Option<[Part; 2]> {
        let half = self.events / 2;
        if half == 0 {
            return None;
        }
        let lines = unpack(&self.body).ok()?;
        let (first, second) = lines.split_at(end_of_line(&lines, half));
        let part = |number, events, lines| {
            let body = pack(lines);
            Part { key: format!("{}.{number}", self.key), events, body }
        };
        Some([part(1, half, first), part(2, self.events - half, second)])
    }
}

/// Lines as they are stored and sent.
pub(super) fn pack(lines: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(lines.len() / 4), Compression::fast());
    encoder.write_all(lines).expect("memory can always be written to");
    encoder.finish().expect("memory can always be written to")
}

fn unpack(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    MultiGzDecoder::new(body).read_to_end(&mut lines)?;
    Ok(lines)
}

/// Reads to the end, where the checksum is, and holds nothing.
fn count_lines(body: &[u8]) -> io::Result<u64> {
    let mut decoder = MultiGzDecoder::new(body);
    let mut buffer = [0; 16 * 1024];
    let mut lines = 0;
    loop {
        match decoder.read(&mut buffer) {
            Ok(0) => return Ok(lines),
            Ok(length) => lines += buffer[..length].iter().filter(|&&byte| byte == b'\n').count() as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn end_of_line(lines: &[u8], number: u64) -> usize {
    let mut ends = lines.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let skipped = usize::try_from(number - 1).unwrap_or(usize::MAX);
    ends.nth(skipped).unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventIds;

    fn name(events: u64) -> SegmentName {
        SegmentName { number: 12, events, first: EventIds::new().next() }
    }

    #[test]
    fn a_name_reads_as_it_was_written() {
        let name = name(500);
        assert_eq!(SegmentName::parse(&name.to_string()), Some(name));
    }

    #[test]
    fn names_of_others_are_none_of_ours() {
        let good = name(1).to_string();
        let upper = good.replacen("000c", "000C", 1);
        let long = format!("0{good}");
        for text in [
            "",
            "lock",
            "notes.ndjson.gz",
            "1-2-3.ndjson.gz",
            &good[1..],
            &upper,
            &long,
            &name(0).to_string(),
        ] {
            assert_eq!(SegmentName::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_torn_file_is_known() {
        let body = pack(b"{}\n{}\n{}\n");
        assert!(Part::whole(name(3), body.clone()).is_some());
        assert!(Part::whole(name(2), body.clone()).is_none());
        for length in 0..body.len() {
            assert!(Part::whole(name(3), body[..length].to_vec()).is_none(), "{length}");
        }
    }

    #[test]
    fn halves_have_everything_once_and_keys_of_their_own() {
        let whole = Part::whole(name(3), pack(b"1\n2\n3\n")).unwrap();
        let [first, second] = whole.halves().unwrap();
        assert_eq!((unpack(&first.body).unwrap(), first.events), (b"1\n".to_vec(), 1));
        assert_eq!((unpack(&second.body).unwrap(), second.events), (b"2\n3\n".to_vec(), 2));
        assert!(first.key != second.key && first.key != whole.key);
        assert!(first.halves().is_none());
    }
}
