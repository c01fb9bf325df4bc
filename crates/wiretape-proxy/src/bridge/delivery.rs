//! The delivery of one message of the client: the request, the response, resuming its stream.
//!
//! **Why this shape.** The client's lines are taken one by one, but requests must not wait for each other's
//! responses. So each message becomes a task, and `deliver` returns as soon as the next message may follow: for a
//! request once it is sent, for a notification or a response once the server has accepted it (servers process POSTs
//! concurrently, and `initialized` must not overtake `initialize`). The `waiting` channel says when; it is also
//! released by dropping it, so that no path of a task can block the client for ever.
//!
//! Which requests are unanswered is shared ([`PendingRequests`]), because responses may arrive in the POST's own
//! response, on a resumed stream, or on the one stream of HTTP+SSE, and because each request must be answered exactly
//! once: by the server or, if it fails, by an error of the bridge.

use super::client::{EventStream, MAX_MESSAGE, ServerResponse};
use super::failure::{self, Failure, Reason, SessionHeader, Token};
use super::listening::Cursor;
use super::outgoing::{ClientLine, ClientMessage, same};
use super::recording::Exchange;
use super::renewal::{HandshakeResult, Initiator, PendingInitialize};
use super::run::{Bridge, InFlightMessage, PendingRequests};
use super::session::{Era, Session, TransportMode};
use crate::http::headers;
use crate::http::record::exchange::{is_message, one_line};
use crate::http::relay::body::ProxyBody;
use http::{HeaderValue, Method, Request, StatusCode, header};
use parking_lot::Mutex;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use wiretape_events::Ended;
use wiretape_trace::format::{SseContext, Wire};
use wiretape_trace::json;
use wiretape_trace::message::{Direction, Envelope, Id, MessageKind, payloads};

/// The limits for reading the body of an error response, in bytes and in time.
const MAX_ERROR: usize = 64 * 1024;
const ERROR_TIMEOUT: Duration = Duration::from_secs(5);

/// A message that is being delivered.
struct Delivery {
    message: ClientMessage,
    open: PendingRequests,
    era: Era,
    /// The session that the request names.
    session: Option<HeaderValue>,
    exchange: Exchange,
    /// Released when the next message may be sent.
    waiting: Option<oneshot::Sender<HandshakeResult>>,
}

impl Bridge {
    /// Delivers a line of the client. Returns when the next one may be sent: when a request is sent, another message is
    /// accepted, or `initialize` is answered.
    pub(super) async fn deliver(self: &Arc<Self>, line: ClientLine) {
        // Not a message, and a server would reject it; the trace shows it nevertheless.
        if line.bytes.trim_ascii().is_empty() {
            return self.recording.record_line(Direction::ClientToServer, line.wire, &line.bytes);
        }
        let message = ClientMessage::read(line);
        // Before anything can fail, because renewing a session repeats it.
        self.remember_handshake(&message);
        if message.is("initialize") {
            let _ = self.reset_session();
        } else if self.session.lock().mode == TransportMode::Lost {
            // If that fails, the message gets an error below.
            let _ = self.renew(None).await;
        }
        let era = self.session.lock().era_of(&message);
        if let Some(id) = &message.cancels
            && self.cancel(id, era)
        {
            let ClientLine { bytes, wire } = &message.line;
            return self.recording.record_line(Direction::ClientToServer, *wire, bytes);
        }
        let session = self.session.lock().id.clone();
        let (request, mut exchange) = self.post(&message);
        // Invariant 2, write ahead: in the trace before the request is sent.
        exchange.record_line(Direction::ClientToServer, message.line.wire, &message.line.bytes, None);
        let (waiting, may_continue) = oneshot::channel();
        let open = Arc::new(Mutex::new(message.requests.clone()));
        let asks = !message.requests.is_empty();
        let method = message.method.clone();
        let mut delivery =
            Delivery { message, open: Arc::clone(&open), era, session, exchange, waiting: Some(waiting) };
        if delivery.message.is("initialize")
            && let Some(id) = delivery.message.requests.first()
        {
            let initializing =
                |waiting| PendingInitialize { id: id.clone(), waiting, initiator: Initiator::Client };
            // `initialize` releases the next message with its answer, not with its acceptance: the headers of
            // everything that follows depend on the session and revision that the answer names.
            *self.initializing.lock() = delivery.waiting.take().map(initializing);
        }
        let bridge = Arc::clone(self);
        let task = self.spawn(async move { bridge.send_message(delivery, request).await });
        if asks {
            self.track_in_flight(InFlightMessage { open, era, method, task });
        }
        // Resolves in any case: the task drops the sender when it ends.
        let _ = may_continue.await;
    }

