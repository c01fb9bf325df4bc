//! Restarting a session that the server has lost.
//!
//! A server that was restarted responds with 404 to a session that it does not know, and the client must then start a new one
//! (MCP 2025-11-25, basic/transports, "Session Management"). A stdio client doesn't know about HTTP sessions, so the bridge does
//! it: it sends the client's handshake again, and then the message that was refused. Other messages are never repeated: whether
//! the server has processed a request whose connection broke is unknown.

use super::client::{EventStream, ServerResponse};
use super::failure::{Failure, Reason};
use super::listening::Cursor;
use super::outgoing::{ClientLine, ClientMessage, same};
use super::recording::Exchange;
use super::run::Bridge;
use super::session::TransportMode;
use http::HeaderValue;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use wiretape_events::Ended;
use wiretape_trace::message::Id;

/// The time in which the server must answer `initialize`.
const INITIALIZE_TIMEOUT: Duration = Duration::from_secs(30);

/// An `initialize` that is in flight.
pub(super) struct PendingInitialize {
    pub(super) id: Id<'static>,
    /// Notified of the answer.
    pub(super) waiting: oneshot::Sender<HandshakeResult>,
    pub(super) initiator: Initiator,
}

/// The sender of an `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Initiator {
    Client,
    /// The bridge, in place of the client.
    Bridge,
}

/// Whether the server has accepted an `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HandshakeResult {
    Accepted,
    Rejected,
}

/// The messages with which the client started its session.
#[derive(Debug, Default, Clone)]
pub(super) struct Handshake {
    initialize: Option<ClientLine>,
    initialized: Option<ClientLine>,
}

impl Bridge {
    /// Remembers the messages of the handshake.
    pub(super) fn remember_handshake(&self, message: &ClientMessage) {
        if message.is("initialize") {
            *self.handshake.lock() = Handshake { initialize: Some(message.line.clone()), initialized: None };
        } else if message.is("notifications/initialized") {
            self.handshake.lock().initialized = Some(message.line.clone());
        }
    }

    /// Whether all responses in a line are for an `initialize` of the bridge, which the client must not get.
    pub(super) fn is_answer_to_us(&self, answered: &[(Id<'static>, &[u8])]) -> bool {
        let initializing = self.initializing.lock();
        let Some(ours) = initializing.as_ref().filter(|one| one.initiator == Initiator::Bridge) else {
            return false;
        };
        !answered.is_empty() && answered.iter().all(|(id, _)| same(&ours.id, id))
    }

    /// Starts a session in place of the lost one: that with the id `lost`, or that of an HTTP+SSE stream that has ended.
    pub(super) async fn renew(self: &Arc<Self>, lost: Option<&HeaderValue>) -> Result<(), Failure> {
        let _one_at_a_time = self.renewing.lock().await;
        let mode = self.session.lock().mode.clone();
        // Another message had the same failure and has already restarted the session.
        if mode != TransportMode::Lost && self.session.lock().id.as_ref() != lost {
            return Ok(());
        }
        let before = self.reset_session();
        let renewed = self.handshake_again(&mode).await;
        match &renewed {
            Ok(()) => {
                self.warn_once(&format!(
                    "{} has lost the session; a new one was started",
                    self.client.server()
                ));
            }
            Err(_) => {
                *self.initializing.lock() = None;
                // The old session may still work: the server may have been unreachable for a moment only.
                self.session.lock().restore(before);
            }
        }
        renewed
    }

    async fn handshake_again(self: &Arc<Self>, mode: &TransportMode) -> Result<(), Failure> {
        let Handshake { initialize, initialized } = self.handshake.lock().clone();
        let no_session = |why: &str| Failure::new(Reason::SessionGone, why);
        let initialize = initialize.ok_or_else(|| no_session("the client has never sent `initialize`"))?;
        if *mode == TransportMode::Lost {
            let endpoint = self
                .connect_http_sse()
                .await
                .ok_or_else(|| no_session("the server doesn't open a stream"))?;
            self.session.lock().mode = TransportMode::HttpSse { endpoint };
        }
        match tokio::time::timeout(INITIALIZE_TIMEOUT, self.initialize(ClientMessage::read(initialize))).await
        {
            Ok(Ok(HandshakeResult::Accepted)) => {}
            Ok(Ok(HandshakeResult::Rejected)) => return Err(no_session("the server rejects `initialize`")),
            Ok(Err(failure)) => return Err(failure),
            Err(_) => return Err(Failure::new(Reason::Timeout, "`initialize` was not answered in time")),
        }
        if let Some(line) = initialized {
            self.send_own(ClientMessage::read(line)).await?;
            if self.session.lock().mode == TransportMode::Streamable {
                self.open_listening_stream();
            }
        }
        Ok(())
    }

    async fn initialize(self: &Arc<Self>, message: ClientMessage) -> Result<HandshakeResult, Failure> {
        let (waiting, mut agreed) = oneshot::channel();
        let Some(id) = message.requests.first().cloned() else { return Ok(HandshakeResult::Rejected) };
        *self.initializing.lock() = Some(PendingInitialize { id, waiting, initiator: Initiator::Bridge });
        let (answer, mut exchange) = self.send_own(message).await?;
        // Before the body is read, because the answer may come with it and is forwarded at once.
        self.enter_session(&answer);
        tokio::select! {
            received = self.receive_own(answer, &mut exchange) => received?,
            answered = &mut agreed => return Ok(answered.unwrap_or(HandshakeResult::Rejected)),
        }
        exchange.end(Ended::Complete, None);
        // With HTTP+SSE the response arrives on the stream.
        Ok(agreed.await.unwrap_or(HandshakeResult::Rejected))
    }

    /// Sends a message in place of the client.
    async fn send_own(
        self: &Arc<Self>,
        message: ClientMessage,
    ) -> Result<(ServerResponse, Exchange), Failure> {
        let (request, mut exchange) = self.post(&message);
        exchange.record_own_message(&message.line);
        let answer = match self.client.send(request, || ()).await {
            Ok(answer) => answer,
            Err(failure) => {
                exchange.end(failure.ended(), Some(&failure.message));
                return Err(failure);
            }
        };
        exchange.record_response_head(&answer.parts);
        exchange.end(Ended::Complete, None);
        if answer.parts.status.is_success() {
            return Ok((answer, exchange));
        }
        let message = format!("{} responded with HTTP {}", self.address(), answer.parts.status);
        let status = Some(answer.parts.status.as_u16());
        Err(Failure { status, ..Failure::new(Reason::Status, message) })
    }

    /// Receives the server's response to a message of the bridge.
    async fn receive_own(&self, mut answer: ServerResponse, exchange: &mut Exchange) -> Result<(), Failure> {
        if answer.is_event_stream() {
            return self
                .receive_events(&mut EventStream::of(answer), exchange, &mut Cursor::default(), None)
                .await;
        }
        let body = answer.whole(super::client::MAX_MESSAGE).await?;
        if !body.trim_ascii().is_empty() && wiretape_trace::json::validate(&body).is_ok() {
            self.forward_to_client(&body, exchange, None).await;
        }
        Ok(())
    }
}
