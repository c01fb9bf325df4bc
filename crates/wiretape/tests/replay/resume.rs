//! Streams that are lost, and resumed by the id of the last event.

use crate::http::{STREAMABLE, replay, run, stop};
use crate::raw::{Stream, ask, post, session, trace};
use crate::servers::{everything, wiretape};
use crate::session::{Home, Sdk, parts};
use std::net::SocketAddr;
use wiretape_testkit::service::Service;
use wiretape_trace::message::Direction::{self, ClientToServer, ServerToClient};

const HELLO: &str =
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const CALL: &str =
    r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"add","_meta":{"progressToken":5}}}"#;
const NEWEST: &str = "MCP-Protocol-Version: 2025-11-25";
const OLDER: &str = "MCP-Protocol-Version: 2025-06-18";
const GET: &str = "Accept: text/event-stream";

/// A call with progress, and news between calls.
const SAID: [(Direction, &str); 8] = [
    (ClientToServer, HELLO),
    (ServerToClient, r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}"#),
    (ClientToServer, READY),
    (ServerToClient, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#),
    (ClientToServer, CALL),
    (
        ServerToClient,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":1}}"#,
    ),
    (
        ServerToClient,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":2}}"#,
    ),
    (ServerToClient, r#"{"jsonrpc":"2.0","id":5,"result":{"content":[]}}"#),
];

const ANSWER: &str = r#""id":5,"result""#;

fn start(home: &Home, options: &[&str]) -> Service {
    let trace = trace(home, &SAID);
    replay(home, &[&trace], options)
}

/// The ids of the events in what was heard.
fn ids(heard: &str) -> Vec<String> {
    heard.lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_owned).collect()
}

/// Resumes a stream and reads it to its end.
fn resume(at: SocketAddr, session: &str, last: &str) -> String {
    let answer = ask(at, "GET", "/mcp", &[session, NEWEST, GET, &format!("Last-Event-ID: {last}")], "");
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

#[test]
fn what_followed_on_a_stream_is_sent_again() {
    let home = Home::new();
    let service = start(&home, &[]);
    let at = service.address();
    let session = session(at, HELLO);
    let told = post(at, &[&session, NEWEST], CALL);
    let ids = ids(&told.body);
    assert_eq!(ids.len(), 4, "a priming event, two of progress and the answer: {}", told.body);
    let priming = format!("id: {}\ndata: \n\n", ids[0]);
    assert!(told.body.contains(&priming), "{}", told.body);
    for (missed, last) in [(3, 0), (2, 1), (1, 2), (0, 3)] {
        let rest = resume(at, &session, &ids[last]);
        assert_eq!(rest.matches("event: message").count(), missed, "{rest}");
        assert_eq!(rest.contains(ANSWER), missed > 0, "{rest}");
    }
    for unknown in ["nonsense", "99-1"] {
        let last = format!("Last-Event-ID: {unknown}");
        assert_eq!(ask(at, "GET", "/mcp", &[&session, NEWEST, GET, &last], "").status, 400);
    }
    stop(service);
}

/// The ids are unique in a session, and older clients are spared what they don't know.
#[test]
fn streams_of_a_session_have_ids_of_their_own() {
    let home = Home::new();
    let service = start(&home, &[]);
    let at = service.address();
    let session = session(at, HELLO);
    let mut all: Vec<String> = Vec::new();
    for (version, expected) in [(OLDER, 3), (NEWEST, 4), (OLDER, 3)] {
        let told = post(at, &[&session, version], CALL);
        let ids = ids(&told.body);
        assert_eq!(ids.len(), expected, "{}", told.body);
        assert_eq!(told.body.contains("data: \n\n"), version == NEWEST, "{}", told.body);
        all.extend(ids);
    }
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
    stop(service);
}

#[test]
fn without_a_session_there_is_nothing_to_resume() {
    let home = Home::new();
    let service = start(&home, &[]);
    let at = service.address();
    let call = CALL.replace(
        r#""_meta":{"#,
        r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"#,
    );
    let headers = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: add"];
    let told = post(at, &headers, &call);
    assert!(told.body.contains(ANSWER) && ids(&told.body).is_empty(), "{}", told.body);
    let mut sse = Stream::open(at, "GET", "/sse", &[GET], "");
    let messages = sse.endpoint();
    assert_eq!(ask(at, "POST", &messages, &[], HELLO).status, 202);
    assert_eq!(ask(at, "POST", &messages, &[], CALL).status, 202);
    sse.until(ANSWER);
    assert!(ids(&sse.heard).is_empty(), "{}", sse.heard);
    stop(service);
}

#[test]
fn news_between_calls_are_not_lost_with_their_stream() {
    let home = Home::new();
    let service = start(&home, &[]);
    let at = service.address();
    let session = session(at, HELLO);
    let mut first = Stream::open(at, "GET", "/mcp", &[&session, NEWEST, GET], "");
    first.until("data: \n\n");
    let priming = ids(&first.heard).remove(0);
    drop(first);
    assert_eq!(post(at, &[&session, NEWEST], READY).status, 202);
    let last = format!("Last-Event-ID: {priming}");
    let mut second = Stream::open(at, "GET", "/mcp", &[&session, NEWEST, GET, &last], "");
    second.until("list_changed");
    assert_eq!(ask(at, "DELETE", "/mcp", &[&session], "").status, 200);
    second.rest();
    stop(service);
}

/// A slow call continues without a client, and a client that resumes it receives the rest as it arrives.
#[test]
fn a_call_goes_on_without_its_client() {
    let home = Home::new();
    let service = start(&home, &["--fault", "tool:add delay=300ms"]);
    let at = service.address();
    let session = session(at, HELLO);
    let mut first = Stream::open(at, "POST", "/mcp", &[&session, NEWEST], CALL);
    first.until(r#""progress":1"#);
    // After the priming event and the first of progress.
    let last = ids(&first.heard).remove(1);
    drop(first);
    let rest = resume(at, &session, &last);
    assert!(rest.contains(ANSWER), "{rest}");
    stop(service);
}

#[test]
fn what_a_fault_breaks_off_is_there_for_whoever_resumes() {
    for fault in ["truncate", "disconnect"] {
        let home = Home::new();
        let service = start(&home, &["--fault", &format!("tool:add {fault}")]);
        let at = service.address();
        let session = session(at, HELLO);
        let quiet = CALL.replace(r#","_meta":{"progressToken":5}"#, "");
        for call in [CALL, &quiet] {
            let told = post(at, &[&session, NEWEST], call);
            assert!(!told.body.contains(r#""content":[]}}"#), "{fault}: {}", told.body);
            assert!(!told.body.ends_with("0\r\n\r\n"), "{fault}: it ended in order");
            let heard = ids(&told.body);
            let last = if fault == "truncate" { heard.len() - 2 } else { heard.len() - 1 };
            let rest = resume(at, &session, &heard[last]);
            assert!(rest.contains(r#""content":[]}}"#), "{fault}: {rest}");
        }
        stop(service);
    }
}

/// The SDK resumes by itself, and on request.
#[test]
fn a_real_client_resumes() {
    let Some(parts) = parts() else { return };
    let home = Home::new();
    let server = everything(&parts, "streamableHttp");
    let upstream = format!("http://{}", server.address());
    let proxy = wiretape(
        &home,
        &["proxy", "--no-redact", "--listen", "127.0.0.1:0", "--upstream", &upstream, "--drain", "5s"],
    );
    let recorded = run(&home, &parts, Sdk::TypeScript, STREAMABLE, proxy.address(), "resume");
    assert!(proxy.stop().unwrap().success());
    let trace = home.traces().into_iter().max_by_key(|trace| trace.metadata().unwrap().len()).unwrap();
    // With its pace: otherwise there is nothing to be missed.
    let service = replay(&home, &[&trace], &["--speed", "1"]);
    let replayed = run(&home, &parts, Sdk::TypeScript, STREAMABLE, service.address(), "resume");
    stop(service);
    replayed.check_same(&recorded);

    let faults = ["--fault", "tool:echo disconnect"];
    let features = Home::new();
    let recorded = features.record(&parts, Sdk::TypeScript, "features");
    let service = replay(&features, &[&features.trace()], &faults);
    let replayed = run(&features, &parts, Sdk::TypeScript, STREAMABLE, service.address(), "features");
    let said = stop(service);
    assert!(said.contains("injected fault (disconnect): tools/call echo"), "{said}");
    replayed.check_same(&recorded);
}