    /// Resets the session when the client begins a new one. Returns the old one.
    pub(super) fn reset_session(&self) -> Session {
        let before = self.session.lock().reset();
        self.recording.set_session(None);
        if let Some(listener) = self.listener.lock().take() {
            listener.abort();
        }
        before
    }

    /// Cancels a request. Returns whether the notification must not be sent: since MCP 2026-07-28 closing the stream cancels a
    /// request; before, the notification does.
    fn cancel(&self, id: &Id<'_>, era: Era) -> bool {
        let found = self.with_pending(id, |one| {
            one.open.lock().retain(|open| !same(open, id));
            if one.era == Era::Stateless {
                one.task.abort();
            }
            one.era
        });
        found.unwrap_or(era) == Era::Stateless
    }

    /// The request that carries a message.
    pub(super) fn post(&self, message: &ClientMessage) -> (Request<ProxyBody>, Exchange) {
        let mut session = self.session.lock();
        let headers = session.post(message, &self.url, &self.secrets);
        let target = match &session.mode {
            TransportMode::HttpSse { endpoint } => endpoint.clone(),
            TransportMode::Streamable | TransportMode::Lost => self.url.target(),
        };
        // The lock must not be held while the request is built, which writes to the trace.
        drop(session);
        self.request(Method::POST, &target, headers, message.line.bytes.clone())
    }

    async fn send_message(self: Arc<Self>, mut delivery: Delivery, request: Request<ProxyBody>) {
        let _permit = match self.permits.try_acquire() {
            Ok(permit) => Some(permit),
            // A response to the server must not wait for a permit: the requests that hold them may wait for that response.
            Err(_) if delivery.message.requests.is_empty() => None,
            Err(_) => {
                // While it waits for a permit, later messages may pass: a response among them may free one.
                delivery.waiting = None;
                self.permits.acquire().await.ok()
            }
        };
        let carried = self.try_send_message(&mut delivery, request).await;
        match carried {
            Ok(()) => delivery.exchange.end(Ended::Complete, None),
            Err(failure) => {
                self.fail_requests(&delivery.open, &failure, Some(&mut delivery.exchange)).await;
                // Not JSON-RPC, so it has no id to answer; JSON-RPC 2.0, section 5, requires an error with `null`
                // then.
                if !delivery.message.readable {
                    self.send_error(None, &failure, Some(&mut delivery.exchange)).await;
                }
            }
        }
    }

    async fn try_send_message(
        self: &Arc<Self>,
        delivery: &mut Delivery,
        request: Request<ProxyBody>,
    ) -> Result<(), Failure> {
        let mode = self.session.lock().mode.clone();
        if mode == TransportMode::Lost {
            let message =
                format!("the stream of {} has ended, and a new one can't be opened", self.client.server());
            return Err(Failure::new(Reason::SessionGone, message));
        }
        let asks = !delivery.message.requests.is_empty();
        let waiting = if asks { delivery.waiting.take() } else { None };
        let answer = self.client.send(request, || drop(waiting)).await?;
        delivery.exchange.record_response_head(&answer.parts);
        let answer = match answer.parts.status.is_success() {
            true => answer,
            false => match self.handle_refusal(delivery, answer).await? {
                Some(answer) => answer,
                None => return Ok(()),
            },
        };
        self.handle_success(delivery, answer).await
    }

    /// Handles a response with a status of success.
    async fn handle_success(
        self: &Arc<Self>,
        delivery: &mut Delivery,
        mut answer: ServerResponse,
    ) -> Result<(), Failure> {
        let mode = self.session.lock().mode.clone();
        if delivery.message.is("initialize") {
            self.enter_session(&answer);
        }
        if delivery.message.is("notifications/initialized") && mode == TransportMode::Streamable {
            self.open_listening_stream();
        }
        delivery.waiting = None;
        if matches!(mode, TransportMode::HttpSse { .. }) {
            // With HTTP+SSE the response arrives on the stream; this one is only a receipt.
            let _ = answer.whole(MAX_ERROR).await;
            return Ok(());
        }
        if answer.is_event_stream() {
            return self.receive_stream(delivery, answer).await;
        }
        let body = answer.whole(MAX_MESSAGE).await?;
        if !body.trim_ascii().is_empty() {
            let is_json = json::is_utf8(&body) && json::validate(&body).is_ok();
            match is_json && is_message(&body) {
                true => self.forward_to_client(&body, &mut delivery.exchange, None).await,
                false => delivery.exchange.note_body(&body),
            }
        }
        self.check_answered(delivery, answer.parts.status)
    }

