//! Bodies that are forwarded frame by frame as they arrive, with a tap, the timeouts and the rewriting of some of
//! them.
//!
//! A body is polled by hyper, so everything here is a state machine without `await`: a frame is read, tapped,
//! rewritten, and, if it completes a message, held until the message is in the trace (invariant 2: write ahead).
//! Frames are never merged or split otherwise, because a client of an event stream waits for each.

use super::context::RelayContext;
use super::rewrite::Rewrite;
use super::stream_end::{StreamEnd, stream_end};
use crate::http::options::Limits;
use crate::http::record::exchange::Exchange;
use crate::http::record::tap::{PendingRecording, Tap};
use crate::http::refusal::{self, Refusal};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};
use wiretape_events::Ended;
use wiretape_trace::message::Direction;

/// A body was cut off. hyper then closes the other connection, too, so that the receiver doesn't take it for complete.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("{0}")]
    Broken(#[source] hyper::Error),
    #[error("{}", .0.message)]
    Refused(Refusal),
}

/// A body that the proxy sends to either side.
pub(crate) enum ProxyBody {
    /// The forwarded body of a peer.
    Passing(Box<PassingBody>),
    /// A body that is in memory.
    Whole(Option<Bytes>),
}

impl From<Bytes> for ProxyBody {
    fn from(bytes: Bytes) -> Self {
        ProxyBody::Whole((!bytes.is_empty()).then_some(bytes))
    }
}

/// The body of a peer, on its way to the other.
pub(crate) struct PassingBody {
    /// `None` once the body was refused: then a background task drains it.
    inner: Option<Incoming>,
    tap: Tap,
    watch: Option<TimeoutWatch>,
    /// Resolves when a stream that outlives requests has to end.
    end: Option<StreamEnd>,
    rewrite: Option<Rewrite>,
    /// Bytes that were read before, and are sent before the rest.
    ahead: Option<Bytes>,
    /// A frame that waits until the message that it completes is recorded.
    held: Option<(PendingRecording, Option<Frame<Bytes>>)>,
}

impl ProxyBody {
    /// Forwards a body with a tap on it.
    pub(crate) fn passing(
        inner: Incoming,
        mut tap: Tap,
        rewrite: Option<Rewrite>,
        context: &RelayContext,
    ) -> Self {
        if inner.is_end_stream() {
            // hyper doesn't poll an empty body, so its end must be recorded here.
            tap.finish();
            return ProxyBody::Whole(None);
        }
        let (exchange, watch) = (tap.exchange(), TimeoutWatch::start(tap.exchange(), &context.limits));
        let is_response = tap.from() == Direction::ServerToClient;
        let stream = exchange.stream().filter(|_| is_response);
        ProxyBody::Passing(Box::new(PassingBody {
            inner: Some(inner),
            end: stream.and_then(|kind| stream_end(exchange, kind, context)),
            tap,
            watch,
            rewrite,
            ahead: None,
            held: None,
        }))
    }

