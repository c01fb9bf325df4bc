//! HTTP as it stands on the wire, from clients that are no SDK's.

use crate::http::replay;
use crate::session::Home;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use wiretape_testkit::service::Service;
use wiretape_trace::format::{LineEnd, Meta, Moment, TraceWriter};
use wiretape_trace::message::Direction::{self, ClientToServer, ServerToClient};

/// A trace of these messages.
fn trace(home: &Home, said: &[(Direction, &str)]) -> PathBuf {
    let path = home.path("trace.jsonl");
    let meta = Meta { label: "wire".to_owned(), ..Meta::default() };
    let at = |us| Moment { wall_ms: 1_778_626_800_000, us };
    let mut writer = TraceWriter::new(Vec::new(), at(0), &meta).unwrap();
    for ((dir, raw), us) in said.iter().zip((1..).map(|n| n * 1000)) {
        writer.message(at(us), *dir, raw.as_bytes()).unwrap();
    }
    std::fs::write(&path, writer.end(at(1_000_000), &LineEnd::default()).unwrap()).unwrap();
    path
}

const HELLO: &str =
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const ADD: &str =
    r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"add","_meta":{"progressToken":5}}}"#;
const STATELESS: &str = r#"{"jsonrpc":"2.0","id":6,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;

const SAID: [(Direction, &str); 9] = [
    (ClientToServer, HELLO),
    (ServerToClient, r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}"#),
    (ClientToServer, READY),
    (ServerToClient, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#),
    (ClientToServer, ADD),
    (
        ServerToClient,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":1}}"#,
    ),
    (ServerToClient, r#"{"jsonrpc":"2.0","id":5,"result":{"content":[]}}"#),
    (ClientToServer, STATELESS),
    (ServerToClient, r#"{"jsonrpc":"2.0","id":6,"result":{"tools":[],"resultType":"complete"}}"#),
];

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}:")))?;
        Some(line.split_once(':')?.1.trim())
    }
}

