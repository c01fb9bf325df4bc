//! Server-sent events, as the HTML standard's "event stream" section defines them.
//!
//! Differs from a browser's parser in one way: blocks that the standard discards are returned, since a
//! recorder has to show them.

use memchr::memchr2;

/// One block of an event stream.
///
/// The standard drops a block that has no `data`; a recorder must not: a block of comments is a keep-alive,
/// and one with only an `id` primes a resumable stream. Such blocks have `data: None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The last `event` field. `None` means `message`.
    pub event: Option<Vec<u8>>,
    /// The `data` fields, joined with newlines.
    pub data: Option<Vec<u8>>,
    /// The last `id` field without a NUL in it.
    pub id: Option<Vec<u8>>,
    /// The last `retry` field that is all digits, in milliseconds.
    pub retry: Option<u64>,
    /// The number of comment lines (keep-alives) in the block.
    pub comments: usize,
    /// The stream ended inside this block; the standard says such a block is not dispatched.
    pub unterminated: bool,
}

impl SseEvent {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Splits a byte stream into server-sent events.
///
/// ```
/// use wiretape_trace::framing::SseFramer;
///
/// let mut framer = SseFramer::new();
/// framer.push(b": ping\n\nid: 7\ndata: {\"jsonrpc\"");
/// assert_eq!(framer.next_event().unwrap().comments, 1);
/// assert!(framer.next_event().is_none());
/// framer.push(b":\"2.0\"}\n\n");
/// let event = framer.next_event().unwrap();
/// assert_eq!(event.id.as_deref(), Some(&b"7"[..]));
/// assert_eq!(event.data.as_deref(), Some(&b"{\"jsonrpc\":\"2.0\"}"[..]));
/// ```
#[derive(Debug, Default)]
pub struct SseFramer {
    buffer: Vec<u8>,
    start: usize,
    searched: usize,
    begun: bool,
    /// The last line ended in a carriage return that was the last byte so far: a newline that comes next
    /// belongs to it.
    after_cr: bool,
    block: SseEvent,
}

impl SseFramer {
    /// A framer at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next bytes of the stream, in chunks of any size.
    pub fn push(&mut self, bytes: &[u8]) {
        let rest = self.buffer.len() - self.start;
        self.buffer.copy_within(self.start.., 0);
        self.buffer.truncate(rest);
        self.searched -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete event, if there is one.
    pub fn next_event(&mut self) -> Option<SseEvent> {
        while let Some((start, end)) = self.next_line() {
            if start < end {
                field(&mut self.block, &self.buffer[start..end]);
            } else if !self.block.is_empty() {
                return Some(std::mem::take(&mut self.block));
            }
        }
        None
    }

    /// The number of bytes of the incomplete event, for limits.
    pub fn pending(&self) -> usize {
        let data = self.block.data.as_ref().map_or(0, Vec::len);
        self.buffer.len() - self.start.min(self.buffer.len()) + data
    }

    /// The incomplete event, if the stream ended inside one. Call it once `next_event` returns `None`.
    pub fn finish(&mut self) -> Option<SseEvent> {
        let (start, end) = (self.start.min(self.buffer.len()), self.buffer.len());
        if start < end {
            let start = self.after_bom(start);
            field(&mut self.block, &self.buffer[start..end]);
        }
        self.start = end;
        self.searched = end;
        let mut block = std::mem::take(&mut self.block);
        (!block.is_empty()).then(|| {
            block.unterminated = true;
            block
        })
    }

    /// The bounds of the next line; lines end in `\n`, `\r\n` or `\r`.
    fn next_line(&mut self) -> Option<(usize, usize)> {
        if self.after_cr && self.start < self.buffer.len() {
            self.after_cr = false;
            if self.buffer[self.start] == b'\n' {
                self.start += 1;
                self.searched = self.searched.max(self.start);
            }
        }
        let Some(at) = memchr2(b'\n', b'\r', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + at;
        self.after_cr = self.buffer[end] == b'\r';
        let line_start = std::mem::replace(&mut self.start, end + 1);
        let start = self.after_bom(line_start);
        self.searched = end + 1;
        Some((start, end))
    }

    fn after_bom(&mut self, start: usize) -> usize {
        let first = !std::mem::replace(&mut self.begun, true);
        if first && self.buffer[start..].starts_with(b"\xEF\xBB\xBF") { start + 3 } else { start }
    }
}

fn field(block: &mut SseEvent, line: &[u8]) {
    let (name, value) = match memchr::memchr(b':', line) {
        Some(0) => {
            block.comments += 1;
            return;
        }
        Some(colon) => (&line[..colon], &line[colon + 1..]),
        None => (line, &line[line.len()..]),
    };
    // The standard removes one space after the colon, not all.
    let value = value.strip_prefix(b" ").unwrap_or(value);
    match name {
        b"event" => block.event = Some(value.to_vec()),
        b"data" => match &mut block.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => block.data = Some(value.to_vec()),
        },
        // The standard ignores an id with a NUL.
        b"id" if !value.contains(&0) => block.id = Some(value.to_vec()),
        b"retry" => block.retry = parse_retry(value).or(block.retry),
        _ => {}
    }
}

fn parse_retry(value: &[u8]) -> Option<u64> {
    let digits = Some(value).filter(|v| v.iter().all(u8::is_ascii_digit))?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<SseEvent> {
        let mut framer = SseFramer::new();
        let mut found = Vec::new();
        for chunk in chunks {
            framer.push(chunk);
            while let Some(event) = framer.next_event() {
                found.push(event);
            }
        }
        found.extend(framer.finish());
        found
    }

    fn data(text: &str) -> SseEvent {
        SseEvent { data: Some(text.as_bytes().to_vec()), ..SseEvent::default() }
    }

    #[test]
    fn every_line_ending_counts_and_data_lines_join() {
        for ending in ["\n", "\r\n", "\r"] {
            let stream = ["data: a", "data:b", "data:  c", "", "data", "", ""].join(ending);
            assert_eq!(events([stream.as_bytes()]), [data("a\nb\n c"), data("")], "{ending:?}");
        }
    }

    #[test]
    fn ids_retry_comments_and_priming_events_are_kept() {
        let found = events([&b"\xEF\xBB\xBFid: 1\ndata:\n\nretry: 3000\nretry: x\n\n: ping\n\nevent: endpoint\ndata: /m?s=1\nid: a\0b\n\n"[..]]);
        assert_eq!(found.len(), 4);
        assert_eq!((found[0].id.as_deref(), found[0].data.as_deref()), (Some(&b"1"[..]), Some(&b""[..])));
        assert_eq!((found[1].retry, found[1].data.as_ref()), (Some(3000), None));
        assert_eq!(found[2].comments, 1);
        assert_eq!((found[3].event.as_deref(), found[3].id.as_ref()), (Some(&b"endpoint"[..]), None));
    }

    #[test]
    fn a_stream_that_ends_inside_an_event_says_so() {
        assert_eq!(events([&b"data: a\n"[..]]), [SseEvent { unterminated: true, ..data("a") }]);
        assert_eq!(events([&b"data: a"[..]]), [SseEvent { unterminated: true, ..data("a") }]);
    }

    proptest! {
        #[test]
        fn how_the_bytes_were_cut_does_not_matter(
            words in proptest::collection::vec(prop_oneof![
                Just("\n"), Just("\r"), Just("\r\n"), Just("\n\n"), Just("data: x"), Just("id:1"), Just(":c"), Just("event: e"), Just("\u{feff}"), Just("retry: 5"), Just(" ")
            ], 0..40),
            cuts in proptest::collection::vec(0usize..200, 0..8),
        ) {
            let input = words.concat().into_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(input.len())).collect();
            cuts.extend([0, input.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|w| &input[w[0]..w[1]]);
            prop_assert_eq!(events(pieces), events([&input[..]]));
        }
    }
}
