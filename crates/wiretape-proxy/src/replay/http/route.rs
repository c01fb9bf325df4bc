//! Routing of HTTP requests to tapes and sessions, and their responses.
//!
//! **Why this shape.** A request in a session whose bytes are those of a recorded one is answered before anything is parsed
//! (`answer_at_sight`): the recorded server accepted these bytes, so the checks of the message can't fail. Everything else takes
//! the longer path: envelope, checks, session, player. Before that split, 16 connections reached 0.49× to 0.58× of a bare server
//! (`cargo xtask bench --only replay`).

use super::super::loaded_tape::{LoadedTape, NoticeCallback};
use super::super::real::RealServers;
use super::admission::{self, Refusal, VERSION, text};
use super::body::{ListenedStream, ReplayBody, StreamReader};
use super::host_check::HostCheck;
use super::session::{Era, Reply, Session};
use super::streams::{BETWEEN, StreamStart};
use crate::bridge::ToolParameters;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use memchr::memmem;
use parking_lot::Mutex;
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use wiretape_analyze::lint::Revision;
use wiretape_analyze::replay::id_of;
use wiretape_trace::message::{Envelope, MessageKind, payloads};

static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
static LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// The limit for a request's body, in bytes.
const MAX_BODY: usize = 256 << 20;

/// The limit of recorded tool lists that are searched for header parameters.
const MAX_LISTS: usize = 100;

/// The limit of sessions; above it the oldest end.
const MAX_SESSIONS: usize = 10_000;

/// All tapes of a listener.
pub(super) struct ReplayServer {
    host_check: HostCheck,
    tapes: Vec<ServedTape>,
    notify: NoticeCallback,
    real: Option<Arc<RealServers>>,
}

/// One tape with its sessions.
struct ServedTape {
    /// The prefix of its paths: empty, or a slash and a name.
    prefix: String,
    loaded: Arc<LoadedTape>,
    sessions: Mutex<Sessions>,
    /// The common session of all clients without one.
    stateless: Arc<Session>,
    /// What requests without a session are checked against; read from the tape on first use.
    knowledge: OnceLock<RecordedServer>,
}

/// What the recorded server says about itself and clients must respect.
struct RecordedServer {
    /// The revisions that the recorded server supports.
    revisions: Vec<String>,
    /// The tool arguments that are repeated in headers.
    parameters: ToolParameters,
}

#[derive(Default)]
struct Sessions {
    open: HashMap<String, Arc<Session>>,
    order: std::collections::VecDeque<String>,
}

impl Sessions {
    fn add(&mut self, session: Arc<Session>) -> String {
        let id = uuid::Uuid::new_v4().to_string();
        self.open.insert(id.clone(), session);
        self.order.push_back(id.clone());
        if self.order.len() > MAX_SESSIONS {
            self.make_room();
        }
        id
    }

    /// Removes ended sessions; if there are none, ends the oldest.
    fn make_room(&mut self) {
        // Linear, but only once per MAX_SESSIONS new sessions, unless all of them are in use.
        self.open.retain(|_, session| !session.is_over());
        self.order.retain(|id| self.open.contains_key(id));
        if self.order.len() > MAX_SESSIONS
            && let Some(oldest) = self.order.pop_front()
        {
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, id: &str) -> bool {
        let session = self.open.remove(id);
        if let Some(session) = &session {
            session.end();
        }
        session.is_some()
    }
}

/// The endpoint that a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Endpoint {
    Streamable,
    Sse,
    Messages,
}

impl ReplayServer {
    pub(super) fn new(
        host_check: HostCheck,
        loaded_tapes: Vec<(String, Arc<LoadedTape>)>,
        notify: &NoticeCallback,
        real: Option<Arc<RealServers>>,
    ) -> Self {
        let served = |(prefix, loaded): (String, Arc<LoadedTape>)| ServedTape {
            prefix,
            stateless: Session::new(&loaded, notify, Era::Stateless, real.as_ref()),
            loaded,
            sessions: Mutex::default(),
            knowledge: OnceLock::new(),
        };
        let tapes = loaded_tapes.into_iter().map(served).collect();
        ReplayServer { host_check, tapes, notify: Arc::clone(notify), real }
    }

