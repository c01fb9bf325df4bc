//! The errors that the client gets for requests without a response.

use super::outgoing::as_json;
use crate::http::refusal::Refusal;
use serde_json::{Value, json};
use wiretape_events::Ended;
use wiretape_trace::message::Id;

/// The first of JSON-RPC 2.0's codes for implementation-defined server errors (section 5.1).
const CODE: i64 = -32000;

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) reason: Reason,
    pub(super) status: Option<u16>,
    pub(super) message: String,
}

/// The kind of a failure; its name is part of the error's `data`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// The server can't be connected to.
    Unreachable,
    /// A timeout has expired.
    Timeout,
    /// The connection broke while a request or its response was on the way.
    Broken,
    /// The server requires a token, or another one.
    Unauthorized,
    /// The server does not know the session.
    SessionGone,
    /// The server responded with an error status.
    Status,
    /// The server responded, but did not answer the request.
    NoAnswer,
    /// The response is larger than allowed.
    TooLarge,
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Reason::Unreachable => "unreachable",
            Reason::Timeout => "timeout",
            Reason::Broken => "broken",
            Reason::Unauthorized => "unauthorized",
            Reason::SessionGone => "session-gone",
            Reason::Status => "status",
            Reason::NoAnswer => "no-answer",
            Reason::TooLarge => "too-large",
        }
    }
}

impl Failure {
    pub(super) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Failure { reason, status: None, message: message.into() }
    }

    /// A connection that could not be opened.
    pub(super) fn unreachable(server: &str, refusal: &Refusal) -> Self {
        if refusal.ended == Ended::Timeout {
            return Self::new(Reason::Timeout, format!("can't reach {server}: the connection timed out"));
        }
        let why =
            // The proxy's message names the server, too; repeating it would read "can't reach S: can't reach S: …".
            refusal.message.split_once(&format!("{server}: ")).map_or(&*refusal.message, |(_, why)| why);
        Self::new(Reason::Unreachable, format!("can't reach {server}: {why}"))
    }

    /// A connection that broke, or on which the server doesn't speak HTTP.
    pub(super) fn broken_connection(server: &str, error: &hyper::Error) -> Self {
        if error.is_parse() {
            return Self::new(Reason::Broken, format!("{server} does not speak HTTP ({error})"));
        }
        if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
            return Self::new(Reason::Broken, format!("{server} closed the connection before it responded"));
        }
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Self::new(Reason::Broken, format!("the connection to {server} broke: {error}{cause}"))
    }

    /// The JSON-RPC error for a request.
    pub(super) fn answer(&self, id: Option<&Id<'_>>) -> Vec<u8> {
        let mut data = json!({ "source": "wiretape", "reason": self.reason.name() });
        if let Some(status) = self.status {
            data["status"] = status.into();
        }
        let error = json!({ "code": CODE, "message": format!("wiretape: {}", self.message), "data": data });
        let id = id.map_or(Value::Null, as_json);
        json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().into_bytes()
    }

    /// The message of an error of ours that means that the server can't be used at all; `None` for any other line.
    pub(super) fn no_connection(answer: &[u8]) -> Option<String> {
        // A search first: this sees every line of the server, and almost none is ours.
        memchr::memmem::find(answer, br#""source":"wiretape""#)?;
        let error = serde_json::from_slice::<Value>(answer).ok()?["error"].take();
        let reason = error["data"]["reason"].as_str()?;
        let is_final = [Reason::Unreachable, Reason::Unauthorized].iter().any(|one| one.name() == reason);
        let message = error["message"].as_str().filter(|_| is_final)?;
        Some(message.strip_prefix("wiretape: ").unwrap_or(message).to_owned())
    }

    /// The failure, extended by the reason why a new session can't be started.
    pub(super) fn after(self, why: &Failure) -> Self {
        Failure {
            message: format!("{}, and a new one can't be started: {}", self.message, why.message),
            ..self
        }
    }

    /// How the exchange ended, for the trace.
    pub(super) fn ended(&self) -> Ended {
        match self.reason {
            Reason::Unreachable => Ended::Unreachable,
            Reason::Timeout => Ended::Timeout,
            Reason::Broken => Ended::UpstreamClosed,
            Reason::TooLarge => Ended::TooLarge,
            Reason::Unauthorized | Reason::SessionGone | Reason::Status | Reason::NoAnswer => Ended::Complete,
        }
    }

    /// Whether retrying is pointless: the server has decided, and would decide the same again.
    pub(super) fn is_final(&self) -> bool {
        self.reason == Reason::TooLarge || self.status.is_some_and(|status| status < 500 && status != 429)
    }
}

