//! The changes to bodies while they are forwarded.

use crate::http::policy::csp::{EventRewrite, warn_unchanged};
use crate::http::policy::endpoint::EndpointRewrite;
use crate::http::record::exchange::Exchange;
use crate::http::refusal::Refusal;
use bytes::Bytes;
use std::io;

/// A streaming change of a body.
pub(crate) enum Rewrite {
    /// The `endpoint` event of HTTP+SSE.
    Endpoint(EndpointRewrite),
    /// The policies of widgets, in events.
    Events(Box<EventRewrite>),
}

impl Rewrite {
    /// Takes the next bytes and returns those that can be forwarded.
    pub(crate) fn pass(&mut self, bytes: Bytes, exchange: &Exchange) -> Result<Bytes, Refusal> {
        match self {
            Rewrite::Endpoint(endpoint) => Ok(endpoint.pass(bytes)),
            Rewrite::Events(events) => {
                let passed = events.pass(bytes);
                report(events, exchange, passed)
            }
        }
    }

    /// The next bytes that can be forwarded before others are read; `None` if there are none.
    pub(crate) fn next_piece(&mut self, exchange: &Exchange) -> Option<Result<Bytes, Refusal>> {
        match self {
            Rewrite::Events(events) if events.has_more() => {
                let passed = events.next_piece();
                Some(report(events, exchange, passed))
            }
            Rewrite::Endpoint(_) | Rewrite::Events(_) => None,
        }
    }

    /// The bytes still held at the end of the body.
    pub(crate) fn finish(&mut self) -> Bytes {
        match self {
            Rewrite::Endpoint(endpoint) => endpoint.finish(),
            Rewrite::Events(events) => events.finish(),
        }
    }

    /// Whether there is another piece to forward before more is read.
    pub(crate) fn has_more(&self) -> bool {
        matches!(self, Rewrite::Events(events) if events.has_more())
    }

    /// Whether bytes are held back.
    pub(crate) fn holds(&self) -> bool {
        match self {
            Rewrite::Endpoint(endpoint) => endpoint.holds(),
            Rewrite::Events(events) => events.holds(),
        }
    }
}

/// Reports what a step of the rewriting did.
fn report(
    events: &mut EventRewrite,
    exchange: &Exchange,
    passed: io::Result<Bytes>,
) -> Result<Bytes, Refusal> {
    if events.has_changed() {
        exchange.mark_csp_applied();
    }
    if let Some(limit) = events.take_limit() {
        warn_unchanged(exchange, limit);
    }
    passed.map_err(|error| {
        let reason = format!("sent events that can't be decoded ({error})");
        Refusal::upstream_failed(exchange.target.origin(), &reason)
    })
}
