//! Error responses of the proxy itself. The body is a JSON-RPC error with the request's id, so that an MCP client reports it as
//! the error of that request; the message says what to do.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::json;
use std::time::Duration;
use wiretape_events::Ended;

/// The first of JSON-RPC 2.0's codes for implementation-defined server errors (section 5.1).
const CODE: i64 = -32000;

/// An error response of the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) ended: Ended,
    pub(crate) message: String,
    /// Who has to act on it.
    pub(crate) concerns: Concerns,
}

/// Who has to act on a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Concerns {
    /// The client, which gets the response.
    Client,
    /// The operator of the proxy, who is warned: every request will be refused until the setup is changed.
    Operator,
}

impl Refusal {
    fn new(status: StatusCode, ended: Ended, message: impl Into<String>) -> Self {
        Refusal { status, ended, message: message.into(), concerns: Concerns::Client }
    }

    /// The body is larger than allowed.
    pub(crate) fn body_too_large(limit: u64) -> Self {
        let message =
            format!("the request's body is larger than {limit} bytes, the limit of this proxy (--max-body)");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, Ended::TooLarge, message)
    }

    /// The head is larger than allowed.
    pub(crate) fn headers_too_large(limit: usize) -> Self {
        let message = format!(
            "the request's headers are larger than {limit} bytes, the limit of this proxy (--max-headers)"
        );
        Self::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, Ended::TooLarge, message)
    }

    /// The limit of connections is reached.
    pub(crate) fn too_many_connections(limit: usize) -> Self {
        let message = format!(
            "{limit} connections are open, the limit of this proxy (--max-connections); try again later"
        );
        Self::new(StatusCode::SERVICE_UNAVAILABLE, Ended::Refused, message)
    }

    /// The upstream can't be reached.
    pub(crate) fn unreachable(upstream: &str, reason: &str) -> Self {
        let message = format!("can't reach the upstream {upstream}: {reason}");
        Self::new(StatusCode::BAD_GATEWAY, Ended::Unreachable, message)
    }

    /// The upstream's certificate was issued by an authority that this machine doesn't trust, most often a private one.
    pub(crate) fn untrusted(upstream: &str) -> Self {
        let reason = "its certificate was issued by an authority that this machine doesn't trust (UnknownIssuer); \
                      set SSL_CERT_FILE to a file with that authority's certificate";
        Refusal { concerns: Concerns::Operator, ..Self::unreachable(upstream, reason) }
    }

    /// The upstream could not be reached in time.
    pub(crate) fn connect_timeout(upstream: &str, seconds: f64) -> Self {
        let message = format!(
            "can't reach the upstream {upstream}: no connection within {seconds} s (--connect-timeout)"
        );
        Self::new(StatusCode::GATEWAY_TIMEOUT, Ended::Timeout, message)
    }

    /// The upstream was reached, but sent no response that can be forwarded.
    pub(crate) fn upstream_failed(upstream: &str, reason: &str) -> Self {
        let message = format!("the upstream {upstream} {reason}");
        Self::new(StatusCode::BAD_GATEWAY, Ended::UpstreamClosed, message)
    }

    /// The exchange was idle for too long.
    pub(crate) fn idle(seconds: f64) -> Self {
        let message = format!("no data from either side for {seconds} s (--idle-timeout)");
        Self::new(StatusCode::GATEWAY_TIMEOUT, Ended::Timeout, message)
    }

    /// The exchange took too long.
    pub(crate) fn total(seconds: f64) -> Self {
        let message = format!("no complete response within {seconds} s (--total-timeout)");
        Self::new(StatusCode::GATEWAY_TIMEOUT, Ended::Timeout, message)
    }

    /// This proxy can't serve the request.
    pub(crate) fn misdirected(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Ended::Refused, message)
    }

    /// The request is for another host, which may be a web page's (DNS rebinding).
    pub(crate) fn foreign_host() -> Self {
        // Without the name: it comes from the client, and may be anything.
        let message = "the request's Host is not a name of this proxy; with --rewrite-host, names other than \
                       localhost have to be allowed with --allow-host";
        Self::new(StatusCode::MISDIRECTED_REQUEST, Ended::Refused, message)
    }

    /// The target is on this machine or in a private network, and the client may not reach those.
    pub(crate) fn out_of_reach(upstream: &str) -> Self {
        let message = format!(
            "{upstream} is on the proxy's own machine or in a private network; the proxy has to be started with --allow-private-targets to reach it"
        );
        Self::new(StatusCode::FORBIDDEN, Ended::Refused, message)
    }

    /// The client has not given the proxy's password.
    pub(crate) fn unauthorized() -> Self {
        let message =
            "this proxy requires a user name and password: http://USER:PASSWORD@HOST:PORT in HTTP_PROXY";
        Self::new(StatusCode::PROXY_AUTHENTICATION_REQUIRED, Ended::Refused, message)
    }

    /// The client broke the framing of its request's body.
    pub(crate) fn malformed_body() -> Self {
        Self::misdirected("the request's body is not valid HTTP: its chunks are malformed")
    }

    /// Nothing is at this reserved path.
    pub(crate) fn not_found() -> Self {
        let message = "this proxy knows no authorization server at this path; request the server's \
                       protected-resource document first";
        Self::new(StatusCode::NOT_FOUND, Ended::Refused, message)
    }

    /// The body of the response to the request with this id (a JSON value).
    pub(crate) fn body(&self, id: Option<&[u8]>) -> Bytes {
        let id = id.and_then(|id| serde_json::from_slice(id).ok()).unwrap_or(serde_json::Value::Null);
        let error = json!({
            "code": CODE,
            "message": format!("wiretape: {}", self.message),
            "data": { "source": "wiretape", "reason": self.ended.name(), "status": self.status.as_u16() },
        });
        Bytes::from(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())
    }

    /// The response to the request with this id (a JSON value).
    pub(crate) fn response<B: From<Bytes>>(&self, id: Option<&[u8]>) -> Response<B> {
        let mut response = Response::new(B::from(self.body(id)));
        *response.status_mut() = self.status;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            let challenge = HeaderValue::from_static("Basic realm=\"wiretape\", charset=\"UTF-8\"");
            response.headers_mut().insert(header::PROXY_AUTHENTICATE, challenge);
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// How long the body of a refused request is read.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads a body to its end. If it has a tap, the request is recorded and its id becomes known.
pub(crate) async fn drain(body: impl Body + Unpin) {
    let mut body = body;
    let _ =
        tokio::time::timeout(DRAIN_TIMEOUT, async { while let Some(Ok(_)) = body.frame().await {} }).await;
}

/// Reads and discards the body of a refused request while the response is sent: many clients read the response only after
/// sending everything, and closing with unread bytes would reset the connection. Its size doesn't matter, nothing is kept.
pub(crate) fn discard_in_background(body: Incoming) {
    tokio::spawn(drain(body));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_an_error_of_json_rpc_for_the_same_id() {
        let refusal = Refusal::unreachable("http://localhost:9000", "connection refused");
        assert_eq!(
            refusal.body(Some(b"\"a\"")),
            r#"{"error":{"code":-32000,"data":{"reason":"unreachable","source":"wiretape","status":502},"message":"wiretape: can't reach the upstream http://localhost:9000: connection refused"},"id":"a","jsonrpc":"2.0"}"#
        );
        assert!(refusal.body(None).windows(9).any(|part| part == b"\"id\":null"));
    }
}
