//! `wiretape sample-server`, spoken to without a recorder.

use crate::environment::Environment;
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::{Output, Stdio};

fn session(input: &[u8]) -> Output {
    let environment = Environment::new();
    let mut command = environment.wiretape(&["sample-server"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = command.spawn().unwrap();
    server.stdin.take().unwrap().write_all(input).unwrap();
    server.wait_with_output().unwrap()
}

fn request(id: i32, method: &str, params: &Value) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

fn call(id: i32, tool: &str, arguments: &Value) -> String {
    request(id, "tools/call", &json!({ "name": tool, "arguments": arguments }))
}

#[test]
fn a_raw_session_is_answered_until_its_end() {
    let search =
        json!({ "name": "search_notes", "arguments": { "query": "rust" }, "_meta": { "progressToken": 7 } });
    let input = [
        request(1, "initialize", &json!({ "protocolVersion": "2025-03-26" })),
        request(2, "tools/list", &json!({})),
        call(3, "weather", &json!({ "city": "Oslo" })),
        call(4, "divide", &json!({ "a": 1, "b": 0 })),
        call(5, "divide", &json!({ "a": 1, "b": 4 })),
        request(6, "tools/call", &search),
        request(7, "resources/list", &json!({})),
        request(8, "resources/read", &json!({ "uri": "notes://today" })),
        request(9, "prompts/list", &json!({})),
        request(10, "prompts/get", &json!({ "name": "plan_day", "arguments": { "city": "Oslo" } })),
        request(11, "nothing/here", &json!({})),
        request(12, "ping", &json!({})),
    ];
    let output = session(input.concat().as_bytes());
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("sample server ready"));
    let messages: Vec<Value> = std::str::from_utf8(&output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let answer = |id: i32| messages.iter().find(|message| message["id"] == id).expect("an answer");
    assert_eq!(messages.len(), input.len() + 3, "three notes are three notifications");
    assert_eq!(answer(1)["result"]["protocolVersion"], "2025-03-26");
    assert_eq!(answer(2)["result"]["tools"].as_array().unwrap().len(), 4);
    assert_eq!(answer(3)["result"]["structuredContent"]["city"], "Oslo");
    assert_eq!(answer(4)["result"]["isError"], true);
    assert_eq!(answer(5)["result"]["content"][0]["text"], "0.25");
    assert!(answer(6)["result"]["content"][0]["text"].as_str().unwrap().starts_with("Rust: "));
    assert_eq!(answer(7)["result"]["resources"][0]["uri"], "notes://today");
    assert!(answer(8)["result"]["contents"][0]["text"].is_string());
    assert_eq!(answer(9)["result"]["prompts"][0]["name"], "plan_day");
    assert!(answer(10)["result"]["messages"][0]["content"]["text"].as_str().unwrap().contains("Oslo"));
    assert_eq!(answer(11)["error"]["code"], -32601);
    assert_eq!(answer(12)["result"], json!({}));
    let progress: Vec<&Value> =
        messages.iter().filter(|message| message["params"]["progressToken"] == 7).collect();
    assert_eq!(progress.len(), 3);
    assert_eq!(progress[2]["params"]["progress"], 3);
}

#[test]
fn it_does_not_stand_in_the_help() {
    let output = Environment::new().wiretape(&["--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(help.contains("  demo "), "{help}");
    assert!(!help.contains("sample-server"), "{help}");
}
