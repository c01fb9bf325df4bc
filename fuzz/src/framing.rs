//! Lines and server-sent events.

use wiretape_trace::framing::{LineFramer, SseEvent, SseFramer};

/// The number of bytes at the beginning of the input that give the sizes of the chunks.
const CUTS: usize = 4;

/// Chunking does not change the frames, and the frames add up to the input.
pub fn framing(data: &[u8]) {
    let (sizes, input) = data.split_at(CUTS.min(data.len()));
    let whole = lines([input]);
    assert_eq!(lines(Cuts::new(sizes, input)), whole, "lines depend on how the bytes were cut");
    assert_eq!(rebuilt(&whole), input, "lines don't add up to the input");

    let whole = events([input]);
    assert_eq!(events(Cuts::new(sizes, input)), whole, "events depend on how the bytes were cut");
    let dispatched: Vec<Vec<u8>> =
        whole.into_iter().filter(|event| !event.unterminated).filter_map(|event| event.data).collect();
    assert_eq!(dispatched, reference(input), "events are not those of the standard");
}

/// A line and its terminator, owned.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    bytes: Vec<u8>,
    bom: bool,
    crlf: bool,
    unterminated: bool,
}

fn lines<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Line> {
    let own = |frame: wiretape_trace::framing::LineFrame<'_>| Line {
        bytes: frame.bytes.to_vec(),
        bom: frame.bom,
        crlf: frame.crlf,
        unterminated: frame.unterminated,
    };
    let mut framer = LineFramer::new();
    let mut found = Vec::new();
    for chunk in chunks {
        framer.push(chunk);
        while let Some(frame) = framer.next_frame() {
            found.push(own(frame));
        }
    }
    found.extend(framer.finish().map(own));
    assert_eq!(framer.pending(), 0, "bytes were left behind");
    found
}

fn rebuilt(lines: &[Line]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines {
        bytes.extend_from_slice(if line.bom { b"\xEF\xBB\xBF" } else { b"" });
        bytes.extend_from_slice(&line.bytes);
        bytes.extend_from_slice(if line.crlf { b"\r" } else { b"" });
        bytes.extend_from_slice(if line.unterminated { b"" } else { b"\n" });
    }
    bytes
}

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

/// The data of all events that the HTML standard dispatches, computed in the simplest way.
fn reference(input: &[u8]) -> Vec<Vec<u8>> {
    let input = input.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(input);
    let mut found = Vec::new();
    let mut data: Option<Vec<u8>> = None;
    for line in terminated_lines(input) {
        if line.is_empty() {
            found.extend(data.take());
            continue;
        }
        let value = match line.strip_prefix(b"data") {
            Some([]) => &[],
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => value,
            _ => continue,
        };
        match &mut data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => data = Some(value.to_vec()),
        }
    }
    found
}

fn terminated_lines(input: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut rest = input;
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        lines.push(&rest[..end]);
        let ending = if rest[end..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = &rest[end + ending..];
    }
    lines
}

/// An input in chunks whose sizes repeat.
struct Cuts<'a> {
    sizes: std::iter::Cycle<std::vec::IntoIter<usize>>,
    rest: &'a [u8],
}

impl<'a> Cuts<'a> {
    fn new(sizes: &[u8], input: &'a [u8]) -> Self {
        // The 1 at the end guarantees progress: the other sizes may be 0.
        let sizes: Vec<usize> = sizes.iter().map(|size| usize::from(*size)).chain([1]).collect();
        Cuts { sizes: sizes.into_iter().cycle(), rest: input }
    }
}

impl<'a> Iterator for Cuts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let size = self.sizes.next().unwrap_or(1).min(self.rest.len());
        let (piece, rest) = self.rest.split_at(size);
        self.rest = rest;
        Some(piece)
    }
}
