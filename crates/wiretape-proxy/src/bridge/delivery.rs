//! One message of the client's: the request, the answer, the resumption.

use super::client::{Answer, Events, MAX_MESSAGE};
use super::failure::{self, Failure, Named, Reason, Token};
use super::listening::Cursor;
use super::outgoing::{Line, Outgoing, same};
use super::recording::Exchange;
use super::renewal::{Agreed, Asker, Initializing};
use super::run::{Bridge, InFlight, Open};
use super::session::{Era, Mode, Session};
use crate::http::body::ProxyBody;
use crate::http::exchange::{is_message, one_line};
use crate::http::headers;
use crate::record::pump::lock;
use http::{HeaderValue, Method, Request, StatusCode, header};
use serde::Deserialize;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;
use wiretape_events::Ended;
use wiretape_trace::format::{SseContext, Wire};
use wiretape_trace::json;
use wiretape_trace::message::{Direction, Envelope, Id, MessageKind, payloads};

/// As much of an error's body is read, and for so long.
const MAX_ERROR: usize = 64 * 1024;
const ERROR_PATIENCE: Duration = Duration::from_secs(5);

/// A message on its way.
struct Delivery {
    message: Outgoing,
    open: Open,
    era: Era,
    /// The session that the request names.
    session: Option<HeaderValue>,
    exchange: Exchange,
    /// Who waits until the next message may go.
    waiting: Option<oneshot::Sender<Agreed>>,
}

impl Bridge {
    /// Takes a line of the client's. Returns when the next one may go: when a request is on its way, when another
    /// message is accepted, when `initialize` is answered.
    pub(super) async fn deliver(self: &Arc<Self>, line: Line) {
        if line.bytes.trim_ascii().is_empty() {
            return self.recording.line(Direction::ClientToServer, line.wire, &line.bytes);
        }
        let message = Outgoing::read(line);
        self.note_handshake(&message);
        if message.is("initialize") {
            let _ = self.begin_anew();
        } else if lock(&self.session).mode == Mode::Lost {
            // If that fails, the message is refused below.
            let _ = self.renew(None).await;
        }
        let era = lock(&self.session).era_of(&message);
        if let Some(id) = &message.cancels
            && self.cancel(id, era)
        {
            let Line { bytes, wire } = &message.line;
            return self.recording.line(Direction::ClientToServer, *wire, bytes);
        }
        let session = lock(&self.session).id.clone();
        let (request, mut exchange) = self.post(&message);
        exchange.line(Direction::ClientToServer, message.line.wire, &message.line.bytes, None);
        let (waiting, go_on) = oneshot::channel();
        let open = Arc::new(Mutex::new(message.requests.clone()));
        let asks = !message.requests.is_empty();
        let method = message.method.clone();
        let mut delivery =
            Delivery { message, open: Arc::clone(&open), era, session, exchange, waiting: Some(waiting) };
        if delivery.message.is("initialize")
            && let Some(id) = delivery.message.requests.first()
        {
            let initializing = |waiting| Initializing { id: id.clone(), waiting, asker: Asker::Client };
            *lock(&self.initializing) = delivery.waiting.take().map(initializing);
        }
        let bridge = Arc::clone(self);
        let task = self.spawn(async move { bridge.carry(delivery, request).await });
        if asks {
            self.set_off(InFlight { open, era, method, task });
        }
        // Whoever holds the other end lets go of it in any case.
        let _ = go_on.await;
    }

    /// A client that begins again has nothing to do with what was before.
    pub(super) fn begin_anew(&self) -> Session {
        let before = lock(&self.session).reset();
        self.recording.set_session(None);
        if let Some(listener) = lock(&self.listener).take() {
            listener.abort();
        }
        before
    }

    /// The client takes a request back. Whether that is all there is to do: since 2026-07-28 closing the stream says
    /// it, and before, the notification itself does.
    fn cancel(&self, id: &Id<'_>, era: Era) -> bool {
        let found = self.with_open(id, |one| {
            lock(&one.open).retain(|open| !same(open, id));
            if one.era == Era::Stateless {
                one.task.abort();
            }
            one.era
        });
        found.unwrap_or(era) == Era::Stateless
    }

    /// The request that carries a message.
    pub(super) fn post(&self, message: &Outgoing) -> (Request<ProxyBody>, Exchange) {
        let mut session = lock(&self.session);
        let headers = session.post(message, &self.url, &self.secrets);
        let target = match &session.mode {
            Mode::Paired { endpoint } => endpoint.clone(),
            Mode::Streamable | Mode::Lost => self.url.target(),
        };
        drop(session);
        self.request(Method::POST, &target, headers, message.line.bytes.clone())
    }

