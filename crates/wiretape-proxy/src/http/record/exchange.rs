//! The state of one exchange, and the trace lines written about it.
//!
//! An exchange is shared by the relay and the two bodies, which hyper may drop in any order and at any time. When the last of
//! them drops it, the exchange has ended, and `Drop` records that exactly once, in the trace and to the sink.
//!
//! **Why this shape.** Heads are large, so a trace has each of them once: on the first line written after it is known. A JSON
//! exchange is then two lines, as on stdio, and only what no message shows (an empty body, a broken stream, an HTTP error) has
//! a line of its own. Hence the `Option`s in [`ExchangeState`]: what is still there at the end has not been written yet. The
//! state is behind a mutex because the two bodies are polled independently, and large messages are recorded on another thread;
//! it is held for single assignments, never during redaction or a write.

use super::connection::ConnectionRecorder;
use super::heads::StartLine;
use super::recorder::Recorder;
use super::redaction::RequestNames;
use super::resource_requests::ResourceRequests;
use super::streams::{SessionKey, StreamKind};
use super::traces::SessionTrace;
use crate::http::headers;
use crate::http::refusal::{Concerns, Refusal};
use crate::http::target::Target;
use crate::journal::Observation;
use crate::warning::Warning;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Version, header, request, response};
use memchr::memmem::Finder;
use parking_lot::{Mutex, MutexGuard};
use std::any::Any;
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;
use wiretape_events::transaction::{is_answer, session_in};
use wiretape_events::{Ended, Streamed, Timings, Transaction};
use wiretape_trace::format::{
    Answers, BodyNote, Context, ExchangeNote, ExchangeProgress, Head, Moment, Policy, SseContext, Stages,
};
use wiretape_trace::json::{self, SyntaxError};
use wiretape_trace::message::{Direction, Envelope, Id, MessageKind};
use wiretape_trace::protocol::method;
use wiretape_trace::redact::{Redactor, SecretMemory};

/// The limit in bytes up to which a body that is not a message is recorded.
pub(crate) const MAX_NOTE: usize = 16 * 1024;

/// One HTTP request with its response, from the request's head to the end of both bodies.
pub(crate) struct Exchange {
    connection: Arc<ConnectionRecorder>,
    /// The relay's connection, kept until the exchange is over: draining waits for it, and an HTTP/2 connection with an exchange
    /// isn't idle. After `connection`, so that the relay is its last holder: it ends the trace of a connection without sessions
    /// before the connection counts as closed.
    _relayed: Arc<dyn Any + Send + Sync>,
    pub(crate) target: Arc<Target>,
    /// The exchange's number in the trace (`http.x`).
    x: u64,
    method: Method,
    /// Whether a stream that this GET opens carries no responses to requests.
    is_listening: bool,
    /// Whether a policy needs the content of the bodies.
    policy_needs_bodies: bool,
    /// When the request's head was complete, on the proxy's clock.
    started_us: u64,
    /// The last activity of either side, in microseconds since the start. Atomic, so that each frame costs no lock.
    activity_us: AtomicU64,
    trace: Option<Arc<SessionTrace>>,
    state: Mutex<ExchangeState>,
}

/// What is known about the exchange beyond its messages: for the sink, and for ending streams.
#[derive(Default)]
struct ExchangeFacts {
    names: RequestNames,
    request_head: Option<Arc<Head>>,
    response_head: Option<Arc<Head>>,
    is_html: bool,
}

/// The mutable part of an exchange.
#[derive(Default)]
struct ExchangeState {
    /// When the request's head was complete, in milliseconds since 1970. The first line of the trace replaces it with what
    /// readers compute, so that they and the sink agree.
    started_ms: i64,
    facts: Option<Box<ExchangeFacts>>,
    request: MessageState,
    methods: RequestMethods,
    response: MessageState,
    status: Option<u16>,
    stages: Stages,
    /// The duration, once nothing that follows can change it: the response is complete and answers the request.
    settled_us: Option<u64>,
    stream: StreamState,
    /// Whether the server has answered the request.
    has_answer: bool,
    /// Whether the proxy added a Content-Security-Policy to the response.
    csp_applied: bool,
    /// Whether the response's body is complete.
    responded: bool,
    ended: Ended,
    error: Option<String>,
}

