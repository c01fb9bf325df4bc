//! The policies of widgets in an event stream: each event is held until it is complete, rewritten and forwarded.
//!
//! The client gets a compressed stream decoded, since its head is sent before its first event. What a few bytes decode to is
//! therefore returned in pieces, each of which the client has to take before the next is decoded.

use super::listener::TOO_LARGE;
use super::widget;
use crate::http::decode::Decoder;
use crate::http::options::csp::Rule;
use crate::http::record::body_budget::{BodyBudget, EXPANDS, Expansion, NO_ROOM, Reservation};
use crate::http::record::resource_requests::ResourceRequests;
use bytes::Bytes;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use wiretape_trace::splice::{Edit, splice};

/// The limit for an event, in bytes. A longer one is forwarded unchanged, and so is the rest of the stream.
const MAX: usize = super::listener::MAX_ANSWER;

/// Decoding pauses above this many bytes to forward.
const PIECE: usize = 256 * 1024;

/// Rewrites the responses in an event stream.
pub(crate) struct EventRewrite {
    rules: Arc<[Rule]>,
    requested: ResourceRequests,
    decoder: Option<Decoder>,
    /// The received bytes that are not decoded yet.
    encoded: Bytes,
    /// Whether there is more to come from the bytes that the decoder has taken.
    decodes_more: bool,
    expansion: Expansion,
    budget: Arc<BodyBudget>,
    /// The memory of `held`.
    reservation: Option<Reservation>,
    /// The limit that ended the rewriting, until it is reported.
    limit: Option<&'static str>,
    /// The bytes of the event that is not complete yet.
    held: Vec<u8>,
    /// Where it begins in `held`, while complete events are before it. They are removed together: moving the rest for each would
    /// be quadratic, and a few bytes can decode to a megabyte of empty lines.
    start: usize,
    /// The start of its last line.
    line: usize,
    /// The offset up to which that line was searched, so that a long line is scanned only once.
    searched: usize,
    /// Whether the last line ended in a carriage return: a newline that follows belongs to it.
    after_cr: bool,
    done: bool,
    changed: bool,
}

impl EventRewrite {
    /// Rewrites the responses to the requests by these rules.
    pub(super) fn new(
        rules: Arc<[Rule]>,
        requested: ResourceRequests,
        decoder: Option<Decoder>,
        budget: Arc<BodyBudget>,
    ) -> Self {
        EventRewrite {
            rules,
            requested,
            decoder,
            encoded: Bytes::new(),
            decodes_more: false,
            expansion: Expansion::default(),
            budget,
            reservation: None,
            limit: None,
            held: Vec::new(),
            start: 0,
            line: 0,
            searched: 0,
            after_cr: false,
            done: false,
            changed: false,
        }
    }

    /// Takes the next bytes and returns those that can be forwarded. The rest of what they decode to comes from
    /// [`EventRewrite::next_piece`], which must be called as long as [`EventRewrite::has_more`].
    pub(crate) fn pass(&mut self, bytes: Bytes) -> io::Result<Bytes> {
        if self.decoder.is_some() {
            debug_assert!(!self.has_more(), "these bytes are dropped");
            self.expansion.add_encoded(bytes.len());
            self.encoded = bytes;
            return self.next_piece();
        }
        if self.done {
            return Ok(bytes);
        }
        let mut out = Vec::new();
        self.take(&bytes, &mut out);
        Ok(Bytes::from(out))
    }

    /// Whether there is more to decode from the bytes that were passed.
    pub(crate) fn has_more(&self) -> bool {
        self.decodes_more || !self.encoded.is_empty()
    }

    /// Decodes on and returns the bytes that can be forwarded. None of them, if the event is not complete.
    pub(crate) fn next_piece(&mut self) -> io::Result<Bytes> {
        let mut out = Vec::new();
        while let Some(decoder) = self.decoder.as_mut().filter(|_| out.len() <= PIECE) {
            let step = decoder.step(&self.encoded)?;
            self.encoded = self.encoded.split_off(step.taken);
            self.decodes_more = step.has_more;
            if !self.expansion.add_decoded(step.decoded.len()) {
                self.give_up(EXPANDS);
            }
            self.take(&step.decoded, &mut out);
            if !self.has_more() {
                break;
            }
        }
        Ok(Bytes::from(out))
    }