    async fn carry(self: Arc<Self>, mut delivery: Delivery, request: Request<ProxyBody>) {
        let _permit = match self.permits.try_acquire() {
            Ok(permit) => Some(permit),
            // An answer to the server must not wait for the requests that wait for it.
            Err(_) if delivery.message.requests.is_empty() => None,
            Err(_) => {
                delivery.waiting = None;
                self.permits.acquire().await.ok()
            }
        };
        let carried = self.try_carry(&mut delivery, request).await;
        match carried {
            Ok(()) => delivery.exchange.end(Ended::Complete, None),
            Err(failure) => {
                self.fail(&delivery.open, &failure, Some(&mut delivery.exchange)).await;
                if !delivery.message.readable {
                    self.refuse(None, &failure, Some(&mut delivery.exchange)).await;
                }
            }
        }
    }

    async fn try_carry(
        self: &Arc<Self>,
        delivery: &mut Delivery,
        request: Request<ProxyBody>,
    ) -> Result<(), Failure> {
        let mode = lock(&self.session).mode.clone();
        if mode == Mode::Lost {
            let message =
                format!("the stream of {} has ended, and a new one can't be opened", self.client.server());
            return Err(Failure::new(Reason::SessionGone, message));
        }
        let asks = !delivery.message.requests.is_empty();
        let waiting = if asks { delivery.waiting.take() } else { None };
        let answer = self.client.send(request, || drop(waiting)).await?;
        delivery.exchange.answered(&answer.parts);
        let answer = match answer.parts.status.is_success() {
            true => answer,
            false => match self.refused(delivery, answer).await? {
                Some(answer) => answer,
                None => return Ok(()),
            },
        };
        self.accepted(delivery, answer).await
    }

    /// The server has taken the message.
    async fn accepted(self: &Arc<Self>, delivery: &mut Delivery, mut answer: Answer) -> Result<(), Failure> {
        let mode = lock(&self.session).mode.clone();
        if delivery.message.is("initialize") {
            self.enter_session(&answer);
        }
        if delivery.message.is("notifications/initialized") && mode == Mode::Streamable {
            self.stand_by();
        }
        delivery.waiting = None;
        if matches!(mode, Mode::Paired { .. }) {
            // The answer comes on the stream; here is only a receipt.
            let _ = answer.whole(MAX_ERROR).await;
            return Ok(());
        }
        if answer.is_event_stream() {
            return self.hear_out(delivery, answer).await;
        }
        let body = answer.whole(MAX_MESSAGE).await?;
        if !body.trim_ascii().is_empty() {
            let is_json = json::is_utf8(&body) && json::validate(&body).is_ok();
            match is_json && is_message(&body) {
                true => self.pass_on(&body, &mut delivery.exchange, None).await,
                false => delivery.exchange.note(&body),
            }
        }
        self.check_answered(delivery, answer.parts.status)
    }

    fn check_answered(&self, delivery: &Delivery, status: StatusCode) -> Result<(), Failure> {
        if lock(&delivery.open).is_empty() {
            return Ok(());
        }
        let message =
            format!("{} accepted the request (HTTP {status}) and did not answer it", self.client.server());
        Err(Failure::new(Reason::NoAnswer, message))
    }

    /// The server has begun a session.
    pub(super) fn enter_session(&self, answer: &Answer) {
        let id = answer.parts.headers.get(headers::SESSION).cloned();
        self.recording.set_session(id.as_ref().and_then(|id| id.to_str().ok()));
        lock(&self.session).id = id;
    }

    /// Hears a stream to its end, and resumes it if it ends too early.
    async fn hear_out(&self, delivery: &mut Delivery, answer: Answer) -> Result<(), Failure> {
        let mut cursor = Cursor::default();
        let heard = self.listen(&mut Events::of(answer), &mut delivery.exchange, &mut cursor, None).await;
        if lock(&delivery.open).is_empty() {
            if let Err(failure) = &heard {
                delivery.exchange.end(failure.ended(), Some(&failure.message));
            }
            return Ok(());
        }
        let unanswered = heard.err().unwrap_or_else(|| {
            let message = format!("{} ended the stream before it answered", self.client.server());
            Failure::new(Reason::NoAnswer, message)
        });
        if delivery.era == Era::Stateless || !cursor.can_resume() {
            return Err(unanswered);
        }
        delivery.exchange.end(unanswered.ended(), None);
        self.resume(&delivery.open, cursor, unanswered).await
    }

    /// The server did not want the message. If it may take it in another way, that is tried: what it answers then is returned.
    /// `None` if the refusal itself answers the message.
    async fn refused(
        self: &Arc<Self>,
        delivery: &mut Delivery,
        mut answer: Answer,
    ) -> Result<Option<Answer>, Failure> {
        let failure = self.explain(&mut answer, &delivery.open, &mut delivery.exchange).await;
        let Some(failure) = failure else { return Ok(None) };
        if delivery.message.is("initialize") {
            // A server from before 2025-03-26 takes messages at an endpoint that its stream names.
            let may_be_older = matches!(failure.status, Some(400 | 404 | 405));
            let endpoint = if may_be_older { self.pair().await } else { None };
            let Some(endpoint) = endpoint else { return Err(failure) };
            lock(&self.session).mode = Mode::Paired { endpoint };
        } else if failure.reason == Reason::SessionGone {
            self.renew(delivery.session.as_ref()).await.map_err(|why| failure.after(&why))?;
        } else {
            return Err(failure);
        }
        self.post_again(delivery).await
    }