    fn check_answered(&self, delivery: &Delivery, status: StatusCode) -> Result<(), Failure> {
        if delivery.open.lock().is_empty() {
            return Ok(());
        }
        let message =
            format!("{} accepted the request (HTTP {status}) but did not answer it", self.client.server());
        Err(Failure::new(Reason::NoAnswer, message))
    }

    /// Takes over the session id that the server has assigned.
    pub(super) fn enter_session(&self, answer: &ServerResponse) {
        let id = answer.parts.headers.get(headers::SESSION).cloned();
        self.recording.set_session(id.as_ref().and_then(|id| id.to_str().ok()));
        self.session.lock().id = id;
    }

    /// Receives a stream to its end, and resumes it if it ends before all requests are answered.
    async fn receive_stream(&self, delivery: &mut Delivery, answer: ServerResponse) -> Result<(), Failure> {
        let mut cursor = Cursor::default();
        let received = self
            .receive_events(&mut EventStream::of(answer), &mut delivery.exchange, &mut cursor, None)
            .await;
        if delivery.open.lock().is_empty() {
            if let Err(failure) = &received {
                delivery.exchange.end(failure.ended(), Some(&failure.message));
            }
            return Ok(());
        }
        let unanswered = received.err().unwrap_or_else(|| {
            let message = format!("{} closed the stream before it answered", self.client.server());
            Failure::new(Reason::NoAnswer, message)
        });
        if delivery.era == Era::Stateless || !cursor.can_resume() {
            return Err(unanswered);
        }
        delivery.exchange.end(unanswered.ended(), None);
        self.resume(&delivery.open, cursor, unanswered).await
    }

    /// Handles a response with an error status. If the message may succeed in another way, that is tried, and the new response
    /// is returned. `None` if the error response itself answers the message.
    async fn handle_refusal(
        self: &Arc<Self>,
        delivery: &mut Delivery,
        mut answer: ServerResponse,
    ) -> Result<Option<ServerResponse>, Failure> {
        let failure = self.error_of(&mut answer, &delivery.open, &mut delivery.exchange).await;
        let Some(failure) = failure else { return Ok(None) };
        if delivery.message.is("initialize") {
            // The client's side of backwards compatibility (MCP 2025-11-25, basic/transports): a server of HTTP+SSE rejects the
            // POST, and names its endpoint on a stream.
            let may_be_older = matches!(failure.status, Some(400 | 404 | 405));
            let endpoint = if may_be_older { self.connect_http_sse().await } else { None };
            let Some(endpoint) = endpoint else { return Err(failure) };
            self.session.lock().mode = TransportMode::HttpSse { endpoint };
        } else if failure.reason == Reason::SessionGone {
            self.renew(delivery.session.as_ref()).await.map_err(|why| failure.after(&why))?;
        } else {
            return Err(failure);
        }
        self.post_again(delivery).await
    }

    /// Sends a message again, which is already in the trace. `None` if it is refused again, and the refusal answers it.
    async fn post_again(&self, delivery: &mut Delivery) -> Result<Option<ServerResponse>, Failure> {
        let (request, mut exchange) = self.post(&delivery.message);
        exchange.record_repeat(&mut delivery.exchange);
        delivery.exchange = exchange;
        let mut answer = self.client.send(request, || ()).await?;
        delivery.exchange.record_response_head(&answer.parts);
        if answer.parts.status.is_success() {
            return Ok(Some(answer));
        }
        let failure = self.error_of(&mut answer, &delivery.open, &mut delivery.exchange).await;
        failure.map_or(Ok(None), Err)
    }

