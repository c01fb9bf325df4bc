//! Names that MCP defines: revisions, methods, `_meta` keys, headers, and how peers introduce themselves.
//!
//! Code that depends on a name or a rule of the protocol takes it from here, so that a new revision is one
//! change. Whether a message follows the rules is checked by lint; which messages belong together, by the
//! interpretation of a trace.

use crate::message::Id;
use crate::value::Value;
use std::borrow::Cow;
use std::fmt;

/// A revision of the protocol. Ordered by release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// The first revision; its HTTP transport is HTTP+SSE.
    V2024_11_05,
    /// Streamable HTTP, and the only revision with batches.
    V2025_03_26,
    /// Adds structured output and elicitation; removes batches.
    V2025_06_18,
    /// The last revision with sessions.
    V2025_11_25,
    /// Stateless: every request carries what a handshake would have agreed on.
    V2026_07_28,
}

impl Revision {
    /// All revisions, oldest first.
    pub const ALL: [Revision; 5] = [
        Revision::V2024_11_05,
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ];

    /// The revision's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Revision::V2024_11_05 => "2024-11-05",
            Revision::V2025_03_26 => "2025-03-26",
            Revision::V2025_06_18 => "2025-06-18",
            Revision::V2025_11_25 => "2025-11-25",
            Revision::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.name() == name)
    }

    /// Whether it has no handshake and no sessions.
    pub fn is_stateless(self) -> bool {
        self >= Revision::V2026_07_28
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Methods whose meaning the interpretation of a trace depends on.
pub mod method {
    /// Begins a session, up to 2025-11-25.
    pub const INITIALIZE: &str = "initialize";
    /// Asks what a server can do, since 2026-07-28.
    pub const DISCOVER: &str = "server/discover";
    /// Checks whether the peer is responsive.
    pub const PING: &str = "ping";
    /// Calls a tool; the outcome is `isError` or an error.
    pub const CALL_TOOL: &str = "tools/call";
    /// Lists the server's tools, page by page.
    pub const LIST_TOOLS: &str = "tools/list";
    /// Reads the resource in `params.uri`.
    pub const READ_RESOURCE: &str = "resources/read";
    /// Gets the prompt in `params.name`.
    pub const GET_PROMPT: &str = "prompts/get";
    /// Subscribes to notifications, since 2026-07-28. The request stays open while the client listens.
    pub const LISTEN: &str = "subscriptions/listen";
    /// Asks the user something on the server's behalf.
    pub const ELICIT: &str = "elicitation/create";
    /// Reports the progress of a request.
    pub const PROGRESS: &str = "notifications/progress";
    /// Cancels the request in `params.requestId`.
    pub const CANCELLED: &str = "notifications/cancelled";
}

/// The names that the messages of every session have in common: the methods and revisions of MCP. In one text, so that parts of
/// names are found in it, too. Redaction never remembers one of them as a secret.
pub const NAMES: &[u8] = b"initialize ping server/discover tools/list tools/call \
    resources/list resources/templates/list resources/read resources/subscribe resources/unsubscribe \
    prompts/list prompts/get completion/complete logging/setLevel subscriptions/listen \
    sampling/createMessage elicitation/create roots/list tasks/list tasks/get tasks/update tasks/result tasks/cancel \
    notifications/initialized notifications/progress notifications/cancelled notifications/message \
    notifications/tools/list_changed notifications/resources/list_changed notifications/resources/updated \
    notifications/prompts/list_changed notifications/roots/list_changed notifications/subscriptions/acknowledged \
    notifications/tasks/status notifications/elicitation/complete \
    2024-11-05 2025-03-26 2025-06-18 2025-11-25 2026-07-28";

/// Members of `_meta` that the protocol reserves.
pub mod meta_key {
    /// The prefix of the protocol's own keys.
    pub const PREFIX: &str = "io.modelcontextprotocol/";
    /// The revision of a request, since 2026-07-28.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// The client's name and version, since 2026-07-28.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// The client's capabilities, since 2026-07-28.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// The server's name and version, in results since 2026-07-28.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// The subscription that a notification belongs to, since 2026-07-28.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
}

/// HTTP headers of the protocol, in lower case.
pub mod header {
    /// The session, up to 2025-11-25.
    pub const SESSION_ID: &str = "mcp-session-id";
    /// The revision, since 2025-06-18.
    pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
    /// Where a resumed stream continues.
    pub const LAST_EVENT_ID: &str = "last-event-id";
}

/// The event that names the endpoint of an HTTP+SSE server (2024-11-05).
pub const ENDPOINT_EVENT: &str = "endpoint";

/// A client or a server, as it introduces itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Peer {
    /// The program's `name`, if it is a string.
    pub name: Option<String>,
    /// The program's `version`, if it is a string.
    pub version: Option<String>,
    /// The platform that it runs on; not part of the protocol, but some clients send it.
    pub platform: Option<String>,
}