/// What is known about the request or the response.
#[derive(Default)]
struct MessageState {
    /// The head, until it is written.
    head: Option<Arc<Head>>,
    /// The body, if it is not a message, until it is written.
    note: Option<BodyNote>,
    /// The size of the body in bytes, as it was sent.
    bytes: u64,
    /// The redacted message, for error responses of the proxy and for the sink.
    message: Option<Bytes>,
    /// The time of its line, on the proxy's clock: readers of the trace time the call by it.
    recorded_us: Option<u64>,
}

/// What the methods in the request's message mean for the response. Found in the message as received: in the redacted one, a
/// method that is known as a secret is missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct RequestMethods {
    /// Whether the response is a stream that doesn't end by itself: in the stateless revision (MCP 2026-07-28)
    /// `subscriptions/listen`, a POST, replaces the GET.
    subscribes: bool,
    resources: Option<ResourceRequests>,
}

impl RequestMethods {
    fn in_message(message: &[u8], policy_needs_resources: bool) -> Self {
        let subscribes = memchr::memmem::find(message, b"\"subscriptions/listen\"").is_some()
            && Envelope::scan(message).method.as_deref() == Some(method::LISTEN);
        let resources = policy_needs_resources.then(|| ResourceRequests::in_message(message)).flatten();
        RequestMethods { subscribes, resources }
    }
}

/// What is known about the response as an event stream.
#[derive(Default)]
struct StreamState {
    /// Set if the stream outlives requests.
    kind: Option<StreamKind>,
    /// Whether an event was written. No message shows that the stream has ended, so a line must.
    has_events: bool,
    /// An event had an id, with which the client may resume the stream.
    is_resumable: bool,
}

impl ExchangeState {
    fn policy(&self) -> Policy {
        if self.csp_applied { Policy::Added } else { Policy::Unchanged }
    }
}

