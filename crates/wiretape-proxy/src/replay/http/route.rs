//! What an HTTP request asks for, and its answer.

use super::super::deck::{Deck, Tell};
use super::super::real::RealServers;
use super::admission::{self, Refusal, VERSION, text};
use super::body::{Heard, Listening, ReplayBody};
use super::gate::Gate;
use super::session::{Era, Reply, Session};
use super::streams::{BETWEEN, Beginning};
use crate::bridge::ToolParameters;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use memchr::memmem;
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use wiretape_analyze::lint::Revision;
use wiretape_analyze::replay::id_of;
use wiretape_trace::message::{Envelope, MessageKind, payloads};

static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
static LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// A request's body may be as large as this.
const MAX_BODY: usize = 256 << 20;

/// So many lists of tools are looked into for what must stand in headers.
const MAX_LISTS: usize = 100;

/// So many sessions are kept; then the oldest end.
const MAX_SESSIONS: usize = 10_000;

/// Everything that a listener serves.
pub(super) struct Site {
    gate: Gate,
    stages: Vec<Stage>,
    tell: Tell,
    real: Option<Arc<RealServers>>,
}

/// One tape, under its name.
struct Stage {
    /// What its paths begin with: nothing, or a slash and a name.
    prefix: String,
    deck: Arc<Deck>,
    sessions: Mutex<Sessions>,
    /// Everybody who needs no session.
    stateless: Arc<Session>,
    /// What the recorded server said of itself, once somebody has to know.
    knowledge: OnceLock<Knowledge>,
}

/// What a server says that its clients must keep to.
struct Knowledge {
    /// The revisions that it knows.
    revisions: Vec<String>,
    /// Which arguments of its tools are repeated in headers.
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

