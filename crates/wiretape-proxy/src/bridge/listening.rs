//! Streams that the server may say something on at any time: the one that stands by, those that go on where another
//! broke off, and the one that HTTP+SSE has for everything.

use super::client::Events;
use super::failure::{Failure, Reason};
use super::recording::Exchange;
use super::run::{Bridge, Open};
use super::session::Mode;
use crate::record::pump::lock;
use bytes::Bytes;
use http::Method;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use wiretape_events::Ended;
use wiretape_trace::format::{SseContext, Wire};
use wiretape_trace::framing::SseEvent;
use wiretape_trace::json;
use wiretape_trace::message::Direction;

/// How long to wait before a stream is asked for again, if the server does not say.
const RETRY: Duration = Duration::from_secs(1);
/// How long at most, when it fails again and again.
const LONGEST: Duration = Duration::from_secs(30);
/// How often a request's stream is asked for without anything coming of it.
const ATTEMPTS: u32 = 6;
/// How long a server of HTTP+SSE may take to name its endpoint.
const ENDPOINT: Duration = Duration::from_secs(10);

/// Where a stream is.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    last_event: Option<Vec<u8>>,
    retry: Option<Duration>,
    events: u64,
}

impl Cursor {
    /// Whether the server can find the place again.
    pub(super) fn can_resume(&self) -> bool {
        self.last_event.is_some()
    }

    /// How long to wait after so many attempts of which nothing came.
    fn delay(&self, failures: u32) -> Duration {
        let usual = self.retry.unwrap_or(RETRY);
        usual.saturating_mul(1 << failures.min(5)).min(LONGEST.max(usual))
    }

    fn advance(&mut self, event: &SseEvent) {
        self.events += 1;
        if let Some(id) = &event.id {
            self.last_event = (!id.is_empty()).then(|| id.clone());
        }
        if let Some(retry) = event.retry {
            self.retry = Some(Duration::from_millis(retry));
        }
    }
}

impl Bridge {
    /// Opens the stream that stands by, for what the server says unasked.
    pub(super) fn stand_by(self: &Arc<Self>) {
        let bridge = Arc::clone(self);
        let task = self.spawn(async move { bridge.listen_on().await });
        if let Some(before) = lock(&self.listener).replace(task) {
            before.abort();
        }
    }

    async fn listen_on(&self) {
        let mut cursor = Cursor::default();
        let mut failures: u32 = 0;
        loop {
            let before = cursor.events;
            match self.listen_from(&mut cursor, None).await {
                // The server has no such stream (405), or not for us.
                Err(failure) if failure.is_final() => return,
                _ => failures = if cursor.events > before { 0 } else { failures + 1 },
            }
            tokio::time::sleep(cursor.delay(failures.saturating_sub(1))).await;
        }
    }

    /// Goes on with a request's stream until all of it is answered.
    pub(super) async fn resume(
        &self,
        open: &Open,
        mut cursor: Cursor,
        mut why: Failure,
    ) -> Result<(), Failure> {
        let mut failures = 0;
        while !lock(open).is_empty() {
            if failures >= ATTEMPTS {
                return Err(why);
            }
            tokio::time::sleep(cursor.delay(failures)).await;
            let before = cursor.events;
            match self.listen_from(&mut cursor, Some(open)).await {
                Err(failure) if failure.is_final() => return Err(failure),
                Err(failure) => why = failure,
                Ok(()) => {}
            }
            failures = if cursor.events > before { 0 } else { failures + 1 };
        }
        Ok(())
    }

    /// Asks for a stream, and hears it to its end.
    async fn listen_from(&self, cursor: &mut Cursor, open: Option<&Open>) -> Result<(), Failure> {
        let (mut events, mut exchange) = self.open_stream(cursor).await?;
        let heard = self.listen(&mut events, &mut exchange, cursor, open).await;
        match &heard {
            Ok(()) => exchange.end(Ended::Complete, None),
            Err(failure) => exchange.end(failure.ended(), Some(&failure.message)),
        }
        heard
    }

