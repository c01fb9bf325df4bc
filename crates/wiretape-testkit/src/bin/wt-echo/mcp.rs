//! Enough of MCP for a client to initialize and call tools.
//!
//! | tool | |
//! |---|---|
//! | `echo`, and any other | returns its arguments |
//! | `count` | first reports progress and logs a message |
//! | `ask` | sends a sampling request to the client, and returns the answer |
//! | `wait` | never answers; logs its cancellation |
//! | `pid` | returns the server's process id |

use serde_json::{Value, json};

/// The prefix of a sampling request's id; the id of the tool call follows, so that no state is needed.
const QUESTION: &str = "question for ";

/// The answers to all `lines`, one per line.
pub(crate) fn answer_all(lines: &[u8]) -> Vec<u8> {
    lines
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .flat_map(|message: Value| answer(&message))
        .flat_map(|answer| format!("{answer}\n").into_bytes())
        .collect()
}

/// Most notifications and what isn't JSON-RPC get no answer.
fn answer(message: &Value) -> Vec<Value> {
    let params = message.get("params").unwrap_or(&Value::Null);
    match (message.get("id"), message.get("method").and_then(Value::as_str)) {
        (Some(id), Some("tools/call")) => call(id, params),
        (Some(id), Some(method)) => vec![match result(method, params) {
            Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            None => {
                let error = json!({"code": -32601, "message": format!("method not found: {method}")});
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        }],
        (None, Some("notifications/cancelled")) => vec![log(&format!("cancelled {}", params["requestId"]))],
        (Some(Value::String(id)), None) => reply(id, message),
        _ => Vec::new(),
    }
}

fn call(id: &Value, params: &Value) -> Vec<Value> {
    let token = &params["_meta"]["progressToken"];
    match params["name"].as_str() {
        Some("count") => {
            let progress = |n| {
                let params = json!({"progressToken": token, "progress": n, "total": 3});
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
            };
            let mut messages: Vec<Value> =
                if token.is_null() { Vec::new() } else { (1..=3).map(progress).collect() };
            messages.extend([log("counted"), text(id, "three")]);
            messages
        }
        Some("ask") => {
            let message = json!({"role": "user", "content": {"type": "text", "text": "who are you?"}});
            let params = json!({"messages": [message], "maxTokens": 10});
            let id = format!("{QUESTION}{id}");
            vec![json!({"jsonrpc": "2.0", "id": id, "method": "sampling/createMessage", "params": params})]
        }
        Some("wait") => Vec::new(),
        Some("pid") => vec![text(id, &std::process::id().to_string())],
        _ => vec![text(id, &params.get("arguments").unwrap_or(&Value::Null).to_string())],
    }
}

/// The result of the tool call whose sampling request the client has answered.
fn reply(id: &str, message: &Value) -> Vec<Value> {
    let call = id.strip_prefix(QUESTION).and_then(|id| serde_json::from_str(id).ok());
    let messages = message.get("result").or(message.get("error")).unwrap_or(&Value::Null);
    call.map(|call: Value| text(&call, &messages.to_string())).into_iter().collect()
}

fn text(id: &Value, text: &str) -> Value {
    let result = json!({"content": [{"type": "text", "text": text}], "isError": false});
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn log(data: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": data}})
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
        _ => None,
    }
}
