//! Streams on which the server may send messages at any time: the listening stream of a session, resumed streams, and the one
//! stream of HTTP+SSE.
//!
//! **Why this shape.** All three are the same loop over events with a [`Cursor`], which remembers what a resumption needs
//! (`Last-Event-ID`, `retry`). They differ in when they give up: the listening stream never (a server may be restarted), unless
//! the server refuses it; a request's stream after six attempts without any event, because a client waits for it; that of
//! HTTP+SSE at once, because the session ends with it.

use super::client::EventStream;
use super::failure::{Failure, Reason};
use super::recording::Exchange;
use super::run::{Bridge, PendingRequests};
use super::session::TransportMode;
use bytes::Bytes;
use http::Method;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use wiretape_events::Ended;
use wiretape_trace::format::{SseContext, Wire};
use wiretape_trace::framing::SseEvent;
use wiretape_trace::json;
use wiretape_trace::message::Direction;

/// The delay before a stream is reopened, if the server sends no `retry`.
const DEFAULT_RETRY: Duration = Duration::from_secs(1);
/// The maximum delay of the exponential backoff.
const MAX_RETRY: Duration = Duration::from_secs(30);
/// The limit of consecutive attempts to resume a request's stream without receiving an event.
const MAX_ATTEMPTS: u32 = 6;
/// The time in which a server of HTTP+SSE must name its endpoint.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(10);

/// The position in a stream.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    last_event: Option<Vec<u8>>,
    retry: Option<Duration>,
    events: u64,
}

impl Cursor {
    /// Whether the server has sent an event id to resume from.
    pub(super) fn can_resume(&self) -> bool {
        self.last_event.is_some()
    }

    /// The backoff after this many consecutive failures.
    fn delay(&self, failures: u32) -> Duration {
        let usual = self.retry.unwrap_or(DEFAULT_RETRY);
        // The server's own `retry` is never undercut, even if it is longer than our maximum.
        usual.saturating_mul(1 << failures.min(5)).min(MAX_RETRY.max(usual))
    }

    fn advance(&mut self, event: &SseEvent) {
        self.events += 1;
        if let Some(id) = &event.id {
            // An empty id resets the position (HTML standard, "Interpreting an event stream").
            self.last_event = (!id.is_empty()).then(|| id.clone());
        }
        if let Some(retry) = event.retry {
            self.retry = Some(Duration::from_millis(retry));
        }
    }
}

impl Bridge {
    /// Opens the session's listening stream, for the server's own messages.
    pub(super) fn open_listening_stream(self: &Arc<Self>) {
        let bridge = Arc::clone(self);
        let task = self.spawn(async move { bridge.keep_listening().await });
        // One stream per session: a second one would get the server's messages instead of the first, or twice.
        if let Some(before) = self.listener.lock().replace(task) {
            before.abort();
        }
    }

    async fn keep_listening(&self) {
        let mut cursor = Cursor::default();
        let mut failures: u32 = 0;
        loop {
            let before = cursor.events;
            match self.receive_from(&mut cursor, None).await {
                // 405: the server has no such stream. Any other final error: not for this client.
                Err(failure) if failure.is_final() => return,
                _ => failures = if cursor.events > before { 0 } else { failures + 1 },
            }
            tokio::time::sleep(cursor.delay(failures.saturating_sub(1))).await;
        }
    }

    /// Resumes a request's stream until all its requests are answered.
    pub(super) async fn resume(
        &self,
        open: &PendingRequests,
        mut cursor: Cursor,
        mut why: Failure,
    ) -> Result<(), Failure> {
        let mut failures = 0;
        while !open.lock().is_empty() {
            if failures >= MAX_ATTEMPTS {
                return Err(why);
            }
            tokio::time::sleep(cursor.delay(failures)).await;
            let before = cursor.events;
            match self.receive_from(&mut cursor, Some(open)).await {
                Err(failure) if failure.is_final() => return Err(failure),
                Err(failure) => why = failure,
                Ok(()) => {}
            }
            failures = if cursor.events > before { 0 } else { failures + 1 };
        }
        Ok(())
    }

    /// Opens a stream and receives it to its end.
    async fn receive_from(&self, cursor: &mut Cursor, open: Option<&PendingRequests>) -> Result<(), Failure> {
        let (mut events, mut exchange) = self.open_stream(cursor).await?;
        let received = self.receive_events(&mut events, &mut exchange, cursor, open).await;
        match &received {
            Ok(()) => exchange.end(Ended::Complete, None),
            Err(failure) => exchange.end(failure.ended(), Some(&failure.message)),
        }
        received
    }

