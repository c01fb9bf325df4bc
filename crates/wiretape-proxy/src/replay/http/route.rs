//! What an HTTP request asks for, and its answer.

use super::super::deck::{Deck, Tell};
use super::super::real::RealServers;
use super::body::{Heard, Listening, ReplayBody};
use super::gate::Gate;
use super::session::{Era, Reply, Session};
use super::streams::{BETWEEN, Beginning};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use memchr::memmem;
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wiretape_analyze::lint::Revision;
use wiretape_trace::message::Envelope;

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const LAST_EVENT: &str = "last-event-id";

/// What a request of the stateless era has.
const STATELESS: &[u8] = b"io.modelcontextprotocol/protocolVersion";

/// A request's body may be as large as this.
const MAX_BODY: usize = 256 << 20;

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
        while self.order.len() > MAX_SESSIONS {
            if let Some(oldest) = self.order.pop_front() {
                self.remove(&oldest);
            }
        }
        id
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
        };
        let stages = decks.into_iter().map(stage).collect();
        Site { gate, stages, tell: Arc::clone(tell), real }
    }

    /// Answers a request.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<ReplayBody> {
        if let Err(reason) = self.gate.check(request.headers()) {
            return refusal(StatusCode::FORBIDDEN, -32000, &reason);
        }
        let Some((stage, endpoint)) = self.find(request.uri().path()) else {
            let paths: Vec<String> =
                self.stages.iter().map(|stage| format!("{}/mcp", stage.prefix)).collect();
            let reason = format!("nothing is played at this path; there is {}", paths.join(", "));
            return refusal(StatusCode::NOT_FOUND, -32000, &reason);
        };
        match (endpoint, request.method()) {
            (Endpoint::Streamable, &Method::POST) => self.post(stage, request).await,
            (Endpoint::Streamable, &Method::GET) => stage.listen(request.headers()),
            (Endpoint::Streamable, &Method::DELETE) => stage.end(request.headers()),
            (Endpoint::Sse, &Method::GET) => self.open_sse(stage),
            (Endpoint::Messages, &Method::POST) => stage.message(request).await,
            _ => not_allowed(),
        }
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
        let body = match read(body).await {
            Ok(body) => body,
            Err(reason) => return refusal(StatusCode::PAYLOAD_TOO_LARGE, -32600, &reason),
        };
        if let Err(reason) = check_version(&head.headers) {
            return refusal(StatusCode::BAD_REQUEST, -32000, &reason);
        }
        let is_initialize = memmem::find(&body, b"\"initialize\"").is_some()
            && Envelope::scan(&body).method.as_deref() == Some("initialize");
        let (session, id) = match text(&head.headers, SESSION) {
            _ if is_initialize => {
                let session = self.session(stage, Era::Streamable);
                let id = stage.lock().add(Arc::clone(&session));
                (session, Some(id))
            }
            Some(id) => match stage.session(id) {
                Some(session) => (session, None),
                None => return unknown_session(),
            },
            None => (Arc::clone(&stage.stateless), None),
        };
        let era = if is_stateless(&head.headers, &body) { session.era() } else { Era::Streamable };
        let beginning = beginning(&head.headers, session.era());
        let mut response = respond(&session, &body, era, beginning);
        if let Some(id) = id.and_then(|id| HeaderValue::from_str(&id).ok()) {
            response.headers_mut().insert(SESSION, id);
        }
        response
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

    /// A client wants to hear what is said between calls, or the rest of a stream that it has lost.
    fn listen(&self, headers: &HeaderMap) -> Response<ReplayBody> {
        let Some(id) = text(headers, SESSION) else { return not_allowed() };
        let Some(session) = self.session(id) else { return unknown_session() };
        let (number, stream) = match text(headers, LAST_EVENT) {
            None => (BETWEEN, session.listen(beginning(headers, session.era()))),
            Some(last) => match session.resume(last) {
                Some(resumed) => resumed,
                None => return unknown_event(),
            },
        };
        events(ReplayBody::Stream(stream, Listening { session, what: Heard::Stream(number) }))
    }

    fn end(&self, headers: &HeaderMap) -> Response<ReplayBody> {
        match text(headers, SESSION) {
            None => not_allowed(),
            Some(id) if self.lock().remove(id) => empty(StatusCode::OK),
            Some(_) => unknown_session(),
        }
    }

    /// A message of HTTP+SSE: whatever comes of it comes on the stream.
    async fn message(&self, request: Request<Incoming>) -> Response<ReplayBody> {
        let query = request.uri().query().unwrap_or_default();
        let id = query.split('&').find_map(|parameter| parameter.strip_prefix("sessionId="));
        let Some(session) = id.and_then(|id| self.session(id)) else { return unknown_session() };
        match read(request.into_body()).await {
            Ok(body) => session.hear(&body),
            Err(reason) => return refusal(StatusCode::PAYLOAD_TOO_LARGE, -32600, &reason),
        }
        Response::builder()
            .status(StatusCode::ACCEPTED)
            .body(ReplayBody::whole("Accepted"))
            .expect("a status makes a response")
    }
}

fn respond(session: &Arc<Session>, body: &[u8], era: Era, beginning: Beginning) -> Response<ReplayBody> {
    match session.post(body, beginning) {
        Reply::Accepted => empty(StatusCode::ACCEPTED),
        Reply::Whole(message) => {
            let status = status_of(&message, era);
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

fn is_stateless(headers: &HeaderMap, body: &[u8]) -> bool {
    let revision = text(headers, VERSION).and_then(Revision::parse);
    revision.is_some_and(Revision::is_stateless) || memmem::find(body, STATELESS).is_some()
}

/// Since 2025-11-25 a stream that can be resumed begins with an event that says so.
fn beginning(headers: &HeaderMap, era: Era) -> Beginning {
    let revision = text(headers, VERSION).and_then(Revision::parse);
    match revision {
        Some(Revision::V2025_11_25) if era == Era::Streamable => Beginning::Primed,
        _ => Beginning::Bare,
    }
}

fn check_version(headers: &HeaderMap) -> Result<(), String> {
    match text(headers, VERSION) {
        Some(version) if Revision::parse(version).is_none() => {
            let names: Vec<&str> = Revision::ALL.into_iter().map(Revision::name).collect();
            Err(format!("unsupported protocol version {version:?} (supported: {})", names.join(", ")))
        }
        _ => Ok(()),
    }
}

async fn read(body: Incoming) -> Result<Bytes, String> {
    let body = Limited::new(body, MAX_BODY).collect().await;
    body.map(http_body_util::Collected::to_bytes).map_err(|error| error.to_string())
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn unknown_session() -> Response<ReplayBody> {
    refusal(StatusCode::NOT_FOUND, -32001, "Session not found")
}

fn unknown_event() -> Response<ReplayBody> {
    refusal(StatusCode::BAD_REQUEST, -32000, "no event with this id is kept: the stream can't be resumed")
}

fn not_allowed() -> Response<ReplayBody> {
    refusal(StatusCode::METHOD_NOT_ALLOWED, -32000, "Method not allowed")
}

fn refusal(status: StatusCode, code: i64, message: &str) -> Response<ReplayBody> {
    let error = json!({ "code": code, "message": message });
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": error });
    json_response(status, ReplayBody::whole(body.to_string()))
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
