//! An HTTP exchange that a source describes in one piece: both heads, and both bodies as text.
//!
//! Not a format, but shared by those that contain exchanges (HAR, the Inspector's network log). Decides which
//! exchanges belong to MCP, and turns them into items.

use super::super::cut::Unit;
use super::super::fields::Value;
use super::super::item::{Defect, Findings, Item, ItemContent};
use crate::format::{BodyNote, Ended, ExchangeNote, ExchangeProgress, Head, SseContext};
use crate::framing::{SseEvent, SseFramer};
use crate::message::{Direction, Envelope, MessageKind, payloads};
use std::borrow::Cow;
use std::hash::{Hash as _, Hasher as _};

/// In bytes. A body that is not a message is kept as text up to this length.
const MAX_NOTE: usize = 16 * 1024;

/// An exchange, as far as the source describes it.
#[derive(Default)]
pub(super) struct Exchange<'u> {
    /// The line of the source that it begins on, from 1.
    pub(super) line: u64,
    /// The number of the exchange; see [`number_of`].
    pub(super) x: u64,
    pub(super) started_ms: Option<i64>,
    pub(super) duration_ms: Option<i64>,
    pub(super) method: Cow<'u, str>,
    pub(super) target: Cow<'u, str>,
    pub(super) request: Side<'u>,
    /// `None` if there was no response.
    pub(super) status: Option<u16>,
    pub(super) response: Side<'u>,
    /// The events of the response, if the source has them separately from the body.
    pub(super) events: Vec<Event<'u>>,
    /// The source's description of what went wrong.
    pub(super) error: Option<Cow<'u, str>>,
}

/// A request or a response.
#[derive(Default)]
pub(super) struct Side<'u> {
    pub(super) version: Cow<'u, str>,
    pub(super) headers: Headers<'u>,
    /// The body's media type, if the source states it besides the headers.
    pub(super) media: Option<Cow<'u, str>>,
    pub(super) body: Option<Cow<'u, [u8]>>,
    /// The line of the source that the body is on, from 1.
    pub(super) body_line: u64,
}

/// An event of a stream.
pub(super) struct Event<'u> {
    pub(super) at_ms: Option<i64>,
    pub(super) context: SseContext,
    pub(super) data: Cow<'u, [u8]>,
    /// The stream ended inside the event.
    pub(super) unterminated: bool,
}

/// Which of the exchanges without a message are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// All exchanges: the source records nothing but MCP.
    All,
    /// Only those that look like part of a session: a browser records a whole page.
    OfSessions,
}

/// Headers with lower-case names, sorted so that equal names are adjacent.
#[derive(Default)]
pub(super) struct Headers<'u>(Vec<(String, Cow<'u, [u8]>)>);

impl<'u> Headers<'u> {
    /// From an object: `{"accept": "…"}`.
    pub(super) fn of_object(object: Value<'u>) -> Self {
        let mut headers = Headers::default();
        object.members(|name, value| headers.push(&name.decode(), value));
        headers.in_order()
    }

    /// From a list: `[{"name": "accept", "value": "…"}]`.
    pub(super) fn of_list(list: Value<'u>) -> Self {
        let mut headers = Headers::default();
        list.elements(|header| {
            if let (Some(name), Some(value)) =
                (header.get("name").and_then(Value::string), header.get("value"))
            {
                headers.push(&name, value);
            }
        });
        headers.in_order()
    }

    fn push(&mut self, name: &str, value: Value<'u>) {
        // Browsers also list the pseudo-headers of HTTP/2, which are the request line.
        if name.starts_with(':') {
            return;
        }
        if value.is_array() {
            value.elements(|value| self.push(name, value));
        } else if let Some(text) = value.string_bytes() {
            self.0.push((name.to_ascii_lowercase(), text));
        }
    }

    fn in_order(mut self) -> Self {
        // A stable sort: the order of values of one name matters.
        self.0.sort_by(|(a, _), (b, _)| a.cmp(b));
        self
    }

