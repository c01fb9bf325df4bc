//! What client and server have agreed on, and the request headers that follow from it.

use super::options::{Secrets, ServerUrl};
use super::outgoing::ClientMessage;
use super::parameters::{ToolParameters, header_value};
use crate::http::headers::SESSION;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, USER_AGENT};
use http::{HeaderMap, HeaderValue};

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The state of the session with the server.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// The session id that the server has assigned.
    pub(super) id: Option<HeaderValue>,
    /// The revision that `initialize` has negotiated.
    version: Option<HeaderValue>,
    /// The last revision in the `_meta` of a request, since MCP 2026-07-28.
    stateless: Option<String>,
    pub(super) parameters: ToolParameters,
    pub(super) mode: TransportMode,
}

/// The HTTP transport of the server.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) enum TransportMode {
    /// Streamable HTTP: every message is a POST that is answered in its own response.
    #[default]
    Streamable,
    /// HTTP+SSE: messages are POSTed to this target, and answered on one common stream.
    HttpSse { endpoint: String },
    /// HTTP+SSE after the stream has ended.
    Lost,
}

/// The family of MCP revisions that a message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// Up to 2025-11-25: sessions, and streams that can be resumed.
    Sessions,
    /// Since 2026-07-28: every request is independent, and closing its stream cancels it.
    Stateless,
}

impl Session {
    /// Resets the session and returns the old state. Header parameters are kept: they belong to the server's tools.
    pub(super) fn reset(&mut self) -> Session {
        let parameters = std::mem::take(&mut self.parameters);
        std::mem::replace(self, Session { parameters, ..Session::default() })
    }

    /// Restores the old state, if no new session could be started.
    pub(super) fn restore(&mut self, before: Session) {
        let parameters = std::mem::take(&mut self.parameters);
        *self = Session { parameters, ..before };
    }

    /// Sets the revision that `initialize` has negotiated.
    pub(super) fn agree_on(&mut self, version: &str) {
        self.version = HeaderValue::try_from(version).ok();
    }

    pub(super) fn era_of(&self, message: &ClientMessage) -> Era {
        // Notifications need no `_meta`, so they follow the requests before them, unless a session was negotiated.
        let stateless = message.version.is_some() || (self.version.is_none() && self.stateless.is_some());
        if stateless && !message.is("initialize") { Era::Stateless } else { Era::Sessions }
    }

    /// The headers of the POST of a message.
    pub(super) fn post(&mut self, message: &ClientMessage, url: &ServerUrl, secrets: &Secrets) -> HeaderMap {
        let mut headers = common(url);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self.era_of(message) {
            Era::Stateless => self.describe(&mut headers, message),
            Era::Sessions if !message.is("initialize") => self.identify(&mut headers),
            Era::Sessions => {}
        }
        // Last, so that the user's headers win over ours.
        secrets.add_to(&mut headers);
        headers
    }

    /// The headers of the GET for a stream.
    pub(super) fn get(&self, last_event: Option<&[u8]>, url: &ServerUrl, secrets: &Secrets) -> HeaderMap {
        let mut headers = common(url);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        self.identify(&mut headers);
        if let Some(Ok(id)) = last_event.map(HeaderValue::from_bytes) {
            headers.insert(LAST_EVENT_ID, id);
        }
        secrets.add_to(&mut headers);
        headers
    }

    /// The headers of the DELETE that ends the session, if it has an id.
    pub(super) fn delete(&self, url: &ServerUrl, secrets: &Secrets) -> Option<HeaderMap> {
        self.id.as_ref()?;
        let mut headers = common(url);
        self.identify(&mut headers);
        secrets.add_to(&mut headers);
        Some(headers)
    }

    fn identify(&self, headers: &mut HeaderMap) {
        if let Some(id) = &self.id {
            headers.insert(SESSION, id.clone());
        }
        if let Some(version) = &self.version {
            headers.insert(VERSION, version.clone());
        }
    }

    fn describe(&mut self, headers: &mut HeaderMap, message: &ClientMessage) {
        if let Some(version) = &message.version {
            self.stateless = Some(version.clone());
        }
        let values = [(VERSION, &self.stateless), (METHOD, &message.method), (NAME, &message.name)];
        for (name, text) in values {
            if let Some(value) = text.as_deref().and_then(header_value) {
                headers.insert(name, value);
            }
        }
        if let Some(tool) = message.name.as_deref().filter(|tool| self.parameters.wants(tool))
            && message.is("tools/call")
            && let Some(arguments) = message.arguments()
        {
            self.parameters.add_to(headers, tool, &arguments);
        }
    }
}

fn common(url: &ServerUrl) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Ok(host) = HeaderValue::try_from(url.server().authority.as_str()) {
        headers.insert(HOST, host);
    }
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("wiretape/", env!("CARGO_PKG_VERSION"))));
    headers
}

#[cfg(test)]
mod tests {
    use super::super::outgoing::ClientLine;
    use super::*;
    use wiretape_trace::format::Wire;

    fn names(session: &mut Session, text: &'static str) -> Vec<String> {
        let line = ClientLine { bytes: text.as_bytes().into(), wire: Wire::default() };
        let url = "http://x.example/mcp".parse().unwrap();
        let headers = session.post(&ClientMessage::read(line), &url, &Secrets::default());
        let mut names: Vec<String> = headers
            .iter()
            .filter(|(name, _)| name.as_str().starts_with("mcp-"))
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn sessions_are_named_once_they_are_known() {
        let mut session = Session::default();
        assert!(names(&mut session, r#"{"id":1,"method":"initialize"}"#).is_empty());
        session.id = Some(HeaderValue::from_static("s1"));
        session.agree_on("2025-06-18");
        let expected = ["mcp-protocol-version: 2025-06-18", "mcp-session-id: s1"];
        assert_eq!(names(&mut session, r#"{"id":2,"method":"tools/list"}"#), expected);
        assert!(names(&mut session, r#"{"id":3,"method":"initialize"}"#).is_empty());
    }

    #[test]
    fn requests_of_2026_describe_themselves() {
        let mut session = Session::default();
        let call = r#"{"id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let expected = ["mcp-method: tools/call", "mcp-name: t", "mcp-protocol-version: 2026-07-28"];
        assert_eq!(names(&mut session, call), expected);
        // A notification need not say it again.
        let expected = ["mcp-method: notifications/x", "mcp-protocol-version: 2026-07-28"];
        assert_eq!(names(&mut session, r#"{"method":"notifications/x"}"#), expected);
        session.id = Some(HeaderValue::from_static("s1"));
        session.agree_on("2025-11-25");
        assert_eq!(names(&mut session, call).len(), 3);
        assert_eq!(names(&mut session, r#"{"id":2,"method":"ping"}"#)[1], "mcp-session-id: s1");
    }
}