    /// Responds to a request, after checking its origin.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<ReplayBody> {
        if let Err(reason) = self.host_check.check(request.headers()) {
            return refuse(&Refusal::new(StatusCode::FORBIDDEN, -32000, reason), None);
        }
        // Kept for the response: a page may read it only if it names the page's origin.
        let origin = request.headers().get(header::ORIGIN).cloned();
        let mut response = self.answer_inside(request).await;
        if let Some(origin) = origin {
            allow(origin, response.headers_mut());
        }
        response
    }

    /// Responds to a request with an accepted origin.
    async fn answer_inside(&self, request: Request<Incoming>) -> Response<ReplayBody> {
        let Some((served, endpoint)) = self.find(request.uri().path()) else {
            let paths: Vec<String> =
                self.tapes.iter().map(|served| format!("{}/mcp", served.prefix)).collect();
            let reason = format!("no tape at this path; available: {}", paths.join(", "));
            return refuse(&Refusal::new(StatusCode::NOT_FOUND, -32000, reason), None);
        };
        let answer = match (endpoint, request.method()) {
            (Endpoint::Streamable, &Method::POST) => return self.post(served, request).await,
            (Endpoint::Streamable, &Method::GET) => served.listen(request.headers()),
            (Endpoint::Streamable, &Method::DELETE) => served.end(request.headers()),
            (Endpoint::Sse, &Method::GET) => Ok(self.open_sse(served)),
            (Endpoint::Messages, &Method::POST) => return served.message(request).await,
            // A CORS preflight of a browser.
            (_, &Method::OPTIONS) if request.headers().contains_key(header::ORIGIN) => {
                Ok(empty(StatusCode::NO_CONTENT))
            }
            _ => Err(not_allowed()),
        };
        answer.unwrap_or_else(|refusal| refuse(&refusal, None))
    }

    fn find(&self, path: &str) -> Option<(&ServedTape, Endpoint)> {
        let endpoint = |rest: &str| match rest {
            "" | "/" | "/mcp" | "/mcp/" => Some(Endpoint::Streamable),
            "/sse" | "/sse/" => Some(Endpoint::Sse),
            "/messages" => Some(Endpoint::Messages),
            _ => None,
        };
        let found = |served| -> Option<(&ServedTape, Endpoint)> {
            let served: &ServedTape = served;
            Some((served, endpoint(path.strip_prefix(served.prefix.as_str())?)?))
        };
        self.tapes.iter().find_map(found)
    }

    async fn post(&self, served: &ServedTape, request: Request<Incoming>) -> Response<ReplayBody> {
        let (head, body) = request.into_parts();
        // Before the body is read, as servers do: the client need not send it at all.
        if let Err(refusal) = admission::check_media(&head.headers) {
            return refuse(&refusal, None);
        }
        let body = match read(body).await {
            Ok(body) => body,
            Err(refusal) => return refuse(&refusal, None),
        };
        if let Some(response) = served.answer_at_sight(&head.headers, &body) {
            return response;
        }
        let envelope = Envelope::scan(&body);
        if let Err(refusal) = admission::check_message(&envelope) {
            return refuse(&refusal, id_of(&body));
        }
        let answer = if admission::is_stateless(&head.headers, &envelope) {
            served.post_without_session(&head.headers, &body, &envelope)
        } else {
            self.post_with_session(served, &head.headers, &body, &envelope)
        };
        answer.unwrap_or_else(|refusal| refuse(&refusal, id_of(&body)))
    }

    fn post_with_session(
        &self,
        served: &ServedTape,
        headers: &HeaderMap,
        body: &[u8],
        envelope: &Envelope<'_>,
    ) -> Result<Response<ReplayBody>, Refusal> {
        admission::check_with_session(headers, envelope)?;
        if is_initialize(envelope) {
            let session = self.session(served, Era::Streamable);
            let id = served.sessions.lock().add(Arc::clone(&session));
            let mut response = respond(&session, body, StreamStart::Bare);
            if let Ok(id) = HeaderValue::from_str(&id) {
                response.headers_mut().insert(&SESSION, id);
            }
            return Ok(response);
        }
        let is_inside = |payload: &&[u8]| is_initialize(&Envelope::scan(payload));
        if envelope.kind == MessageKind::Batch && payloads(body).iter().any(is_inside) {
            return Err(Refusal::new(StatusCode::BAD_REQUEST, -32600, "`initialize` can't be in a batch"));
        }
        let session = served.session_of(headers)?;
        Ok(respond(&session, body, beginning(headers)))
    }

    fn session(&self, served: &ServedTape, era: Era) -> Arc<Session> {
        Session::new(&served.loaded, &self.notify, era, self.real.as_ref())
    }

    fn open_sse(&self, served: &ServedTape) -> Response<ReplayBody> {
        let session = self.session(served, Era::Sse);
        let id = served.sessions.lock().add(Arc::clone(&session));
        let endpoint = format!("{}/messages?sessionId={id}", served.prefix);
        let stream = session.open_sse(&endpoint);
        events(ReplayBody::Stream(stream, StreamReader { session, what: ListenedStream::Everything }))
    }
}

