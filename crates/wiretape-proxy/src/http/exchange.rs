//! What is known of one exchange, and which of its lines are written.
//!
//! An exchange is shared by whoever relays it and by its two bodies; when the last of them lets go, it has ended, and
//! that is told exactly once.

use super::connection::ClientConnection;
use super::headers;
use super::heads::StartLine;
use super::refusal::Refusal;
use super::server::Shared;
use super::traces::SessionTrace;
use super::transaction::{Ended, Timings, Transaction};
use super::upstream::Target;
use crate::journal::Observation;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Version, header, request, response};
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use wiretape_trace::format::{BodyNote, Context, ExchangeNote, Head, Moment, SseContext};
use wiretape_trace::json;
use wiretape_trace::message::{Direction, Envelope, Id, MessageKind};
use wiretape_trace::redact::Redactor;

/// As much of a body that is no message is recorded.
pub(crate) const MAX_NOTE: usize = 16 * 1024;

/// One exchange.
pub(super) struct Exchange {
    pub(super) connection: Arc<ClientConnection>,
    pub(super) target: Arc<Target>,
    x: u64,
    method: Method,
    started: Instant,
    /// When something last came, in microseconds since the start.
    heard_us: AtomicU64,
    trace: Option<Arc<SessionTrace>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    path: String,
    started: Moment,
    /// The heads, until they are written.
    request_head: Option<Arc<Head>>,
    response_head: Option<Arc<Head>>,
    status: Option<u16>,
    /// Bodies that are no messages.
    request_note: Option<BodyNote>,
    response_note: Option<BodyNote>,
    request_bytes: u64,
    response_bytes: u64,
    /// What the request said, for an answer of our own and for the sink.
    request_message: Option<Bytes>,
    response_message: Option<Bytes>,
    connected_us: Option<u64>,
    answered_us: Option<u64>,
    first_byte_us: Option<u64>,
    /// A line said that a stream has begun.
    opened: bool,
    /// The response's body has come to its end.
    responded: bool,
    ended: Ended,
    error: Option<String>,
}