    /// Forgets the sessions that have ended; if there are none, the oldest ends.
    fn make_room(&mut self) {
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

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Endpoint {
    Streamable,
    Sse,
    Messages,
}

impl Site {
    pub(super) fn new(
        gate: Gate,
        decks: Vec<(String, Arc<Deck>)>,
        tell: &Tell,
        real: Option<Arc<RealServers>>,
    ) -> Self {
        let stage = |(prefix, deck): (String, Arc<Deck>)| Stage {
            prefix,
            stateless: Session::new(&deck, tell, Era::Stateless, real.as_ref()),
            deck,
            sessions: Mutex::default(),
            knowledge: OnceLock::new(),
        };
        let stages = decks.into_iter().map(stage).collect();
        Site { gate, stages, tell: Arc::clone(tell), real }
    }

    /// Answers a request.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<ReplayBody> {
        if let Err(reason) = self.gate.check(request.headers()) {
            return refuse(&Refusal::new(StatusCode::FORBIDDEN, -32000, reason), None);
        }
        let origin = request.headers().get(header::ORIGIN).cloned();
        let mut response = self.answer_inside(request).await;
        if let Some(origin) = origin {
            allow(origin, response.headers_mut());
        }
        response
    }

    /// Answers a request of somebody who may ask.
    async fn answer_inside(&self, request: Request<Incoming>) -> Response<ReplayBody> {
        let Some((stage, endpoint)) = self.find(request.uri().path()) else {
            let paths: Vec<String> =
                self.stages.iter().map(|stage| format!("{}/mcp", stage.prefix)).collect();
            let reason = format!("nothing is played at this path; there is {}", paths.join(", "));
            return refuse(&Refusal::new(StatusCode::NOT_FOUND, -32000, reason), None);
        };
        let answer = match (endpoint, request.method()) {
            (Endpoint::Streamable, &Method::POST) => return self.post(stage, request).await,
            (Endpoint::Streamable, &Method::GET) => stage.listen(request.headers()),
            (Endpoint::Streamable, &Method::DELETE) => stage.end(request.headers()),
            (Endpoint::Sse, &Method::GET) => Ok(self.open_sse(stage)),
            (Endpoint::Messages, &Method::POST) => return stage.message(request).await,
            // A page's browser asks first.
            (_, &Method::OPTIONS) if request.headers().contains_key(header::ORIGIN) => {
                Ok(empty(StatusCode::NO_CONTENT))
            }
            _ => Err(not_allowed()),
        };
        answer.unwrap_or_else(|refusal| refuse(&refusal, None))
    }

    fn find(&self, path: &str) -> Option<(&Stage, Endpoint)> {
        let endpoint = |rest: &str| match rest {
            "" | "/" | "/mcp" | "/mcp/" => Some(Endpoint::Streamable),
            "/sse" | "/sse/" => Some(Endpoint::Sse),
            "/messages" => Some(Endpoint::Messages),
            _ => None,
        };
        let found = |stage| -> Option<(&Stage, Endpoint)> {
            let stage: &Stage = stage;
            Some((stage, endpoint(path.strip_prefix(stage.prefix.as_str())?)?))
        };
        self.stages.iter().find_map(found)
    }

    async fn post(&self, stage: &Stage, request: Request<Incoming>) -> Response<ReplayBody> {
        let (head, body) = request.into_parts();
        if let Err(refusal) = admission::check_media(&head.headers) {
            return refuse(&refusal, None);
        }
        let body = match read(body).await {
            Ok(body) => body,
            Err(refusal) => return refuse(&refusal, None),
        };
        if let Some(response) = stage.answer_at_sight(&head.headers, &body) {
            return response;
        }
        let envelope = Envelope::scan(&body);
        if let Err(refusal) = admission::check_message(&envelope) {
            return refuse(&refusal, id_of(&body));
        }
        let answer = if admission::is_stateless(&head.headers, &envelope) {
            stage.post_without_session(&head.headers, &body, &envelope)
        } else {
            self.post_with_session(stage, &head.headers, &body, &envelope)
        };
        answer.unwrap_or_else(|refusal| refuse(&refusal, id_of(&body)))
    }

    fn post_with_session(
        &self,
        stage: &Stage,
        headers: &HeaderMap,
        body: &[u8],
        envelope: &Envelope<'_>,
    ) -> Result<Response<ReplayBody>, Refusal> {
        admission::check_with_session(headers, envelope)?;
        if is_initialize(envelope) {
            let session = self.session(stage, Era::Streamable);
            let id = stage.lock().add(Arc::clone(&session));
            let mut response = respond(&session, body, Beginning::Bare);
            if let Ok(id) = HeaderValue::from_str(&id) {
                response.headers_mut().insert(&SESSION, id);
            }
            return Ok(response);
        }
        let is_inside = |payload: &&[u8]| is_initialize(&Envelope::scan(payload));
        if envelope.kind == MessageKind::Batch && payloads(body).iter().any(is_inside) {
            return Err(Refusal::new(StatusCode::BAD_REQUEST, -32600, "`initialize` can't be in a batch"));
        }
        let session = stage.session_of(headers)?;
        Ok(respond(&session, body, beginning(headers)))
    }

    fn session(&self, stage: &Stage, era: Era) -> Arc<Session> {
        Session::new(&stage.deck, &self.tell, era, self.real.as_ref())
    }

    fn open_sse(&self, stage: &Stage) -> Response<ReplayBody> {
        let session = self.session(stage, Era::Sse);
        let id = stage.lock().add(Arc::clone(&session));
        let endpoint = format!("{}/messages?sessionId={id}", stage.prefix);
        let stream = session.open_sse(&endpoint);
        events(ReplayBody::Stream(stream, Listening { session, what: Heard::Everything }))
    }
}

impl Stage {
    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self, id: &str) -> Option<Arc<Session>> {
        self.lock().open.get(id).filter(|session| !session.is_over()).cloned()
    }

    /// The session that a request belongs to.
    fn session_of(&self, headers: &HeaderMap) -> Result<Arc<Session>, Refusal> {
        match text(headers, &SESSION) {
            Some(id) => self.session(id).ok_or_else(unknown_session),
            None => Err(no_session()),
        }
    }