/// The content of a trace line.
enum LineContent<'a> {
    /// A redacted message, from the given side.
    Message(Direction, &'a [u8]),
    /// A server-sent event that is not a message.
    Text(&'a [u8]),
    /// Nothing but the exchange's context.
    Exchange,
}

impl<'a> LineContent<'a> {
    fn observation(self, context: Context<'a>) -> Observation<'a> {
        match self {
            LineContent::Message(dir, raw) => Observation::Message { dir, context, raw },
            LineContent::Text(text) => Observation::Text { dir: Direction::ServerToClient, context, text },
            LineContent::Exchange => Observation::Http { context },
        }
    }
}

impl Exchange {
    /// Begins an exchange with a request's head. Keeps the `relayed` connection until it is over.
    pub(crate) fn begin(
        connection: &Arc<ConnectionRecorder>,
        relayed: Arc<dyn Any + Send + Sync>,
        target: &Arc<Target>,
        parts: &request::Parts,
        policy_needs_bodies: bool,
    ) -> Arc<Self> {
        let recorder = connection.recorder();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        // First, because the trace is held open from here on, and the head's line must not go to a trace that has
        // ended.
        let trace = connection.trace_for(target, parts);
        let started = recorder.clock.now();
        let mut state = ExchangeState { started_ms: started.wall_ms, ..ExchangeState::default() };
        // Rendering and redacting a head is expensive (see `heads`), so it is skipped if nothing needs it.
        if trace.is_some() || recorder.sink.is_some() {
            let start = StartLine::Request {
                method: parts.method.clone(),
                target: full_target(connection, target, path),
                version: parts.version,
            };
            let heads = connection.heads();
            let (head, names) = heads.request(recorder.redaction(), start, path, &parts.headers);
            state.facts = Some(Box::new(ExchangeFacts {
                names,
                request_head: Some(Arc::clone(&head)),
                ..ExchangeFacts::default()
            }));
            state.request.head = trace.is_some().then_some(head);
        }
        recorder.counters.exchanges.request_began();
        Arc::new(Exchange {
            connection: Arc::clone(connection),
            _relayed: relayed,
            target: Arc::clone(target),
            x: recorder.counters.exchanges.next(),
            method: parts.method.clone(),
            is_listening: is_listening(&parts.headers),
            policy_needs_bodies,
            started_us: started.us,
            activity_us: AtomicU64::new(0),
            trace,
            state: Mutex::new(state),
        })
    }

    pub(crate) fn recorder(&self) -> &Arc<Recorder> {
        self.connection.recorder()
    }

    /// Whether the trace, the sink or a policy needs the content of the bodies. If not, they are only counted.
    pub(crate) fn needs_bodies(&self) -> bool {
        self.trace.is_some() || self.recorder().sink.is_some() || self.policy_needs_bodies
    }

    pub(crate) fn method(&self) -> &Method {
        &self.method
    }

    /// The requests for resources in the request's message, if a policy needs its content.
    pub(crate) fn resource_requests(&self) -> Option<ResourceRequests> {
        self.state().methods.resources
    }

    /// Records that the proxy added a policy to the response.
    pub(crate) fn mark_csp_applied(&self) {
        self.state().csp_applied = true;
    }

    /// Records when the connection to the upstream was there.
    pub(crate) fn record_connected(&self) {
        let us = self.elapsed_us();
        self.state().stages.connected_us = Some(us);
    }

    /// Records the response's head.
    pub(crate) fn record_response_head(&self, parts: &response::Parts) {
        self.record_activity();
        let us = self.elapsed_us();
        let mut state = self.state();
        state.stages.answered_us = Some(us);
        state.status = Some(parts.status.as_u16());
        if self.trace.is_some() || state.facts.is_some() {
            let start = StartLine::Response { status: parts.status, version: parts.version };
            let redaction = self.recorder().redaction();
            let head = self.connection.heads().head(redaction, start, &parts.headers);
            if let Some(facts) = &mut state.facts {
                facts.response_head = Some(Arc::clone(&head));
                facts.is_html = headers::is_html(&parts.headers);
                if let Some(session) = headers::session(&parts.headers) {
                    facts.names.session.get_or_insert_with(|| self.recorder().clean_name(session));
                }
            }
            state.response.head = self.trace.is_some().then_some(head);
        }
        if headers::is_event_stream(&parts.headers) {
            state.stream.kind = self.stream_kind(state.methods);
        }
        if state.stream.kind.is_some() {
            self.recorder().counters.exchanges.request_became_stream();
        }
        // The lines below lock the state again.
        drop(state);
        let Some(trace) = &self.trace else { return };
        if let Some(session) = headers::session(&parts.headers) {
            self.connection.bind_session(&self.target, session, trace);
        }
        if self.method == Method::GET && headers::is_event_stream(&parts.headers) {
            self.write_exchange_line(ExchangeNote {
                progress: Some(ExchangeProgress::Open),
                ..ExchangeNote::default()
            });
        }
    }

    /// The kind of an event stream that has just begun; `None` if it is the response to a request and will end.
    fn stream_kind(&self, methods: RequestMethods) -> Option<StreamKind> {
        match self.method {
            Method::GET if self.is_listening => Some(StreamKind::Listening),
            Method::GET if self.needs_bodies() => Some(StreamKind::Answering),
            Method::GET => Some(StreamKind::Unknown),
            Method::POST if methods.subscribes => Some(StreamKind::Listening),
            _ => None,
        }
    }

    /// The kind of stream that the response is, if it is one that outlives requests.
    pub(crate) fn stream(&self) -> Option<StreamKind> {
        self.state().stream.kind
    }

    /// The session that the exchange belongs to, if it is known yet.
    pub(crate) fn session_key(&self) -> Option<SessionKey> {
        let state = self.state();
        let facts = state.facts.as_ref()?;
        let session = facts.names.session.clone().or_else(|| session_in(&facts.names.path))?;
        Some(SessionKey { upstream: Arc::clone(self.target.origin()), session })
    }

    /// Records the time of the first byte of the response's body.
    pub(crate) fn record_first_byte(&self) {
        let us = self.elapsed_us();
        self.state().stages.first_byte_us.get_or_insert(us);
    }

    /// Records a complete body: a message, a batch, or something else.
    pub(crate) fn record_body(&self, from: Direction, body: &Bytes, wire_bytes: u64) {
        if body.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let line = one_line(body);
        let clean = self.redact(&line);
        match clean {
            Some(clean) if is_message(&line) => {
                if from == Direction::ClientToServer {
                    let methods = RequestMethods::in_message(&line, self.policy_needs_bodies);
                    self.state().methods = methods;
                }
                // Only if it differs from the recorded length: compressed, redacted or compacted bodies.
                let bytes = (clean.len() as u64 != wire_bytes).then_some(wire_bytes);
                let note = ExchangeNote { bytes, ..ExchangeNote::default() };
                if from == Direction::ServerToClient && self.is_request_recorded() {
                    self.record_last_message(body, &clean, note);
                } else {
                    self.record_message(from, body, &clean, note);
                }
            }
            Some(clean) => self.note_body(from, wire_bytes, Some(&clean)),
            None => {
                // Not JSON: a login page or a stack trace, of which the beginning is enough.
                let text = self.redact_text(&body[..body.len().min(MAX_NOTE)]);
                self.note_body(from, wire_bytes, Some(&text));
            }
        }
    }

    /// Records the part of an incomplete body that was received.
    pub(crate) fn record_partial_body(&self, from: Direction, body: &Bytes, wire_bytes: u64) {
        let text = self.redact_text(&body[..body.len().min(MAX_NOTE)]);
        self.note_body(from, wire_bytes, Some(&text));
    }

    /// Records a server-sent event.
    pub(crate) fn record_event(&self, data: &[u8], sse: &SseContext) {
        let line = one_line(data);
        // Servers choose ids and names of events, and may put a token there.
        let clean_name = |name: &String| {
            let recorder = self.recorder();
            redact_name(recorder.redaction(), &recorder.clean_name(name)).into_owned()
        };
        let clean_sse = SseContext {
            event: sse.event.as_ref().map(clean_name),
            id: sse.id.as_ref().map(clean_name),
            retry: sse.retry,
        };
        let note = ExchangeNote { sse: Some(Cow::Borrowed(&clean_sse)), ..ExchangeNote::default() };
        {
            let mut state = self.state();
            state.stream.has_events = true;
            state.stream.is_resumable |= sse.id.is_some();
        }
        if let Some(clean) = self.redact(&line) {
            self.record_message(Direction::ServerToClient, &Bytes::copy_from_slice(&line), &clean, note);
            return;
        }
        let text = self.redact_text(data);
        self.write_line(LineContent::Text(&text), note);
        if sse.event.as_deref() == Some("endpoint")
            && let Ok(endpoint) = std::str::from_utf8(data)
        {
            if let Some(trace) = &self.trace {
                self.connection.bind_endpoint(&self.target, endpoint, trace);
            }
            if let Some(facts) = &mut self.state().facts {
                // Redacted the same way as in the requests to this endpoint, so that they are assigned to the same session.
                let redactor = self.recorder().redactor.as_ref();
                let endpoint = redactor.map_or(Cow::Borrowed(endpoint), |redactor| redactor.url(endpoint));
                facts.names.session = facts.names.session.take().or_else(|| session_in(&endpoint));
            }
        }
    }

    /// Notes the size, and the text if it is short, of a body that is not a message or can't be recorded as one.
    pub(crate) fn note_body(&self, from: Direction, bytes: u64, text: Option<&[u8]>) {
        let text = text.filter(|text| text.len() <= MAX_NOTE && !text.is_empty());
        let text = text.map(|text| String::from_utf8_lossy(text).into_owned());
        self.keep_note(from, BodyNote { bytes, text, omitted: None });
    }

    /// Notes the size of a body whose content is not recorded, and why.
    pub(crate) fn note_omitted_body(&self, from: Direction, bytes: u64, reason: &str) {
        self.keep_note(from, BodyNote { bytes, text: None, omitted: Some(reason.to_owned()) });
    }

    fn keep_note(&self, from: Direction, note: BodyNote) {
        let mut state = self.state();
        match from {
            Direction::ClientToServer => state.request.note = Some(note),
            Direction::ServerToClient => state.response.note = Some(note),
        }
    }

    /// Records the end of a body, complete or not.
    pub(crate) fn record_body_end(&self, from: Direction, wire_bytes: u64, whole: bool) {
        let us = self.elapsed_us();
        let mut state = self.state();
        match from {
            Direction::ClientToServer => state.request.bytes = wire_bytes,
            Direction::ServerToClient => {
                state.response.bytes = wire_bytes;
                state.responded = whole;
                state.stages.responded_us = whole.then_some(us);
            }
        }
    }

    /// Records why the exchange doesn't complete. The first reason counts; later ones are its consequences.
    pub(crate) fn record_failure(&self, ended: Ended, error: Option<&str>) {
        let error =
            error.map(|error| String::from_utf8_lossy(&self.redact_text(error.as_bytes())).into_owned());
        let mut state = self.state();
        // `Complete` is the default, so it means that no reason was recorded yet.
        if state.ended == Ended::Complete {
            state.ended = ended;
            state.error = error;
        }
    }

    /// Whether the request exceeded the body limit.
    pub(crate) fn is_too_large(&self) -> bool {
        self.state().ended == Ended::TooLarge
    }

    /// Whether the client broke the framing of its request's body.
    pub(crate) fn is_malformed(&self) -> bool {
        self.state().ended == Ended::Refused
    }

    /// Responds with an error of the proxy, and records it.
    pub(crate) fn refuse<B: From<Bytes>>(&self, refusal: &Refusal) -> http::Response<B> {
        if refusal.concerns == Concerns::Operator {
            self.recorder().warn_once(Warning::Upstream { message: refusal.message.clone() });
        }
        self.record_failure(refusal.ended, Some(&refusal.message));
        let mut state = self.state();
        // The proxy's response is complete in memory, so the exchange can't end as "client closed" any more.
        state.responded = true;
        let message = state.request.message.clone();
        let trace = self.trace.as_ref();
        let response: http::Response<B> =
            refusal.response(message.as_deref().and_then(request_id).as_deref());
        if trace.is_some() {
            let pairs = header_pairs(None, response.headers().iter());
            state.response.head = Some(Arc::new(Head::response(refusal.status.as_u16(), "1.1", pairs)));
        }
        state.status = Some(refusal.status.as_u16());
        drop(state);
        let id = message.as_deref().and_then(request_id);
        let note = ExchangeNote { answers: Answers::Recorder, ..ExchangeNote::default() };
        let body = refusal.body(id.as_deref());
        let clean = self.redact(&body).unwrap_or_else(|| Cow::Borrowed(&body));
        self.record_message(Direction::ServerToClient, &Bytes::new(), &clean, note);
        response
    }

    /// Records a response of the proxy that is not an error.
    pub(crate) fn record_own_response<B>(&self, response: &http::Response<B>) {
        let status = response.status().as_u16();
        let mut state = self.state();
        state.responded = true;
        state.status = Some(status);
        if self.trace.is_some() {
            let redaction = self.recorder().redaction();
            let head = Head::response(status, "1.1", header_pairs(redaction, response.headers().iter()));
            state.response.head = Some(Arc::new(redacted(redaction, head)));
        }
    }

    /// Microseconds since the request's head.
    pub(crate) fn elapsed_us(&self) -> u64 {
        self.recorder().clock.us().saturating_sub(self.started_us)
    }

    /// Records that bytes arrived from either side, for the idle timeout.
    pub(crate) fn record_activity(&self) {
        self.activity_us.store(self.elapsed_us(), Ordering::Relaxed);
    }

    /// The time of the last activity of either side.
    pub(crate) fn last_activity(&self) -> Instant {
        self.instant(self.activity_us.load(Ordering::Relaxed))
    }

    pub(crate) fn started(&self) -> Instant {
        self.instant(0)
    }

    fn instant(&self, us: u64) -> Instant {
        self.recorder().clock.instant(self.started_us.saturating_add(us))
    }

    /// Keeps a redacted message and writes its line.
    fn record_message(&self, from: Direction, original: &Bytes, clean: &[u8], note: ExchangeNote<'_>) {
        let at = self.write_line(LineContent::Message(from, clean), note);
        self.keep_message(from, original, clean, at);
    }

    /// Records the message that completes the exchange. Its line has the times, so that none is needed for the end.
    fn record_last_message(&self, original: &Bytes, clean: &[u8], note: ExchangeNote<'_>) {
        let at = self.now();
        let duration_us = at.us.saturating_sub(self.started_us);
        let (stages, policy) = {
            let mut state = self.state();
            state.settled_us = Some(duration_us);
            (state.stages, state.policy())
        };
        let from = Direction::ServerToClient;
        let note = ExchangeNote { policy, stages, duration_us: Some(duration_us), ..note };
        self.write_line_at(at, LineContent::Message(from, clean), note);
        self.keep_message(from, original, clean, at);
    }

    /// Whether there is nothing left to record of the request. Readers decide by the same rule.
    fn is_request_recorded(&self) -> bool {
        self.method != Method::POST || self.state().request.message.is_some()
    }

    /// Keeps a message for error responses of the proxy and for the sink.
    fn keep_message(&self, from: Direction, original: &Bytes, clean: &[u8], at: Moment) {
        // Nothing was redacted in most messages: then the received bytes are shared instead of copied.
        let copy = || if clean == &original[..] { original.clone() } else { Bytes::copy_from_slice(clean) };
        match from {
            Direction::ClientToServer => {
                let mut state = self.state();
                state.request.message = Some(copy());
                state.request.recorded_us = Some(at.us);
            }
            // Notifications and requests of the server are lines of the trace, but not the response of this exchange.
            Direction::ServerToClient if !is_answer(clean) => {}
            Direction::ServerToClient if self.method == Method::GET => {
                self.report_streamed_answer(clean, &copy, at);
            }
            Direction::ServerToClient => {
                let mut state = self.state();
                state.has_answer = true;
                state.response.recorded_us = Some(at.us);
                state.response.message = self.recorder().sink.is_some().then(copy);
            }
        }
    }

    /// Reports a response on a stream that a GET opened: it belongs to the request of another exchange.
    fn report_streamed_answer(&self, clean: &[u8], copy: &dyn Fn() -> Bytes, at: Moment) {
        let Some(key) = self.session_key() else { return };
        self.recorder().awaited.remove_answered(&key, clean);
        if let Some(sink) = &self.recorder().sink {
            let SessionKey { upstream, session } = key;
            sink.streamed(Streamed { upstream, session, message: copy(), at });
        }
    }

    /// Remembers requests whose responses are expected on a stream, and forgets those of a stream that is gone.
    fn note_awaited_answers(&self, ended: Ended) {
        let (message, is_open, stream) = {
            let state = self.state();
            let is_open = ended == Ended::Complete && !state.has_answer;
            // 202 is how HTTP+SSE accepts a request; a stream that ended without the answer may be resumed by a GET.
            let takes_answers = state.status == Some(202) || state.stream.has_events;
            (state.request.message.clone().filter(|_| takes_answers), is_open, state.stream.kind)
        };
        if stream == Some(StreamKind::Answering) && ended != Ended::Complete {
            if let Some(key) = self.session_key() {
                self.recorder().awaited.forget(&key);
            }
        } else if let Some(message) = message.filter(|_| is_open && self.method == Method::POST)
            && let Some(key) = self.session_key()
        {
            self.recorder().awaited.add_accepted(&key, &message);
        }
    }

    /// Writes a line with this exchange's context, and with the heads that are not written yet.
    /// Returns the line's time on the proxy's clock.
    fn write_line(&self, line: LineContent<'_>, note: ExchangeNote<'_>) -> Moment {
        let at = self.now();
        self.write_line_at(at, line, note);
        at
    }

    fn write_line_at(&self, at: Moment, line: LineContent<'_>, note: ExchangeNote<'_>) {
        let Some(trace) = &self.trace else { return };
        // Taken under the lock, encoded and written without it.
        let (request, response, user) = {
            let mut state = self.state();
            let request = state.request.head.take();
            if request.is_some() {
                let since = at.us.saturating_sub(self.started_us);
                state.started_ms = at.before(since).wall_ms;
            }
            let user =
                state.facts.as_ref().filter(|_| request.is_some()).and_then(|facts| facts.names.user.clone());
            (request, state.response.head.take(), user)
        };
        let mut http = Vec::with_capacity(1024);
        ExchangeNote {
            x: self.x,
            request: request.as_deref().map(Head::view),
            response: response.as_deref().map(Head::view),
            connection: request.is_some().then(|| self.connection.note()),
            user: user.map(Cow::Owned),
            ..note
        }
        .encode(&mut http);
        let context = Context { session: trace.session(), http: Some(&http), ..Context::default() };
        trace.append(trace.on_own_clock(at), line.observation(context));
    }

    /// The time on the proxy's clock.
    fn now(&self) -> Moment {
        self.recorder().clock.now()
    }

    fn write_exchange_line(&self, note: ExchangeNote<'_>) {
        self.write_line(LineContent::Exchange, note);
    }

    fn redact<'a>(&self, line: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        if !json::is_utf8(line) {
            return None;
        }
        match &self.recorder().redactor {
            Some(redactor) => redactor.json_with(line, &self.recorder().memory).ok(),
            None => json::validate(line).is_ok().then_some(Cow::Borrowed(line)),
        }
    }

    fn redact_text<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let recorder = self.recorder();
        recorder
            .redactor
            .as_ref()
            .map_or(Cow::Borrowed(text), |redactor| redactor.text_with(text, &recorder.memory))
    }

    fn state(&self) -> MutexGuard<'_, ExchangeState> {
        self.state.lock()
    }

    /// Decides how the exchange ended. Nothing can be recorded after this.
    fn decide_end(&self) -> Ended {
        let stopping = self.recorder().is_stopping();
        let mut state = self.state();
        if state.ended == Ended::Complete && !state.responded {
            state.ended = if stopping { Ended::Stopped } else { Ended::ClientClosed };
            if stopping {
                self.recorder().counters.exchanges.count_cut_off();
            }
        }
        state.ended
    }

    /// Writes a line about the end, unless the messages' lines already show everything.
    fn write_end(&self, ended: Ended) {
        let mut state = self.state();
        let has_unwritten = state.request.head.is_some()
            || state.response.head.is_some()
            || state.request.note.is_some()
            || state.response.note.is_some()
            || state.settled_us.is_none();
        if !has_unwritten && ended == Ended::Complete {
            return;
        }
        let at = self.now();
        let duration_us = *state.settled_us.get_or_insert(at.us.saturating_sub(self.started_us));
        let (stages, policy) = (state.stages, state.policy());
        let (request_body, response_body) = (state.request.note.take(), state.response.note.take());
        let bytes = Some(state.response.bytes).filter(|bytes| *bytes > 0 && response_body.is_none());
        let error = state.error.clone();
        drop(state);
        let note = ExchangeNote {
            request_body: request_body.map(Cow::Owned),
            response_body: response_body.map(Cow::Owned),
            bytes,
            progress: Some(ExchangeProgress::Ended(ended)),
            error: error.map(Cow::Owned),
            policy,
            stages,
            duration_us: Some(duration_us),
            ..ExchangeNote::default()
        };
        self.write_line_at(at, LineContent::Exchange, note);
    }

    /// Hands the finished exchange to the sink.
    fn send_transaction(&self, ended: Ended) {
        let recorder = self.recorder();
        let Some(sink) = &recorder.sink else { return };
        let mut state = self.state();
        let Some(facts) = state.facts.take() else { return };
        sink.finished(Transaction {
            x: self.x,
            listener: Some(Arc::clone(self.connection.listener_name())),
            client: Some(self.connection.peer()),
            connection: Some(self.connection.number()),
            upstream: Arc::clone(self.target.origin()),
            session: facts.names.session,
            protocol_version: facts.names.protocol_version,
            // An unverified claim: a server that answered 401 did not accept the token that it comes from.
            user: facts.names.user.filter(|_| state.status != Some(401)),
            method: self.method.as_str().into(),
            target: facts.names.path,
            request_head: facts.request_head,
            response_head: facts.response_head,
            status: state.status,
            request: state.request.message.take(),
            response: state.response.message.take(),
            request_bytes: state.request.bytes,
            response_bytes: state.response.bytes,
            is_resumable: state.stream.is_resumable,
            is_html: facts.is_html,
            csp_applied: state.csp_applied,
            trace: self.trace.as_ref().map(|trace| Arc::clone(trace.id())),
            timings: Timings {
                started: Moment { wall_ms: state.started_ms, us: self.started_us },
                asked_at: state.request.recorded_us,
                answer_at: state.response.recorded_us,
                connected_us: state.stages.connected_us,
                answered_us: state.stages.answered_us,
                first_byte_us: state.stages.first_byte_us,
                responded_us: state.stages.responded_us,
                ended_us: state.settled_us.unwrap_or_else(|| self.elapsed_us()),
            },
            ended,
            error: state.error.take(),
        });
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let ended = self.decide_end();
        self.recorder().counters.exchanges.count(ended);
        // Before the request counts as ended: draining must not see a moment in which neither knows about it.
        self.note_awaited_answers(ended);
        match self.stream() {
            None => self.recorder().counters.exchanges.request_ended(),
            Some(_) => self.recorder().counters.exchanges.stream_ended(),
        }
        if let Some(trace) = self.trace.clone() {
            self.write_end(ended);
            let status = self.state().status.unwrap_or(0);
            if self.method == Method::DELETE && (200..300).contains(&status) && trace.session().is_some() {
                self.recorder().end_trace(&trace, "the client ended the session");
            }
            // After the last line, because the trace may be closed once no exchange holds it.
            self.recorder().release_trace(&trace);
        }
        self.send_transaction(ended);
    }
}