    /// Sends a message again, which the trace has already. `None` if it is refused again, and the refusal answers it.
    async fn post_again(&self, delivery: &mut Delivery) -> Result<Option<Answer>, Failure> {
        let (request, mut exchange) = self.post(&delivery.message);
        exchange.repeats(&mut delivery.exchange);
        delivery.exchange = exchange;
        let mut answer = self.client.send(request, || ()).await?;
        delivery.exchange.answered(&answer.parts);
        if answer.parts.status.is_success() {
            return Ok(Some(answer));
        }
        let failure = self.explain(&mut answer, &delivery.open, &mut delivery.exchange).await;
        failure.map_or(Ok(None), Err)
    }

    /// What a status that is none of success means; nothing if its body answers the request.
    pub(super) async fn explain(
        &self,
        answer: &mut Answer,
        open: &Open,
        exchange: &mut Exchange,
    ) -> Option<Failure> {
        let status = answer.parts.status;
        let body = tokio::time::timeout(ERROR_PATIENCE, answer.whole(MAX_ERROR)).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        if answers(&body, open) {
            self.pass_on(&body, exchange, None).await;
            return None;
        }
        if !body.is_empty() {
            exchange.note(&body);
        }
        let detail = error_message(&body).or_else(|| redirection(answer));
        let token = if self.secrets.names(&header::AUTHORIZATION) { Token::Given } else { Token::Missing };
        let named = if lock(&self.session).id.is_some() { Named::Session } else { Named::Nothing };
        Some(failure::status(&self.address(), status, detail.as_deref(), token, named))
    }

    /// Hands what the server said to the client, once it is in the trace.
    pub(super) async fn pass_on(&self, data: &[u8], exchange: &mut Exchange, sse: Option<&SseContext>) {
        let line = one_line(data);
        exchange.line(Direction::ServerToClient, Wire::default(), &line, sse);
        let answered = answered_in(&line);
        for (id, payload) in &answered {
            self.learn(id, payload);
        }
        let is_for_us = self.is_answer_to_us(&answered);
        if !is_for_us {
            self.output.line(&line).await;
        }
        for (id, payload) in &answered {
            if !is_for_us {
                self.with_open(id, |one| lock(&one.open).retain(|open| !same(open, id)));
            }
            let answered = lock(&self.initializing).take_if(|initialize| same(&initialize.id, id));
            if let Some(initialize) = answered {
                let agreed = if Envelope::scan(payload).result.is_some() { Agreed::Yes } else { Agreed::No };
                // The one that waits may have given up.
                let _ = initialize.waiting.send(agreed);
            }
        }
    }

    /// What an answer says that the next requests must know.
    fn learn(&self, id: &Id<'_>, payload: &[u8]) {
        let initialized =
            lock(&self.initializing).as_ref().is_some_and(|initialize| same(&initialize.id, id));
        if initialized && let Some(version) = agreed_version(payload) {
            lock(&self.session).agree_on(&version);
        }
        let listed =
            |one: &InFlight| one.era == Era::Stateless && one.method.as_deref() == Some("tools/list");
        if self.with_open(id, listed) == Some(true) {
            lock(&self.session).parameters.learn(payload);
        }
    }
}

/// The responses in a line.
fn answered_in(line: &[u8]) -> Vec<(Id<'static>, &[u8])> {
    let read = |payload| {
        let envelope = Envelope::scan(payload);
        let is_response = envelope.kind == MessageKind::Response;
        envelope.id.filter(|_| is_response).map(|id| (id.into_owned(), payload))
    };
    payloads(line).into_iter().filter_map(read).collect()
}

fn answers(body: &[u8], open: &Open) -> bool {
    let open = lock(open);
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

/// What the server said in words: the message of a JSON-RPC error.
fn error_message(body: &[u8]) -> Option<String> {
    const LONGEST: usize = 200;
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    let message = body.get("error")?.get("message")?.as_str()?;
    Some(message.chars().filter(|c| !c.is_control()).take(LONGEST).collect())
}

fn redirection(answer: &Answer) -> Option<String> {
    let location = answer.parts.headers.get(header::LOCATION)?.to_str().ok()?;
    // A query may hold anything.
    let location = location.split('?').next()?;
    answer.parts.status.is_redirection().then(|| format!("it is at {location}; give that as --url"))
}