/// What a line is about.
enum LineOf<'a> {
    /// A message.
    Message(Direction, &'a [u8]),
    /// An event of the server's that is no message.
    Text(&'a [u8]),
    /// The exchange itself.
    Exchange,
}

impl<'a> LineOf<'a> {
    fn observation(self, context: Context<'a>) -> Observation<'a> {
        match self {
            LineOf::Message(dir, raw) => Observation::Message { dir, context, raw },
            LineOf::Text(text) => Observation::Text { dir: Direction::ServerToClient, context, text },
            LineOf::Exchange => Observation::Http { context },
        }
    }
}

impl Exchange {
    /// A request's head has come.
    pub(super) fn begin(
        connection: &Arc<ClientConnection>,
        target: &Arc<Target>,
        parts: &request::Parts,
    ) -> Arc<Self> {
        let shared = connection.shared();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let trace = connection.trace_for(target, parts);
        let mut state = State { started: shared.clock.now(), ..State::default() };
        if shared.sink.is_some() {
            state.path = redact_target(shared.redactor.as_ref(), path).into_owned();
        }
        if trace.is_some() {
            let start = StartLine::Request {
                method: parts.method.clone(),
                target: full_target(connection, target, path),
                version: parts.version,
            };
            let head = connection.heads().head(shared.redactor.as_ref(), start, &parts.headers);
            state.request_head = Some(head);
        }
        Arc::new(Exchange {
            connection: Arc::clone(connection),
            target: Arc::clone(target),
            x: shared.next_exchange(),
            method: parts.method.clone(),
            started: Instant::now(),
            heard_us: AtomicU64::new(0),
            trace,
            state: Mutex::new(state),
        })
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        self.connection.shared()
    }

    /// Whether anybody wants to know what the bodies say.
    pub(super) fn is_heard(&self) -> bool {
        self.trace.is_some() || self.shared().sink.is_some()
    }

    pub(super) fn method(&self) -> &Method {
        &self.method
    }

    /// There is a connection to the upstream.
    pub(super) fn connected(&self) {
        let us = self.elapsed_us();
        self.state().connected_us = Some(us);
    }

    /// The response's head has come.
    pub(super) fn answered(&self, parts: &response::Parts) {
        self.hear();
        let us = self.elapsed_us();
        let mut state = self.state();
        state.answered_us = Some(us);
        state.status = Some(parts.status.as_u16());
        let Some(trace) = &self.trace else { return };
        let start = StartLine::Response { status: parts.status, version: parts.version };
        let redactor = self.shared().redactor.as_ref();
        state.response_head = Some(self.connection.heads().head(redactor, start, &parts.headers));
        drop(state);
        if let Some(session) = headers::session(&parts.headers) {
            self.connection.bind_session(&self.target, session, trace);
        }
        if self.method == Method::GET && headers::is_event_stream(&parts.headers) {
            self.state().opened = true;
            self.http_line(&ExchangeNote { ended: Some("open"), ..ExchangeNote::default() });
        }
    }

    /// The first byte of the response's body has come.
    pub(super) fn first_byte(&self) {
        let us = self.elapsed_us();
        self.state().first_byte_us.get_or_insert(us);
    }

    /// A body has come to its end: a message, a batch, or something else.
    pub(super) fn body(&self, from: Direction, body: &Bytes, wire_bytes: u64) {
        if body.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let line = one_line(body);
        let clean = self.redact(&line);
        match clean {
            Some(clean) if is_message(&line) => self.message(from, body, &clean, None),
            Some(clean) => self.note(from, wire_bytes, Some(&clean)),
            None => {
                let text = self.redact_text(&body[..body.len().min(MAX_NOTE)]);
                self.note(from, wire_bytes, Some(&text));
            }
        }
    }

    /// A body broke off: what came of it.
    pub(super) fn fragment(&self, from: Direction, body: &Bytes, wire_bytes: u64) {
        let text = self.redact_text(&body[..body.len().min(MAX_NOTE)]);
        self.note(from, wire_bytes, Some(&text));
    }

    /// An event has come.
    pub(super) fn event(&self, data: &[u8], sse: &SseContext) {
        let line = one_line(data);
        if let Some(clean) = self.redact(&line) {
            self.message(Direction::ServerToClient, &Bytes::copy_from_slice(&line), &clean, Some(sse));
            return;
        }
        let text = self.redact_text(data);
        self.write(LineOf::Text(&text), &ExchangeNote { sse: Some(sse), ..ExchangeNote::default() });
        if sse.event.as_deref() == Some("endpoint")
            && let (Some(trace), Ok(endpoint)) = (&self.trace, std::str::from_utf8(data))
        {
            self.connection.bind_endpoint(&self.target, endpoint, trace);
        }
    }

    /// A body that is no message, or not one that can be recorded.
    pub(super) fn note(&self, from: Direction, bytes: u64, text: Option<&[u8]>) {
        let text = text.filter(|text| text.len() <= MAX_NOTE && !text.is_empty());
        let note = BodyNote { bytes, text: text.map(|text| String::from_utf8_lossy(text).into_owned()) };
        let mut state = self.state();
        match from {
            Direction::ClientToServer => state.request_note = Some(note),
            Direction::ServerToClient => state.response_note = Some(note),
        }
    }

    /// A body has ended, whole or not.
    pub(super) fn side_ended(&self, from: Direction, wire_bytes: u64, whole: bool) {
        let mut state = self.state();
        match from {
            Direction::ClientToServer => state.request_bytes = wire_bytes,
            Direction::ServerToClient => {
                state.response_bytes = wire_bytes;
                state.responded = whole;
            }
        }
    }

    /// It will not end well. The first trouble counts.
    pub(super) fn trouble(&self, ended: Ended, error: Option<&str>) {
        let error =
            error.map(|error| String::from_utf8_lossy(&self.redact_text(error.as_bytes())).into_owned());
        let mut state = self.state();
        if state.ended == Ended::Complete {
            state.ended = ended;
            state.error = error;
        }
    }

    /// Whether its request was found to be too large.
    pub(super) fn is_too_large(&self) -> bool {
        self.state().ended == Ended::TooLarge
    }

    /// We answer it ourselves.
    pub(super) fn refuse<B: From<Bytes>>(&self, refusal: &Refusal) -> http::Response<B> {
        self.trouble(refusal.ended, Some(&refusal.message));
        let mut state = self.state();
        state.responded = true;
        let message = state.request_message.clone();
        let trace = self.trace.as_ref();
        let response: http::Response<B> =
            refusal.response(message.as_deref().and_then(request_id).as_deref());
        if trace.is_some() {
            let pairs = header_pairs(None, response.headers().iter());
            state.response_head = Some(Arc::new(Head::response(refusal.status.as_u16(), "1.1", pairs)));
        }
        state.status = Some(refusal.status.as_u16());
        drop(state);
        let id = message.as_deref().and_then(request_id);
        self.message(Direction::ServerToClient, &Bytes::new(), &refusal.body(id.as_deref()), None);
        response
    }

    /// We answer it ourselves, and nothing is wrong with it.
    pub(super) fn answer_ourselves<B>(&self, response: &http::Response<B>) {
        let status = response.status().as_u16();
        let mut state = self.state();
        state.responded = true;
        state.status = Some(status);
        if self.trace.is_some() {
            let redactor = self.shared().redactor.as_ref();
            let head = Head::response(status, "1.1", header_pairs(redactor, response.headers().iter()));
            state.response_head = Some(Arc::new(redacted(redactor, head)));
        }
    }

    /// How long it has been going on.
    pub(super) fn elapsed_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Something came, from either side.
    pub(super) fn hear(&self) {
        self.heard_us.store(self.elapsed_us(), Ordering::Relaxed);
    }

    /// When something last came.
    pub(super) fn heard(&self) -> Instant {
        self.started + Duration::from_micros(self.heard_us.load(Ordering::Relaxed))
    }

    pub(super) fn started(&self) -> Instant {
        self.started
    }

    fn message(&self, from: Direction, original: &Bytes, clean: &[u8], sse: Option<&SseContext>) {
        self.keep(from, original, clean);
        self.write(LineOf::Message(from, clean), &ExchangeNote { sse, ..ExchangeNote::default() });
    }

    /// Keeps what an answer of ours, or the sink, may need.
    fn keep(&self, from: Direction, original: &Bytes, clean: &[u8]) {
        let sink = self.shared().sink.is_some();
        let copy = || if clean == &original[..] { original.clone() } else { Bytes::copy_from_slice(clean) };
        match from {
            Direction::ClientToServer => self.state().request_message = Some(copy()),
            Direction::ServerToClient if sink && is_answer(clean) => {
                self.state().response_message = Some(copy());
            }
            Direction::ServerToClient => {}
        }
    }

    /// Writes a line with this exchange's context, and those of its heads that no line had yet.
    fn write(&self, line: LineOf<'_>, note: &ExchangeNote<'_>) {
        let Some(trace) = &self.trace else { return };
        let (request, response) = {
            let mut state = self.state();
            (state.request_head.take(), state.response_head.take())
        };
        let mut http = Vec::with_capacity(1024);
        ExchangeNote { x: self.x, request: request.as_deref(), response: response.as_deref(), ..*note }
            .encode(&mut http);
        let context = Context { session: trace.session(), http: Some(&http), ..Context::default() };
        trace.append(trace.now(), line.observation(context));
    }

    fn http_line(&self, note: &ExchangeNote<'_>) {
        self.write(LineOf::Exchange, note);
    }

    fn redact<'a>(&self, line: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        if !json::is_utf8(line) {
            return None;
        }
        match &self.shared().redactor {
            Some(redactor) => redactor.json(line).ok(),
            None => json::validate(line).is_ok().then_some(Cow::Borrowed(line)),
        }
    }

    fn redact_text<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        self.shared().redactor.as_ref().map_or(Cow::Borrowed(text), |redactor| redactor.text(text))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides how it ended, now that nobody can say anything more.
    fn settle(&self) -> Ended {
        let stopping = self.shared().is_stopping();
        let mut state = self.state();
        if state.ended == Ended::Complete && !state.responded {
            state.ended = if stopping { Ended::Stopped } else { Ended::ClientClosed };
        }
        state.ended
    }

    fn tell_trace(&self, ended: Ended) {
        let mut state = self.state();
        let untold = state.request_head.is_some()
            || state.response_head.is_some()
            || state.request_note.is_some()
            || state.response_note.is_some()
            || state.opened;
        if !untold && matches!(ended, Ended::Complete | Ended::Refused) {
            return;
        }
        let (request_body, response_body) = (state.request_note.take(), state.response_note.take());
        let error = state.error.clone();
        drop(state);
        self.http_line(&ExchangeNote {
            request_body: request_body.as_ref(),
            response_body: response_body.as_ref(),
            ended: Some(ended.name()),
            error: error.as_deref(),
            duration_us: Some(self.elapsed_us()),
            ..ExchangeNote::default()
        });
    }

    fn tell_sink(&self, ended: Ended) {
        let shared = self.shared();
        let Some(sink) = &shared.sink else { return };
        let mut state = self.state();
        sink.finished(Transaction {
            x: self.x,
            listener: self.connection.listener().name.clone(),
            client: self.connection.peer(),
            upstream: self.target.origin(),
            session: self.trace.as_ref().and_then(|trace| trace.session()).map(str::to_owned),
            method: self.method.to_string(),
            target: std::mem::take(&mut state.path),
            status: state.status,
            request: state.request_message.take(),
            response: state.response_message.take(),
            request_bytes: state.request_bytes,
            response_bytes: state.response_bytes,
            timings: Timings {
                started: state.started,
                connected_us: state.connected_us,
                answered_us: state.answered_us,
                first_byte_us: state.first_byte_us,
                ended_us: self.elapsed_us(),
            },
            ended,
            error: state.error.take(),
        });
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let ended = self.settle();
        self.shared().count(ended);
        if let Some(trace) = self.trace.clone() {
            self.tell_trace(ended);
            let status = self.state().status.unwrap_or(0);
            if self.method == Method::DELETE && (200..300).contains(&status) && trace.session().is_some() {
                self.shared().end_trace(&trace, "the client ended the session");
            }
            self.shared().release_trace(&trace);
        }
        self.tell_sink(ended);
    }
}

