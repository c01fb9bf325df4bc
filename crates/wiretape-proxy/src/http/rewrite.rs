//! The changes to bodies while they are forwarded.

use super::csp::EventRewrite;
use super::endpoint::EndpointRewrite;
use super::exchange::Exchange;
use super::refusal::Refusal;
use bytes::Bytes;

/// A streaming change of a body.
pub(super) enum Rewrite {
    /// The `endpoint` event of HTTP+SSE.
    Endpoint(EndpointRewrite),
    /// The policies of widgets, in events.
    Events(Box<EventRewrite>),
}

impl Rewrite {
    /// Takes the next bytes and returns those that can be forwarded.
    pub(super) fn pass(&mut self, bytes: Bytes, exchange: &Exchange) -> Result<Bytes, Refusal> {
        match self {
            Rewrite::Endpoint(endpoint) => Ok(endpoint.pass(bytes)),
            Rewrite::Events(events) => {
                let passed = events.pass(bytes);
                if events.has_changed() {
                    exchange.mark_csp_applied();
                }
                passed.map_err(|error| {
                    let reason = format!("sent events that can't be decoded ({error})");
                    Refusal::upstream_failed(exchange.target.origin(), &reason)
                })
            }
        }
    }

    /// The bytes still held at the end of the body.
    pub(super) fn finish(&mut self) -> Bytes {
        match self {
            Rewrite::Endpoint(endpoint) => endpoint.finish(),
            Rewrite::Events(events) => events.finish(),
        }
    }

    /// Whether bytes are held back.
    pub(super) fn holds(&self) -> bool {
        match self {
            Rewrite::Endpoint(endpoint) => endpoint.holds(),
            Rewrite::Events(events) => events.holds(),
        }
    }
}