    /// Answers a request in a session that is word for word a recorded one: what a client must keep to, it keeps to. `None` if it is
    /// another, which has to be looked into.
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
        let Knowledge { revisions, parameters } = self.knowledge();
        admission::check_stateless(headers, envelope, revisions, parameters)?;
        if envelope.method.as_deref() == Some("notifications/cancelled") {
            // Whose request that is can't be told: others use the same ids. Here a client cancels by closing its stream.
            return Ok(empty(StatusCode::ACCEPTED));
        }
        Ok(respond(&self.stateless, body, Beginning::Bare))
    }

    /// What the recorded server said of itself.
    fn knowledge(&self) -> &Knowledge {
        self.knowledge.get_or_init(|| {
            let mut parameters = ToolParameters::default();
            self.deck.answers_to("tools/list", MAX_LISTS, |answer| parameters.learn(answer));
            let mut revisions = Vec::new();
            self.deck.answers_to("server/discover", 1, |answer| revisions = revisions_in(answer));
            if revisions.is_empty() {
                revisions = Revision::ALL.map(|revision| revision.name().to_owned()).to_vec();
            }
            Knowledge { revisions, parameters }
        })
    }

    /// A client wants to hear what is said between calls, or the rest of a stream that it has lost.
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
        Ok(events(ReplayBody::Stream(stream, Listening { session, what: Heard::Stream(number) })))
    }

    fn end(&self, headers: &HeaderMap) -> Result<Response<ReplayBody>, Refusal> {
        match text(headers, &SESSION) {
            _ if asks_without_session(headers) => Err(not_allowed()),
            None => Err(no_session()),
            Some(id) if self.lock().remove(id) => Ok(empty(StatusCode::OK)),
            Some(_) => Err(unknown_session()),
        }
    }

    /// A message of HTTP+SSE: whatever comes of it comes on the stream.
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
        session.hear(&body);
        Response::builder()
            .status(StatusCode::ACCEPTED)
            .body(ReplayBody::whole("Accepted"))
            .expect("a status makes a response")
    }
}

fn respond(session: &Arc<Session>, body: &[u8], beginning: Beginning) -> Response<ReplayBody> {
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
            let what = Heard::Stream(number);
            events(ReplayBody::Stream(stream, Listening { session: Arc::clone(session), what }))
        }
    }
}

/// In the stateless era some errors have a status of their own; a client without a session that asks an older server for what
/// it doesn't know is told so, too.
fn status_of(message: &[u8], era: Era) -> StatusCode {
    if era != Era::Stateless || memmem::find(message, b"\"error\"").is_none() {
        return StatusCode::OK;
    }
    match Envelope::scan(message).error_code {
        Some(-32601) => StatusCode::NOT_FOUND,
        Some(-32022..=-32020) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Since 2025-11-25 a stream that can be resumed begins with an event that says so.
fn beginning(headers: &HeaderMap) -> Beginning {
    match text(headers, &VERSION).and_then(Revision::parse) {
        Some(Revision::V2025_11_25) => Beginning::Primed,
        _ => Beginning::Bare,
    }
}

/// Whether a client says that it is of the stateless era, which has neither sessions nor streams of their own.
fn asks_without_session(headers: &HeaderMap) -> bool {
    text(headers, &VERSION).and_then(Revision::parse).is_some_and(Revision::is_stateless)
}

fn is_initialize(envelope: &Envelope<'_>) -> bool {
    envelope.kind == MessageKind::Request && envelope.method.as_deref() == Some("initialize")
}

/// The revisions that an answer to `server/discover` names.
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
    let message = "the header Mcp-Session-Id is missing: the answer to `initialize` has it";
    Refusal::new(StatusCode::BAD_REQUEST, -32000, message)
}

fn unknown_session() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, -32001, "Session not found")
}

fn unknown_event() -> Refusal {
    let message = "no event with this id is kept: the stream can't be resumed";
    Refusal::new(StatusCode::BAD_REQUEST, -32000, message)
}

fn not_allowed() -> Refusal {
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, -32000, "Method not allowed")
}

/// The answer to a request that is refused; with its id, if it has one.
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

/// Lets a page read the answer, and send what a client sends.
fn allow(origin: HeaderValue, headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
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
