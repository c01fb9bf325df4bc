//! Enough of MCP for a client to go through `initialize` and call a tool.

use serde_json::{Value, json};

/// The answers to all requests among `lines`, a line each.
pub(crate) fn answer_all(lines: &[u8]) -> Vec<u8> {
    lines
        .split(|byte| *byte == b'\n')
        .filter_map(answer)
        .flat_map(|answer| format!("{answer}\n").into_bytes())
        .collect()
}

/// Notifications, responses and what isn't JSON get no answer.
fn answer(line: &[u8]) -> Option<Value> {
    let request: Value = serde_json::from_slice(line).ok()?;
    let (id, method) = (request.get("id")?, request.get("method")?.as_str()?);
    let mut answer = json!({"jsonrpc": "2.0", "id": id});
    match result(method, request.get("params").unwrap_or(&Value::Null)) {
        Some(result) => answer["result"] = result,
        None => answer["error"] = json!({"code": -32601, "message": format!("method not found: {method}")}),
    }
    Some(answer)
}

fn result(method: &str, params: &Value) -> Option<Value> {
    match method {
        "initialize" => Some(json!({
            "protocolVersion": params.get("protocolVersion").unwrap_or(&json!("2025-06-18")),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "wt-echo", "version": env!("CARGO_PKG_VERSION")},
        })),
        "ping" => Some(json!({})),
        "tools/list" => Some(json!({"tools": [{
            "name": "echo",
            "description": "Gives its arguments back",
            "inputSchema": {"type": "object"},
        }]})),
        "tools/call" => {
            let arguments = params.get("arguments").unwrap_or(&Value::Null).to_string();
            Some(json!({"content": [{"type": "text", "text": arguments}], "isError": false}))
        }
        _ => None,
    }
}