    /// Puts back bytes that were already read from the body.
    pub(crate) fn with_prefix(mut self, read: Bytes) -> Self {
        match &mut self {
            ProxyBody::Passing(body) => body.ahead = Some(read),
            // It has no more bytes: its only frame was read.
            ProxyBody::Whole(bytes) => *bytes = Some(read),
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
                // The tap is finished with the last frame, or else after its last piece, by another poll.
                let is_recorded = body.inner.is_none() || body.tap.is_finished();
                body.held.is_none() && body.ahead.is_none() && !holds && body.has_ended() && is_recorded
            }
            ProxyBody::Whole(bytes) => bytes.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            // A rewritten body may have another length.
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
                // If recording panicked, its line is lost; traffic continues.
                self.tap.resume(ready!(Pin::new(work).poll(cx)).unwrap_or_default());
                let frame = self.held.take().and_then(|(_, frame)| frame);
                // The last frame may already complete the body, and hyper then doesn't poll for the end.
                if let Some(work) = self.finish_at_end() {
                    self.held = Some((work, frame));
                } else if let Some(frame) = frame {
                    return Poll::Ready(Some(Ok(frame)));
                }
                continue;
            }
            // Before more is read: the client decides how fast it takes what a few bytes decode to.
            match self.rewrite.as_mut().and_then(|rewrite| rewrite.next_piece(self.tap.exchange())) {
                Some(Ok(data)) if data.is_empty() => continue,
                Some(Ok(data)) => {
                    if self.watch.is_some() {
                        // A client that takes its time is not idle.
                        self.tap.exchange().record_activity();
                    }
                    // Here as well: a few bytes can decode to pieces for longer than the total timeout.
                    if let Poll::Ready(timed_out) = self.poll_watch(cx) {
                        return Poll::Ready(timed_out);
                    }
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
                Some(Err(refusal)) => return self.refuse(refusal),
                None => {}
            }
            let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
            // The peer comes first: a stream that has data is neither ended by draining nor timed out.
            let Poll::Ready(next) = Pin::new(inner).poll_frame(cx) else {
                if self.end.as_mut().is_some_and(|end| end.as_mut().poll(cx).is_ready()) {
                    return self.end_stream();
                }
                return self.poll_watch(cx);
            };
            if self.watch.is_some() {
                self.tap.exchange().record_activity();
            }
            match next {
                Some(Ok(frame)) => match self.process_frame(frame) {
                    FrameOutcome::Now(frame) => return Poll::Ready(Some(Ok(frame))),
                    FrameOutcome::Refused(refusal) => {
                        return Poll::Ready(Some(Err(BodyError::Refused(refusal))));
                    }
                    FrameOutcome::Later => {}
                },
                None => match (self.tap.finish(), self.finish_rewrite()) {
                    (Some(work), rest) => self.held = Some((work, rest)),
                    (None, rest) => return Poll::Ready(rest.map(Ok)),
                },
                Some(Err(error)) => {
                    self.record_broken(&error);
                    return Poll::Ready(Some(Err(BodyError::Broken(error))));
                }
            }
        }
    }

    fn process_frame(&mut self, frame: Frame<Bytes>) -> FrameOutcome {
        let frame = match frame.into_data() {
            Ok(data) => data,
            Err(trailers) => return FrameOutcome::Now(trailers),
        };
        let work = match self.tap.capture_data(&frame) {
            Ok(work) => work,
            Err(refusal) => {
                if let Some(inner) = self.inner.take() {
                    // Read to its end, so that the peer is not cut off while it writes and gets to read the refusal.
                    refusal::discard_in_background(inner);
                }
                return FrameOutcome::Refused(refusal);
            }
        };
        let data = match &mut self.rewrite {
            Some(rewrite) => match rewrite.pass(frame, self.tap.exchange()) {
                Ok(data) => Some(data).filter(|data| !data.is_empty()),
                Err(refusal) => {
                    self.tap.exchange().record_failure(refusal.ended, Some(&refusal.message));
                    return FrameOutcome::Refused(refusal);
                }
            },
            None => Some(frame),
        };
        // The last frame may already complete the body, and hyper then doesn't poll for the end. Work that is under way comes
        // first: the end is recorded after it.
        let work = match work {
            Some(work) => Some(work),
            None => self.finish_at_end(),
        };
        match (work, data.map(Frame::data)) {
            (Some(work), frame) => {
                self.held = Some((work, frame));
                FrameOutcome::Later
            }
            (None, Some(frame)) => FrameOutcome::Now(frame),
            (None, None) => FrameOutcome::Later,
        }
    }

    /// Finishes the tap with the last frame, unless there are more pieces of it: the body has not ended before the last one.
    fn finish_at_end(&mut self) -> Option<PendingRecording> {
        let has_more = self.rewrite.as_ref().is_some_and(Rewrite::has_more);
        if self.has_ended() && !has_more { self.tap.finish() } else { None }
    }

    fn has_ended(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    /// The bytes that the rewriting still held back at the end of the body.
    fn finish_rewrite(&mut self) -> Option<Frame<Bytes>> {
        let rest = self.rewrite.as_mut().map(Rewrite::finish)?;
        (!rest.is_empty()).then(|| Frame::data(rest))
    }

    /// Records a read error: the client has disconnected, or the upstream broke the connection.
    fn record_broken(&self, error: &hyper::Error) {
        if self.tap.from() == Direction::ClientToServer && is_malformed(error) {
            let refusal = Refusal::malformed_body();
            self.tap.exchange().record_failure(refusal.ended, Some(&refusal.message));
            return;
        }
        let (ended, error) = match self.tap.from() {
            Direction::ClientToServer => (Ended::ClientClosed, None),
            Direction::ServerToClient => (
                Ended::UpstreamClosed,
                Some("the upstream closed the connection in the middle of its response"),
            ),
        };
        self.tap.exchange().record_failure(ended, error);
    }

    /// Ends a stream because the proxy stops and no pending request needs it. The client sees a regular end.
    fn end_stream(&mut self) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.tap.exchange().record_failure(Ended::Stopped, None);
        self.end = None;
        self.inner = None;
        let rest = self.finish_rewrite();
        Poll::Ready(rest.map(Ok))
    }

    fn poll_watch(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Some(watch) = &mut self.watch else { return Poll::Pending };
        let refusal = ready!(watch.poll(cx));
        self.refuse(refusal)
    }

    fn refuse(&self, refusal: Refusal) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.tap.exchange().record_failure(refusal.ended, Some(&refusal.message));
        Poll::Ready(Some(Err(BodyError::Refused(refusal))))
    }
}

