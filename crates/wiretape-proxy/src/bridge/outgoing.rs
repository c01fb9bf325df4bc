//! A parsed line of the client.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use wiretape_trace::format::Wire;
use wiretape_trace::message::{Envelope, Id, MessageKind, payloads};

/// A line of the client, and how it was terminated.
#[derive(Debug, Clone)]
pub(super) struct ClientLine {
    pub(super) bytes: Bytes,
    pub(super) wire: Wire,
}

/// A line with the parts of its message that the bridge needs.
#[derive(Debug)]
pub(super) struct ClientMessage {
    pub(super) line: ClientLine,
    /// The ids of the requests in it: several in a batch.
    pub(super) requests: Vec<Id<'static>>,
    /// Whether it is JSON-RPC.
    pub(super) readable: bool,
    pub(super) method: Option<String>,
    /// The name of the tool or prompt, or the resource's URI.
    pub(super) name: Option<String>,
    /// The revision in its `_meta`, since MCP 2026-07-28.
    pub(super) version: Option<String>,
    /// The id of the request that it cancels.
    pub(super) cancels: Option<Id<'static>>,
}

/// The parameters that the bridge needs.
#[derive(Deserialize)]
struct Params<'a> {
    #[serde(rename = "_meta", borrow)]
    meta: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(rename = "requestId", borrow)]
    request_id: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RequestMeta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<String>,
}

impl ClientMessage {
    pub(super) fn read(line: ClientLine) -> Self {
        let bytes = line.bytes.clone();
        let envelope = Envelope::scan(&bytes);
        // Raw values: arguments may be megabytes long and are not parsed here.
        let params = envelope.params.and_then(|params| serde_json::from_slice::<Params<'_>>(params).ok());
        let version = params.as_ref().and_then(|params| params.meta).and_then(version_in);
        let name = params.as_ref().and_then(|params| named(envelope.method.as_deref()?, params));
        let cancels = params
            .filter(|_| envelope.method.as_deref() == Some("notifications/cancelled"))
            .and_then(|params| params.request_id)
            .and_then(|id| id_in(id.get()));
        ClientMessage {
            requests: requests_in(&bytes),
            readable: envelope.kind != MessageKind::NotJsonRpc,
            method: envelope.method.map(std::borrow::Cow::into_owned),
            name,
            version,
            cancels,
            line,
        }
    }

    pub(super) fn is(&self, method: &str) -> bool {
        self.method.as_deref() == Some(method)
    }

    /// The arguments of a tool call. Parses the whole message, so it is only for tools with header parameters.
    pub(super) fn arguments(&self) -> Option<serde_json::Value> {
        let mut message: serde_json::Value = serde_json::from_slice(&self.line.bytes).ok()?;
        Some(message.get_mut("params")?.get_mut("arguments")?.take())
    }
}

fn requests_in(raw: &[u8]) -> Vec<Id<'static>> {
    let requests = payloads(raw).into_iter().map(Envelope::scan);
    let requests = requests.filter(|envelope| envelope.kind == MessageKind::Request);
    requests.filter_map(|envelope| envelope.id.map(Id::into_owned)).collect()
}

fn version_in(meta: &RawValue) -> Option<String> {
    serde_json::from_str::<RequestMeta>(meta.get()).ok()?.version
}

/// The value of the header `Mcp-Name` (MCP 2026-07-28, basic/transports, "Standard Request Headers").
fn named(method: &str, params: &Params<'_>) -> Option<String> {
    let value = match method {
        "tools/call" | "prompts/get" => params.name,
        "resources/read" => params.uri,
        _ => None,
    };
    serde_json::from_str(value?.get()).ok()
}

fn id_in(json: &str) -> Option<Id<'static>> {
    match serde_json::from_str::<String>(json) {
        Ok(text) => Some(Id::String(text.into())),
        // Only checked as a number; the digits stay as written, because a float could round them.
        Err(_) => json.parse::<f64>().ok().map(|_| Id::Number(json.to_owned().into())),
    }
}

/// Whether two ids are equal. A peer may respond with `1.0` to `1`.
pub(super) fn same(a: &Id<'_>, b: &Id<'_>) -> bool {
    match (a, b) {
        (Id::Number(x), Id::Number(y)) if x != y => {
            matches!((x.parse::<f64>(), y.parse::<f64>()), (Ok(x), Ok(y)) if x.to_bits() == y.to_bits())
        }
        _ => a == b,
    }
}

/// The id as a JSON value.
pub(super) fn as_json(id: &Id<'_>) -> serde_json::Value {
    match id {
        Id::String(text) => serde_json::Value::String(text.clone().into_owned()),
        Id::Number(number) => serde_json::from_str(number).unwrap_or(serde_json::Value::Null),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str) -> ClientMessage {
        ClientMessage::read(ClientLine { bytes: Bytes::from_static(text.as_bytes()), wire: Wire::default() })
    }

    #[test]
    fn requests_and_their_names() {
        let call = read(
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"caf\u00e9","arguments":{"x":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        );
        assert_eq!(call.requests, [Id::String("a".into())]);
        assert_eq!((call.name.as_deref(), call.version.as_deref()), (Some("café"), Some("2026-07-28")));
        assert_eq!(call.arguments(), Some(serde_json::json!({"x": 1})));
        let read_resource =
            read(r#"{"id":1,"method":"resources/read","params":{"uri":"a://b","name":"no"}}"#);
        assert_eq!((read_resource.name.as_deref(), read_resource.version), (Some("a://b"), None));
        assert!(read(r#"{"id":1,"method":"ping","params":[1]}"#).name.is_none());
    }

    #[test]
    fn batches_notifications_and_rubbish() {
        let batch = read(
            r#"[{"id":1,"method":"a"},{"method":"notifications/x"},{"id":2,"result":{}},{"id":3,"method":"b"}]"#,
        );
        assert_eq!(batch.requests, [Id::Number("1".into()), Id::Number("3".into())]);
        let cancel = read(r#"{"method":"notifications/cancelled","params":{"requestId":7}}"#);
        assert_eq!(cancel.cancels, Some(Id::Number("7".into())));
        assert!(cancel.requests.is_empty() && cancel.readable);
        assert!(!read("hello").readable);
    }

    #[test]
    fn ids_are_the_same_however_they_are_spelt() {
        assert!(same(&Id::Number("1".into()), &Id::Number("1.0".into())));
        assert!(!same(&Id::Number("1".into()), &Id::String("1".into())));
        assert!(!same(&Id::Number("1".into()), &Id::Number("2".into())));
    }
}