    fn get(&self, name: &str) -> Option<Cow<'_, str>> {
        let (_, value) = self.0.iter().find(|(known, _)| known == name)?;
        Some(String::from_utf8_lossy(value))
    }

    fn pairs(&self) -> impl Iterator<Item = (&str, Cow<'_, [u8]>)> {
        self.0.iter().map(|(name, value)| (name.as_str(), Cow::Borrowed(&**value)))
    }
}

impl Side<'_> {
    fn is_event_stream(&self) -> bool {
        let is_stream =
            |media: &str| media.trim_start().to_ascii_lowercase().starts_with("text/event-stream");
        self.media.as_deref().is_some_and(is_stream)
            || self.headers.get("content-type").is_some_and(|media| is_stream(&media))
    }

    fn note(&self) -> Option<BodyNote> {
        let body = self.body.as_deref().filter(|body| !body.is_empty())?;
        let text = std::str::from_utf8(body).ok().filter(|text| text.len() <= MAX_NOTE);
        Some(BodyNote { bytes: body.len() as u64, text: text.map(str::to_owned), omitted: None })
    }
}

/// A number for an exchange. Units are parsed independently, so exchanges can't be counted; a hash is used
/// instead. 48 bits, so that a double holds it exactly.
pub(super) fn number_of(unit: &Unit<'_>) -> u64 {
    // Unlike `RandomState`, this hasher has fixed keys: two runs give the same result.
    let mut hasher = std::hash::DefaultHasher::new();
    (unit.line, unit.bytes).hash(&mut hasher);
    hasher.finish() >> 16
}

impl<'u> Exchange<'u> {
    /// Adds the items of the exchange: its messages, or a line about an exchange without one.
    pub(super) fn add_items(mut self, keep: Keep, findings: &mut Findings<'u>) {
        let asks = self.request.body.as_deref().is_some_and(is_message);
        let is_stream = self.response.is_event_stream() || !self.events.is_empty();
        if is_stream && self.events.is_empty() {
            self.events = self.response.body.take().map(|body| events(&body)).unwrap_or_default();
        }
        // The body of a stream is not one message; its events are parsed above.
        let answers = !is_stream && self.response.body.as_deref().is_some_and(|body| is_answer(body, asks));
        let is_of_session = asks || answers || self.events.iter().any(Event::is_of_session);
        let session = self.session();
        if !is_of_session {
            let is_refusal = self.status.is_some_and(|status| status >= 400);
            if keep == Keep::OfSessions && !is_refusal && !is_stream && session.is_none() {
                return;
            }
            // Events of streams that are not MCP are not imported.
            self.events.clear();
        }
        let heads = Heads::of(&self);
        let mut builder = ItemBuilder { x: self.x, session, heads, findings };
        if asks && let Some(raw) = self.request.body.take() {
            let what = ItemContent::Message { from: Some(Direction::ClientToServer), raw };
            builder.item(self.request.body_line, self.started_ms, &ExchangeNote::default(), what);
        }
        builder.heads.response_is_known = self.status.is_some();
        let ended_ms = self.started_ms.map(|at| at.saturating_add(self.duration_ms.unwrap_or(0)));
        if answers && let Some(raw) = self.response.body.take() {
            let what = ItemContent::Message { from: Some(Direction::ServerToClient), raw };
            builder.item(self.response.body_line, ended_ms, &ExchangeNote::default(), what);
        } else if self.events.is_empty() {
            self.without_answer(asks, is_stream, ended_ms, &mut builder);
        } else {
            for event in self.events {
                builder.event(self.response.body_line, ended_ms, event);
            }
        }
    }