    async fn open_stream(&self, cursor: &Cursor) -> Result<(EventStream, Exchange), Failure> {
        let headers = self.session.lock().get(cursor.last_event.as_deref(), &self.url, &self.secrets);
        let (request, mut exchange) = self.request(Method::GET, &self.url.target(), headers, Bytes::new());
        let mut answer = match self.client.send(request, || ()).await {
            Ok(answer) => answer,
            Err(failure) => {
                exchange.end(failure.ended(), Some(&failure.message));
                return Err(failure);
            }
        };
        exchange.record_response_head(&answer.parts);
        if answer.parts.status.is_success() && answer.is_event_stream() {
            exchange.record_open();
            return Ok((EventStream::of(answer), exchange));
        }
        exchange.end(Ended::Complete, None);
        if answer.parts.status.is_success() {
            let message = format!("{} sent a response that is not an event stream", self.client.server());
            // A status makes it final: a server that answers a GET with something else will do so again.
            return Err(Failure { status: Some(406), ..Failure::new(Reason::NoAnswer, message) });
        }
        let nothing = Arc::new(Mutex::new(Vec::new()));
        let failure = self.error_of(&mut answer, &nothing, &mut exchange).await;
        Err(failure.unwrap_or_else(|| Failure::new(Reason::NoAnswer, "the server has no stream")))
    }

    /// Receives a stream to its end, or until all the given requests are answered.
    pub(super) async fn receive_events(
        &self,
        events: &mut EventStream,
        exchange: &mut Exchange,
        cursor: &mut Cursor,
        open: Option<&PendingRequests>,
    ) -> Result<(), Failure> {
        while let Some(event) = events.next().await? {
            self.receive_event(&event, exchange, cursor).await;
            // Servers may keep a stream open after the last answer; nothing on it concerns these requests any more.
            if open.is_some_and(|open| open.lock().is_empty()) {
                break;
            }
        }
        Ok(())
    }

    async fn receive_event(&self, event: &SseEvent, exchange: &mut Exchange, cursor: &mut Cursor) {
        let data = event.data.as_deref().unwrap_or_default();
        let sse = context(event);
        let is_message = matches!(event.event.as_deref(), None | Some(b"message"));
        // An incomplete event at the end of a stream must not be dispatched (HTML standard, "Interpreting an event stream").
        if event.unterminated || !is_message || !json::is_utf8(data) || json::validate(data).is_err() {
            if event.data.is_some() || sse != SseContext::default() {
                exchange.record_line(Direction::ServerToClient, Wire::default(), data, Some(&sse));
            }
        } else {
            self.forward_to_client(data, exchange, Some(&sse)).await;
        }
        // An incomplete event was not received, so a resumption has to repeat it.
        if !event.unterminated {
            cursor.advance(event);
        }
    }

    /// Tries HTTP+SSE (MCP 2024-11-05). Returns the endpoint for messages if the server supports it.
    pub(super) async fn connect_http_sse(self: &Arc<Self>) -> Option<String> {
        let (mut events, mut exchange) = self.open_stream(&Cursor::default()).await.ok()?;
        let first = tokio::time::timeout(ENDPOINT_TIMEOUT, next_endpoint(&mut events, &mut exchange)).await;
        let endpoint = first.ok().flatten().and_then(|endpoint| self.url.resolve(&endpoint))?;
        let bridge = Arc::clone(self);
        self.spawn(async move { bridge.receive_http_sse(events, exchange).await });
        Some(endpoint)
    }

    /// Receives the one stream of HTTP+SSE. The session ends with it.
    async fn receive_http_sse(&self, mut events: EventStream, mut exchange: Exchange) {
        let received = self.receive_events(&mut events, &mut exchange, &mut Cursor::default(), None).await;
        let failure = received.err().unwrap_or_else(|| {
            let message =
                format!("{} closed the stream; the next message starts a new session", self.client.server());
            Failure::new(Reason::SessionGone, message)
        });
        exchange.end(failure.ended(), Some(&failure.message));
        // Before the requests fail: the client's reaction must already start a new session.
        self.session.lock().mode = TransportMode::Lost;
        for open in self.all_pending() {
            self.fail_requests(&open, &failure, None).await;
        }
    }
}

async fn next_endpoint(events: &mut EventStream, exchange: &mut Exchange) -> Option<String> {
    while let Ok(Some(event)) = events.next().await {
        let data = event.data.clone().unwrap_or_default();
        exchange.record_line(Direction::ServerToClient, Wire::default(), &data, Some(&context(&event)));
        if event.event.as_deref() == Some(b"endpoint") {
            return String::from_utf8(data).ok();
        }
    }
    None
}

fn context(event: &SseEvent) -> SseContext {
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    SseContext { event: event.event.as_ref().map(text), id: event.id.as_ref().map(text), retry: event.retry }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_follows_ids_and_honors_retry() {
        let mut cursor = Cursor::default();
        assert_eq!((cursor.can_resume(), cursor.delay(0)), (false, DEFAULT_RETRY));
        cursor.advance(&SseEvent { id: Some(b"7".to_vec()), retry: Some(50), ..SseEvent::default() });
        assert_eq!((cursor.can_resume(), cursor.delay(0)), (true, Duration::from_millis(50)));
        assert_eq!(cursor.delay(2), Duration::from_millis(200));
        assert_eq!(cursor.delay(40), Duration::from_millis(1600));
        cursor.advance(&SseEvent { id: Some(Vec::new()), retry: Some(60_000), ..SseEvent::default() });
        assert_eq!((cursor.can_resume(), cursor.delay(9)), (false, Duration::from_secs(60)));
    }
}
