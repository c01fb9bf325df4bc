//! What the proxy puts into the store, against what its traces become when they are loaded.

use crate::proxy::{Proxy, Stopped, traces_dir, wait_until, wiretape};
use crate::wire::{LAST_CHUNK, Peer, STREAM, Upstream, chunk, ok, post};
use serde_json::Value;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"probe","version":"1.2"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"demo","version":"3"}}}"#;
const SESSION: &str = "Mcp-Session-Id: s1\r\n";
const PROGRESS: &str = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n";

fn call(id: u32, tool: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}"}}}}"#)
}

fn result(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#)
}

fn status(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn events(events: &[&str]) -> Vec<u8> {
    let chunks: Vec<u8> = events.iter().flat_map(chunk).collect();
    [STREAM.as_bytes(), &chunks].concat()
}

/// One exchange on connections of its own.
fn exchange(proxy: &Proxy, upstream: &Upstream, request: &str, response: impl AsRef<[u8]>) {
    let mut client = proxy.connect();
    client.send(request);
    let _server = upstream.answer(response);
    client.receive();
}

/// One whose server goes away in the middle of its answer.
fn broken(proxy: &Proxy, upstream: &Upstream, request: &str, response: impl AsRef<[u8]>) {
    let mut client = proxy.connect();
    client.send(request);
    drop(upstream.answer(response));
    client.receive_rest();
}

/// A session in which everything happens that can happen to a call.
fn trouble(proxy: &Proxy, upstream: &Upstream) {
    let say = |message: &str, response: &[u8]| exchange(proxy, upstream, &post(SESSION, message), response);
    let break_off =
        |message: &str, response: &[u8]| broken(proxy, upstream, &post(SESSION, message), response);
    exchange(proxy, upstream, &post("", INITIALIZE), ok(SESSION, INITIALIZED));
    say(&call(1, "fine"), ok("", &result(1)).as_bytes());
    let pretty = result(2).replace(',', ",\n  ");
    say(&call(2, "pretty"), ok("", &pretty).as_bytes());
    let answer = format!("event: message\ndata: {}\n\n", result(3));
    say(&call(3, "streamed"), &[events(&[PROGRESS, &answer]), LAST_CHUNK.to_vec()].concat());
    open_after_answer(proxy, upstream);
    say(&call(4, "no-result"), &[events(&[PROGRESS]), LAST_CHUNK.to_vec()].concat());
    let answer = format!("data: {}\n\n", result(5));
    break_off(&call(5, "broken-after-result"), &events(&[&answer]));
    let failed =
        r#"{"jsonrpc":"2.0","id":6,"result":{"isError":true,"content":[{"type":"text","text":"no file"}]}}"#;
    say(&call(6, "tool-error"), ok("", failed).as_bytes());
    let error = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"bad"}}"#;
    say(&call(7, "protocol-error"), ok("", error).as_bytes());
    let refusal = |id| {
        let body = format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32600,"message":"no session"}}}}"#);
        let length = body.len();
        format!("HTTP/1.1 400 No\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
    };
    say(&call(18, "refused"), refusal(r#""id":"server-error","#).as_bytes());
    say(&format!("[{},{}]", call(19, "refused"), call(20, "refused")), refusal("").as_bytes());
    say(&call(8, "500"), status("500 Oh", "oh").as_bytes());
    say(&call(9, "401"), status("401 No", "who?").as_bytes());
    let cut = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"jsonrpc\"";
    break_off(&call(10, "cut"), cut.as_bytes());
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    say(notification, b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    let tools = r#"{"jsonrpc":"2.0","id":12,"result":{"tools":[{"name":"fine"},{"name":"pretty"}]}}"#;
    say(r#"{"jsonrpc":"2.0","id":12,"method":"tools/list"}"#, ok("", tools).as_bytes());
    say(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, ok("", &result(0)).as_bytes());
    let secret =
        call(13, "secret").replace("\"name\"", "\"arguments\":{\"password\":\"hunter2hunter2\"},\"name\"");
    say(&secret, ok("", &result(13)).as_bytes());
    let batch = format!("[{},{},{notification}]", call(14, "first"), call(15, "second"));
    let answers =
        format!(r#"[{},{{"jsonrpc":"2.0","id":15,"error":{{"code":-1,"message":"second"}}}}]"#, result(14));
    say(&batch, ok("", &answers).as_bytes());
    exchange(proxy, upstream, "GET /page?x=1 HTTP/1.1\r\nHost: x\r\n\r\n", status("200 OK", "<html>"));
    leave(proxy, upstream);
    let end = format!("DELETE /mcp HTTP/1.1\r\nHost: x\r\n{SESSION}\r\n");
    exchange(proxy, upstream, &end, status("200 OK", ""));
}

/// A stream that stays open after its answer: the call lasts until the answer, however long the exchange takes.
fn open_after_answer(proxy: &Proxy, upstream: &Upstream) {
    let mut client = proxy.connect();
    client.send(post(SESSION, &call(17, "open-after-result")));
    let answer = format!("data: {}\n\n", result(17));
    let (mut server, ..) = upstream.answer(events(&[&answer]));
    client.receive_head();
    client.receive_chunk();
    thread::sleep(Duration::from_millis(300));
    server.send(LAST_CHUNK);
    client.receive_chunk();
}

/// A client that doesn't wait for its answer.
fn leave(proxy: &Proxy, upstream: &Upstream) {
    let before = client_closed(proxy);
    let mut client = proxy.connect();
    client.send(post(SESSION, &call(16, "left")));
    let mut server = upstream.accept();
    server.receive();
    drop(client);
    wait_until("the client is gone", || client_closed(proxy) > before);
}

/// Ten sessions that use the same ids, one of which is forgotten by its server.
fn sessions(proxy: &Proxy, upstream: &Upstream) {
    for n in 0..10 {
        let session = format!("Mcp-Session-Id: t{n}\r\n");
        exchange(proxy, upstream, &post("", INITIALIZE), ok(&session, INITIALIZED));
        exchange(proxy, upstream, &post(&session, &call(1, "same")), ok("", &result(1)));
        let last = if n == 3 { status("404 Gone", "") } else { ok("", &result(2)) };
        exchange(proxy, upstream, &post(&session, &call(2, "same")), last);
    }
    let mut client = proxy.connect();
    client.send(post("", INITIALIZE));
    let (mut server, ..) = upstream.answer(ok("", INITIALIZED));
    client.receive();
    client.send(post("", &call(1, "no-session")));
    server.receive();
    server.send(ok("", &result(1)));
    client.receive();
}

/// A session of HTTP+SSE, whose answers arrive on another stream: one in time, one after its call was cancelled, one never.
fn old_transport(proxy: &Proxy, upstream: &Upstream) {
    let before = client_closed(proxy);
    let mut client = proxy.connect();
    client.send("GET /sse HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n");
    let (mut server, ..) = upstream.answer(events(&["event: endpoint\ndata: /messages?sessionId=a1\n\n"]));
    client.receive_head();
    client.receive_chunk();
    let say = |message: &str| {
        let request = post("", message).replacen("/mcp", "/messages?sessionId=a1", 1);
        exchange(proxy, upstream, &request, "HTTP/1.1 202 Accepted\r\nContent-Length: 8\r\n\r\nAccepted");
    };
    let mut push = |message: &str| {
        server.send(chunk(format!("event: message\ndata: {message}\n\n")));
        client.receive_chunk();
    };
    say(INITIALIZE);
    push(INITIALIZED);
    say(&call(1, "late"));
    push(&result(1));
    say(&call(2, "cancelled"));
    say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    push(&result(2));
    say(&call(3, "abandoned"));
    drop(client);
    wait_until("the stream is closed", || client_closed(proxy) > before);
}

/// A client of the stateless revision, which introduces itself in each request.
fn stateless(proxy: &Proxy, upstream: &Upstream) {
    let introduction = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"modern","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
    let mut client = proxy.connect();
    let mut say = |request: &str, response: &str| {
        client.send(post("MCP-Protocol-Version: 2026-07-28\r\n", request));
        let mut server = upstream.accept();
        server.receive();
        server.send(ok("Connection: close\r\n", response));
        client.receive();
    };
    let server = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"modern-demo","version":"4"}}"#;
    say(
        &format!(r#"{{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{{{introduction}}}}}"#),
        &format!(
            r#"{{"jsonrpc":"2.0","id":0,"result":{{"supportedVersions":["2026-07-28"],"capabilities":{{}},{server}}}}}"#
        ),
    );
    for id in 1..=2 {
        let call = call(id, "stateless")
            .replace("\"name\":\"stateless\"", &format!("\"name\":\"stateless\",{introduction}"));
        say(&call, &result(id));
    }
}

fn client_closed(proxy: &Proxy) -> u64 {
    proxy.ask("/status").1["ended"]["client-closed"].as_u64().unwrap_or(0)
}

fn away(proxy: &Proxy, upstream: Upstream) {
    drop(upstream);
    let mut client: Peer = proxy.connect();
    client.send(post("Mcp-Session-Id: t5\r\n", &call(3, "away")));
    assert_eq!(client.receive().0.status(), 502);
}

/// The output of a command for a store, without the parts that must differ.
fn told(stopped: &Stopped, command: &[&str], store: &str) -> Vec<String> {
    let output = wiretape(stopped.home()).args(command).args(["--json", "--store", store]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<String> = text.lines().map(comparable).collect();
    lines.sort();
    lines
}

/// The sessions that a side ended: the first was deleted, the second forgotten by its server, and the stream of the third
/// closed.
const ENDED: [&str; 3] = ["s1", "t3", "a1"];

/// A line without what docs/store.md lists as different.
fn comparable(line: &str) -> String {
    let mut value: Value = serde_json::from_str(line).unwrap();
    let members = value.as_object_mut().unwrap();
    // Rows are numbered in the order in which they are written.
    members.remove("row");
    // All other sessions end with their trace in the one store, and with the proxy in the other.
    let is_ended_by_a_side = members.get("id").and_then(Value::as_str).is_some_and(|id| ENDED.contains(&id));
    if let Some(ended) = members.get_mut("ended").filter(|ended| ended.is_string() && !is_ended_by_a_side) {
        *ended = "some time".into();
    }
    value.to_string()
}

/// What a proxy recorded in all of the above.
fn record(options: &[&str]) -> (Stopped, Vec<PathBuf>) {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[&["--admin", "127.0.0.1:0"], options].concat());
    trouble(&proxy, &upstream);
    sessions(&proxy, &upstream);
    old_transport(&proxy, &upstream);
    stateless(&proxy, &upstream);
    away(&proxy, upstream);
    let stopped = proxy.stop();
    let traces = std::fs::read_dir(traces_dir(stopped.home())).unwrap();
    let mut traces: Vec<PathBuf> = traces.map(|entry| entry.unwrap().path()).collect();
    traces.sort();
    (stopped, traces)
}

fn check(options: &[&str]) {
    let (stopped, mut traces) = record(options);
    traces.reverse();
    let loaded = wiretape(stopped.home())
        .args(["store", "load", "--store", "loaded.db"])
        .args(&traces)
        .output()
        .unwrap();
    assert!(loaded.status.success(), "{loaded:?}");
    let logs = ["logs", "-n", "1000"];
    for command in [&logs[..], &["sessions"], &["clients"], &["schema"], &["schema", "--changes"]] {
        let (live, loaded) = (told(&stopped, command, "data/store.db"), told(&stopped, command, "loaded.db"));
        assert!(!live.is_empty(), "{command:?}");
        assert_eq!(loaded, live, "{command:?}");
    }
    assert_eq!(told(&stopped, &logs, "loaded.db").len(), 67);
}

#[test]
fn loaded_traces_become_what_the_proxy_has_stored() {
    check(&[]);
}

#[test]
fn so_do_rotated_ones_in_any_order() {
    check(&["--max-bytes", "4000"]);
}

/// Since 2026-07-28 there is no `initialize`: both sides introduce themselves in `_meta`.
#[test]
fn a_stateless_session_has_the_names_of_both_sides() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    stateless(&proxy, &upstream);
    let stopped = proxy.stop();
    let sessions = lines(&stopped, &["sessions", "--json", "--store", "data/store.db"]);
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    let session = &sessions[0];
    assert_eq!((&session["clientName"], &session["clientVersion"]), (&"modern".into(), &"1".into()));
    assert_eq!((&session["serverName"], &session["serverVersion"]), (&"modern-demo".into(), &"4".into()));
    let id = session["id"].as_str().unwrap();
    let command = ["session", id, "--json", "--store", "data/store.db"];
    let output = wiretape(stopped.home()).args(command).output().unwrap();
    let one: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&one["session"]["serverName"], &one["session"]["calls"]), (&"modern-demo".into(), &3.into()));
}

