//! Who talks to whom: what client and server say of themselves.

use std::borrow::Cow;
use wiretape_analyze::glance::json::{member, string, string_member};
use wiretape_trace::message::Envelope;

/// Who talks to whom.
#[derive(Debug, Clone, Default)]
pub struct Introduction {
    /// Name and version of the client.
    pub client: Option<String>,
    /// Name and version of the server.
    pub server: Option<String>,
    /// The protocol version they use.
    pub revision: Option<String>,
}

/// What the client says of itself: in `initialize`, or in the `_meta` of every request.
pub fn asked(raw: &[u8]) -> Introduction {
    let params = Envelope::scan(raw).params.unwrap_or_default();
    let meta = member(params, "_meta").unwrap_or_default();
    let of_meta = |name: &str| member(meta, &format!("io.modelcontextprotocol/{name}"));
    let client = member(params, "clientInfo").or_else(|| of_meta("clientInfo"));
    let revision = of_meta("protocolVersion").and_then(string);
    Introduction {
        client: client.and_then(name_and_version),
        server: None,
        revision: revision.map(Cow::into_owned),
    }
}

/// What the server says of itself, in an answer.
pub fn answered(raw: &[u8], introduction: &mut Introduction) {
    let result = Envelope::scan(raw).result.unwrap_or_default();
    let meta = member(result, "_meta").unwrap_or_default();
    let server = member(result, "serverInfo").or_else(|| member(meta, "io.modelcontextprotocol/serverInfo"));
    introduction.server = server.and_then(name_and_version);
    let revision = string_member(result, "protocolVersion").map(Cow::into_owned);
    introduction.revision = revision.or(introduction.revision.take());
}

fn name_and_version(info: &[u8]) -> Option<String> {
    let name = string_member(info, "name")?;
    let version = string_member(info, "version").unwrap_or_default();
    Some(format!("{name} {version}").trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_eras_say_who_they_are() {
        let old = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"c","version":"1"}}}"#;
        let mut told = asked(old);
        answered(br#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"s","version":"2"}}}"#, &mut told);
        assert_eq!((told.client.as_deref(), told.server.as_deref()), (Some("c 1"), Some("s 2")));
        assert_eq!(told.revision.as_deref(), Some("2025-06-18"));
        let new = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c"}}}}"#;
        let told = asked(new);
        assert_eq!((told.client.as_deref(), told.revision.as_deref()), (Some("c"), Some("2026-07-28")));
    }
}
