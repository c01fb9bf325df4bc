//! HTTP as it is on the wire.

use crate::http::replay;
use crate::raw::{Stream, ask, post, session, trace};
use crate::session::Home;
use wiretape_testkit::service::Service;
use wiretape_trace::message::Direction::{self, ClientToServer, ServerToClient};

const HELLO: &str =
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const ADD: &str =
    r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"add","_meta":{"progressToken":5}}}"#;
/// Nothing is said but its answer.
const LIST: &str = r#"{"jsonrpc":"2.0","id":7,"method":"prompts/list","params":{}}"#;
const STATELESS: &str = r#"{"jsonrpc":"2.0","id":6,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const NEWEST: [&str; 2] = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list"];

const SAID: [(Direction, &str); 11] = [
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
    (ClientToServer, LIST),
    (ServerToClient, r#"{"jsonrpc":"2.0","id":7,"result":{"prompts":[]}}"#),
    (ClientToServer, STATELESS),
    (ServerToClient, r#"{"jsonrpc":"2.0","id":6,"result":{"tools":[],"resultType":"complete"}}"#),
];

fn start(home: &Home, options: &[&str]) -> Service {
    let trace = trace(home, &SAID);
    replay(home, &[&trace], options)
}

#[test]
fn sessions_begin_and_end() {
    let home = Home::new();
    let service = start(&home, &[]);
    let at = service.address();
    let session = session(at, HELLO);
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
    let mut stream = Stream::open(at, "GET", "/mcp", &[&session, "Accept: text/event-stream"], "");
    stream.until("list_changed");
    assert_eq!(ask(at, "DELETE", "/mcp", &[&session], "").status, 200);
    assert_eq!(post(at, &[&session], ADD).status, 404);
    assert_eq!(ask(at, "GET", "/mcp", &[&session], "").status, 404);
    stream.rest();
    assert!(service.stop().unwrap().success());
}

#[test]
fn clients_without_sessions_are_answered_too() {
    let home = Home::new();
    let service = start(&home, &[]);
    let at = service.address();
    let header = "MCP-Protocol-Version: 2026-07-28";
    let list = post(at, &NEWEST, STATELESS);
    assert_eq!((list.status, list.header("mcp-session-id")), (200, None));
    assert!(list.body.contains("resultType"), "{}", list.body);
    assert_eq!(ask(at, "GET", "/mcp", &[header], "").status, 405);
    assert_eq!(ask(at, "DELETE", "/mcp", &[header], "").status, 405);
    assert_eq!(ask(at, "PUT", "/mcp", &[], "").status, 405);
    assert_eq!(ask(at, "POST", "/other", &[], ADD).status, 404);
    assert!(service.stop().unwrap().success());
}

#[test]
fn clients_of_an_older_server_fall_back() {
    let home = Home::new();
    let trace = trace(&home, &SAID[..7]);
    let service = replay(&home, &[&trace], &[]);
    let discover = STATELESS.replace("tools/list", "server/discover");
    let headers = [NEWEST[0], "Mcp-Method: server/discover"];
    let told = post(service.address(), &headers, &discover);
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
    let mut stream = Stream::open(at, "GET", "/sse", &["Accept: text/event-stream"], "");
    let path = stream.endpoint();
    assert_eq!(ask(at, "POST", &path, &[], HELLO).status, 202);
    stream.until(r#""id":0,"result""#);
    assert_eq!(ask(at, "POST", "/messages?sessionId=nobody", &[], HELLO).status, 404);
    assert!(service.stop().unwrap().success());
}

#[test]
fn faults_break_connections() {
    let home = Home::new();
    for fault in ["truncate", "disconnect"] {
        let service = start(&home, &["--fault", &format!("method:tools/list {fault}")]);
        let told = post(service.address(), &NEWEST, STATELESS);
        assert!(!told.body.contains("resultType"), "{fault}: {}", told.body);
        assert!(service.stop().unwrap().success());
    }
}

#[test]
fn a_miss_shows_in_the_exit_status() {
    let home = Home::new();
    let service = start(&home, &[]);
    let other = ADD.replace("add", "sub");
    let session = session(service.address(), HELLO);
    let told = post(service.address(), &[&session], &other);
    assert!(told.body.contains("no recorded call matches"), "{}", told.body);
    let status = service.stop().unwrap();
    assert_eq!(status.code(), Some(1));
}

/// What each server refuses by itself, it is refused here as there.
#[test]
fn what_is_wrong_is_refused_as_servers_do() {
    let home = Home::new();
    let service = start(&home, &[]);
    let at = service.address();
    let session = session(at, HELLO);
    let check = |headers: &[&str], body: &str, status: u16, code: &str| {
        let told = post(at, headers, body);
        assert_eq!(told.status, status, "{headers:?} {body}: {}", told.body);
        assert!(told.body.contains(code), "{headers:?} {body}: {}", told.body);
    };
    check(&[], READY, 400, "Mcp-Session-Id is missing");
    for request in [ADD, LIST] {
        check(&[], request, 400, "Mcp-Session-Id is missing");
        check(&["Mcp-Session-Id: nobody"], request, 404, "-32001");
        check(&[&session, "MCP-Protocol-Version: 1999-01-01"], request, 400, "unsupported protocol version");
        check(&[&session, NEWEST[0]], request, 400, "-32602");
        check(&[&session, "Content-Type: text/plain"], request, 415, "application/json");
        check(&[&session, "Content-Type:"], request, 415, "application/json");
        check(&[&session, "Accept: application/json"], request, 406, "text/event-stream");
        check(&[&session, "Accept:"], request, 200, r#""result""#);
        check(&[&session, "MCP-Protocol-Version: 2025-11-25"], request, 200, r#""result""#);
    }
    check(&[&session, NEWEST[0], NEWEST[1]], STATELESS, 200, r#""resultType""#);
    check(&[&session], &LIST.replace(r#""id":7"#, r#""id": "seven""#), 200, r#""id":"seven","result""#);
    check(&[&session], "what?", 400, "-32700");
    check(&[&session], "", 400, "-32700");
    check(&[&session], "{}", 400, "-32600");
    let batch = format!("[{ADD}]");
    check(&[&session], &batch, 200, r#""id":5,"result""#);
    check(&[&session, "MCP-Protocol-Version: 2025-06-18"], &batch, 400, "-32600");
    check(&[&session], &format!("[{HELLO}]"), 400, "can't be in a batch");
    let [version, method] = NEWEST;
    check(&[version], STATELESS, 400, r#""id":6,"error":{"code":-32020"#);
    check(&[version, "Mcp-Method: tools/call"], STATELESS, 400, "-32020");
    check(&["MCP-Protocol-Version: 2025-11-25", method], STATELESS, 400, "-32020");
    let future = STATELESS.replace("2026-07-28", "2099-01-01");
    check(
        &["MCP-Protocol-Version: 2099-01-01", method],
        &future,
        400,
        r#"-32022,"data":{"requested":"2099-01-01""#,
    );
    let bare = STATELESS.replace("io.modelcontextprotocol/clientCapabilities", "other");
    check(&[version, method], &bare, 400, "-32602");
    let removed = STATELESS.replace("tools/list", "initialize");
    check(&[version, "Mcp-Method: initialize"], &removed, 404, "-32601");
    let get = |headers: &[&str]| ask(at, "GET", "/mcp", headers, "").status;
    assert_eq!(get(&[&session, "Accept: application/json"]), 406);
    assert_eq!(get(&[]), 400);
    assert_eq!(ask(at, "DELETE", "/mcp", &[], "").status, 400);
    assert!(service.stop().unwrap().success());
}

/// A browser asks first, and shows a page only what it may see.
#[test]
fn pages_that_are_let_in_can_ask() {
    let home = Home::new();
    let service = start(&home, &["--allow-origin", "https://inspector.example"]);
    let at = service.address();
    let origin = "Origin: https://inspector.example";
    let first = ask(at, "OPTIONS", "/mcp", &[origin, "Access-Control-Request-Method: POST"], "");
    assert_eq!(first.status, 204);
    let hello = post(at, &[origin], HELLO);
    for answer in [&first, &hello] {
        assert_eq!(answer.header("access-control-allow-origin"), Some("https://inspector.example"));
    }
    assert_eq!(hello.header("access-control-expose-headers"), Some("Mcp-Session-Id"));
    assert_eq!(post(at, &[], HELLO).header("access-control-allow-origin"), None);
    assert_eq!(ask(at, "OPTIONS", "/mcp", &["Origin: https://evil.example"], "").status, 403);
    assert!(service.stop().unwrap().success());
}
