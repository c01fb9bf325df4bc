//! A segment: the names of its file while it is open and when it is sealed, and the content of a sealed one.
//!
//! The name of a sealed one carries everything the queue needs, so that a restart lists the directory and reads none
//! of them.

use crate::event::EventId;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::fmt;
use std::io::{self, Read, Write};

const ENDING: &str = ".ndjson.gz";
const OPEN_ENDING: &str = ".open";

/// The name of a segment's file: its position in the queue, its number of events, and the id of the first
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentName {
    pub(super) number: u64,
    pub(super) events: u64,
    pub(super) first: EventId,
}

impl SegmentName {
    /// `None` if Wiretape did not write this name.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut fields = text.strip_suffix(ENDING)?.splitn(3, '-');
        let number = u64::from_str_radix(fields.next()?, 16).ok()?;
        let events = fields.next()?.parse().ok()?;
        let first = EventId::parse(fields.next()?)?;
        let name = SegmentName { number, events, first };
        // Compared with the canonical form, because parsing accepts more (a plus sign, missing zeros), and
        // the file is later found by the canonical name.
        (events > 0 && name.to_string() == text).then_some(name)
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}-{}{ENDING}", self.number, self.events, self.first)
    }
}

/// The name of an open segment's file: what of the sealed one's name is known before its last event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpenName {
    pub(super) number: u64,
    pub(super) first: EventId,
}

impl OpenName {
    /// `None` if Wiretape did not write this name.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (number, first) = text.strip_suffix(OPEN_ENDING)?.split_once('-')?;
        let number = u64::from_str_radix(number, 16).ok()?;
        let name = OpenName { number, first: EventId::parse(first)? };
        (name.to_string() == text).then_some(name)
    }

    /// The name of the sealed segment.
    pub(super) fn sealed(self, events: u64) -> SegmentName {
        SegmentName { number: self.number, events, first: self.first }
    }
}

impl fmt::Display for OpenName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}{OPEN_ENDING}", self.number, self.first)
    }
}

/// The payload of one request: a segment, or a part of one that was too large for the receiver.
pub struct UploadPart {
    token: String,
    events: u64,
    body: Vec<u8>,
}

impl UploadPart {
    /// The idempotency token: the same for every attempt, also after a restart.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The number of events.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The events as gzipped NDJSON, one per line.
    pub fn gzipped(&self) -> &[u8] {
        &self.body
    }

    /// The events as NDJSON, for destinations that take another format or compression. An error if the file is
    /// damaged, which was checked when it was read.
    pub fn lines(&self) -> io::Result<Vec<u8>> {
        unpack(&self.body)
    }

    /// A whole segment; `None` if the file is damaged: truncated, a wrong checksum, or another number of
    /// lines than its name says.
    pub(super) fn whole(name: SegmentName, body: Vec<u8>) -> Option<Self> {
        let part = UploadPart { token: format!("{}-{}", name.first, name.events), events: name.events, body };
        (count_lines(&part.body).ok()? == part.events).then_some(part)
    }

    /// The two halves; `None` if it is a single event.
    pub(super) fn halves(&self) -> Option<[UploadPart; 2]> {
        let half = self.events / 2;
        if half == 0 {
            return None;
        }
        let lines = self.lines().ok()?;
        let (first, second) = lines.split_at(end_of_line(&lines, half));
        let part = |number, events, lines| {
            let body = pack(lines);
            // Derived from the whole's token, so that the same halves have the same tokens after a restart.
            UploadPart { token: format!("{}.{number}", self.token), events, body }
        };
        Some([part(1, half, first), part(2, self.events - half, second)])
    }
}

/// Compresses lines to the form in which they are stored and sent.
pub(super) fn pack(lines: &[u8]) -> Vec<u8> {
    // Fast, because sealing is on the sink's thread, which must keep up with the traffic.
    let mut encoder = GzEncoder::new(Vec::with_capacity(lines.len() / 4), Compression::fast());
    encoder.write_all(lines).expect("writing to a Vec can't fail");
    encoder.finish().expect("writing to a Vec can't fail")
}

fn unpack(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    MultiGzDecoder::new(body).read_to_end(&mut lines)?;
    Ok(lines)
}

/// The complete lines at the beginning of an open segment, and their number: a process that is killed while it writes
/// leaves a last line without its end.
pub(super) fn complete_lines(lines: &[u8]) -> (&[u8], u64) {
    let end = memchr::memrchr(b'\n', lines).map_or(0, |at| at + 1);
    (&lines[..end], memchr::memchr_iter(b'\n', lines).count() as u64)
}

/// Counts the lines without keeping them. Reads to the end, where gzip has its checksum.
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
    fn an_open_name_is_parsed_as_it_was_written() {
        let open = OpenName { number: 12, first: EventIds::new().next() };
        assert_eq!(OpenName::parse(&open.to_string()), Some(open));
        assert_eq!(SegmentName::parse(&open.to_string()), None);
        assert_eq!(OpenName::parse(&open.sealed(1).to_string()), None);
    }

    #[test]
    fn a_line_without_its_end_is_not_complete() {
        let check = |text: &str, expected: (&str, u64)| {
            let (lines, number) = complete_lines(text.as_bytes());
            assert_eq!((lines, number), (expected.0.as_bytes(), expected.1), "{text:?}");
        };
        check("", ("", 0));
        check("{}", ("", 0));
        check("{}\n", ("{}\n", 1));
        check("1\n2\n3", ("1\n2\n", 2));
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
        assert!(UploadPart::whole(name(3), body.clone()).is_some());
        assert!(UploadPart::whole(name(2), body.clone()).is_none());
        for length in 0..body.len() {
            assert!(UploadPart::whole(name(3), body[..length].to_vec()).is_none(), "{length}");
        }
    }

    #[test]
    fn halves_have_everything_once_and_tokens_of_their_own() {
        let whole = UploadPart::whole(name(3), pack(b"1\n2\n3\n")).unwrap();
        let [first, second] = whole.halves().unwrap();
        assert_eq!((unpack(&first.body).unwrap(), first.events), (b"1\n".to_vec(), 1));
        assert_eq!((unpack(&second.body).unwrap(), second.events), (b"2\n3\n".to_vec(), 2));
        assert!(first.token != second.token && first.token != whole.token);
        assert!(first.halves().is_none());
    }
}
