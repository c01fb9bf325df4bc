//! What may be changed in a body while it passes.

use super::csp::EventRewrite;
use super::endpoint::EndpointRewrite;
use super::exchange::Exchange;
use super::refusal::Refusal;
use bytes::Bytes;

/// Changes a body piece by piece.
pub(super) enum Rewrite {
    /// The `endpoint` event of HTTP+SSE.
    Endpoint(EndpointRewrite),
    /// The policies of widgets, in events.
    Events(Box<EventRewrite>),
}

impl Rewrite {
    /// What may be passed on now that these bytes have come.
    pub(super) fn pass(&mut self, bytes: Bytes, exchange: &Exchange) -> Result<Bytes, Refusal> {
        match self {
            Rewrite::Endpoint(endpoint) => Ok(endpoint.pass(bytes)),
            Rewrite::Events(events) => {
                let passed = events.pass(bytes);
                if events.has_changed() {
                    exchange.csp_applied();
                }
                passed.map_err(|error| {
                    let reason = format!("sent events whose encoding can't be undone ({error})");
                    Refusal::upstream_failed(exchange.target.origin(), &reason)
                })
            }
        }
    }

    /// What is still held when the body has ended.
    pub(super) fn finish(&mut self) -> Bytes {
        match self {
            Rewrite::Endpoint(endpoint) => endpoint.finish(),
            Rewrite::Events(events) => events.finish(),
        }
    }

    /// Whether something is held back.
    pub(super) fn holds(&self) -> bool {
        match self {
            Rewrite::Endpoint(endpoint) => endpoint.holds(),
            Rewrite::Events(events) => events.holds(),
        }
    }
}