    async fn open_stream(&self, cursor: &Cursor) -> Result<(Events, Exchange), Failure> {
        let headers = lock(&self.session).get(cursor.last_event.as_deref(), &self.url, &self.secrets);
        let (request, mut exchange) = self.request(Method::GET, &self.url.target(), headers, Bytes::new());
        let mut answer = match self.client.send(request, || ()).await {
            Ok(answer) => answer,
            Err(failure) => {
                exchange.end(failure.ended(), Some(&failure.message));
                return Err(failure);
            }
        };
        exchange.answered(&answer.parts);
        if answer.parts.status.is_success() && answer.is_event_stream() {
            exchange.opened();
            return Ok((Events::of(answer), exchange));
        }
        exchange.end(Ended::Complete, None);
        if answer.parts.status.is_success() {
            let message = format!("{} gave something that is no stream of events", self.client.server());
            return Err(Failure { status: Some(406), ..Failure::new(Reason::NoAnswer, message) });
        }
        let nothing = Arc::new(Mutex::new(Vec::new()));
        let failure = self.explain(&mut answer, &nothing, &mut exchange).await;
        Err(failure.unwrap_or_else(|| Failure::new(Reason::NoAnswer, "there is no stream")))
    }

    /// Hears a stream to its end, or until nothing is open any more.
    pub(super) async fn listen(
        &self,
        events: &mut Events,
        exchange: &mut Exchange,
        cursor: &mut Cursor,
        open: Option<&Open>,
    ) -> Result<(), Failure> {
        while let Some(event) = events.next().await? {
            self.hear(&event, exchange, cursor).await;
            if open.is_some_and(|open| lock(open).is_empty()) {
                break;
            }
        }
        Ok(())
    }

    async fn hear(&self, event: &SseEvent, exchange: &mut Exchange, cursor: &mut Cursor) {
        let data = event.data.as_deref().unwrap_or_default();
        let sse = context(event);
        let is_message = matches!(event.event.as_deref(), None | Some(b"message"));
        // What is torn is not dispatched, says the standard of event streams.
        if event.unterminated || !is_message || !json::is_utf8(data) || json::validate(data).is_err() {
            if event.data.is_some() || sse != SseContext::default() {
                exchange.line(Direction::ServerToClient, Wire::default(), data, Some(&sse));
            }
        } else {
            self.pass_on(data, exchange, Some(&sse)).await;
        }
        if !event.unterminated {
            cursor.advance(event);
        }
    }

    /// Looks whether the server speaks HTTP+SSE, as it was before 2025-03-26; if so, says where messages go.
    pub(super) async fn pair(self: &Arc<Self>) -> Option<String> {
        let (mut events, mut exchange) = self.open_stream(&Cursor::default()).await.ok()?;
        let first = tokio::time::timeout(ENDPOINT, next_endpoint(&mut events, &mut exchange)).await;
        let endpoint = first.ok().flatten().and_then(|endpoint| self.url.resolve(&endpoint))?;
        let bridge = Arc::clone(self);
        self.spawn(async move { bridge.listen_to_pair(events, exchange).await });
        Some(endpoint)
    }

    /// Hears the one stream of HTTP+SSE. The session ends with it.
    async fn listen_to_pair(&self, mut events: Events, mut exchange: Exchange) {
        let heard = self.listen(&mut events, &mut exchange, &mut Cursor::default(), None).await;
        let failure = heard.err().unwrap_or_else(|| {
            let message =
                format!("{} ended the stream; the next message begins a new session", self.client.server());
            Failure::new(Reason::SessionGone, message)
        });
        exchange.end(failure.ended(), Some(&failure.message));
        lock(&self.session).mode = Mode::Lost;
        for open in self.all_open() {
            self.fail(&open, &failure, None).await;
        }
    }
}

async fn next_endpoint(events: &mut Events, exchange: &mut Exchange) -> Option<String> {
    while let Ok(Some(event)) = events.next().await {
        let data = event.data.clone().unwrap_or_default();
        exchange.line(Direction::ServerToClient, Wire::default(), &data, Some(&context(&event)));
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
    fn a_cursor_follows_ids_and_honours_retry() {
        let mut cursor = Cursor::default();
        assert_eq!((cursor.can_resume(), cursor.delay(0)), (false, RETRY));
        cursor.advance(&SseEvent { id: Some(b"7".to_vec()), retry: Some(50), ..SseEvent::default() });
        assert_eq!((cursor.can_resume(), cursor.delay(0)), (true, Duration::from_millis(50)));
        assert_eq!(cursor.delay(2), Duration::from_millis(200));
        assert_eq!(cursor.delay(40), Duration::from_millis(1600));
        cursor.advance(&SseEvent { id: Some(Vec::new()), retry: Some(60_000), ..SseEvent::default() });
        assert_eq!((cursor.can_resume(), cursor.delay(9)), (false, Duration::from_secs(60)));
    }
}
