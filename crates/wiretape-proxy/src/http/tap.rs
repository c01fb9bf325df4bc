//! What a body says, heard while it passes.

use super::decode::Decoder;
use super::exchange::{Exchange, MAX_NOTE};
use super::headers;
use super::refusal::Refusal;
use bytes::Bytes;
use http::{HeaderMap, Method};
use std::sync::Arc;
use tokio::task::JoinHandle;
use wiretape_trace::format::SseContext;
use wiretape_trace::framing::{SseEvent, SseFramer};
use wiretape_trace::message::Direction;

/// The largest message that is recorded.
const MAX_MESSAGE: usize = 256 * 1024 * 1024;

/// From this size on the work is done by another thread: it takes long enough to keep other connections waiting.
const HEAVY: usize = 256 * 1024;

/// Work that must be done before the bytes that caused it may be passed on.
pub(super) type Work = JoinHandle<()>;

/// Listens to one body.
pub(super) struct Tap {
    exchange: Arc<Exchange>,
    from: Direction,
    listening: Listening,
    decoder: Option<Decoder>,
    wire_bytes: u64,
    /// A request's body may be no longer than this.
    limit: Option<u64>,
    done: bool,
}

/// What is done with the bytes.
enum Listening {
    /// They are counted.
    Counting,
    /// They are one payload, of this many bytes at most.
    Whole { body: Payload, max: usize },
    /// They are events.
    Events(Box<SseFramer>),
}