/// Whether the user passed a token with `--header`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Given,
    Missing,
}

/// Whether the request named a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionHeader {
    Sent,
    Absent,
}

/// The failure for an error status. `detail` is the server's own message.
pub(super) fn status(
    server: &str,
    status: http::StatusCode,
    detail: Option<&str>,
    token: Token,
    named: SessionHeader,
) -> Failure {
    let server_detail = detail.map(|detail| format!(": {detail}")).unwrap_or_default();
    let (reason, message) = match (status.as_u16(), token) {
        (401, Token::Missing) => (
            Reason::Unauthorized,
            format!(
                "{server} requires authentication (HTTP 401){server_detail}; pass a token with --header 'Authorization: Bearer …'"
            ),
        ),
        (401, Token::Given) => (
            Reason::Unauthorized,
            format!("{server} rejects the token given with --header (HTTP 401){server_detail}"),
        ),
        // Without a session in the request, 404 means that the path is wrong, and a new session would not help.
        (status @ (400 | 404), _) if named == SessionHeader::Sent && is_session_gone(status, detail) => {
            (Reason::SessionGone, format!("{server} has lost the session (HTTP {status}){server_detail}"))
        }
        _ => (Reason::Status, format!("{server} responded with HTTP {status}{server_detail}")),
    };
    Failure { reason, status: Some(status.as_u16()), message }
}

/// Whether a refusal means that the server does not know the session. The specification requires 404 (MCP 2025-11-25,
/// basic/transports, "Session Management"); servers with older SDKs respond with 400 and a message.
fn is_session_gone(status: u16, detail: Option<&str>) -> bool {
    let says_so = |detail: &str| {
        let detail = detail.to_ascii_lowercase();
        detail.contains("session") || detail.contains("not initialized")
    };
    status == 404 || detail.is_some_and(says_so)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_gets_an_error_for_its_id() {
        let failure =
            status("http://x", http::StatusCode::UNAUTHORIZED, None, Token::Missing, SessionHeader::Absent);
        let answer: Value = serde_json::from_slice(&failure.answer(Some(&Id::String("a".into())))).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["data"]["status"]), (&json!("a"), &json!(401)));
        assert_eq!(answer["error"]["data"]["reason"], "unauthorized");
        assert!(answer["error"]["message"].as_str().unwrap().contains("--header 'Authorization: Bearer …'"));
        assert!(failure.is_final());
    }

    #[test]
    fn a_lost_session_is_told_from_other_refusals() {
        let reason = |code: u16, detail: Option<&str>, named| {
            let code = http::StatusCode::from_u16(code).unwrap();
            status("http://x/mcp", code, detail, Token::Missing, named).reason
        };
        assert_eq!(reason(404, None, SessionHeader::Sent), Reason::SessionGone);
        assert_eq!(reason(404, None, SessionHeader::Absent), Reason::Status);
        let no_session = Some("Bad Request: No valid session ID provided");
        assert_eq!(reason(400, no_session, SessionHeader::Sent), Reason::SessionGone);
        assert_eq!(
            reason(400, Some("Bad Request: Server not initialized"), SessionHeader::Sent),
            Reason::SessionGone
        );
        assert_eq!(reason(400, Some("Invalid params"), SessionHeader::Sent), Reason::Status);
        assert_eq!(reason(500, no_session, SessionHeader::Sent), Reason::Status);
    }
}