    /// Takes decoded bytes and adds those that can be forwarded to `out`.
    fn take(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        self.held.extend_from_slice(plain);
        while let Some(end) = self.next_event_end() {
            let event = self.held[self.start..end].to_vec();
            self.start = end;
            out.extend_from_slice(&self.rewritten(event));
        }
        if self.start > 0 {
            self.held.drain(..self.start);
            self.line -= self.start;
            self.searched -= self.start;
            self.start = 0;
            // Only the next event counts now.
            self.reservation = None;
        }
        if self.held.len() > MAX {
            self.give_up(TOO_LARGE);
        } else if !self.budget.reserve(&mut self.reservation, self.held.len()) {
            self.give_up(NO_ROOM);
        }
        if self.done {
            out.append(&mut self.held);
            self.reservation = None;
        }
    }

    /// Ends the rewriting: that is better than giving up the stream, or the memory.
    fn give_up(&mut self, limit: &'static str) {
        if !std::mem::replace(&mut self.done, true) {
            self.limit = Some(limit);
        }
    }

    /// The limit that has ended the rewriting, once.
    pub(crate) fn take_limit(&mut self) -> Option<&'static str> {
        self.limit.take()
    }

    /// The bytes still held at the end of the stream: an incomplete event.
    pub(crate) fn finish(&mut self) -> Bytes {
        self.done = true;
        self.reservation = None;
        Bytes::from(std::mem::take(&mut self.held))
    }

    /// Whether bytes are held back.
    pub(crate) fn holds(&self) -> bool {
        !self.held.is_empty() || self.has_more()
    }

    /// Whether anything was changed so far.
    pub(crate) fn has_changed(&self) -> bool {
        self.changed
    }

    /// The end of the next event to rewrite; none, once the rewriting has ended.
    fn next_event_end(&mut self) -> Option<usize> {
        if self.done { None } else { self.event_end() }
    }

    /// The end of the held event, after its empty line. Lines end in `\n`, `\r\n` or `\r`.
    fn event_end(&mut self) -> Option<usize> {
        loop {
            if self.after_cr && self.line < self.held.len() {
                self.after_cr = false;
                if self.held[self.line] == b'\n' {
                    // The event was already forwarded up to its `\r`; forward the `\n` at once, since a reader may wait for it.
                    let is_rest = self.line == self.start;
                    self.line += 1;
                    self.searched = self.line;
                    if is_rest {
                        return Some(self.line);
                    }
                }
            }
            let Some(at) = memchr::memchr2(b'\n', b'\r', &self.held[self.searched..]) else {
                self.searched = self.held.len();
                return None;
            };
            let end = self.searched + at;
            self.after_cr = self.held[end] == b'\r';
            let is_empty = end == self.line;
            self.line = end + 1;
            self.searched = self.line;
            if is_empty {
                return Some(self.line);
            }
        }
    }

    fn rewritten(&mut self, event: Vec<u8>) -> Vec<u8> {
        // The data may be spread over several lines; edits are computed in the joined text and mapped back, so that
        // all other bytes of the event stay as they are.
        let lines = data_lines(&event);
        let data = lines.iter().map(|line| &event[line.clone()]).collect::<Vec<_>>().join(&b'\n');
        let edits = widget::edits(&data, self.requested, &self.rules);
        if edits.is_empty() {
            return event;
        }
        self.changed = true;
        let place = |(range, text): Edit| (place_of(range.start, &lines)..place_of(range.end, &lines), text);
        splice(&event, &edits.into_iter().map(place).collect::<Vec<_>>())
    }
}

/// The positions of the values of an event's `data` fields.
fn data_lines(event: &[u8]) -> Vec<Range<usize>> {
    const FIELD: &[u8] = b"data:";
    let mut found = Vec::new();
    let mut start = 0;
    for line in event.split(|byte| matches!(byte, b'\n' | b'\r')) {
        if let Some(value) = line.strip_prefix(FIELD) {
            let blank = usize::from(value.first() == Some(&b' '));
            found.push(start + FIELD.len() + blank..start + line.len());
        }
        start += line.len() + 1;
    }
    found
}