/// Bytes that came in one piece, as most do, are not copied.
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
    /// Listens to a request's body.
    pub(super) fn request(exchange: &Arc<Exchange>, headers: &HeaderMap, limit: u64) -> Self {
        let max = match headers::media_type(headers) {
            Some(media) if is_json(media) => Some(MAX_MESSAGE),
            Some(media) if media.eq_ignore_ascii_case("text/plain") => Some(MAX_NOTE),
            // Forms carry passwords and codes, and files are files: their size is enough.
            Some(_) => None,
            None if exchange.method() == Method::POST => Some(MAX_MESSAGE),
            None => None,
        };
        let listening = max.map_or(Listening::Counting, Listening::whole);
        Self::new(exchange, Direction::ClientToServer, headers, listening, Some(limit))
    }

    /// Listens to a response's body.
    pub(super) fn response(exchange: &Arc<Exchange>, headers: &HeaderMap) -> Self {
        let listening = match headers::media_type(headers) {
            Some(media) if media.eq_ignore_ascii_case("text/event-stream") => {
                Listening::Events(Box::new(SseFramer::new()))
            }
            Some(media) if is_json(media) => Listening::whole(MAX_MESSAGE),
            Some(media) if media.eq_ignore_ascii_case("text/plain") => Listening::whole(MAX_NOTE),
            Some(_) => Listening::Counting,
            None => Listening::whole(MAX_NOTE),
        };
        Self::new(exchange, Direction::ServerToClient, headers, listening, None)
    }

    fn new(
        exchange: &Arc<Exchange>,
        from: Direction,
        headers: &HeaderMap,
        listening: Listening,
        limit: Option<u64>,
    ) -> Self {
        let encoding = headers::content_encoding(headers);
        let decoder = encoding.and_then(|encoding| Decoder::new(encoding, MAX_MESSAGE));
        let deaf = !exchange.is_heard() || (encoding.is_some() && decoder.is_none());
        let listening = if deaf { Listening::Counting } else { listening };
        Tap { exchange: Arc::clone(exchange), from, listening, decoder, wire_bytes: 0, limit, done: false }
    }

    /// The exchange that it belongs to.
    pub(super) fn exchange(&self) -> &Arc<Exchange> {
        &self.exchange
    }

    /// Who sends the body.
    pub(super) fn from(&self) -> Direction {
        self.from
    }

    /// Bytes pass. An error means that they may not.
    pub(super) fn data(&mut self, bytes: &Bytes) -> Result<Option<Work>, Refusal> {
        if self.wire_bytes == 0 && self.from == Direction::ServerToClient {
            self.exchange.first_byte();
        }
        self.wire_bytes += bytes.len() as u64;
        if let Some(limit) = self.limit.filter(|limit| self.wire_bytes > *limit) {
            let refusal = Refusal::body_too_large(limit);
            self.exchange.trouble(refusal.ended, Some(&refusal.message));
            return Err(refusal);
        }
        Ok(self.listen(bytes))
    }

    fn listen(&mut self, bytes: &Bytes) -> Option<Work> {
        let decoded = match &mut self.decoder {
            Some(_) if matches!(self.listening, Listening::Counting) => return None,
            Some(decoder) => match decoder.push(bytes) {
                Ok(decoded) => Some(decoded),
                Err(_) => {
                    self.listening = Listening::Counting;
                    return None;
                }
            },
            None => None,
        };
        let plain = decoded.as_deref().unwrap_or(bytes);
        match &mut self.listening {
            Listening::Counting => None,
            Listening::Whole { body, max } => {
                body.push(plain, decoded.is_none().then_some(bytes));
                if body.len() > *max {
                    self.listening = Listening::Counting;
                }
                None
            }
            Listening::Events(framer) => {
                framer.push(plain);
                let mut events = Vec::new();
                while let Some(event) = framer.next_event() {
                    events.push(event);
                }
                if framer.pending() > MAX_MESSAGE {
                    self.listening = Listening::Counting;
                }
                self.hear(events)
            }
        }
    }

    fn hear(&self, events: Vec<SseEvent>) -> Option<Work> {
        let heavy = events.iter().any(|event| event.data.as_ref().is_some_and(|data| data.len() > HEAVY));
        if heavy {
            let exchange = Arc::clone(&self.exchange);
            return Some(tokio::task::spawn_blocking(move || tell_events(&exchange, &events)));
        }
        tell_events(&self.exchange, &events);
        None
    }

    /// The body has ended as it should.
    pub(super) fn finish(&mut self) -> Option<Work> {
        if std::mem::replace(&mut self.done, true) {
            return None;
        }
        let work = match &mut self.listening {
            Listening::Counting => {
                if self.wire_bytes > 0 {
                    self.exchange.note(self.from, self.wire_bytes, None);
                }
                None
            }
            Listening::Whole { body, .. } => {
                let body = body.take();
                self.tell_body(body)
            }
            Listening::Events(framer) => {
                let rest = framer.finish();
                self.hear(rest.into_iter().collect())
            }
        };
        self.exchange.side_ended(self.from, self.wire_bytes, true);
        work
    }

    fn tell_body(&self, body: Bytes) -> Option<Work> {
        let (exchange, from, wire_bytes) = (&self.exchange, self.from, self.wire_bytes);
        if body.len() > HEAVY {
            let exchange = Arc::clone(exchange);
            return Some(tokio::task::spawn_blocking(move || exchange.body(from, &body, wire_bytes)));
        }
        exchange.body(from, &body, wire_bytes);
        None
    }

    /// The body will not come to its end; what came of it is noted.
    fn break_off(&mut self) {
        if std::mem::replace(&mut self.done, true) {
            return;
        }
        if let Listening::Whole { body, .. } = &mut self.listening
            && body.len() > 0
        {
            let body = body.take();
            self.exchange.fragment(self.from, &body, self.wire_bytes);
        }
        self.exchange.side_ended(self.from, self.wire_bytes, false);
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.break_off();
    }
}

impl Listening {
    fn whole(max: usize) -> Self {
        Listening::Whole { body: Payload::One(Bytes::new()), max }
    }
}

fn tell_events(exchange: &Exchange, events: &[SseEvent]) {
    for event in events {
        let sse = SseContext {
            event: event.event.as_deref().map(text),
            id: event.id.as_deref().map(text),
            retry: event.retry,
        };
        // A block of comments keeps the connection alive, and says nothing.
        if event.data.is_none() && sse == SseContext::default() {
            continue;
        }
        exchange.event(event.data.as_deref().unwrap_or_default(), &sse);
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
