//! Newline-delimited messages: the framing of stdio, and of traces.
//!
//! A state machine without I/O: bytes are pushed in any chunks, complete lines are pulled. It copies each
//! byte once, into its buffer, and lends the lines from there.

use crate::json;

/// In bytes. A larger buffer is released once the long line that needed it has been consumed, so that one
/// huge message doesn't occupy memory for the rest of the session.
const KEEP_CAPACITY: usize = 2 * 1024 * 1024;

/// One line, without its terminator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineFrame<'a> {
    /// The line's bytes: no newline, no carriage return before it, no byte order mark before them.
    pub bytes: &'a [u8],
    /// A UTF-8 byte order mark preceded the line (only the first line of a stream can have one).
    pub bom: bool,
    /// The line ended in `\r\n`.
    pub crlf: bool,
    /// The stream ended before the newline came.
    pub unterminated: bool,
}

impl LineFrame<'_> {
    /// Whether the line is UTF-8.
    pub fn is_utf8(&self) -> bool {
        json::is_utf8(self.bytes)
    }
}

/// Splits a byte stream at its newlines.
///
/// ```
/// use wiretape_trace::framing::LineFramer;
///
/// let mut framer = LineFramer::new();
/// framer.push(b"{\"id\":1}\n{\"id\"");
/// assert_eq!(framer.next_frame().unwrap().bytes, b"{\"id\":1}");
/// assert!(framer.next_frame().is_none());
/// framer.push(b":2}");
/// assert!(framer.next_frame().is_none());
/// let last = framer.finish().unwrap();
/// assert_eq!(last.bytes, b"{\"id\":2}");
/// assert!(last.unterminated);
/// ```
#[derive(Debug, Default)]
pub struct LineFramer {
    buffer: Vec<u8>,
    /// Offset in the buffer of the first line that has not been returned.
    start: usize,
    /// Up to here there is no newline after `start`: a long line is searched once, not once per chunk.
    searched: usize,
    /// Whether the first line has been returned: a byte order mark can only precede that one.
    begun: bool,
    /// The number of bytes of the stream that were removed from the buffer.
    discarded: u64,
    /// Whether the input is discarded up to the next newline.
    skipping: bool,
}

impl LineFramer {
    /// A framer at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next bytes of the stream, in chunks of any size.
    pub fn push(&mut self, bytes: &[u8]) {
        self.discard_handed_out();
        let bytes = if self.skipping { self.skip(bytes) } else { bytes };
        self.buffer.extend_from_slice(bytes);
    }

    /// Discards the incomplete line, including the part that has not arrived yet: a line that is too long is
    /// not collected. Call it once `next_frame` returns `None`.
    pub fn skip_line(&mut self) {
        self.discarded += self.buffer.len() as u64;
        // Not `clear`: the point is to free the memory.
        self.buffer = Vec::new();
        (self.start, self.searched) = (0, 0);
        self.begun = true;
        self.skipping = true;
    }

    /// Whether the end of a skipped line has not arrived yet.
    pub fn is_skipping(&self) -> bool {
        self.skipping
    }

