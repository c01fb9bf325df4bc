//! Applies the Content-Security-Policies of widgets to whole responses. Pages and streams need no body: see `handle`.

use super::body::{BodyError, ProxyBody};
use crate::http::headers;
use crate::http::policy::csp::{Answer, Csp, MAX_ANSWER, TOO_LARGE, warn_unchanged};
use crate::http::record::body_budget::NO_ROOM;
use crate::http::record::exchange::Exchange;
use crate::http::refusal::Refusal;
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, ETAG, HeaderValue, TRANSFER_ENCODING};
use http::{Response, response};
use http_body_util::BodyExt;

/// Rewrites a JSON response that may hold widgets.
pub(crate) async fn apply_to_answer(
    csp: &Csp,
    exchange: &Exchange,
    response: Response<ProxyBody>,
) -> Result<Response<ProxyBody>, Refusal> {
    let Some(requested) = csp.requested_in(exchange, &response) else {
        return Ok(response);
    };
    let (parts, mut body) = response.into_parts();
    let budget = &exchange.recorder().bodies;
    let (mut whole, mut reservation) = (BytesMut::new(), None);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| broken(exchange, error))?;
        let Ok(data) = frame.into_data() else { continue };
        whole.extend_from_slice(&data);
        let limit = if whole.len() > MAX_ANSWER {
            // Although the head didn't say so.
            Some(TOO_LARGE)
        } else {
            (!budget.reserve(&mut reservation, whole.len())).then_some(NO_ROOM)
        };
        // What was read goes first, the rest is streamed.
        if let Some(limit) = limit {
            warn_unchanged(exchange, limit);
            return Ok(Response::from_parts(parts, body.with_prefix(whole.freeze())));
        }
    }
    let whole = whole.freeze();
    let encoding = headers::content_encoding(&parts.headers).map(str::to_owned);
    let answer = Answer { body: whole.clone(), encoding, requested, reservation };
    match csp.rewritten(answer, budget).await {
        Ok(Some(changed)) => {
            exchange.mark_csp_applied();
            return Ok(changed_response(parts, changed));
        }
        Ok(None) => {}
        Err(limit) => warn_unchanged(exchange, limit),
    }
    Ok(Response::from_parts(parts, ProxyBody::from(whole)))
}

fn changed_response(mut parts: response::Parts, body: Bytes) -> Response<ProxyBody> {
    // They belong to the server's bytes. An `ETAG` would let a cache mix the two versions.
    for gone in [CONTENT_ENCODING, TRANSFER_ENCODING, ETAG] {
        parts.headers.remove(gone);
    }
    parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    Response::from_parts(parts, ProxyBody::from(body))
}

fn broken(exchange: &Exchange, error: BodyError) -> Refusal {
    match error {
        BodyError::Refused(refusal) => refusal,
        BodyError::Broken(_) => Refusal::upstream_failed(
            exchange.target.origin(),
            "closed the connection in the middle of its response",
        ),
    }
}