/// The position in an event of a position in its joined data.
fn place_of(mut place: usize, lines: &[Range<usize>]) -> usize {
    for line in lines {
        if place <= line.len() {
            return line.start + place;
        }
        place -= line.len() + 1;
    }
    lines.last().map_or(0, |line| line.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::options::csp::Mode;
    use crate::http::options::csp::tests::rule;
    use proptest::prelude::*;
    use std::io::Write as _;

    fn rewrite(mode: Mode, decoder: Option<Decoder>) -> EventRewrite {
        let requested = ResourceRequests::in_message(br#"{"method":"resources/list"}"#).unwrap();
        let rules = Arc::new([rule(&[], mode, &[("connect-src", &["https://a"])])]);
        EventRewrite::new(rules, requested, decoder, BodyBudget::new(1))
    }

    fn pass(rewrite: &mut EventRewrite, pieces: &[&[u8]]) -> String {
        let mut out = Vec::new();
        for piece in pieces {
            out.extend_from_slice(&rewrite.pass(Bytes::copy_from_slice(piece)).unwrap());
            while rewrite.has_more() {
                let next = rewrite.next_piece().unwrap();
                assert!(next.len() <= MAX + PIECE);
                out.extend_from_slice(&next);
            }
        }
        out.extend_from_slice(&rewrite.finish());
        String::from_utf8(out).unwrap()
    }

    const STREAM: &str = concat!(
        ": ping\r\n\r\nevent: message\nid: 7\n",
        "data: {\"id\":1,\"result\":{\"resources\":[{\"uri\":\"ui://x\",\"_meta\":{\"ui\":{\"csp\":{\"connectDomains\":[\ndata:]}}}}]}}\n\n",
        "data:{\"method\":\"notifications/message\"}\r\r",
        "data: not json\n\n\n",
    );

    #[test]
    fn answers_are_rewritten_however_the_stream_is_cut() {
        let expected = STREAM.replace("connectDomains\":[\n", "connectDomains\":[\"https://a\"\n");
        assert_ne!(expected, STREAM);
        let mut whole = rewrite(Mode::Extend, None);
        assert_eq!(pass(&mut whole, &[STREAM.as_bytes()]), expected);
        assert!(whole.has_changed());
        for cut in 0..STREAM.len() {
            let (one, two) = STREAM.as_bytes().split_at(cut);
            assert_eq!(pass(&mut rewrite(Mode::Extend, None), &[one, two]), expected, "cut at {cut}");
        }
    }

    #[test]
    fn a_list_over_several_lines_can_be_replaced() {
        let replaced = STREAM.replace("connectDomains\":[\ndata:]", "connectDomains\":[\"https://a\"]");
        assert_eq!(pass(&mut rewrite(Mode::Replace, None), &[STREAM.as_bytes()]), replaced);
    }

    #[test]
    fn a_whole_event_does_not_wait_for_the_next() {
        for end in ["\n\n", "\r\n\r\n", "\r\r"] {
            let event = format!("data: {{}}{end}");
            let mut rewrite = rewrite(Mode::Extend, None);
            assert_eq!(rewrite.pass(Bytes::from(event.clone())).unwrap(), event);
            assert!(!rewrite.holds());
            let (most, last) = event.split_at(event.len() - 1);
            rewrite.pass(Bytes::copy_from_slice(most.as_bytes())).unwrap();
            rewrite.pass(Bytes::copy_from_slice(last.as_bytes())).unwrap();
            assert!(!rewrite.holds(), "{end:?}");
        }
    }

    #[test]
    fn what_was_compressed_is_decoded() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(STREAM.as_bytes()).unwrap();
        let encoded = gzip.finish().unwrap();
        let decoder = || Decoder::new("gzip", usize::MAX);
        let plain = pass(&mut rewrite(Mode::Extend, decoder()), &[&encoded]);
        assert!(plain.contains("[\"https://a\"\n"), "{plain}");
        assert!(rewrite(Mode::Extend, decoder()).pass(Bytes::from_static(b"no gzip at all")).is_err());
    }

    fn zstd(text: &str) -> Vec<u8> {
        zstd::encode_all(text.as_bytes(), 3).unwrap()
    }

    /// An event that could be rewritten, with this many bytes around its list.
    fn event(bytes: usize) -> String {
        let padding = "x".repeat(bytes);
        format!(
            "data:{{\"id\":1,\"result\":{{\"a\":\"{padding}\",\"resources\":[{{\"uri\":\"ui://x\",\"_meta\":{{\"ui\":{{\"csp\":{{\"connectDomains\":[]}}}}}}}}]}}}}\n\n"
        )
    }

    #[test]
    fn what_expands_too_much_is_forwarded_unchanged_in_pieces() {
        let text = format!("{}{}{}", event(10), event(20_000_000), event(10));
        let mut bomb = rewrite(Mode::Extend, Decoder::new("zstd", usize::MAX));
        let first = bomb.pass(Bytes::from(zstd(&text))).unwrap();
        assert!(bomb.has_more() && bomb.holds() && first.len() < 6 << 20, "{}", first.len());
        assert_eq!((bomb.take_limit(), bomb.take_limit()), (Some(EXPANDS), None));
        let mut out = first.to_vec();
        while bomb.has_more() {
            let next = bomb.next_piece().unwrap();
            assert!(next.len() < 1 << 20, "{}", next.len());
            out.extend_from_slice(&next);
        }
        let expected = text.replacen("[]", "[\"https://a\"]", 1);
        assert!(out == expected.as_bytes(), "only the first was rewritten: {} bytes", out.len());
        assert!(!bomb.holds() && bomb.take_limit().is_none());
    }

    #[test]
    fn without_room_an_event_is_forwarded_unchanged() {
        let text = event(1_000_000);
        let mut rewrite = rewrite(Mode::Extend, None);
        let budget = Arc::clone(&rewrite.budget);
        let (begin, end) = text.split_at(500_000);
        let mut others = None;
        assert!(budget.reserve(&mut others, 255 << 20));
        assert!(rewrite.pass(Bytes::copy_from_slice(begin.as_bytes())).unwrap().is_empty());
        assert!(!budget.reserve(&mut others, 256 << 20), "the event has a part of it");
        // The rest of the budget is too small for the rest of the event.
        let mut more = None;
        assert!(budget.reserve(&mut more, 300_000));
        let half = end.split_at(end.len() / 2);
        assert_eq!(
            rewrite.pass(Bytes::copy_from_slice(half.0.as_bytes())).unwrap().len(),
            500_000 + half.0.len()
        );
        assert_eq!(rewrite.take_limit(), Some(NO_ROOM));
        assert_eq!(rewrite.pass(Bytes::copy_from_slice(half.1.as_bytes())).unwrap(), half.1);
        drop(more);
        assert!(budget.reserve(&mut others, 256 << 20), "its memory was given back");
    }

    #[test]
    fn many_events_in_one_piece_are_not_moved_one_by_one() {
        let lines = "\n".repeat(2 << 20);
        let mut rewrite = rewrite(Mode::Extend, None);
        assert!(rewrite.pass(Bytes::from(lines.clone())).unwrap() == lines);
        assert!(!rewrite.holds());
    }

    #[test]
    fn a_complete_event_releases_its_memory() {
        let mut rewrite = rewrite(Mode::Extend, None);
        let budget = Arc::clone(&rewrite.budget);
        assert!(pass(&mut rewrite, &[event(1_000_000).as_bytes()]).contains("https://a"));
        assert!(budget.reserve(&mut None, 256 << 20));
    }

    proptest! {
        #[test]
        fn other_streams_pass_as_they_are(pieces in prop::collection::vec("(data|:|[\r\n]|id| |x|\\{|\\}){0,8}", 0..8)) {
            let bytes: Vec<&[u8]> = pieces.iter().map(String::as_bytes).collect();
            prop_assert_eq!(pass(&mut rewrite(Mode::Extend, None), &bytes), pieces.concat());
        }
    }
}
