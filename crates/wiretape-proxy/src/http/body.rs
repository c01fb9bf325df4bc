//! Bodies in passing: frame by frame, as they come.

use super::draining::{StreamEnd, stream_end};
use super::exchange::Exchange;
use super::refusal::Refusal;
use super::relay;
use super::rewrite::Rewrite;
use super::tap::{Tap, Work};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};
use wiretape_events::Ended;
use wiretape_trace::message::Direction;

/// A body broke off. Whoever writes it breaks the connection, as the other side did.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("{0}")]
    Broken(#[source] hyper::Error),
    #[error("{}", .0.message)]
    Refused(Refusal),
}

/// A body that the proxy sends, to either side.
pub(crate) enum ProxyBody {
    /// Somebody else's, in passing.
    Passing(Box<PassingBody>),
    /// One that is there as a whole.
    Whole(Option<Bytes>),
}

impl From<Bytes> for ProxyBody {
    fn from(bytes: Bytes) -> Self {
        ProxyBody::Whole((!bytes.is_empty()).then_some(bytes))
    }
}

/// Somebody else's body.
pub(crate) struct PassingBody {
    /// Gone when it was refused: somebody else reads it away.
    inner: Option<Incoming>,
    tap: Tap,
    watch: Option<Watch>,
    /// Resolves when a stream that outlives requests has to end.
    end: Option<StreamEnd>,
    rewrite: Option<Rewrite>,
    /// What was read already, and goes before the rest.
    ahead: Option<Bytes>,
    /// A frame that waits until what it says is recorded.
    held: Option<(Work, Option<Frame<Bytes>>)>,
}

impl ProxyBody {
    /// Passes a body on, with a tap that listens.
    pub(super) fn passing(inner: Incoming, mut tap: Tap, rewrite: Option<Rewrite>) -> Self {
        if inner.is_end_stream() {
            // Nobody will poll it: this is its end.
            tap.finish();
            return ProxyBody::Whole(None);
        }
        let (exchange, watch) = (tap.exchange(), Watch::over(tap.exchange()));
        let is_response = tap.from() == Direction::ServerToClient;
        let stream = exchange.stream().filter(|_| is_response);
        ProxyBody::Passing(Box::new(PassingBody {
            inner: Some(inner),
            end: stream.and_then(|kind| stream_end(exchange, kind)),
            tap,
            watch,
            rewrite,
            ahead: None,
            held: None,
        }))
    }

    /// The rest of a body, behind what was read of it already.
    pub(super) fn behind(mut self, read: Bytes) -> Self {
        if let ProxyBody::Passing(body) = &mut self {
            body.ahead = Some(read);
        }
        self
    }
}

impl Body for ProxyBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self.get_mut() {
            ProxyBody::Passing(body) => body.poll(cx),
            ProxyBody::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ProxyBody::Passing(body) => {
                let holds = body.rewrite.as_ref().is_some_and(Rewrite::holds);
                body.held.is_none() && body.ahead.is_none() && !holds && body.has_ended()
            }
            ProxyBody::Whole(bytes) => bytes.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            // Its length may change when it is rewritten.
            ProxyBody::Passing(body) if body.rewrite.is_some() || body.ahead.is_some() => SizeHint::default(),
            ProxyBody::Passing(body) => body.inner.as_ref().map(Body::size_hint).unwrap_or_default(),
            ProxyBody::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
        }
    }
}

