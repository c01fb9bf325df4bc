//! Streams that end when the proxy stops.
//!
//! A stream that a GET opened stays open as long as its client, so waiting for it would always take the whole drain limit. It
//! ends as soon as no response can arrive on it: for a stream with the server's own messages only, that is at once
//! ([`StreamKind`]).

use super::context::RelayContext;
use crate::http::record::exchange::Exchange;
use crate::http::record::streams::StreamKind;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Resolves when the proxy stops and a stream may end.
pub(crate) type StreamEnd = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A future that resolves when a stream may end: once the proxy drains, and the responses that it carries have arrived.
pub(crate) fn stream_end(
    exchange: &Arc<Exchange>,
    kind: StreamKind,
    context: &RelayContext,
) -> Option<StreamEnd> {
    // Polled, and only while draining: a notification would cost every response of every session something.
    const POLL_INTERVAL: Duration = Duration::from_millis(20);
    if kind == StreamKind::Unknown {
        return None;
    }
    let exchange = Arc::clone(exchange);
    let mut drain = context.drain();
    Some(Box::pin(async move {
        // Fails only when the sender is gone, and that lives as long as the proxy.
        let _ = drain.wait_for(|draining| *draining).await;
        while kind == StreamKind::Answering && may_be_answered(&exchange) {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }))
}

/// Whether a response may still arrive on the stream. A request in flight may turn out to be one that is answered here.
fn may_be_answered(exchange: &Exchange) -> bool {
    let recorder = exchange.recorder();
    recorder.counters.exchanges.requests_in_flight() > 0
        || exchange.session_key().is_some_and(|session| recorder.awaited.is_awaited(&session))
}