/// Method, tool, id, outcome and duration of a call, as `calls` or `logs` print it.
type Described = (String, Option<String>, String, String, Option<u64>);

fn described(line: &Value, id: &str) -> Described {
    let text = |name: &str| line[name].as_str().map(str::to_owned);
    let id = text(id).unwrap_or_else(|| line[id].to_string());
    (text("method").unwrap(), text("tool"), id, text("status").unwrap(), line["latencyUs"].as_u64())
}

fn lines(stopped: &Stopped, command: &[&str]) -> Vec<Value> {
    let output = wiretape(stopped.home()).args(command).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The store has each call exactly as the analysis of its trace has it, whether the proxy reported it or it was loaded.
#[test]
fn stored_calls_are_those_of_the_traces() {
    let (stopped, traces) = record(&[]);
    // These still differ.
    let is_known = |call: &Described| call.0 == "ping" || matches!(call.1.as_deref(), Some("abandoned"));
    let mut expected = Vec::new();
    for trace in &traces {
        let calls = lines(&stopped, &["calls", trace.to_str().unwrap(), "--json"]);
        expected.extend(calls.iter().filter(|call| call["dir"] == "in").map(|call| described(call, "id")));
    }
    expected.retain(|call| !is_known(call));
    expected.sort();
    let rows = lines(&stopped, &["logs", "-n", "1000", "--json", "--store", "data/store.db"]);
    let is_call = |row: &&Value| {
        let method = row["method"].as_str().unwrap();
        row["kind"] != "http" && !method.is_empty() && !method.starts_with("notifications/")
    };
    let mut stored: Vec<_> = rows.iter().filter(is_call).map(|row| described(row, "requestId")).collect();
    stored.retain(|call| !is_known(call));
    stored.sort();
    assert_eq!(stored, expected);
}
