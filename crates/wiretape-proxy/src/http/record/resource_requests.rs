//! Which resources a request asks for. Decided by the request as it was received, because a policy must not depend on what
//! redaction leaves of it.

use wiretape_trace::value::Value;

/// The methods in a request whose results may hold widgets (MCP Apps).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ResourceRequests {
    pub(crate) resources: bool,
    pub(crate) templates: bool,
    pub(crate) contents: bool,
}

impl ResourceRequests {
    /// The methods in a request or a batch; `None` if it has none of them.
    pub(crate) fn in_message(message: &[u8]) -> Option<Self> {
        // All three method names contain it, and hardly any other message does: this saves the parsing of nearly all messages.
        memchr::memmem::find(message, b"resources")?;
        let value = Value::parse(message).ok()?;
        let mut requested = ResourceRequests::default();
        each(value, |request| match request.get("method").and_then(Value::string).as_deref() {
            Some("resources/list") => requested.resources = true,
            Some("resources/templates/list") => requested.templates = true,
            Some("resources/read") => requested.contents = true,
            _ => {}
        });
        (requested != ResourceRequests::default()).then_some(requested)
    }
}

/// Calls `visit` with the message, or with each message of a batch.
pub(crate) fn each<'a>(value: Value<'a>, mut visit: impl FnMut(Value<'a>)) {
    if value.is_array() {
        value.elements(visit);
    } else {
        visit(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_method_decides() {
        let by = |text: &str| ResourceRequests::in_message(text.as_bytes());
        assert_eq!(
            by(r#"{"jsonrpc":"2.0","id":1,"method":"resources\/read"}"#),
            Some(ResourceRequests { contents: true, ..ResourceRequests::default() })
        );
        assert_eq!(by(r#"{"method":"tools/call","params":{"name":"resources/read"}}"#), None);
        assert_eq!(by(r#"{"method":"resources/subscribe"}"#), None);
        assert_eq!(by("resources/read"), None);
        let batch = r#"[{"method":"resources/list"},{"method":"resources/templates/list"}]"#;
        assert_eq!(by(batch), Some(ResourceRequests { resources: true, templates: true, contents: false }));
    }
}
