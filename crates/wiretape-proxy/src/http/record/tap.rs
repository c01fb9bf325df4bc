//! The tap of one body: reads messages from the bytes while they are forwarded.
//!
//! It never changes or delays bytes, except that the frame that completes a message waits until the message is
//! recorded (invariant 2: write ahead). What can't be captured (an unknown encoding, a body above the limits) is only
//! counted: the recording may suffer, the traffic may not (invariant 5).

use super::body_budget::{EXPANDS, Expansion, NO_ROOM, Reservation};
use super::exchange::{Exchange, MAX_NOTE};
use super::recorder::Recorder;
use crate::http::decode::Decoder;
use crate::http::headers;
use crate::http::refusal::Refusal;
use bytes::Bytes;
use http::{HeaderMap, Method};
use std::sync::Arc;
use tokio::task::JoinHandle;
use wiretape_trace::format::SseContext;
use wiretape_trace::framing::{SseEvent, SseFramer};
use wiretape_trace::message::Direction;

/// The largest message in bytes that is recorded; of larger ones only the size is.
const MAX_MESSAGE: usize = 256 * 1024 * 1024;

/// Messages above this size in bytes are recorded by another thread. Redaction reads about a gigabyte per second, so they would
/// block the other connections of this worker for a noticeable time.
const OFFLOAD_BYTES: usize = 256 * 1024;

/// Recording on another thread, which must finish before the bytes that caused it are forwarded. It may return the reader, which
/// then goes back to its tap ([`Tap::resume`]).
pub(crate) type PendingRecording = JoinHandle<Option<Box<BodyReader>>>;

/// Reads one body on its way.
pub(crate) struct Tap {
    exchange: Arc<Exchange>,
    from: Direction,
    /// Elsewhere while a large body is decoded.
    reader: BodyReader,
    wire_bytes: u64,
    /// The maximum length of a request's body in bytes.
    limit: Option<u64>,
    done: bool,
}

/// The content of a body, as far as it was read.
pub(crate) struct BodyReader {
    capture: Capture,
    decoder: Option<Decoder>,
    expansion: Expansion,
    reservation: Option<Reservation>,
    /// Why the content is not recorded.
    omitted: Option<&'static str>,
}

/// How the bytes of a body are captured.
enum Capture {
    /// Only the number of bytes is recorded.
    SizeOnly,
    /// As one payload of at most `max` bytes.
    Whole { body: Payload, max: usize },
    /// The body is an event stream; each event may carry a message.
    Events(Box<SseFramer>),
}

/// A payload in one or several pieces. Most bodies arrive in one frame, whose bytes are shared instead of copied.
enum Payload {
    One(Bytes),
    Many(Vec<u8>),
}

impl Payload {
    fn push(&mut self, bytes: &[u8], whole: Option<&Bytes>) {
        match (&mut *self, whole) {
            (Payload::One(one), Some(whole)) if one.is_empty() => *one = whole.clone(),
            (Payload::One(one), _) => {
                let mut many = Vec::with_capacity(one.len() + bytes.len());
                many.extend_from_slice(one);
                many.extend_from_slice(bytes);
                *self = Payload::Many(many);
            }
            (Payload::Many(many), _) => many.extend_from_slice(bytes),
        }
    }

    fn len(&self) -> usize {
        match self {
            Payload::One(one) => one.len(),
            Payload::Many(many) => many.len(),
        }
    }

    fn take(&mut self) -> Bytes {
        match std::mem::replace(self, Payload::One(Bytes::new())) {
            Payload::One(one) => one,
            Payload::Many(many) => Bytes::from(many),
        }
    }
}

impl Tap {
    /// A tap for a request's body.
    pub(crate) fn request(exchange: &Arc<Exchange>, headers: &HeaderMap, limit: u64) -> Self {
        let max = match headers::media_type(headers) {
            Some(media) if is_json(media) => Some(MAX_MESSAGE),
            Some(media) if media.eq_ignore_ascii_case("text/plain") => Some(MAX_NOTE),
            // Forms carry passwords and authorization codes, and uploads are not messages: their size is enough.
            Some(_) => None,
            // Some clients send messages without a content type.
            None if exchange.method() == Method::POST => Some(MAX_MESSAGE),
            None => None,
        };
        let capture = max.map_or(Capture::SizeOnly, Capture::whole);
        Self::new(exchange, Direction::ClientToServer, headers, capture, Some(limit))
    }

    /// A tap for a response's body.
    pub(crate) fn response(exchange: &Arc<Exchange>, headers: &HeaderMap) -> Self {
        let capture = match headers::media_type(headers) {
            Some(media) if media.eq_ignore_ascii_case("text/event-stream") => {
                Capture::Events(Box::new(SseFramer::new()))
            }
            Some(media) if is_json(media) => Capture::whole(MAX_MESSAGE),
            Some(media) if media.eq_ignore_ascii_case("text/plain") => Capture::whole(MAX_NOTE),
            Some(_) => Capture::SizeOnly,
            None => Capture::whole(MAX_NOTE),
        };
        Self::new(exchange, Direction::ServerToClient, headers, capture, None)
    }