    /// Adds the item of an exchange whose response has no message.
    fn without_answer(
        &self,
        asks: bool,
        is_stream: bool,
        ended_ms: Option<i64>,
        builder: &mut ItemBuilder<'u, '_>,
    ) {
        let (request_body, response_body) = (self.request.note(), self.response.note());
        // A body that is neither a message nor short text is a loss, if the request was a message.
        let is_left_out = response_body.as_ref().is_some_and(|note| note.text.is_none());
        if asks && is_left_out {
            builder.findings.flaw(self.response.body_line, Defect::NotAMessage);
        }
        let progress = match self.status {
            None => ExchangeProgress::Ended(Ended::Unreachable),
            Some(_) if is_stream => ExchangeProgress::Open,
            Some(_) => ExchangeProgress::Ended(Ended::Complete),
        };
        let duration_us = self.duration_ms.and_then(|ms| u64::try_from(ms).ok()?.checked_mul(1000));
        let note = ExchangeNote {
            request_body: request_body.map(Cow::Owned),
            response_body: response_body.map(Cow::Owned),
            progress: Some(progress),
            error: self.error.as_deref().map(Cow::Borrowed),
            duration_us: duration_us.filter(|_| !is_stream),
            ..ExchangeNote::default()
        };
        builder.item(self.line, ended_ms, &note, ItemContent::Exchange);
    }

    fn session(&self) -> Option<Cow<'u, str>> {
        let session = [&self.request, &self.response]
            .into_iter()
            .find_map(|side| side.headers.get("mcp-session-id").map(Cow::into_owned))?;
        Some(Cow::Owned(session))
    }
}

/// The two heads, each until it has been written: a head is on the first line after it is known.
struct Heads {
    request: Option<Head>,
    response: Option<Head>,
    response_is_known: bool,
}

impl Heads {
    fn of(exchange: &Exchange<'_>) -> Self {
        let (request, response) = (&exchange.request, &exchange.response);
        let (method, target) = (&exchange.method, &exchange.target);
        Heads {
            request: Some(Head::request(method, target, &request.version, request.headers.pairs())),
            response: exchange
                .status
                .map(|status| Head::response(status, &response.version, response.headers.pairs())),
            response_is_known: false,
        }
    }
}

/// Builds the items of one exchange.
struct ItemBuilder<'u, 'f> {
    x: u64,
    session: Option<Cow<'u, str>>,
    heads: Heads,
    findings: &'f mut Findings<'u>,
}

impl<'u> ItemBuilder<'u, '_> {
    fn item(&mut self, line: u64, at_ms: Option<i64>, note: &ExchangeNote<'_>, what: ItemContent<'u>) {
        let request = self.heads.request.take();
        let response = if self.heads.response_is_known { self.heads.response.take() } else { None };
        let mut http = Vec::new();
        let (request, response) = (request.as_ref().map(Head::view), response.as_ref().map(Head::view));
        ExchangeNote { x: self.x, request, response, ..note.clone() }.encode(&mut http);
        self.findings.items.push(Item {
            at_ms,
            session: self.session.clone(),
            http: Some(Cow::Owned(http)),
            ..Item::new(line, what)
        });
    }

    fn event(&mut self, line: u64, ended_ms: Option<i64>, event: Event<'u>) {
        let (what, defect) = carried(event.context.event.as_deref(), event.data);
        let is_cut_off = event.unterminated
            && matches!(&what, ItemContent::Text { text, .. } if !text.trim_ascii().is_empty());
        if let Some(defect) = if is_cut_off { Some(Defect::CutOff) } else { defect } {
            self.findings.flaw(line, defect);
        }
        let note = ExchangeNote { sse: Some(Cow::Borrowed(&event.context)), ..ExchangeNote::default() };
        self.item(line, event.at_ms.or(ended_ms), &note, what);
    }
}

impl Event<'_> {
    /// Whether the event belongs to MCP: a message, or the first event of HTTP+SSE.
    fn is_of_session(&self) -> bool {
        let name = self.context.event.as_deref();
        name == Some("endpoint") || (may_be_message(name) && is_message(&self.data))
    }
}