    /// The rest of the bytes after the skipped line.
    fn skip<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let newline = memchr::memchr(b'\n', bytes);
        let skipped = newline.map_or(bytes.len(), |at| at + 1);
        self.skipping = newline.is_none();
        self.discarded += skipped as u64;
        &bytes[skipped..]
    }

    /// Byte offset of the next line in the stream.
    pub fn offset(&self) -> u64 {
        self.discarded + self.start as u64
    }

    /// Whether a complete line is available.
    pub fn has_frame(&mut self) -> bool {
        let newline = memchr::memchr(b'\n', &self.buffer[self.searched..]);
        self.searched = newline.map_or(self.buffer.len(), |at| self.searched + at);
        newline.is_some()
    }

    /// The length of the next complete line in bytes, without the newline; 0 if there is none.
    pub fn frame_len(&mut self) -> usize {
        if self.has_frame() { self.searched - self.start } else { 0 }
    }

    /// The next complete line, if there is one.
    pub fn next_frame(&mut self) -> Option<LineFrame<'_>> {
        let Some(newline) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + newline;
        let start = std::mem::replace(&mut self.start, end + 1);
        self.searched = end + 1;
        Some(self.frame(start, end, false))
    }

    /// The last line, if the stream ended without a newline. Call it once `next_frame` returns `None`.
    pub fn finish(&mut self) -> Option<LineFrame<'_>> {
        let (start, end) = (self.start, self.buffer.len());
        self.start = end;
        self.searched = end;
        (start < end).then(|| self.frame(start, end, true))
    }

    /// Whether the incomplete line is already a whole JSON value.
    pub fn pending_is_json(&self) -> bool {
        let pending = &self.buffer[self.start..];
        json::is_utf8(pending) && json::validate(pending).is_ok()
    }

    /// The number of bytes of the incomplete line.
    pub fn pending(&self) -> usize {
        self.buffer.len() - self.start
    }

    fn frame(&mut self, start: usize, end: usize, unterminated: bool) -> LineFrame<'_> {
        let mut bytes = &self.buffer[start..end];
        let without_bom = bytes.strip_prefix(b"\xEF\xBB\xBF").filter(|_| !self.begun);
        self.begun = true;
        bytes = without_bom.unwrap_or(bytes);
        // A carriage return at the end of the stream is data: no newline followed it.
        let without_cr = bytes.strip_suffix(b"\r").filter(|_| !unterminated);
        LineFrame {
            bytes: without_cr.unwrap_or(bytes),
            bom: without_bom.is_some(),
            crlf: without_cr.is_some(),
            unterminated,
        }
    }

    fn discard_handed_out(&mut self) {
        if self.start == 0 {
            return;
        }
        let rest = self.buffer.len() - self.start;
        self.discarded += self.start as u64;
        // At most one incomplete line is moved, because callers take all complete ones before the next push.
        self.buffer.copy_within(self.start.., 0);
        self.buffer.truncate(rest);
        self.searched -= self.start;
        self.start = 0;
        if rest < KEEP_CAPACITY {
            self.buffer.shrink_to(KEEP_CAPACITY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Owned(Vec<u8>, bool, bool, bool);

    fn frames<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Owned> {
        let mut framer = LineFramer::new();
        let mut found = Vec::new();
        let own = |f: LineFrame| Owned(f.bytes.to_vec(), f.bom, f.crlf, f.unterminated);
        for chunk in chunks {
            framer.push(chunk);
            while let Some(frame) = framer.next_frame() {
                found.push(own(frame));
            }
        }
        found.extend(framer.finish().map(own));
        assert_eq!(framer.pending(), 0);
        found
    }

    #[test]
    fn crlf_bom_and_a_last_line_without_newline_are_told() {
        let input: &[u8] = b"\xEF\xBB\xBFa\r\n\n\xEF\xBB\xBFb\nc\r";
        assert_eq!(
            frames([input]),
            [
                Owned(b"a".to_vec(), true, true, false),
                Owned(b"".to_vec(), false, false, false),
                Owned(b"\xEF\xBB\xBFb".to_vec(), false, false, false),
                Owned(b"c\r".to_vec(), false, false, true),
            ]
        );
    }

    #[test]
    fn a_long_line_gives_its_memory_back() {
        let mut framer = LineFramer::new();
        for _ in 0..64 {
            framer.push(&[b'x'; 65536]);
            assert!(framer.next_frame().is_none());
        }
        framer.push(b"\n");
        assert_eq!(framer.next_frame().unwrap().bytes.len(), 64 * 65536);
        framer.push(b"y");
        assert!(framer.buffer.capacity() <= KEEP_CAPACITY);
    }

    proptest! {
        #[test]
        fn how_the_bytes_were_cut_does_not_matter(
            input in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'a'), Just(0xEF), Just(0xBB), Just(0xBF), any::<u8>()], 0..200),
            cuts in proptest::collection::vec(0usize..200, 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(input.len())).collect();
            cuts.extend([0, input.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|w| &input[w[0]..w[1]]);
            prop_assert_eq!(frames(pieces), frames([&input[..]]));
        }

        #[test]
        fn nothing_is_lost(input in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut rebuilt = Vec::new();
            for Owned(bytes, bom, crlf, unterminated) in frames([&input[..]]) {
                if bom { rebuilt.extend_from_slice(b"\xEF\xBB\xBF"); }
                rebuilt.extend_from_slice(&bytes);
                if crlf { rebuilt.push(b'\r'); }
                if !unterminated { rebuilt.push(b'\n'); }
            }
            prop_assert_eq!(rebuilt, input);
        }
    }
}