    fn new(
        exchange: &Arc<Exchange>,
        from: Direction,
        headers: &HeaderMap,
        capture: Capture,
        limit: Option<u64>,
    ) -> Self {
        let encoding = headers::content_encoding(headers);
        let decoder = encoding.and_then(|encoding| Decoder::new(encoding, MAX_MESSAGE));
        // Bytes in an encoding that we don't know would be recorded as garbage.
        let is_unreadable = !exchange.needs_bodies() || (encoding.is_some() && decoder.is_none());
        let capture = if is_unreadable { Capture::SizeOnly } else { capture };
        let reader = BodyReader { capture, decoder, ..BodyReader::default() };
        Tap { exchange: Arc::clone(exchange), from, reader, wire_bytes: 0, limit, done: false }
    }

    /// The exchange that the body belongs to.
    pub(crate) fn exchange(&self) -> &Arc<Exchange> {
        &self.exchange
    }

    /// The direction of the body.
    pub(crate) fn from(&self) -> Direction {
        self.from
    }

    /// Captures bytes. An error means that they exceed the limit and must not be forwarded.
    pub(crate) fn capture_data(&mut self, bytes: &Bytes) -> Result<Option<PendingRecording>, Refusal> {
        if self.wire_bytes == 0 && self.from == Direction::ServerToClient {
            self.exchange.record_first_byte();
        }
        self.wire_bytes += bytes.len() as u64;
        if let Some(limit) = self.limit.filter(|limit| self.wire_bytes > *limit) {
            let refusal = Refusal::body_too_large(limit);
            self.exchange.record_failure(refusal.ended, Some(&refusal.message));
            return Err(refusal);
        }
        Ok(self.capture_bytes(bytes))
    }

    fn capture_bytes(&mut self, bytes: &Bytes) -> Option<PendingRecording> {
        if matches!(self.reader.capture, Capture::SizeOnly) {
            return None;
        }
        let mut events = Vec::new();
        let rest = match self.reader.decoder {
            None => {
                self.reader.keep(bytes, Some(bytes), self.exchange.recorder(), &mut events);
                None
            }
            Some(_) => {
                self.reader.expansion.add_encoded(bytes.len());
                self.reader.decode(bytes, Some(OFFLOAD_BYTES), self.exchange.recorder(), &mut events)
            }
        };
        match rest {
            None => self.record_events(events),
            Some(rest) => Some(self.decode_elsewhere(bytes.slice(rest..), events)),
        }
    }

    /// Decodes the rest of some bytes on another thread: it is long, and other connections of this worker wait.
    fn decode_elsewhere(&mut self, rest: Bytes, mut events: Vec<SseEvent>) -> PendingRecording {
        let exchange = Arc::clone(&self.exchange);
        let mut reader = std::mem::take(&mut self.reader);
        tokio::task::spawn_blocking(move || {
            reader.decode(&rest, None, exchange.recorder(), &mut events);
            record_all(&exchange, &events);
            Some(Box::new(reader))
        })
    }

    /// Takes back the reader from a recording that has finished.
    pub(crate) fn resume(&mut self, reader: Option<Box<BodyReader>>) {
        if let Some(reader) = reader {
            self.reader = *reader;
        }
    }

    fn record_events(&self, events: Vec<SseEvent>) -> Option<PendingRecording> {
        let is_large =
            events.iter().any(|event| event.data.as_ref().is_some_and(|data| data.len() > OFFLOAD_BYTES));
        if is_large {
            let exchange = Arc::clone(&self.exchange);
            return Some(tokio::task::spawn_blocking(move || {
                record_all(&exchange, &events);
                None
            }));
        }
        record_all(&self.exchange, &events);
        None
    }

    /// Whether the end of the body was recorded.
    pub(crate) fn is_finished(&self) -> bool {
        self.done
    }

    /// Records the end of a complete body.
    pub(crate) fn finish(&mut self) -> Option<PendingRecording> {
        // The last frame and the end of the body both finish the tap; only the first counts.
        if std::mem::replace(&mut self.done, true) {
            return None;
        }
        // Before its message is recorded, whose line has the times of the exchange.
        self.exchange.record_body_end(self.from, self.wire_bytes, true);
        match &mut self.reader.capture {
            Capture::SizeOnly => {
                self.note_size();
                None
            }
            Capture::Whole { body, .. } => {
                let body = body.take();
                self.record_body(body)
            }
            Capture::Events(framer) => {
                let rest = framer.finish();
                self.record_events(rest.into_iter().collect())
            }
        }
    }

    /// Notes the size of a body whose content is not recorded, and why, if that is not due to its type.
    fn note_size(&self) {
        if let Some(reason) = self.reader.omitted {
            self.exchange.note_omitted_body(self.from, self.wire_bytes, reason);
        } else if self.wire_bytes > 0 {
            self.exchange.note_body(self.from, self.wire_bytes, None);
        }
    }

