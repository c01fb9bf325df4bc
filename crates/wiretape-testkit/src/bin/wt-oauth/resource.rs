//! The MCP server: one tool, for clients with a token.

use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use serde_json::{Value, json};
use wiretape_testkit::http::PATH;

use crate::Servers;
use crate::exchange::{ReceivedRequest, empty, header, json as respond};

const DOCUMENT: &str = "/.well-known/oauth-protected-resource/mcp";

pub(crate) fn answer(world: &Servers, asked: &ReceivedRequest) -> Option<Response<Full<Bytes>>> {
    match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", DOCUMENT) => Some(respond(
            200,
            &json!({
                "resource": world.resource(asked),
                "authorization_servers": [world.issuer(asked)],
                "scopes_supported": ["tools"],
            }),
        )),
        ("POST", PATH) if !is_allowed(world, asked) => Some(challenge(world, asked)),
        ("POST", PATH) => Some(message(&asked.body)),
        (_, PATH) => Some(empty(405)),
        _ => None,
    }
}

fn is_allowed(world: &Servers, asked: &ReceivedRequest) -> bool {
    let token = asked.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    token.is_some_and(|token| world.grants().is_valid(token))
}

fn challenge(world: &Servers, asked: &ReceivedRequest) -> Response<Full<Bytes>> {
    let document = format!("{}{DOCUMENT}", world.origin(world.resource, asked));
    let value = format!(r#"Bearer realm="wt, \"oauth\"", resource_metadata="{document}", scope="tools""#);
    header(respond(401, &json!({"error": "invalid_token"})), "www-authenticate", &value)
}

fn message(body: &[u8]) -> Response<Full<Bytes>> {
    let Ok(message) = serde_json::from_slice::<Value>(body) else { return empty(400) };
    let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else { return empty(202) };
    let result = match method {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "wt-oauth", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => {
            json!({"content": [{"type": "text", "text": message["params"]["arguments"].to_string()}]})
        }
        _ => {
            let error = json!({"code": -32601, "message": "method not found"});
            return respond(200, &json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
    };
    respond(200, &json!({"jsonrpc": "2.0", "id": id, "result": result}))
}
