//! What is known of one exchange, and which of its lines are written.
//!
//! An exchange is shared by whoever relays it and by its two bodies; when the last of them lets go, it has ended, and
//! that is told exactly once.

use super::connection::ClientConnection;
use super::csp::Csp;
use super::draining::{SessionKey, StreamKind};
use super::headers;
use super::heads::StartLine;
use super::refusal::{Concerns, Refusal};
use super::server::Shared;
use super::traces::SessionTrace;
use super::upstream::Target;
use crate::journal::Observation;
use crate::warning::Warning;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Version, header, request, response};
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use wiretape_events::transaction::{is_answer, session_in};
use wiretape_events::{Ended, Streamed, Timings, Transaction};
use wiretape_trace::format::{Answers, BodyNote, Context, ExchangeNote, Head, Moment, SseContext};
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
    /// A GET with these headers takes no answers to requests.
    listens: bool,
    started: Instant,
    /// When something last came, in microseconds since the start.
    heard_us: AtomicU64,
    trace: Option<Arc<SessionTrace>>,
    state: Mutex<State>,
}

/// What is known of the exchange beyond its messages: for the sink, and for ending streams.
#[derive(Default)]
struct Facts {
    path: String,
    session: Option<String>,
    protocol_version: Option<String>,
    user: Option<String>,
    request_head: Option<Arc<Head>>,
    response_head: Option<Arc<Head>>,
    is_html: bool,
}