/// Whether an event of this name may carry a message.
fn may_be_message(name: Option<&str>) -> bool {
    matches!(name, None | Some("message"))
}

/// The content of an event, a message or text, and its defect. A message may lack `jsonrpc` here; callers
/// that see events of other protocols check `is_of_session` first.
pub(super) fn carried<'u>(name: Option<&str>, data: Cow<'u, [u8]>) -> (ItemContent<'u>, Option<Defect>) {
    let from = Direction::ServerToClient;
    let is_message = |data: &[u8]| kind(data) != MessageKind::NotJsonRpc;
    if !may_be_message(name) || data.trim_ascii().is_empty() {
        return (ItemContent::Text { from, text: data }, None);
    }
    if is_message(&data) {
        return (ItemContent::Message { from: Some(from), raw: data }, None);
    }
    if let Some(raw) = decoded(&data).filter(|inner| is_message(inner)) {
        return (ItemContent::Message { from: Some(from), raw: Cow::Owned(raw) }, Some(Defect::EncodedTwice));
    }
    let defect = broken_message(&data).unwrap_or(Defect::EventNotAMessage);
    (ItemContent::Text { from, text: data }, Some(defect))
}

/// Decodes a JSON string.
fn decoded(data: &[u8]) -> Option<Vec<u8>> {
    Some(Value::parse(data).ok()?.string_bytes()?.into_owned())
}

/// The syntax error in data that begins like a message: it was cut off or damaged.
fn broken_message(data: &[u8]) -> Option<Defect> {
    let beginning = data.trim_ascii_start();
    // A bracket alone is not enough: other protocols have events such as `[DONE]`.
    let beginning = beginning.strip_prefix(b"[").unwrap_or(beginning).trim_ascii_start();
    crate::json::validate(data).err().filter(|_| beginning.starts_with(b"{")).map(Defect::NotJson)
}

/// The events of a body.
fn events<'u>(body: &[u8]) -> Vec<Event<'u>> {
    let mut framer = SseFramer::new();
    framer.push(body);
    let mut blocks: Vec<SseEvent> = std::iter::from_fn(|| framer.next_event()).collect();
    blocks.extend(framer.finish());
    blocks.into_iter().filter_map(event_of).collect()
}

fn event_of<'u>(block: SseEvent) -> Option<Event<'u>> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let context = SseContext { event: block.event.map(text), id: block.id.map(text), retry: block.retry };
    // A block of comments is only a keep-alive.
    if block.data.is_none() && context == SseContext::default() {
        return None;
    }
    let data = Cow::Owned(block.data.unwrap_or_default());
    Some(Event { at_ms: None, context, data, unterminated: block.unterminated })
}

fn kind(payload: &[u8]) -> MessageKind {
    match crate::json::validate(payload) {
        Ok(()) => Envelope::scan(payload).kind,
        Err(_) => MessageKind::NotJsonRpc,
    }
}

/// Whether a payload is a message with `jsonrpc`. Much JSON on the web has a `result`, an `error` or a
/// `method`.
pub(super) fn is_message(payload: &[u8]) -> bool {
    let says_so = |payload: &[u8]| Value::parse(payload).is_ok_and(|value| value.get("jsonrpc").is_some());
    match kind(payload) {
        MessageKind::NotJsonRpc => false,
        MessageKind::Batch => payloads(payload).into_iter().any(says_so),
        _ => says_so(payload),
    }
}

/// Whether a payload answers a message. The answer to a message may lack `jsonrpc`; but OAuth's errors have a
/// string in `error` (RFC 6749, section 5.2), where JSON-RPC's have an object.
fn is_answer(payload: &[u8], asks: bool) -> bool {
    let is_object =
        || Value::parse(payload).is_ok_and(|value| value.get("error").is_none_or(Value::is_object));
    is_message(payload) || (asks && kind(payload) == MessageKind::Response && is_object())
}
