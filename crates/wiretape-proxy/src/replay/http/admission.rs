//! The checks of a request before it is matched with the tape. A server makes them whatever was recorded, so a replay must, too,
//! with the same status and error code.

use crate::bridge::{ToolParameters, header_text};
use http::header::AsHeaderName;
use http::{HeaderMap, HeaderName, StatusCode, header};
use memchr::memmem;
use serde_json::{Value as Json, json};
use wiretape_analyze::lint::Revision;
use wiretape_trace::message::{Defect, Envelope, MessageKind};
use wiretape_trace::value::Value;

pub(super) static VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The keys in the `_meta` of requests since MCP 2026-07-28.
pub(super) const STATELESS: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const HEADER_MISMATCH: i64 = -32020;
const UNSUPPORTED_VERSION: i64 = -32022;
/// The code that SDK servers use for everything else.
const REFUSED: i64 = -32000;

/// The error response to a request that fails a check.
#[derive(Debug, PartialEq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Json>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, code: i64, message: impl Into<String>) -> Self {
        Refusal { status, code, message: message.into(), data: None }
    }

    fn bad(code: i64, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }
}

/// Checks `Content-Type` and `Accept` of a POST (MCP 2025-11-25, basic/transports, "Sending Messages to the Server"). A missing
/// `Accept` accepts everything.
pub(super) fn check_media(headers: &HeaderMap) -> Result<(), Refusal> {
    let content = text(headers, header::CONTENT_TYPE).unwrap_or_default();
    let media = content.split(';').next().unwrap_or_default().trim();
    if !media.eq_ignore_ascii_case("application/json") {
        let message = "Content-Type must be application/json";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, REFUSED, message));
    }
    // The spelling of SDK clients: one comparison instead of parsing, for nearly every request.
    if text(headers, header::ACCEPT) == Some("application/json, text/event-stream") {
        return Ok(());
    }
    check_accept(headers, &["application/json", "text/event-stream"])
}

/// Checks that a client accepts all these media types.
pub(super) fn check_accept(headers: &HeaderMap, kinds: &[&str]) -> Result<(), Refusal> {
    let Some(accepted) = text(headers, header::ACCEPT) else { return Ok(()) };
    let accepts = |kind: &&str| {
        let (group, _) = kind.split_once('/').unwrap_or_default();
        accepted.split(',').any(|one| {
            let one = one.split(';').next().unwrap_or_default().trim();
            one == "*/*" || one.strip_suffix("/*") == Some(group) || one.eq_ignore_ascii_case(kind)
        })
    };
    if kinds.iter().all(accepts) {
        return Ok(());
    }
    let message = format!("the client must accept {}", kinds.join(" and "));
    Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, REFUSED, message))
}

/// Checks that a body is a JSON-RPC message.
pub(super) fn check_message(envelope: &Envelope<'_>) -> Result<(), Refusal> {
    match (envelope.kind, envelope.defects.first()) {
        (MessageKind::NotJsonRpc, Some(defect @ Defect::NotJson(_))) => {
            Err(Refusal::bad(PARSE_ERROR, defect.to_string()))
        }
        (MessageKind::NotJsonRpc, _) => Err(Refusal::bad(INVALID_REQUEST, "not a JSON-RPC message")),
        _ => Ok(()),
    }
}

/// A cheap test whether a message may be of the stateless revision; [`is_stateless`] decides.
pub(super) fn may_be_stateless(headers: &HeaderMap, body: &[u8]) -> bool {
    // Older revisions ignore the key in `_meta`, but a text that contains it only costs the slower path.
    let is_older = |version| Revision::parse(version).is_some_and(|revision| !revision.is_stateless());
    !text(headers, &VERSION).is_none_or(is_older) || memmem::find(body, STATELESS.as_bytes()).is_some()
}

/// Checks a message of the revisions with sessions.
pub(super) fn check_with_session(headers: &HeaderMap, envelope: &Envelope<'_>) -> Result<(), Refusal> {
    let version = text(headers, &VERSION);
    let revision = version.and_then(Revision::parse);
    if let (Some(version), None) = (version, revision) {
        let names = Revision::ALL.map(Revision::name).join(", ");
        let message = format!("unsupported protocol version {version:?} (supported: {names})");
        return Err(Refusal::bad(REFUSED, message));
    }
    // Without the header the revision is 2025-03-26 (MCP 2025-11-25, basic/transports, "Protocol Version Header").
    let may_batch = revision.is_none_or(|revision| revision <= Revision::V2025_03_26);
    if envelope.kind == MessageKind::Batch && !may_batch {
        return Err(Refusal::bad(INVALID_REQUEST, "batches exist in revision 2025-03-26 only"));
    }
    Ok(())
}

/// Whether a request is of the stateless revision.
pub(super) fn is_stateless(headers: &HeaderMap, envelope: &Envelope<'_>) -> bool {
    let revision = text(headers, &VERSION).and_then(Revision::parse);
    revision.is_some_and(Revision::is_stateless) || meta(envelope, STATELESS).is_some()
}