#[derive(Default)]
struct State {
    started: Moment,
    facts: Option<Box<Facts>>,
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
    responded_us: Option<u64>,
    /// Set if the response is a stream that outlives requests.
    stream: Option<StreamKind>,
    /// The server's answer to a request has come.
    has_answer: bool,
    /// A line said that a stream has begun.
    opened: bool,
    /// An event of a stream was written: that the stream has ended, no message tells.
    streamed: bool,
    /// A policy of ours was put into the response.
    csp_applied: bool,
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
        if trace.is_some() || shared.sink.is_some() {
            let start = StartLine::Request {
                method: parts.method.clone(),
                target: full_target(connection, target, path),
                version: parts.version,
            };
            let head = connection.heads().head(shared.redactor.as_ref(), start, &parts.headers);
            state.facts = Some(Box::new(Facts {
                path: redact_target(shared.redactor.as_ref(), path).into_owned(),
                session: headers::session(&parts.headers).map(|session| shared.clean_name(session)),
                protocol_version: headers::protocol_version(&parts.headers).map(str::to_owned),
                user: headers::user(&parts.headers).map(|user| shared.clean_name(&user)),
                request_head: Some(Arc::clone(&head)),
                ..Facts::default()
            }));
            state.request_head = trace.is_some().then_some(head);
        }
        shared.request_began();
        Arc::new(Exchange {
            connection: Arc::clone(connection),
            target: Arc::clone(target),
            x: shared.next_exchange(),
            method: parts.method.clone(),
            listens: listens(&parts.headers),
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
        self.trace.is_some()
            || self.shared().sink.is_some()
            || self.connection.csp().is_some_and(Csp::listens_to_requests)
    }

    pub(super) fn method(&self) -> &Method {
        &self.method
    }

    /// What the request said, as far as it is heard.
    pub(super) fn request_message(&self) -> Option<Bytes> {
        self.state().request_message.clone()
    }

    /// What is done about policies, if it goes to the listener's own server.
    pub(super) fn own_csp(&self) -> Option<&Csp> {
        let own = &self.connection.listener_handle().target;
        self.connection.csp().filter(|_| own.as_ref().is_some_and(|own| own.is(&self.target)))
    }

    /// A policy of ours was put into the response.
    pub(super) fn csp_applied(&self) {
        self.state().csp_applied = true;
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
        if self.trace.is_some() || state.facts.is_some() {
            let start = StartLine::Response { status: parts.status, version: parts.version };
            let redactor = self.shared().redactor.as_ref();
            let head = self.connection.heads().head(redactor, start, &parts.headers);
            if let Some(facts) = &mut state.facts {
                facts.response_head = Some(Arc::clone(&head));
                facts.is_html = headers::is_html(&parts.headers);
                if let Some(session) = headers::session(&parts.headers) {
                    facts.session.get_or_insert_with(|| self.shared().clean_name(session));
                }
            }
            state.response_head = self.trace.is_some().then_some(head);
        }
        if headers::is_event_stream(&parts.headers) {
            state.stream = self.stream_kind(state.request_message.as_deref());
        }
        if state.stream.is_some() {
            self.shared().request_ended();
        }
        drop(state);
        let Some(trace) = &self.trace else { return };
        if let Some(session) = headers::session(&parts.headers) {
            self.connection.bind_session(&self.target, session, trace);
        }
        if self.method == Method::GET && headers::is_event_stream(&parts.headers) {
            self.state().opened = true;
            self.http_line(&ExchangeNote { ended: Some("open"), ..ExchangeNote::default() });
        }
    }

    /// What a stream of events is that has just begun; `None` if it is the answer to a request that will end.
    fn stream_kind(&self, request: Option<&[u8]>) -> Option<StreamKind> {
        // In the stateless revision a POST takes the place of the GET, and never ends by itself either.
        let subscribes = |request: &[u8]| {
            memchr::memmem::find(request, b"\"subscriptions/listen\"").is_some()
                && Envelope::scan(request).method.as_deref() == Some("subscriptions/listen")
        };
        match self.method {
            Method::GET if self.listens => Some(StreamKind::Listening),
            Method::GET if self.is_heard() => Some(StreamKind::Answering),
            Method::GET => Some(StreamKind::Unknown),
            Method::POST if request.is_some_and(subscribes) => Some(StreamKind::Listening),
            _ => None,
        }
    }

    /// Which kind of stream its response is, if it is one that outlives requests.
    pub(super) fn stream(&self) -> Option<StreamKind> {
        self.state().stream
    }

    /// The session that it belongs to, as far as it is known by now.
    pub(super) fn session_key(&self) -> Option<SessionKey> {
        let state = self.state();
        let facts = state.facts.as_ref()?;
        let session = facts.session.clone().or_else(|| session_in(&facts.path))?;
        Some(SessionKey { upstream: Arc::clone(self.target.origin()), session })
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
            Some(clean) if is_message(&line) => {
                let bytes = (clean.len() as u64 != wire_bytes).then_some(wire_bytes);
                self.message(from, body, &clean, &ExchangeNote { bytes, ..ExchangeNote::default() });
            }
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
        let note = ExchangeNote { sse: Some(sse), ..ExchangeNote::default() };
        self.state().streamed = true;
        if let Some(clean) = self.redact(&line) {
            self.message(Direction::ServerToClient, &Bytes::copy_from_slice(&line), &clean, &note);
            return;
        }
        let text = self.redact_text(data);
        self.write(LineOf::Text(&text), &note);
        if sse.event.as_deref() == Some("endpoint")
            && let Ok(endpoint) = std::str::from_utf8(data)
        {
            if let Some(trace) = &self.trace {
                self.connection.bind_endpoint(&self.target, endpoint, trace);
            }
            if let Some(facts) = &mut self.state().facts {
                // As the requests to it will name it.
                let endpoint = redact_target(self.shared().redactor.as_ref(), endpoint);
                facts.session = facts.session.take().or_else(|| session_in(&endpoint));
            }
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
        let us = self.elapsed_us();
        let mut state = self.state();
        match from {
            Direction::ClientToServer => state.request_bytes = wire_bytes,
            Direction::ServerToClient => {
                state.response_bytes = wire_bytes;
                state.responded = whole;
                state.responded_us = whole.then_some(us);
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
        if refusal.concerns == Concerns::Operator {
            self.shared().warn_once(Warning::Upstream { message: refusal.message.clone() });
        }
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
        let note = ExchangeNote { answers: Answers::Recorder, ..ExchangeNote::default() };
        self.message(Direction::ServerToClient, &Bytes::new(), &refusal.body(id.as_deref()), &note);
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

    fn message(&self, from: Direction, original: &Bytes, clean: &[u8], note: &ExchangeNote<'_>) {
        self.keep(from, original, clean);
        self.write(LineOf::Message(from, clean), note);
    }

    /// Keeps what an answer of ours, or the sink, may need.
    fn keep(&self, from: Direction, original: &Bytes, clean: &[u8]) {
        let copy = || if clean == &original[..] { original.clone() } else { Bytes::copy_from_slice(clean) };
        match from {
            Direction::ClientToServer => self.state().request_message = Some(copy()),
            Direction::ServerToClient if !is_answer(clean) => {}
            Direction::ServerToClient if self.method == Method::GET => self.hand_on(clean, &copy),
            Direction::ServerToClient => {
                let mut state = self.state();
                state.has_answer = true;
                state.response_message = self.shared().sink.is_some().then(copy);
            }
        }
    }

    /// On a stream that a GET opened, answers belong to other exchanges.
    fn hand_on(&self, clean: &[u8], copy: &dyn Fn() -> Bytes) {
        let Some(key) = self.session_key() else { return };
        self.shared().awaited.answered(&key, clean);
        if let Some(sink) = &self.shared().sink {
            let SessionKey { upstream, session } = key;
            sink.streamed(Streamed { upstream, session, message: copy(), at: Instant::now() });
        }
    }

    /// Remembers requests whose answers are still to come on a stream, and forgets those of a stream that is gone.
    fn note_awaited_answers(&self, ended: Ended) {
        let (message, is_open, stream) = {
            let state = self.state();
            let is_open = ended == Ended::Complete && !state.has_answer;
            let takes_answers = state.status == Some(202) || state.streamed;
            (state.request_message.clone().filter(|_| takes_answers), is_open, state.stream)
        };
        if stream == Some(StreamKind::Answering) && ended != Ended::Complete {
            if let Some(key) = self.session_key() {
                self.shared().awaited.forget(&key);
            }
        } else if let Some(message) = message.filter(|_| is_open && self.method == Method::POST)
            && let Some(key) = self.session_key()
        {
            self.shared().awaited.accepted(&key, &message);
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
            if stopping {
                self.shared().count_cut_off();
            }
        }
        state.ended
    }

    fn tell_trace(&self, ended: Ended) {
        let mut state = self.state();
        let untold = state.request_head.is_some()
            || state.response_head.is_some()
            || state.request_note.is_some()
            || state.response_note.is_some()
            || state.opened
            || state.streamed;
        if !untold && ended == Ended::Complete {
            return;
        }
        let (request_body, response_body) = (state.request_note.take(), state.response_note.take());
        let bytes = Some(state.response_bytes).filter(|bytes| *bytes > 0 && response_body.is_none());
        let error = state.error.clone();
        drop(state);
        self.http_line(&ExchangeNote {
            request_body: request_body.as_ref(),
            response_body: response_body.as_ref(),
            bytes,
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
        let Some(facts) = state.facts.take() else { return };
        sink.finished(Transaction {
            x: self.x,
            listener: Arc::clone(self.connection.listener_name()),
            client: self.connection.peer(),
            connection: self.connection.number(),
            upstream: Arc::clone(self.target.origin()),
            session: facts.session,
            protocol_version: facts.protocol_version,
            user: facts.user.filter(|_| state.status != Some(401)),
            method: self.method.as_str().into(),
            target: facts.path,
            request_head: facts.request_head,
            response_head: facts.response_head,
            status: state.status,
            request: state.request_message.take(),
            response: state.response_message.take(),
            request_bytes: state.request_bytes,
            response_bytes: state.response_bytes,
            is_html: facts.is_html,
            csp_applied: state.csp_applied,
            trace: self.trace.as_ref().map(|trace| Arc::clone(trace.id())),
            timings: Timings {
                started: state.started,
                connected_us: state.connected_us,
                answered_us: state.answered_us,
                first_byte_us: state.first_byte_us,
                responded_us: state.responded_us,
                ended_us: self.elapsed_us(),
            },
            ended_at: Instant::now(),
            ended,
            error: state.error.take(),
        });
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let ended = self.settle();
        self.shared().count(ended);
        self.note_awaited_answers(ended);
        if self.stream().is_none() {
            self.shared().request_ended();
        }
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

/// Whether the stream that a GET with these headers opens is for the server's own messages only: a session of streamable
/// HTTP that is not resumed.
fn listens(headers: &HeaderMap) -> bool {
    headers::session(headers).is_some() && !headers.contains_key("last-event-id")
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

/// A name that may be a secret by its looks: some servers put a token into the id of a session.
pub(crate) fn redact_name<'a>(redactor: Option<&Redactor>, name: &'a str) -> Cow<'a, str> {
    match redactor.map(|redactor| redactor.text(name.as_bytes())) {
        Some(Cow::Owned(clean)) => Cow::Owned(String::from_utf8_lossy(&clean).into_owned()),
        _ => Cow::Borrowed(name),
    }
}