/// A payload on one line.
pub(crate) fn one_line(body: &[u8]) -> Cow<'_, [u8]> {
    let body = body.trim_ascii();
    if memchr::memchr2(b'\n', b'\r', body).is_some() {
        Cow::Owned(json::compact(body))
    } else {
        Cow::Borrowed(body)
    }
}

/// Whether JSON is JSON-RPC, or means to be.
pub(crate) fn is_message(line: &[u8]) -> bool {
    static MEMBER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"jsonrpc\""));
    if MEMBER.find(line).is_some() {
        return true;
    }
    let envelope = Envelope::scan(line);
    matches!(envelope.kind, MessageKind::Request | MessageKind::Notification)
        || (envelope.kind == MessageKind::Response && envelope.id.is_some())
}

/// Whether it answers something, or is a batch, which may.
fn is_answer(line: &[u8]) -> bool {
    line.first() == Some(&b'[') || Envelope::scan(line).kind == MessageKind::Response
}

/// The id of a request, as JSON.
fn request_id(message: &[u8]) -> Option<Vec<u8>> {
    let envelope = Envelope::scan(message);
    match envelope.id? {
        Id::String(id) => serde_json::to_vec(&id).ok(),
        Id::Number(number) => Some(number.as_bytes().to_vec()),
    }
}

