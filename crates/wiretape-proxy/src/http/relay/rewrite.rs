//! The changes to bodies while they are forwarded.

use crate::http::policy::csp::EventRewrite;
use crate::http::policy::endpoint::EndpointRewrite;
use crate::http::record::exchange::Exchange;
use crate::http::refusal::Refusal;
use bytes::Bytes;

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
    pub(crate) fn finish(&mut self) -> Bytes {
        match self {
            Rewrite::Endpoint(endpoint) => endpoint.finish(),
            Rewrite::Events(events) => events.finish(),
        }
    }

    /// Whether bytes are held back.
    pub(crate) fn holds(&self) -> bool {
        match self {
            Rewrite::Endpoint(endpoint) => endpoint.holds(),
            Rewrite::Events(events) => events.holds(),
        }
    }
}