/// Whether a GET with these headers opens a stream for the server's own messages only, as in a session of streamable HTTP
/// (MCP 2025-11-25, basic/transports, "Listening for Messages from the Server"). A resumed stream may carry responses, too.
fn is_listening(headers: &HeaderMap) -> bool {
    headers::session(headers).is_some() && !headers.contains_key("last-event-id")
}

/// A payload on one line, as the trace format needs it; copied only if it has line breaks.
pub(crate) fn one_line(body: &[u8]) -> Cow<'_, [u8]> {
    let body = body.trim_ascii();
    if memchr::memchr2(b'\n', b'\r', body).is_some() {
        Cow::Owned(json::compact(body))
    } else {
        Cow::Borrowed(body)
    }
}

/// Whether a JSON document is JSON-RPC, or apparently meant to be.
pub(crate) fn is_message(line: &[u8]) -> bool {
    // A substring search decides for nearly all messages without scanning JSON (`cargo xtask bench --only http`).
    static MEMBER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"jsonrpc\""));
    if MEMBER.find(line).is_some() {
        return true;
    }
    let envelope = Envelope::scan(line);
    matches!(envelope.kind, MessageKind::Request | MessageKind::Notification)
        || (envelope.kind == MessageKind::Response && envelope.id.is_some())
}

