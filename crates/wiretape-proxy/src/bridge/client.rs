//! The HTTP client of the bridge: requests over keep-alive connections, and response bodies.
//!
//! A small pool of our own instead of a client library, because the bridge has to know two things that libraries
//! hide: the moment a request is handed to its connection, which fixes the order of messages, and whether a failed
//! request was sent, which decides whether it may be sent again.

use super::failure::{Failure, Reason};
use crate::http::decode::Decoder;
use crate::http::headers;
use crate::http::relay::body::ProxyBody;
use crate::http::relay::{Connector, HttpPreference, SendFailure, Sender};
use crate::http::target::Target;
use bytes::Bytes;
use http::{Request, Response, response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use parking_lot::Mutex;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use wiretape_trace::framing::{SseEvent, SseFramer};

/// The time for connecting to the server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an idle connection is kept. Common servers close one after five seconds, and a request that is sent at that moment
/// can't be retried safely, since the server may have processed it.
const KEEP_ALIVE: Duration = Duration::from_secs(3);
/// The largest message, in bytes.
pub(super) const MAX_MESSAGE: usize = 256 * 1024 * 1024;

/// Sends requests to one server.
pub(super) struct HttpClient {
    connector: Connector,
    target: Target,
    idle: Mutex<Vec<(Instant, Sender)>>,
}

impl HttpClient {
    pub(super) fn new(target: Target) -> Arc<Self> {
        Arc::new(HttpClient { connector: Connector::new(CONNECT_TIMEOUT), target, idle: Mutex::default() })
    }

    /// The server's origin, for messages.
    pub(super) fn server(&self) -> String {
        self.target.origin().to_string()
    }

    /// Sends a request and waits for the head of the response. `sent` is called once the connection has taken the request.
    pub(super) async fn send(
        self: &Arc<Self>,
        mut request: Request<ProxyBody>,
        sent: impl FnOnce(),
    ) -> Result<ServerResponse, Failure> {
        let mut sent = Some(sent);
        let mut idle = self.take_idle();
        loop {
            let is_new = idle.is_none();
            let mut sender = match idle.take() {
                Some(sender) => sender,
                None => self.connect().await?,
            };
            match send_over(&mut sender, request, &mut sent).await {
                Ok(response) => return Ok(ServerResponse::new(response, sender, Arc::clone(self))),
                // The server closed an idle connection before it took the request, so sending again can't execute it
                // twice. A new connection that fails is a real failure, which also ends this loop.
                Err(SendFailure { unsent: Some(unsent), .. }) if !is_new => request = unsent,
                Err(failure) => return Err(Failure::broken_connection(&self.server(), &failure.error)),
            }
        }
    }

    async fn connect(&self) -> Result<Sender, Failure> {
        // Boxed, because the future of a TLS handshake is large and rarely needed.
        let connected = Box::pin(self.connector.connect(&self.target, HttpPreference::Http1)).await;
        connected.map_err(|refusal| Failure::unreachable(&self.server(), &refusal))
    }

    fn take_idle(&self) -> Option<Sender> {
        let mut idle = self.idle.lock();
        // Pruned here rather than by a timer: a bridge that is idle must not wake up.
        idle.retain(|(since, sender)| since.elapsed() < KEEP_ALIVE && !sender.is_closed());
        let ready = idle.iter().rposition(|(_, sender)| sender.is_ready())?;
        Some(idle.swap_remove(ready).1)
    }

    fn put_idle(&self, sender: Sender) {
        self.idle.lock().push((Instant::now(), sender));
    }
}

async fn send_over(
    sender: &mut Sender,
    request: Request<ProxyBody>,
    sent: &mut Option<impl FnOnce()>,
) -> Result<Response<Incoming>, SendFailure> {
    let mut sending = pin!(sender.send(request));
    // The first poll hands the request to the connection, which fixes its order; waiting for the response may take minutes.
    let first = poll_fn(|cx| Poll::Ready(sending.as_mut().poll(cx))).await;
    if let Some(sent) = sent.take() {
        sent();
    }
    match first {
        Poll::Ready(response) => response,
        Poll::Pending => sending.await,
    }
}

/// A response whose body has not been read yet.
pub(super) struct ServerResponse {
    pub(super) parts: response::Parts,
    body: Incoming,
    decoder: Option<Decoder>,
    client: Arc<HttpClient>,
    sender: Option<Sender>,
}

impl ServerResponse {
    fn new(response: Response<Incoming>, sender: Sender, client: Arc<HttpClient>) -> Self {
        let (parts, body) = response.into_parts();
        let encoding = headers::content_encoding(&parts.headers);
        let decoder = encoding.and_then(|encoding| Decoder::new(encoding, MAX_MESSAGE));
        ServerResponse { parts, body, decoder, client, sender: Some(sender) }
    }

    /// The next decoded chunk of the body. After the last one the connection is kept for the next request.
    async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            let Some(frame) = self.body.frame().await else {
                if let Some(sender) = self.sender.take() {
                    self.client.put_idle(sender);
                }
                return Ok(None);
            };
            let frame = frame.map_err(|error| Failure::broken_connection(&self.client.server(), &error))?;
            let Ok(data) = frame.into_data() else { continue };
            let Some(decoder) = &mut self.decoder else { return Ok(Some(data)) };
            let decoded = decoder.push(&data);
            let broken = |_| Failure::new(Reason::Broken, "the response can't be decoded");
            return decoded.map(|bytes| Some(Bytes::from(bytes))).map_err(broken);
        }
    }

    /// The whole body, if it has at most `limit` bytes.
    pub(super) async fn whole(&mut self, limit: usize) -> Result<Vec<u8>, Failure> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next().await? {
            whole.extend_from_slice(&bytes);
            if whole.len() > limit {
                let message =
                    format!("the response of {} is larger than {limit} bytes", self.client.server());
                return Err(Failure::new(Reason::TooLarge, message));
            }
        }
        Ok(whole)
    }

    pub(super) fn is_event_stream(&self) -> bool {
        headers::is_event_stream(&self.parts.headers)
    }
}

/// A response whose body is an event stream.
pub(super) struct EventStream {
    answer: ServerResponse,
    framer: SseFramer,
}

impl EventStream {
    pub(super) fn of(answer: ServerResponse) -> Self {
        EventStream { answer, framer: SseFramer::new() }
    }

    /// The next event; the last one may be cut off.
    pub(super) async fn next(&mut self) -> Result<Option<SseEvent>, Failure> {
        loop {
            if let Some(event) = self.framer.next_event() {
                return Ok(Some(event));
            }
            // A stream without an end of an event would fill the memory (invariant 6: memory is bounded by the
            // largest message).
            if self.framer.pending() > MAX_MESSAGE {
                return Err(Failure::new(
                    Reason::TooLarge,
                    format!("an event is larger than {MAX_MESSAGE} bytes"),
                ));
            }
            match self.answer.next().await? {
                Some(bytes) => self.framer.push(&bytes),
                None => return Ok(self.framer.finish()),
            }
        }
    }
}