/// Sends a request and reads what comes until the connection ends.
fn ask(at: SocketAddr, method: &str, target: &str, headers: &[&str], body: &str) -> Answer {
    let mut stream = open(at, method, target, headers, body);
    let mut bytes = Vec::new();
    // A connection that is broken on purpose may end in an error.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

fn open(at: SocketAddr, method: &str, target: &str, headers: &[&str], body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    let host = if headers.iter().any(|header| header.starts_with("Host:")) {
        String::new()
    } else {
        format!("Host: {at}\r\n")
    };
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "{method} {target} HTTP/1.1\r\n{host}{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn post(at: SocketAddr, headers: &[&str], body: &str) -> Answer {
    ask(at, "POST", "/mcp", headers, body)
}

fn start(home: &Home, options: &[&str]) -> Service {
    let trace = trace(home, &SAID);
    replay(home, &[&trace], options)
}

/// Begins a session, and gives the header that belongs to it.
fn session(at: SocketAddr) -> String {
    let hello = post(at, &[], HELLO);
    assert_eq!(hello.status, 200, "{}", hello.body);
    format!("Mcp-Session-Id: {}", hello.header("mcp-session-id").unwrap())
}

#[test]
fn sessions_begin_and_end() {
    let home = Home::new();
    let service = start(&home, &[]);
    let at = service.address();
    let session = session(at);
    assert_eq!(post(at, &[&session], READY).status, 202);
    let add = post(at, &[&session], ADD);
    assert_eq!((add.status, add.header("content-type")), (200, Some("text/event-stream")));
    assert!(
        add.body.contains("notifications/progress") && add.body.contains(r#""id":5,"result""#),
        "{}",
        add.body
    );
    let quiet = post(at, &[&session], &ADD.replace(r#","_meta":{"progressToken":5}"#, ""));
    assert_eq!(quiet.header("content-type"), Some("application/json"));
    let mut stream = open(at, "GET", "/mcp", &[&session, "Accept: text/event-stream"], "");
    let mut heard = String::new();
    while !heard.contains("list_changed") {
        let mut chunk = [0; 1000];
        let n = stream.read(&mut chunk).unwrap();
        assert!(n > 0, "{heard}");
        heard.push_str(std::str::from_utf8(&chunk[..n]).unwrap());
    }
    assert_eq!(ask(at, "DELETE", "/mcp", &[&session], "").status, 200);
    assert_eq!(post(at, &[&session], ADD).status, 404);
    assert_eq!(ask(at, "GET", "/mcp", &[&session], "").status, 404);
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert!(service.stop().unwrap().success());
}

#[test]
fn clients_without_sessions_are_answered_too() {
    let home = Home::new();
    let service = start(&home, &[]);
    let at = service.address();
    let header = "MCP-Protocol-Version: 2026-07-28";
    let list = post(at, &[header, "Mcp-Method: tools/list"], STATELESS);
    assert_eq!((list.status, list.header("mcp-session-id")), (200, None));
    assert!(list.body.contains("resultType"), "{}", list.body);
    assert_eq!(ask(at, "GET", "/mcp", &[header], "").status, 405);
    assert_eq!(ask(at, "DELETE", "/mcp", &[header], "").status, 405);
    assert_eq!(ask(at, "PUT", "/mcp", &[], "").status, 405);
    assert_eq!(post(at, &["MCP-Protocol-Version: 1999-01-01"], STATELESS).status, 400);
    assert_eq!(ask(at, "POST", "/other", &[], ADD).status, 404);
    assert!(service.stop().unwrap().success());
}

#[test]
fn clients_of_an_older_server_fall_back() {
    let home = Home::new();
    let trace = trace(&home, &SAID[..7]);
    let service = replay(&home, &[&trace], &[]);
    let discover = STATELESS.replace("tools/list", "server/discover");
    let told = post(service.address(), &["MCP-Protocol-Version: 2026-07-28"], &discover);
    assert!(told.status == 404 && told.body.contains("-32601"), "{} {}", told.status, told.body);
    assert!(service.stop().unwrap().success());
}

#[test]
fn pages_on_the_web_are_not_answered() {
    let home = Home::new();
    let service = start(&home, &["--allow-origin", "https://inspector.example"]);
    let at = service.address();
    let check =
        |headers: &[&str], expected| assert_eq!(post(at, headers, HELLO).status, expected, "{headers:?}");
    check(&["Host: rebound.example"], 403);
    check(&["Origin: https://evil.example"], 403);
    check(&["Origin: null"], 403);
    check(&["Origin: https://inspector.example"], 200);
    assert!(service.stop().unwrap().success());
}

#[test]
fn the_stream_of_sse_names_the_path_for_messages() {
    let home = Home::new();
    let service = start(&home, &[]);
    let at = service.address();
    let mut stream = open(at, "GET", "/sse", &["Accept: text/event-stream"], "");
    let mut heard = String::new();
    let mut listen = |heard: &mut String, until: &str| {
        while !heard.contains(until) {
            let mut chunk = [0; 1000];
            let n = stream.read(&mut chunk).unwrap();
            assert!(n > 0, "{heard}");
            heard.push_str(std::str::from_utf8(&chunk[..n]).unwrap());
        }
    };
    listen(&mut heard, "/messages?sessionId=");
    listen(&mut heard, "\n\n");
    let path = heard.split("data: ").nth(1).unwrap().lines().next().unwrap().to_owned();
    assert_eq!(ask(at, "POST", &path, &[], HELLO).status, 202);
    listen(&mut heard, r#""id":0,"result""#);
    assert_eq!(ask(at, "POST", "/messages?sessionId=nobody", &[], HELLO).status, 404);
    assert!(service.stop().unwrap().success());
}

#[test]
fn faults_break_connections() {
    let home = Home::new();
    for fault in ["truncate", "disconnect"] {
        let service = start(&home, &["--fault", &format!("method:tools/list {fault}")]);
        let told = post(service.address(), &[], STATELESS);
        assert!(!told.body.contains("resultType"), "{fault}: {}", told.body);
        assert!(service.stop().unwrap().success());
    }
}

#[test]
fn a_miss_shows_in_the_exit_status() {
    let home = Home::new();
    let service = start(&home, &[]);
    let other = ADD.replace("add", "sub");
    let told = post(service.address(), &[], &other);
    assert!(told.body.contains("no recorded call asks this"), "{}", told.body);
    let status = service.stop().unwrap();
    assert_eq!(status.code(), Some(1));
}