impl ServedTape {
    fn session(&self, id: &str) -> Option<Arc<Session>> {
        self.sessions.lock().open.get(id).filter(|session| !session.is_over()).cloned()
    }

    /// The session that a request names.
    fn session_of(&self, headers: &HeaderMap) -> Result<Arc<Session>, Refusal> {
        match text(headers, &SESSION) {
            Some(id) => self.session(id).ok_or_else(unknown_session),
            None => Err(no_session()),
        }
    }

    /// Answers a request in a session whose bytes equal a recorded one. `None` for any other, which takes the longer path.
    fn answer_at_sight(&self, headers: &HeaderMap, body: &[u8]) -> Option<Response<ReplayBody>> {
        let session = self.session(text(headers, &SESSION)?)?;
        if admission::may_be_stateless(headers, body) {
            return None;
        }
        let reply = session.post_at_sight(body)?;
        Some(response_of(reply, &session))
    }

    fn post_without_session(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        envelope: &Envelope<'_>,
    ) -> Result<Response<ReplayBody>, Refusal> {
        let RecordedServer { revisions, parameters } = self.knowledge();
        admission::check_stateless(headers, envelope, revisions, parameters)?;
        if envelope.method.as_deref() == Some("notifications/cancelled") {
            // Without a session ids of different clients are the same, so the request can't be identified. In this revision a
            // client cancels by closing its stream.
            return Ok(empty(StatusCode::ACCEPTED));
        }
        Ok(respond(&self.stateless, body, StreamStart::Bare))
    }

    /// The recorded server's own statements about revisions and header parameters.
    fn knowledge(&self) -> &RecordedServer {
        self.knowledge.get_or_init(|| {
            let mut parameters = ToolParameters::default();
            self.loaded.answers_to("tools/list", MAX_LISTS, |answer| parameters.learn(answer));
            let mut revisions = Vec::new();
            self.loaded.answers_to("server/discover", 1, |answer| revisions = revisions_in(answer));
            if revisions.is_empty() {
                revisions = Revision::ALL.map(|revision| revision.name().to_owned()).to_vec();
            }
            RecordedServer { revisions, parameters }
        })
    }

    /// Opens the listening stream, or resumes a stream after `Last-Event-ID`.
    fn listen(&self, headers: &HeaderMap) -> Result<Response<ReplayBody>, Refusal> {
        if asks_without_session(headers) {
            return Err(not_allowed());
        }
        admission::check_accept(headers, &["text/event-stream"])?;
        let session = self.session_of(headers)?;
        let (number, stream) = match text(headers, &LAST_EVENT) {
            None => (BETWEEN, session.listen(beginning(headers))),
            Some(last) => session.resume(last).ok_or_else(unknown_event)?,
        };
        Ok(events(ReplayBody::Stream(stream, StreamReader { session, what: ListenedStream::Stream(number) })))
    }

    fn end(&self, headers: &HeaderMap) -> Result<Response<ReplayBody>, Refusal> {
        match text(headers, &SESSION) {
            _ if asks_without_session(headers) => Err(not_allowed()),
            None => Err(no_session()),
            Some(id) if self.sessions.lock().remove(id) => Ok(empty(StatusCode::OK)),
            Some(_) => Err(unknown_session()),
        }
    }

    /// Handles a message of HTTP+SSE, which is answered on the stream.
    async fn message(&self, request: Request<Incoming>) -> Response<ReplayBody> {
        let query = request.uri().query().unwrap_or_default();
        let id = query.split('&').find_map(|parameter| parameter.strip_prefix("sessionId="));
        let Some(session) = id.and_then(|id| self.session(id)) else {
            return refuse(&unknown_session(), None);
        };
        let body = match read(request.into_body()).await {
            Ok(body) => body,
            Err(refusal) => return refuse(&refusal, None),
        };
        if let Err(refusal) = admission::check_message(&Envelope::scan(&body)) {
            return refuse(&refusal, id_of(&body));
        }
        session.receive_on_sse(&body);
        Response::builder()
            .status(StatusCode::ACCEPTED)
            .body(ReplayBody::whole("Accepted"))
            .expect("a response with a valid status and no headers can be built")
    }
}

