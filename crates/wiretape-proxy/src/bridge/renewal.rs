//! A session that the server has lost, begun anew.
//!
//! A server that was restarted answers 404 to a session that it does not know, and the client must then begin a new one
//! (2025-11-25, Transports, "Session Management"). A client on stdio knows nothing of sessions over HTTP, so that is done for it: what
//! it began the session with is sent again, and then the message that was refused. Other messages are never repeated: whether a
//! request that broke off was served can't be told.

use super::client::{Answer, Events};
use super::failure::{Failure, Reason};
use super::listening::Cursor;
use super::outgoing::{Line, Outgoing, same};
use super::recording::Exchange;
use super::run::Bridge;
use super::session::Mode;
use crate::record::pump::lock;
use http::HeaderValue;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use wiretape_events::Ended;
use wiretape_trace::message::Id;

/// How long the server may take to answer `initialize`.
const PATIENCE: Duration = Duration::from_secs(30);

/// An `initialize` that is under way.
pub(super) struct Initializing {
    pub(super) id: Id<'static>,
    /// Who waits for the answer.
    pub(super) waiting: oneshot::Sender<Agreed>,
    pub(super) asker: Asker,
}

/// Who has sent an `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asker {
    Client,
    /// The bridge, in the client's stead.
    Bridge,
}

/// Whether the server has begun a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Agreed {
    Yes,
    No,
}

/// What the client began its session with.
#[derive(Debug, Default, Clone)]
pub(super) struct Handshake {
    initialize: Option<Line>,
    initialized: Option<Line>,
}

impl Bridge {
    /// Remembers what a session begins with.
    pub(super) fn note_handshake(&self, message: &Outgoing) {
        if message.is("initialize") {
            *lock(&self.handshake) = Handshake { initialize: Some(message.line.clone()), initialized: None };
        } else if message.is("notifications/initialized") {
            lock(&self.handshake).initialized = Some(message.line.clone());
        }
    }

    /// Whether all answers in a line are to an `initialize` of ours, which the client does not wait for.
    pub(super) fn is_answer_to_us(&self, answered: &[(Id<'static>, &[u8])]) -> bool {
        let initializing = lock(&self.initializing);
        let Some(ours) = initializing.as_ref().filter(|one| one.asker == Asker::Bridge) else { return false };
        !answered.is_empty() && answered.iter().all(|(id, _)| same(&ours.id, id))
    }

    /// Begins a session in place of the one that the server has lost: this one, or that of a stream that has ended.
    pub(super) async fn renew(self: &Arc<Self>, lost: Option<&HeaderValue>) -> Result<(), Failure> {
        let _one_at_a_time = self.renewing.lock().await;
        let mode = lock(&self.session).mode.clone();
        // Another message has met the same, and has done it already.
        if mode != Mode::Lost && lock(&self.session).id.as_ref() != lost {
            return Ok(());
        }
        let before = self.begin_anew();
        let renewed = self.shake_hands(&mode).await;
        match &renewed {
            Ok(()) => {
                self.tell(&format!("{} has lost the session; a new one was begun", self.client.server()));
            }
            Err(_) => {
                *lock(&self.initializing) = None;
                lock(&self.session).restore(before);
            }
        }
        renewed
    }

    async fn shake_hands(self: &Arc<Self>, mode: &Mode) -> Result<(), Failure> {
        let Handshake { initialize, initialized } = lock(&self.handshake).clone();
        let no_session = |why: &str| Failure::new(Reason::SessionGone, why);
        let initialize = initialize.ok_or_else(|| no_session("the client has never sent `initialize`"))?;
        if *mode == Mode::Lost {
            let endpoint =
                self.pair().await.ok_or_else(|| no_session("the server has no stream any more"))?;
            lock(&self.session).mode = Mode::Paired { endpoint };
        }
        match tokio::time::timeout(PATIENCE, self.initialize(Outgoing::read(initialize))).await {
            Ok(Ok(Agreed::Yes)) => {}
            Ok(Ok(Agreed::No)) => return Err(no_session("the server refuses `initialize`")),
            Ok(Err(failure)) => return Err(failure),
            Err(_) => return Err(Failure::new(Reason::Timeout, "`initialize` was not answered in time")),
        }
        if let Some(line) = initialized {
            self.send_own(Outgoing::read(line)).await?;
            if lock(&self.session).mode == Mode::Streamable {
                self.stand_by();
            }
        }
        Ok(())
    }

    async fn initialize(self: &Arc<Self>, message: Outgoing) -> Result<Agreed, Failure> {
        let (waiting, mut agreed) = oneshot::channel();
        let Some(id) = message.requests.first().cloned() else { return Ok(Agreed::No) };
        *lock(&self.initializing) = Some(Initializing { id, waiting, asker: Asker::Bridge });
        let (answer, mut exchange) = self.send_own(message).await?;
        self.enter_session(&answer);
        tokio::select! {
            heard = self.hear_own(answer, &mut exchange) => heard?,
            answered = &mut agreed => return Ok(answered.unwrap_or(Agreed::No)),
        }
        exchange.end(Ended::Complete, None);
        // Over HTTP+SSE it comes on the stream.
        Ok(agreed.await.unwrap_or(Agreed::No))
    }

    /// Sends a message in the client's stead.
    async fn send_own(self: &Arc<Self>, message: Outgoing) -> Result<(Answer, Exchange), Failure> {
        let (request, mut exchange) = self.post(&message);
        exchange.own_message(&message.line);
        let answer = match self.client.send(request, || ()).await {
            Ok(answer) => answer,
            Err(failure) => {
                exchange.end(failure.ended(), Some(&failure.message));
                return Err(failure);
            }
        };
        exchange.answered(&answer.parts);
        exchange.end(Ended::Complete, None);
        if answer.parts.status.is_success() {
            return Ok((answer, exchange));
        }
        let message = format!("{} answered with HTTP {}", self.address(), answer.parts.status);
        let status = Some(answer.parts.status.as_u16());
        Err(Failure { status, ..Failure::new(Reason::Status, message) })
    }

    /// Hears what the server answers to a message of ours.
    async fn hear_own(&self, mut answer: Answer, exchange: &mut Exchange) -> Result<(), Failure> {
        if answer.is_event_stream() {
            return self.listen(&mut Events::of(answer), exchange, &mut Cursor::default(), None).await;
        }
        let body = answer.whole(super::client::MAX_MESSAGE).await?;
        if !body.trim_ascii().is_empty() && wiretape_trace::json::validate(&body).is_ok() {
            self.pass_on(&body, exchange, None).await;
        }
        Ok(())
    }
}