/// Whether a body was framed wrongly, as opposed to cut off.
fn is_malformed(error: &hyper::Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<io::Error>());
    cause
        .is_some_and(|cause| matches!(cause.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData))
}

/// What happens to a frame.
enum FrameOutcome {
    Now(Frame<Bytes>),
    Later,
    Refused(Refusal),
}

/// The idle and total timeout of an exchange.
pub(crate) struct TimeoutWatch {
    exchange: Arc<Exchange>,
    idle: Option<Duration>,
    total: Option<Duration>,
    sleep: Pin<Box<Sleep>>,
}

impl TimeoutWatch {
    /// Starts the timeouts of an exchange, if it has any.
    pub(crate) fn start(exchange: &Arc<Exchange>, limits: &Limits) -> Option<Self> {
        let &Limits { idle, total, .. } = limits;
        if idle.is_none() && total.is_none() {
            return None;
        }
        let exchange = Arc::clone(exchange);
        let sleep = Box::pin(tokio::time::sleep_until(deadline(&exchange, idle, total).0));
        Some(TimeoutWatch { exchange, idle, total, sleep })
    }

    /// Resolves when a timeout expires. Activity moves the deadline, but the timer is only reset when it fires: resetting it
    /// for every frame would cost a lock of the timer wheel each.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Refusal> {
        loop {
            ready!(self.sleep.as_mut().poll(cx));
            let (deadline, refusal) = deadline(&self.exchange, self.idle, self.total);
            if Instant::now() >= deadline {
                return Poll::Ready(refusal);
            }
            self.sleep.as_mut().reset(deadline);
        }
    }
}

/// The next deadline if nothing more arrives, and the refusal for it.
fn deadline(exchange: &Exchange, idle: Option<Duration>, total: Option<Duration>) -> (Instant, Refusal) {
    // A year instead of `Duration::MAX`, which would overflow an `Instant`.
    const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);
    let (idle, total) = (idle.unwrap_or(NEVER), total.unwrap_or(NEVER));
    let (end, silent) = (exchange.started() + total, exchange.last_activity() + idle);
    if end <= silent {
        (Instant::from_std(end), Refusal::total(total.as_secs_f64()))
    } else {
        (Instant::from_std(silent), Refusal::idle(idle.as_secs_f64()))
    }
}
