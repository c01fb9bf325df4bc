//! Tool arguments that are repeated in headers: since MCP 2026-07-28 a tool's input schema may mark a property with
//! `x-mcp-header`, and the client must also send its value as `Mcp-Param-…`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::HeaderName;
use http::{HeaderMap, HeaderValue};
use serde_json::Value;
use std::collections::BTreeMap;

/// The marked properties of the tools that the server has listed.
#[derive(Debug, Default)]
pub(crate) struct ToolParameters {
    tools: BTreeMap<String, Vec<HeaderParameter>>,
}

/// A property whose value is repeated in a header.
#[derive(Debug)]
struct HeaderParameter {
    path: Vec<String>,
    header: HeaderName,
}

impl ToolParameters {
    /// Learns the marked properties from a response to `tools/list`.
    pub(crate) fn learn(&mut self, message: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(message) else { return };
        let tools = message.get("result").and_then(|result| result.get("tools")).and_then(Value::as_array);
        for tool in tools.into_iter().flatten() {
            let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
            let mut marked = Vec::new();
            if let Some(schema) = tool.get("inputSchema") {
                find(schema, &mut Vec::new(), &mut marked);
            }
            // Also without marks: a tool that lost them must not keep the old ones.
            self.tools.insert(name.to_owned(), marked);
        }
    }

    /// Whether calls of this tool need headers.
    pub(super) fn wants(&self, tool: &str) -> bool {
        self.tools.get(tool).is_some_and(|marked| !marked.is_empty())
    }

    /// Adds the headers that a call needs.
    pub(super) fn add_to(&self, headers: &mut HeaderMap, tool: &str, arguments: &Value) {
        for marked in self.tools.get(tool).into_iter().flatten() {
            if let Some(value) = marked.text(arguments).as_deref().and_then(header_value) {
                headers.insert(marked.header.clone(), value);
            }
        }
    }

    /// Checks that a call has exactly the headers that its arguments require.
    pub(crate) fn check(&self, headers: &HeaderMap, tool: &str, arguments: &Value) -> Result<(), String> {
        for marked in self.tools.get(tool).into_iter().flatten() {
            let (name, expected) = (&marked.header, marked.text(arguments));
            let sent = headers.get(name).and_then(|value| value.to_str().ok()).map(header_text);
            let is_right = match (&expected, &sent) {
                (Some(expected), Some(Some(sent))) => is_same(expected, sent),
                (None, None) => true,
                _ => false,
            };
            if !is_right {
                let expected = expected.as_deref().unwrap_or("missing");
                return Err(format!("the header {name} does not match the argument, which is {expected:?}"));
            }
        }
        Ok(())
    }
}

impl HeaderParameter {
    /// The expected value of the header.
    fn text(&self, arguments: &Value) -> Option<String> {
        match self.path.iter().try_fold(arguments, |value, key| value.get(key))? {
            Value::String(text) => Some(text.clone()),
            // Objects, arrays and null have no header form (2026-07-28, basic/transports).
            value @ (Value::Bool(_) | Value::Number(_)) => Some(value.to_string()),
            _ => None,
        }
    }
}

/// Whether two values are equal, as texts or as numbers, which may be written in several ways.
fn is_same(one: &str, other: &str) -> bool {
    one == other || one.parse::<f64>().is_ok_and(|one| other.parse::<f64>() == Ok(one))
}

/// Finds the marked properties of a schema. Only `properties` are followed, not references or combinators.
fn find(schema: &Value, path: &mut Vec<String>, marked: &mut Vec<HeaderParameter>) {
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        path.push(name.clone());
        let token = property.get("x-mcp-header").and_then(Value::as_str);
        if let Some(Ok(header)) = token.map(|token| format!("mcp-param-{token}").parse()) {
            marked.push(HeaderParameter { path: path.clone(), header });
        }
        find(property, path, marked);
        path.pop();
    }
}

/// A text as a header value; in base64 if a header can't contain it as it is.
pub(super) fn header_value(text: &str) -> Option<HeaderValue> {
    let plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && text.trim() == text
        // Otherwise a plain text that looks encoded would be decoded by the server.
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    let value = if plain { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) };
    HeaderValue::try_from(value).ok()
}

/// The text of a header value, plain or base64; `None` if it can't be decoded.
pub(crate) fn header_text(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_arguments_become_headers() {
        let mut parameters = ToolParameters::default();
        parameters.learn(
            br#"{"id":1,"result":{"tools":[{"name":"t","inputSchema":{"properties":{
                "region":{"type":"string","x-mcp-header":"Region"},
                "deep":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}},
                "flag":{"type":"boolean","x-mcp-header":"Flag"},
                "absent":{"x-mcp-header":"Absent"}}}}]}}"#,
        );
        assert!(parameters.wants("t") && !parameters.wants("u"));
        let mut headers = HeaderMap::new();
        let arguments = serde_json::json!({"region": "Österreich", "deep": {"n": 3}, "flag": true});
        parameters.add_to(&mut headers, "t", &arguments);
        assert_eq!(headers["mcp-param-region"], "=?base64?w5ZzdGVycmVpY2g=?=");
        assert_eq!(
            (&headers["mcp-param-n"], &headers["mcp-param-flag"]),
            (&HeaderValue::from(3), &HeaderValue::from_static("true"))
        );
        assert_eq!(headers.len(), 3);
        assert_eq!(parameters.check(&headers, "t", &arguments), Ok(()));
        headers.insert("mcp-param-n", HeaderValue::from_static("3.0"));
        assert_eq!(parameters.check(&headers, "t", &arguments), Ok(()));
        headers.insert("mcp-param-n", HeaderValue::from_static("4"));
        assert!(parameters.check(&headers, "t", &arguments).is_err());
        assert!(parameters.check(&HeaderMap::new(), "t", &arguments).is_err());
        assert_eq!(parameters.check(&HeaderMap::new(), "t", &Value::Null), Ok(()));
        headers.remove("mcp-param-n");
        assert!(parameters.check(&headers, "t", &Value::Null).is_err());
    }

    #[test]
    fn what_looks_encoded_is_encoded() {
        assert_eq!(header_value("a b").unwrap(), "a b");
        assert_eq!(header_value(" a").unwrap(), "=?base64?IGE=?=");
        assert_eq!(header_value("=?base64?x?=").unwrap(), "=?base64?PT9iYXNlNjQ/eD89?=");
    }
}