fn respond(session: &Arc<Session>, body: &[u8], beginning: StreamStart) -> Response<ReplayBody> {
    response_of(session.post(body, beginning), session)
}

fn response_of(reply: Reply, session: &Arc<Session>) -> Response<ReplayBody> {
    match reply {
        Reply::Accepted => empty(StatusCode::ACCEPTED),
        Reply::Whole(message) => {
            let status = status_of(&message, session.era());
            json_response(status, ReplayBody::whole(message))
        }
        Reply::Broken(message) => {
            json_response(StatusCode::OK, ReplayBody::Broken(Some(Bytes::from(message))))
        }
        Reply::Stream(number, stream) => {
            let what = ListenedStream::Stream(number);
            events(ReplayBody::Stream(stream, StreamReader { session: Arc::clone(session), what }))
        }
    }
}

/// The status of a response. In the stateless revision some errors have their own status (MCP 2026-07-28, basic/transports).
fn status_of(message: &[u8], era: Era) -> StatusCode {
    // A search first: nearly all answers are results, and none of those has to be scanned.
    if era != Era::Stateless || memmem::find(message, b"\"error\"").is_none() {
        return StatusCode::OK;
    }
    match Envelope::scan(message).error_code {
        Some(-32601) => StatusCode::NOT_FOUND,
        Some(-32022..=-32020) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Since MCP 2025-11-25 a stream that can be resumed begins with a priming event.
fn beginning(headers: &HeaderMap) -> StreamStart {
    match text(headers, &VERSION).and_then(Revision::parse) {
        Some(Revision::V2025_11_25) => StreamStart::Primed,
        _ => StreamStart::Bare,
    }
}

/// Whether a client uses the stateless revision, which has neither sessions nor listening streams.
fn asks_without_session(headers: &HeaderMap) -> bool {
    text(headers, &VERSION).and_then(Revision::parse).is_some_and(Revision::is_stateless)
}

fn is_initialize(envelope: &Envelope<'_>) -> bool {
    envelope.kind == MessageKind::Request && envelope.method.as_deref() == Some("initialize")
}

/// The revisions in an answer to `server/discover`.
fn revisions_in(answer: &[u8]) -> Vec<String> {
    let answer: Json = serde_json::from_slice(answer).unwrap_or_default();
    let named = answer["result"]["supportedVersions"].as_array();
    named.into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect()
}

async fn read(body: Incoming) -> Result<Bytes, Refusal> {
    let body = Limited::new(body, MAX_BODY).collect().await;
    let too_large = |error: Box<dyn std::error::Error + Send + Sync>| {
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, -32600, error.to_string())
    };
    body.map(http_body_util::Collected::to_bytes).map_err(too_large)
}

fn no_session() -> Refusal {
    let message = "the header Mcp-Session-Id is missing; the response to `initialize` contains it";
    Refusal::new(StatusCode::BAD_REQUEST, -32000, message)
}

fn unknown_session() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, -32001, "Session not found")
}

fn unknown_event() -> Refusal {
    let message = "unknown event id: the stream can't be resumed";
    Refusal::new(StatusCode::BAD_REQUEST, -32000, message)
}

fn not_allowed() -> Refusal {
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, -32000, "Method not allowed")
}

/// The JSON-RPC error for a refused request, with its id if it has one.
fn refuse(refusal: &Refusal, id: Option<&[u8]>) -> Response<ReplayBody> {
    let mut error = json!({ "code": refusal.code, "message": refusal.message });
    if let Some(data) = &refusal.data {
        error["data"] = data.clone();
    }
    let (id, error) = (id.unwrap_or(b"null"), error.to_string());
    let body = [br#"{"jsonrpc":"2.0","id":"#, id, br#","error":"#, error.as_bytes(), b"}"];
    let mut response = json_response(refusal.status, ReplayBody::whole(body.concat()));
    if refusal.status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, POST, DELETE"));
    }
    response
}

/// Adds the CORS headers that let a page read the response and send a client's headers.
fn allow(origin: HeaderValue, headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
        // `Authorization` is not covered by the wildcard (Fetch standard, "CORS non-wildcard request-header name").
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "*, Authorization"),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, "Mcp-Session-Id"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

fn json_response(status: StatusCode, body: ReplayBody) -> Response<ReplayBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn events(body: ReplayBody) -> Response<ReplayBody> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn empty(status: StatusCode) -> Response<ReplayBody> {
    let mut response = Response::new(ReplayBody::Whole(None));
    *response.status_mut() = status;
    response
}