/// Checks the `_meta` and the headers of a request of the stateless revision.
pub(super) fn check_stateless(
    headers: &HeaderMap,
    envelope: &Envelope<'_>,
    supported: &[String],
    parameters: &ToolParameters,
) -> Result<(), Refusal> {
    match envelope.kind {
        MessageKind::Request => {}
        MessageKind::Batch => {
            return Err(Refusal::bad(INVALID_REQUEST, "batches exist in revision 2025-03-26 only"));
        }
        _ => return Ok(()),
    }
    // The body first: the headers are compared with what it says.
    let version = check_meta(envelope)?;
    let method = envelope.method.as_deref().unwrap_or_default();
    check_header(headers, "MCP-Protocol-Version", &version)?;
    if Revision::parse(&version).is_none() {
        let data = json!({ "requested": version, "supported": supported });
        let refusal = Refusal::bad(UNSUPPORTED_VERSION, "unsupported protocol version");
        return Err(Refusal { data: Some(data), ..refusal });
    }
    check_header(headers, "Mcp-Method", method)?;
    if let (Some(name), true) =
        (&envelope.name, matches!(method, "tools/call" | "prompts/get" | "resources/read"))
    {
        check_header(headers, "Mcp-Name", name)?;
    }
    if let Some(tool) = envelope.tool() {
        let params = envelope.params.and_then(|params| serde_json::from_slice(params).ok());
        let arguments = params.as_ref().and_then(|params: &Json| params.get("arguments"));
        let checked = parameters.check(headers, tool, arguments.unwrap_or(&Json::Null));
        checked.map_err(|reason| Refusal::bad(HEADER_MISMATCH, reason))?;
    }
    if method == "initialize" {
        let message = "there is no `initialize` in this revision";
        return Err(Refusal::new(StatusCode::NOT_FOUND, METHOD_NOT_FOUND, message));
    }
    Ok(())
}

/// Checks `_meta` and returns the revision in it.
fn check_meta(envelope: &Envelope<'_>) -> Result<String, Refusal> {
    let version = meta(envelope, STATELESS).and_then(Value::string);
    let has_capabilities = meta(envelope, CAPABILITIES).is_some_and(Value::is_object);
    match (version, has_capabilities) {
        (Some(version), true) => Ok(version.into_owned()),
        (version, _) => {
            let missing = if version.is_none() { STATELESS } else { CAPABILITIES };
            Err(Refusal::bad(INVALID_PARAMS, format!("`_meta` must have {missing}")))
        }
    }
}

fn meta<'m>(envelope: &Envelope<'m>, key: &str) -> Option<Value<'m>> {
    Value::parse(envelope.params?).ok()?.at_path(&["_meta", key])
}

/// Checks that a header repeats a value of the body.
fn check_header(headers: &HeaderMap, name: &str, expected: &str) -> Result<(), Refusal> {
    let message = match text(headers, name).map(header_text) {
        Some(Some(value)) if value == expected => return Ok(()),
        Some(value) => {
            format!("{name} is {:?}, but the body has {expected:?}", value.as_deref().unwrap_or("damaged"))
        }
        None => format!("{name} is missing, but the body has {expected:?}"),
    };
    Err(Refusal::bad(HEADER_MISMATCH, message))
}

pub(super) fn text(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn code(checked: Result<(), Refusal>) -> (u16, i64) {
        checked.err().map_or((200, 0), |refusal| (refusal.status.as_u16(), refusal.code))
    }

    #[test]
    fn media_are_checked_as_servers_do() {
        let check = |content: &str, accept: Option<&str>, expected: u16| {
            let mut headers = headers(&[("content-type", content)]);
            if let Some(accept) = accept {
                headers.insert("accept", accept.parse().unwrap());
            }
            assert_eq!(code(check_media(&headers)).0, expected, "{content} {accept:?}");
        };
        check("application/json", Some("application/json, text/event-stream"), 200);
        check("Application/JSON; charset=utf-8", Some("*/*"), 200);
        check("application/json", None, 200);
        check("application/json", Some("application/*;q=0.5, text/*"), 200);
        check("application/json", Some("application/json"), 406);
        check("application/json", Some("text/event-stream"), 406);
        check("text/plain", None, 415);
    }

    #[test]
    fn requests_of_the_stateless_era_say_what_they_are() {
        let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;
        let call = |meta: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"add","_meta":{{{meta}}}}}}}"#
            )
        };
        let all = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "add")];
        let check = |pairs: &[(&'static str, &str)], body: &str, expected: (u16, i64)| {
            let envelope = Envelope::scan(body.as_bytes());
            let supported = ["2026-07-28".to_owned()];
            let checked = check_stateless(&headers(pairs), &envelope, &supported, &ToolParameters::default());
            assert_eq!(code(checked), expected, "{pairs:?} {body}");
        };
        check(&all, &call(meta), (200, 0));
        check(&[all[0], all[1], ("mcp-name", "=?base64?YWRk?=")], &call(meta), (200, 0));
        check(&all, &call(""), (400, -32602));
        check(&all, &call(&meta.replace("{}", "7")), (400, -32602));
        check(&all[1..], &call(meta), (400, -32020));
        check(&[all[0], all[2]], &call(meta), (400, -32020));
        check(&all[..2], &call(meta), (400, -32020));
        check(&[all[0], ("mcp-method", "tools/list"), all[2]], &call(meta), (400, -32020));
        check(&[("mcp-protocol-version", "2025-11-25"), all[1], all[2]], &call(meta), (400, -32020));
        let future = call(&meta.replace("2026-07-28", "2099-01-01"));
        check(&[("mcp-protocol-version", "2099-01-01"), all[1], all[2]], &future, (400, -32022));
        let initialize = call(meta).replace("tools/call", "initialize");
        check(&[all[0], ("mcp-method", "initialize")], &initialize, (404, -32601));
        check(&all, r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#, (200, 0));
    }
}
