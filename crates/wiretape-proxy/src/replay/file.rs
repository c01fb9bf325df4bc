//! The file of a tape: read once for its index, and then message by message on demand, so that memory holds the index only
//! (`cargo xtask bench --only replay`, the row of peak memory).

use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};
use wiretape_analyze::replay::{Matching, Payloads, Span, Tape, TapeBuilder};
use wiretape_library::{PlainTrace, TraceFileError};
use wiretape_trace::format::{Line, Notice, TraceReader};

/// The files of a tape, addressed as if they were concatenated.
#[derive(Debug, Default)]
pub struct TapeFile {
    parts: Vec<FilePart>,
    len: u64,
    ahead: Mutex<ReadAhead>,
}

#[derive(Debug)]
struct FilePart {
    trace: PlainTrace,
    /// Its offset in the concatenation.
    start: u64,
}

/// A consumer of the lines of traces.
pub(crate) trait Reader {
    /// Consumes the next line.
    fn line(&mut self, line: &Line<'_>);
    /// Called at the end of each recording.
    fn next_trace(&mut self);
}

impl Reader for TapeBuilder<'_> {
    fn line(&mut self, line: &Line<'_>) {
        self.observe(line);
    }

    fn next_trace(&mut self) {
        TapeBuilder::next_trace(self);
    }
}

/// A tape with its index.
#[derive(Debug)]
pub(super) struct IndexedTape {
    pub(super) tape: Tape,
    pub(super) file: TapeFile,
    /// The notices about it, with the path of the part.
    pub(super) notices: Vec<(PathBuf, Notice)>,
}

impl TapeFile {
    /// Indexes recordings; each is a list of its parts.
    pub(super) fn index(
        recordings: &[Vec<PathBuf>],
        matching: &Matching,
    ) -> Result<IndexedTape, TraceFileError> {
        let mut builder = TapeBuilder::new(matching);
        let (file, notices) = Self::read_all(recordings, &mut builder)?;
        Ok(IndexedTape { tape: builder.finish(), file, notices })
    }

    /// Reads recordings with `reader`; each is a list of its parts.
    pub(crate) fn read_all(
        recordings: &[Vec<PathBuf>],
        reader: &mut impl Reader,
    ) -> Result<(Self, Vec<(PathBuf, Notice)>), TraceFileError> {
        let (mut file, mut notices) = (TapeFile::default(), Vec::new());
        for recording in recordings {
            for path in recording {
                let odd = file.add(path, u64::MAX, reader)?;
                notices.extend(odd.into_iter().map(|notice| (path.clone(), notice)));
            }
            reader.next_trace();
        }
        Ok((file, notices))
    }

    /// Indexes the first `limit` bytes of a trace.
    pub(super) fn beginning(
        path: &Path,
        limit: u64,
        matching: &Matching,
    ) -> Result<IndexedTape, TraceFileError> {
        let mut builder = TapeBuilder::new(matching);
        let mut file = TapeFile::default();
        file.add(path, limit, &mut builder)?;
        Ok(IndexedTape { tape: builder.finish(), file, notices: Vec::new() })
    }

    /// Reads the first `limit` bytes of one more file. Returns its notices.
    fn add(
        &mut self,
        path: &Path,
        limit: u64,
        reader: &mut impl Reader,
    ) -> Result<Vec<Notice>, TraceFileError> {
        let trace = PlainTrace::open(path)?;
        let len = trace.len().min(limit);
        let start = self.len;
        // Up to the current length: what a recorder appends from now on is ignored.
        let mut lines = TraceReader::unseen(trace.reader_up_to(len));
        loop {
            let line =
                lines.next_line().map_err(|source| TraceFileError::Read { path: path.to_owned(), source })?;
            let Some(line) = line else { break };
            // Offsets in the concatenation, so that a span needs no number of a file.
            reader.line(&Line { offset: start + line.offset, ..line });
        }
        let notices = lines.notices().to_vec();
        self.parts.push(FilePart { trace, start });
        self.len += len;
        Ok(notices)
    }
}

impl TapeFile {
    /// The part that contains an offset, and the end of that part.
    fn part_at(&self, offset: u64) -> io::Result<(&FilePart, u64)> {
        let after = self.parts.partition_point(|part| part.start <= offset);
        let part = after.checked_sub(1).and_then(|at| self.parts.get(at));
        let end = self.parts.get(after).map_or(self.len, |next| next.start);
        Ok((part.ok_or(io::ErrorKind::UnexpectedEof)?, end))
    }

    /// Reads exactly one span.
    fn read_span(&self, span: Span, into: &mut Vec<u8>) -> io::Result<()> {
        let (part, _) = self.part_at(span.offset)?;
        into.clear();
        into.resize(span.len as usize, 0);
        part.trace.read_exact_at(into, span.offset - part.start)
    }

    /// Reads a block that starts at an offset.
    fn read_block(&self, block: &mut Block, offset: u64) -> io::Result<()> {
        let (part, end) = self.part_at(offset)?;
        let len = BLOCK.min(end.saturating_sub(offset));
        block.start = offset;
        block.bytes.resize(usize::try_from(len).unwrap_or_default(), 0);
        part.trace.read_exact_at(&mut block.bytes, offset - part.start)
    }
}

impl Payloads for TapeFile {
    fn read(&self, span: Span, into: &mut Vec<u8>) -> io::Result<()> {
        let mut ahead = self.ahead.lock();
        let block = ahead.block_for(span);
        // Reading ahead only pays for a client that goes forward; a jump reads exactly its span and starts a new
        // sequence.
        if block.get(span).is_none()
            && block.is_followed_by(span)
            && self.read_block(block, span.offset).is_err()
        {
            // The file may have been truncated within the block; the span itself may still be readable.
            block.go_to(span.offset);
        }
        let Some(bytes) = block.get(span) else {
            block.go_to(span.offset);
            // The file is read without the lock: other clients may be served from their blocks.
            drop(ahead);
            return self.read_span(span, into);
        };
        into.clear();
        into.extend_from_slice(bytes);
        Ok(())
    }
}