    fn record_body(&mut self, body: Bytes) -> Option<PendingRecording> {
        let (exchange, from, wire_bytes) = (&self.exchange, self.from, self.wire_bytes);
        if body.len() > OFFLOAD_BYTES {
            let exchange = Arc::clone(exchange);
            // Its memory counts until it is recorded.
            let reservation = self.reader.reservation.take();
            return Some(tokio::task::spawn_blocking(move || {
                exchange.record_body(from, &body, wire_bytes);
                drop((body, reservation));
                None
            }));
        }
        exchange.record_body(from, &body, wire_bytes);
        None
    }

    /// Records a body that was cut off, with the part that was received.
    fn record_cut_off(&mut self) {
        if std::mem::replace(&mut self.done, true) {
            return;
        }
        if let Capture::Whole { body, .. } = &mut self.reader.capture
            && body.len() > 0
        {
            let body = body.take();
            self.exchange.record_partial_body(self.from, &body, self.wire_bytes);
        } else if self.reader.omitted.is_some() {
            self.note_size();
        }
        self.exchange.record_body_end(self.from, self.wire_bytes, false);
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.record_cut_off();
    }
}

impl Default for BodyReader {
    fn default() -> Self {
        BodyReader {
            capture: Capture::SizeOnly,
            decoder: None,
            expansion: Expansion::default(),
            reservation: None,
            omitted: None,
        }
    }
}

impl BodyReader {
    /// Decodes bytes and keeps what they decode to. Stops when that is more than `allowance`; the result is then how many of the
    /// bytes were taken.
    fn decode(
        &mut self,
        bytes: &[u8],
        allowance: Option<usize>,
        recorder: &Recorder,
        events: &mut Vec<SseEvent>,
    ) -> Option<usize> {
        let (mut taken, before) = (0, self.expansion.decoded());
        while let Some(decoder) = &mut self.decoder {
            let Ok(step) = decoder.step(&bytes[taken..]) else {
                // The client gets the bytes all the same.
                self.omit("its encoding is broken");
                break;
            };
            taken += step.taken;
            if !self.expansion.add_decoded(step.decoded.len()) {
                self.omit(EXPANDS);
                break;
            }
            self.keep(&step.decoded, None, recorder, events);
            if taken == bytes.len() && !step.has_more {
                break;
            }
            if allowance.is_some_and(|allowance| self.expansion.decoded() - before > allowance as u64) {
                return Some(taken);
            }
        }
        None
    }

    /// Adds decoded bytes, and takes out the events that they complete. `whole` are the same bytes, if they can be shared.
    fn keep(&mut self, plain: &[u8], whole: Option<&Bytes>, recorder: &Recorder, events: &mut Vec<SseEvent>) {
        // Sizes on the wire are limited for requests only, but nothing tells a client what a body decompresses to.
        let limit = usize::try_from(recorder.max_body).unwrap_or(usize::MAX);
        let largest = if self.decoder.is_some() { MAX_MESSAGE.min(limit) } else { MAX_MESSAGE };
        let (held, is_note) = match &mut self.capture {
            Capture::SizeOnly => return,
            Capture::Whole { body, max } => {
                body.push(plain, whole);
                (body.len(), body.len() > *max && *max == MAX_NOTE)
            }
            Capture::Events(framer) => {
                framer.push(plain);
                while let Some(event) = framer.next_event() {
                    events.push(event);
                }
                (framer.pending(), false)
            }
        };
        if is_note {
            (self.capture, self.decoder) = (Capture::SizeOnly, None);
        } else if held > largest {
            self.omit("it is too large to be recorded (--max-body)");
        } else if !recorder.bodies.reserve(&mut self.reservation, held) {
            self.omit(NO_ROOM);
        }
    }

    /// Gives up on the content. What was kept of it is dropped.
    fn omit(&mut self, reason: &'static str) {
        *self = BodyReader { omitted: Some(reason), ..BodyReader::default() };
    }
}

impl Capture {
    fn whole(max: usize) -> Self {
        Capture::Whole { body: Payload::One(Bytes::new()), max }
    }
}

fn record_all(exchange: &Exchange, events: &[SseEvent]) {
    for event in events {
        let sse = SseContext {
            event: event.event.as_deref().map(text),
            id: event.id.as_deref().map(text),
            retry: event.retry,
        };
        // A block of comments is only a keep-alive.
        if event.data.is_none() && sse == SseContext::default() {
            continue;
        }
        exchange.record_event(event.data.as_deref().unwrap_or_default(), &sse);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn is_json(media: &str) -> bool {
    const SUFFIX: &[u8] = b"+json";
    let is = |name: &str| media.eq_ignore_ascii_case(name);
    let ends_with_suffix = || {
        media.as_bytes().last_chunk().is_some_and(|end: &[u8; SUFFIX.len()]| end.eq_ignore_ascii_case(SUFFIX))
    };
    is("application/json") || is("application/json-rpc") || ends_with_suffix()
}