impl Peer {
    /// The client, by the parameters of `initialize`, or by the `_meta` of any request since 2026-07-28.
    pub fn client(params: &[u8]) -> Option<Self> {
        Self::in_either(params, "clientInfo", meta_key::CLIENT_INFO)
    }

    /// The server, by the result of `initialize` or `server/discover`, or by the `_meta` of any result since 2026-07-28.
    pub fn server(result: &[u8]) -> Option<Self> {
        Self::in_either(result, "serverInfo", meta_key::SERVER_INFO)
    }

    fn in_either(json: &[u8], member: &str, key: &str) -> Option<Self> {
        // Most payloads have no introduction, and searching for the member's name is far cheaper than parsing
        // them.
        memchr::memmem::find(json, member.as_bytes())?;
        let value = Value::parse(json).ok()?;
        let info = value.get(member).or_else(|| value.at_path(&["_meta", key]))?;
        Self::of(info)
    }

    fn of(info: Value<'_>) -> Option<Self> {
        let text = |name| info.get(name).and_then(Value::string).map(Cow::into_owned);
        let peer = Peer { name: text("name"), version: text("version"), platform: text("platform") };
        (peer != Peer::default()).then_some(peer)
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_deref().unwrap_or("unknown");
        match &self.version {
            Some(version) => write!(f, "{name} {version}"),
            None => f.write_str(name),
        }
    }
}

/// `protocolVersion` of the parameters or the result of `initialize`.
pub fn handshake_version(json: &[u8]) -> Option<Cow<'_, str>> {
    Value::parse(json).ok()?.get("protocolVersion")?.string()
}

/// The revision that a request names in its `_meta`, since 2026-07-28.
pub fn request_version(params: &[u8]) -> Option<Cow<'_, str>> {
    memchr::memmem::find(params, meta_key::PROTOCOL_VERSION.as_bytes())?;
    Value::parse(params).ok()?.at_path(&["_meta", meta_key::PROTOCOL_VERSION])?.string()
}

/// The request that a `notifications/cancelled` cancels, and the reason it gives.
pub fn cancellation(params: &[u8]) -> Option<(Id<'_>, Option<Cow<'_, str>>)> {
    let params = Value::parse(params).ok()?;
    let id = id(params.get("requestId")?)?;
    Some((id, params.get("reason").and_then(Value::string)))
}

/// The id of a request that another message refers to.
pub fn id(value: Value<'_>) -> Option<Id<'_>> {
    match value.string() {
        Some(text) => Some(Id::String(text)),
        None if value.is_number() => Some(Id::Number(String::from_utf8_lossy(value.raw))),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_introduce_themselves_in_both_eras() {
        let old = br#"{"protocolVersion":"2025-06-18","clientInfo":{"name":"c","version":"1"}}"#;
        assert_eq!(Peer::client(old).unwrap().to_string(), "c 1");
        assert_eq!(handshake_version(old).as_deref(), Some("2025-06-18"));
        let new = br#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c"}}}"#;
        assert_eq!(Peer::client(new).unwrap().to_string(), "c");
        assert_eq!(request_version(new).as_deref(), Some("2026-07-28"));
        assert_eq!(Peer::server(br#"{"serverInfo":{"name":"s","version":"2"}}"#).unwrap().to_string(), "s 2");
        let result = br#"{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}"#;
        assert_eq!(Peer::server(result).unwrap().to_string(), "s");
        assert_eq!(Peer::server(br#"{"serverInfo":7}"#), None);
        assert_eq!(Peer::client(b"[]"), None);
    }

    #[test]
    fn a_cancellation_names_its_request() {
        let (id, reason) = cancellation(br#"{"requestId":"a","reason":"late"}"#).unwrap();
        assert_eq!((id, reason.as_deref()), (Id::String("a".into()), Some("late")));
        assert_eq!(cancellation(br#"{"requestId":null}"#), None);
    }
}