/// The id of a request as JSON text.
fn request_id(message: &[u8]) -> Option<Vec<u8>> {
    let envelope = Envelope::scan(message);
    match envelope.id? {
        Id::String(id) => serde_json::to_vec(&id).ok(),
        Id::Number(number) => Some(number.as_bytes().to_vec()),
    }
}

/// The request's target as recorded: with the origin for a forward proxy, where a path alone is ambiguous.
fn full_target<'a>(connection: &ConnectionRecorder, target: &Target, path: &'a str) -> Cow<'a, str> {
    if connection.is_reverse() {
        Cow::Borrowed(path)
    } else {
        Cow::Owned(format!("{}{path}", target.origin()))
    }
}

/// The HTTP version as the trace format names it.
pub(crate) fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 | Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2",
        _ => "1.1",
    }
}

/// The rules, and the secrets that the session has named so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Redaction<'r> {
    pub(crate) redactor: &'r Redactor,
    pub(crate) memory: &'r SecretMemory,
}

/// The headers, with redacted URLs: secrets in a query are found by its parameter names, which redaction of a head as JSON
/// doesn't see.
pub(crate) fn header_pairs<'a>(
    redaction: Option<Redaction<'_>>,
    headers: impl Iterator<Item = (&'a HeaderName, &'a HeaderValue)>,
) -> impl Iterator<Item = (&'a str, Cow<'a, [u8]>)> {
    headers.map(move |(name, value)| {
        let is_url = name == header::LOCATION || name == header::REFERER;
        let value = match value.to_str().ok().filter(|_| is_url) {
            Some(url) => Cow::Owned(redact_target(redaction, url).into_owned().into_bytes()),
            None => Cow::Borrowed(value.as_bytes()),
        };
        (name.as_str(), value)
    })
}