impl PassingBody {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Some(ahead) = self.ahead.take() {
            return Poll::Ready(Some(Ok(Frame::data(ahead))));
        }
        loop {
            if let Some((work, _)) = &mut self.held {
                // A recorder that panicked has lost its line; the traffic goes on.
                let _ = ready!(Pin::new(work).poll(cx));
                if let Some((_, Some(frame))) = self.held.take() {
                    return Poll::Ready(Some(Ok(frame)));
                }
            }
            let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
            let Poll::Ready(next) = Pin::new(inner).poll_frame(cx) else {
                if self.end.as_mut().is_some_and(|end| end.as_mut().poll(cx).is_ready()) {
                    return self.end_stream();
                }
                return self.poll_watch(cx);
            };
            if self.watch.is_some() {
                self.tap.exchange().hear();
            }
            match next {
                Some(Ok(frame)) => match self.frame(frame) {
                    Passed::Now(frame) => return Poll::Ready(Some(Ok(frame))),
                    Passed::Refused(refusal) => return Poll::Ready(Some(Err(BodyError::Refused(refusal)))),
                    Passed::Later => {}
                },
                None => match (self.tap.finish(), self.rest()) {
                    (Some(work), rest) => self.held = Some((work, rest)),
                    (None, rest) => return Poll::Ready(rest.map(Ok)),
                },
                Some(Err(error)) => {
                    self.broken();
                    return Poll::Ready(Some(Err(BodyError::Broken(error))));
                }
            }
        }
    }

    fn frame(&mut self, frame: Frame<Bytes>) -> Passed {
        let frame = match frame.into_data() {
            Ok(data) => data,
            Err(trailers) => return Passed::Now(trailers),
        };
        let work = match self.tap.data(&frame) {
            Ok(work) => work,
            Err(refusal) => {
                if let Some(inner) = self.inner.take() {
                    relay::read_away(inner);
                }
                return Passed::Refused(refusal);
            }
        };
        let last = self.has_ended().then(|| self.tap.finish()).flatten();
        let data = match &mut self.rewrite {
            Some(rewrite) => match rewrite.pass(frame, self.tap.exchange()) {
                Ok(data) => Some(data).filter(|data| !data.is_empty()),
                Err(refusal) => {
                    self.tap.exchange().trouble(refusal.ended, Some(&refusal.message));
                    return Passed::Refused(refusal);
                }
            },
            None => Some(frame),
        };
        match (both(work, last), data.map(Frame::data)) {
            (Some(work), frame) => {
                self.held = Some((work, frame));
                Passed::Later
            }
            (None, Some(frame)) => Passed::Now(frame),
            (None, None) => Passed::Later,
        }
    }

    fn has_ended(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    /// What was held back, now that nothing more will come.
    fn rest(&mut self) -> Option<Frame<Bytes>> {
        let rest = self.rewrite.as_mut().map(Rewrite::finish)?;
        (!rest.is_empty()).then(|| Frame::data(rest))
    }

    /// The body can't be read on: a client that went away, or an upstream that broke.
    fn broken(&self) {
        let (ended, error) = match self.tap.from() {
            Direction::ClientToServer => (Ended::ClientClosed, None),
            Direction::ServerToClient => {
                (Ended::UpstreamClosed, Some("the upstream broke off in the middle of its answer"))
            }
        };
        self.tap.exchange().trouble(ended, error);
    }

    /// The proxy stops, and nothing waits for what might still come: for the client this is an end like any other.
    fn end_stream(&mut self) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.tap.exchange().trouble(Ended::Stopped, None);
        self.end = None;
        self.inner = None;
        let rest = self.rest();
        Poll::Ready(rest.map(Ok))
    }

    fn poll_watch(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Some(watch) = &mut self.watch else { return Poll::Pending };
        let refusal = ready!(watch.poll(cx));
        self.tap.exchange().trouble(refusal.ended, Some(&refusal.message));
        Poll::Ready(Some(Err(BodyError::Refused(refusal))))
    }
}

/// Work that is done when both are.
fn both(first: Option<Work>, second: Option<Work>) -> Option<Work> {
    match (first, second) {
        (Some(first), Some(second)) => Some(tokio::spawn(async move {
            // A recorder that panicked has lost its line, and nothing else.
            let _ = first.await;
            let _ = second.await;
        })),
        (first, second) => first.or(second),
    }
}

/// What becomes of a frame.
enum Passed {
    Now(Frame<Bytes>),
    Later,
    Refused(Refusal),
}

/// Watches over the time that an exchange takes, if that is limited.
pub(super) struct Watch {
    exchange: Arc<Exchange>,
    sleep: Pin<Box<Sleep>>,
}

impl Watch {
    /// Watches over an exchange.
    pub(super) fn over(exchange: &Arc<Exchange>) -> Option<Self> {
        let limits = &exchange.shared().limits;
        if limits.idle.is_none() && limits.total.is_none() {
            return None;
        }
        let exchange = Arc::clone(exchange);
        let sleep = Box::pin(tokio::time::sleep_until(deadline(&exchange).0));
        Some(Watch { exchange, sleep })
    }

    /// Comes back when the time is over, with why. Whatever came in the meantime has moved the deadline; the timer
    /// is only set anew when it goes off.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Refusal> {
        loop {
            ready!(self.sleep.as_mut().poll(cx));
            let (deadline, refusal) = deadline(&self.exchange);
            if Instant::now() >= deadline {
                return Poll::Ready(refusal);
            }
            self.sleep.as_mut().reset(deadline);
        }
    }
}

/// When the time is over if nothing more comes, and what to say then.
fn deadline(exchange: &Exchange) -> (Instant, Refusal) {
    const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);
    let limits = &exchange.shared().limits;
    let total = limits.total.unwrap_or(NEVER);
    let idle = limits.idle.unwrap_or(NEVER);
    let (end, silent) = (exchange.started() + total, exchange.heard() + idle);
    if end <= silent {
        (Instant::from_std(end), Refusal::total(total.as_secs_f64()))
    } else {
        (Instant::from_std(silent), Refusal::idle(idle.as_secs_f64()))
    }
}