    /// The failure that an error status means; `None` if the response's body answers the request.
    pub(super) async fn error_of(
        &self,
        answer: &mut ServerResponse,
        open: &PendingRequests,
        exchange: &mut Exchange,
    ) -> Option<Failure> {
        let status = answer.parts.status;
        // An error body is only a detail for the message to the user; a server that never ends it must not delay the
        // error.
        let body = tokio::time::timeout(ERROR_TIMEOUT, answer.whole(MAX_ERROR)).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        if answers(&body, open) {
            self.forward_to_client(&body, exchange, None).await;
            return None;
        }
        if !body.is_empty() {
            exchange.note_body(&body);
        }
        let detail = error_message(&body).or_else(|| redirection(answer));
        let token = if self.secrets.names(&header::AUTHORIZATION) { Token::Given } else { Token::Missing };
        let named =
            if self.session.lock().id.is_some() { SessionHeader::Sent } else { SessionHeader::Absent };
        Some(failure::status(&self.address(), status, detail.as_deref(), token, named))
    }

    /// Records a message of the server and forwards it to the client.
    pub(super) async fn forward_to_client(
        &self,
        data: &[u8],
        exchange: &mut Exchange,
        sse: Option<&SseContext>,
    ) {
        let line = one_line(data);
        // Invariant 2, write ahead: in the trace before the client gets it.
        exchange.record_line(Direction::ServerToClient, Wire::default(), &line, sse);
        let answered = answered_in(&line);
        for (id, payload) in &answered {
            // Before the client gets the answer, because its next message may depend on what is learned.
            self.learn_from_answer(id, payload);
        }
        let is_for_us = self.is_answer_to_us(&answered);
        if !is_for_us {
            self.output.line(&line).await;
        }
        for (id, payload) in &answered {
            if !is_for_us {
                // After the line was written: `all_answered` must not report a request whose answer is still in our
                // hands.
                self.with_pending(id, |one| one.open.lock().retain(|open| !same(open, id)));
            }
            let answered = self.initializing.lock().take_if(|initialize| same(&initialize.id, id));
            if let Some(initialize) = answered {
                let agreed = if Envelope::scan(payload).result.is_some() {
                    HandshakeResult::Accepted
                } else {
                    HandshakeResult::Rejected
                };
                // The receiver may have timed out.
                let _ = initialize.waiting.send(agreed);
            }
        }
    }

    /// Remembers what later requests need from a response: the agreed revision, and the parameters of tools.
    fn learn_from_answer(&self, id: &Id<'_>, payload: &[u8]) {
        let initialized =
            self.initializing.lock().as_ref().is_some_and(|initialize| same(&initialize.id, id));
        if initialized && let Some(version) = agreed_version(payload) {
            self.session.lock().agree_on(&version);
        }
        let listed =
            |one: &InFlightMessage| one.era == Era::Stateless && one.method.as_deref() == Some("tools/list");
        if self.with_pending(id, listed) == Some(true) {
            self.session.lock().parameters.learn(payload);
        }
    }
}

/// The responses in a line, with their ids.
fn answered_in(line: &[u8]) -> Vec<(Id<'static>, &[u8])> {
    let read = |payload| {
        let envelope = Envelope::scan(payload);
        let is_response = envelope.kind == MessageKind::Response;
        envelope.id.filter(|_| is_response).map(|id| (id.into_owned(), payload))
    };
    payloads(line).into_iter().filter_map(read).collect()
}

fn answers(body: &[u8], open: &PendingRequests) -> bool {
    let open = open.lock();
    answered_in(body).iter().any(|(id, _)| open.iter().any(|open| same(open, id)))
}

fn agreed_version(payload: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Initialized {
        #[serde(rename = "protocolVersion")]
        version: String,
    }
    let result = Envelope::scan(payload).result?;
    serde_json::from_slice::<Initialized>(result).ok().map(|result| result.version)
}

/// The message of a JSON-RPC error in a response.
fn error_message(body: &[u8]) -> Option<String> {
    const LONGEST: usize = 200;
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    let message = body.get("error")?.get("message")?.as_str()?;
    // The server's text ends up in the user's terminal.
    Some(message.chars().filter(|c| !c.is_control()).take(LONGEST).collect())
}

fn redirection(answer: &ServerResponse) -> Option<String> {
    let location = answer.parts.headers.get(header::LOCATION)?.to_str().ok()?;
    // A query may contain secrets.
    let location = location.split('?').next()?;
    answer.parts.status.is_redirection().then(|| format!("the server moved to {location}; use that as --url"))
}