/// Redacts a rendered head, and remembers the secrets that it names.
pub(crate) fn redacted(redaction: Option<Redaction<'_>>, head: Head) -> Head {
    let clean = redaction.map_or(Ok(Cow::Borrowed(head.json())), |redaction| redaction.json(head.json()));
    clean_head(clean).unwrap_or(head)
}

/// Removes the known secrets from a head that was redacted before.
pub(super) fn without_known_secrets(redaction: Option<Redaction<'_>>, head: Head) -> Head {
    let Some(Redaction { redactor, memory }) = redaction else { return head };
    clean_head(redactor.json_with(head.json(), memory)).unwrap_or(head)
}

/// The redacted head; `None` if it didn't change.
fn clean_head(clean: Result<Cow<'_, [u8]>, SyntaxError>) -> Option<Head> {
    match clean {
        Ok(Cow::Borrowed(_)) => None,
        Ok(Cow::Owned(clean)) => Some(Head::from_json(clean)),
        // Can't happen, since `Head` renders JSON. If it does, an unredacted head must not be written.
        Err(_) => Some(Head::from_json(b"{}".to_vec())),
    }
}

/// Redacts a URL or a request target.
pub(crate) fn redact_target<'a>(redaction: Option<Redaction<'_>>, target: &'a str) -> Cow<'a, str> {
    redaction.map_or(Cow::Borrowed(target), |redaction| redaction.url(target))
}

/// Redacts a URL that anyone may have sent: it teaches the memory nothing.
pub(crate) fn redact_foreign_url<'a>(redaction: Option<Redaction<'_>>, url: &'a str) -> Cow<'a, str> {
    redaction.map_or(Cow::Borrowed(url), |redaction| redaction.url_unlearned(url))
}

/// Redacts a name that may look like a secret: some servers put a token into the session id.
pub(crate) fn redact_name<'a>(redaction: Option<Redaction<'_>>, name: &'a str) -> Cow<'a, str> {
    match redaction.map(|redaction| redaction.redactor.text_with(name.as_bytes(), redaction.memory)) {
        Some(Cow::Owned(clean)) => Cow::Owned(String::from_utf8_lossy(&clean).into_owned()),
        _ => Cow::Borrowed(name),
    }
}