/// The size of a read-ahead block, in bytes.
const BLOCK: u64 = 64 << 10;

/// The number of read-ahead blocks, and so of clients that can be at different positions of a trace without evicting each
/// other's blocks. With one block, 16 HTTP clients reached 0.49× to 0.58× of the bare server, with 32 blocks 0.76×
/// (`cargo xtask bench --only replay`, "HTTP, 16 connections"; part of that gain is the fast path in `route`).
const PLACES: usize = 32;

/// The read-ahead blocks, most recently used first.
#[derive(Debug, Default)]
struct ReadAhead(Vec<Block>);

impl ReadAhead {
    /// The block that contains a span, or the one that it follows, or else the least recently used one.
    fn block_for(&mut self, span: Span) -> &mut Block {
        let has_it = self.0.iter().position(|block| block.get(span).is_some());
        let known = has_it.or_else(|| self.0.iter().position(|block| block.is_followed_by(span)));
        if known.is_none() && self.0.len() < PLACES {
            self.0.push(Block::default());
        }
        let at = known.unwrap_or(self.0.len() - 1);
        // To the front, which keeps the list in the order of use.
        self.0[..=at].rotate_right(1);
        &mut self.0[0]
    }
}

/// A read-ahead block. Clients mostly send requests in the recorded order, so the next answers follow the current one in the
/// file; reading them together saves a system call for each (0.15× of the bare server before, 0.81× now with hashed requests:
/// `cargo xtask bench --only replay`, "100k pipelined calls").
#[derive(Debug, Default)]
struct Block {
    start: u64,
    bytes: Vec<u8>,
}

impl Block {
    /// The bytes of a span, if the block contains it.
    fn get(&self, span: Span) -> Option<&[u8]> {
        let at = usize::try_from(span.offset.checked_sub(self.start)?).ok()?;
        self.bytes.get(at..at.checked_add(span.len as usize)?)
    }

    /// Whether reading ahead from a span is worthwhile: it starts within or shortly after this block.
    fn is_followed_by(&self, span: Span) -> bool {
        let end = self.start + self.bytes.len() as u64;
        (self.start..end + BLOCK).contains(&span.offset) && u64::from(span.len) <= BLOCK
    }

    /// Moves to an offset without reading.
    fn go_to(&mut self, offset: u64) {
        self.start = offset;
        self.bytes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two files of numbered lines, as one.
    fn two_parts(dir: &Path) -> (TapeFile, Vec<u8>) {
        let (mut file, mut whole) = (TapeFile::default(), Vec::new());
        for name in ["first", "second"] {
            let lines: String = (0..3000).map(|line| format!("{name} {line:0>40}\n")).collect();
            std::fs::write(dir.join(name), &lines).unwrap();
            let trace = PlainTrace::open(&dir.join(name)).unwrap();
            file.parts.push(FilePart { trace, start: whole.len() as u64 });
            whole.extend_from_slice(lines.as_bytes());
        }
        file.len = whole.len() as u64;
        (file, whole)
    }

    #[test]
    fn in_whatever_order_it_is_read_it_is_what_stands_there() {
        let dir = tempfile::tempdir().unwrap();
        let (file, whole) = two_parts(dir.path());
        let mut read = Vec::new();
        let mut check = |offset: usize, len: usize| {
            file.read(Span { offset: offset as u64, len: len as u32 }, &mut read).unwrap();
            assert_eq!(read, &whole[offset..offset + len]);
        };
        let part = file.parts[1].start as usize;
        for offset in (0..part - 200).step_by(97) {
            check(offset, 200);
        }
        check(part - 10, 10);
        check(part, 10);
        check(part, 100_000);
        check(0, 0);
        for offset in (0..part - 200).rev().step_by(9973) {
            check(offset, 200);
            check(part + offset, 200);
        }
        // Clients that are each somewhere else, and more of them than there are blocks.
        for clients in [2, PLACES + 1] {
            for offset in (0..3000).step_by(200) {
                (0..clients).for_each(|client| check(client * ((part - 4000) / PLACES) + offset, 200));
            }
        }
        check(whole.len() - 1, 1);
    }

    #[test]
    fn each_client_has_what_follows_read_ahead() {
        let block = |start: u64| Block { start, bytes: vec![0; 1000] };
        let mut ahead = ReadAhead((0..PLACES as u64).map(|n| block(n * 10 * BLOCK)).collect());
        let mut check = |offset: u64, expected: u64| {
            assert_eq!(ahead.block_for(Span { offset, len: 100 }).start, expected, "{offset}");
        };
        let last = (PLACES as u64 - 1) * 10 * BLOCK;
        check(10, 0);
        check(last + 950, last);
        // Behind none of them: the oldest makes room.
        check(last + 5 * BLOCK, last - 10 * BLOCK);
        check(10 * BLOCK, 10 * BLOCK);
    }

    #[test]
    fn what_is_left_of_a_file_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let (file, whole) = two_parts(dir.path());
        std::fs::File::options().write(true).open(dir.path().join("first")).unwrap().set_len(1000).unwrap();
        let mut read = Vec::new();
        file.read(Span { offset: 500, len: 500 }, &mut read).unwrap();
        assert_eq!(read, &whole[500..1000]);
        assert!(file.read(Span { offset: 600, len: 500 }, &mut read).is_err());
        assert!(file.read(Span { offset: whole.len() as u64, len: 1 }, &mut read).is_err());
    }
}