/// What was asked for: behind a forward proxy a path alone says little.
fn full_target<'a>(connection: &ClientConnection, target: &Target, path: &'a str) -> Cow<'a, str> {
    if connection.is_reverse() {
        Cow::Borrowed(path)
    } else {
        Cow::Owned(format!("{}{path}", target.origin()))
    }
}

pub(crate) fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 | Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2",
        _ => "1.1",
    }
}

/// The headers, with those values redacted whose secrets have no name of their own.
pub(crate) fn header_pairs<'a>(
    redactor: Option<&Redactor>,
    headers: impl Iterator<Item = (&'a HeaderName, &'a HeaderValue)>,
) -> impl Iterator<Item = (&'a str, Cow<'a, [u8]>)> {
    headers.map(move |(name, value)| {
        let is_url = name == header::LOCATION || name == header::REFERER;
        let value = match value.to_str().ok().filter(|_| is_url) {
            Some(url) => Cow::Owned(redact_target(redactor, url).into_owned().into_bytes()),
            None => Cow::Borrowed(value.as_bytes()),
        };
        (name.as_str(), value)
    })
}

pub(crate) fn redacted(redactor: Option<&Redactor>, head: Head) -> Head {
    let Some(redactor) = redactor else { return head };
    match redactor.json(head.json()) {
        Ok(Cow::Borrowed(_)) => head,
        Ok(Cow::Owned(clean)) => Head::from_json(clean),
        // It was made a moment ago, and is JSON; if it weren't, nothing of it may be written.
        Err(_) => Head::from_json(b"{}".to_vec()),
    }
}

pub(crate) fn redact_target<'a>(redactor: Option<&Redactor>, target: &'a str) -> Cow<'a, str> {
    redactor.map_or(Cow::Borrowed(target), |redactor| redactor.url(target))
}
