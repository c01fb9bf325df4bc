//! A real server behind the recording, over HTTP: it is asked what was not recorded.

use crate::http::{STREAMABLE, run, stop, stop_with};
use crate::raw::{Stream, ask, post, session, trace};
use crate::servers::wiretape;
use crate::session::{Home, Sdk, parts};
use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};
use wiretape_testkit::service::Service;
use wiretape_testkit::{bins, process};
use wiretape_trace::message::Direction::{ClientToServer, ServerToClient};

const HELLO: &str =
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const PROGRESS: &str = "notifications/progress";

/// A call of a tool of the real server.
fn call(id: u64, tool: &str, more: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}"{more}}}}}"#)
}

/// The same by a client without a session.
fn stateless(id: u64, tool: &str, token: &str) -> String {
    let era = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;
    let meta = format!("{token}{era}");
    call(id, tool, &format!(r#","_meta":{{{meta}}}"#))
}

/// What a client without a session says beside it.
fn headers(tool: &'static str) -> [&'static str; 3] {
    let name = match tool {
        "pid" => "Mcp-Name: pid",
        "count" => "Mcp-Name: count",
        "ask" => "Mcp-Name: ask",
        _ => "Mcp-Name: wait",
    };
    ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", name]
}

/// Plays a trace that has a handshake and nothing else, with a real server behind it that has these options.
fn start(home: &Home, options: &[&str]) -> Service {
    let answer = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}"#;
    let trace = trace(home, &[(ClientToServer, HELLO), (ServerToClient, answer)]);
    let server = bins::path("wt-echo");
    let new = home.path("new.jsonl");
    let mut words = vec!["replay", "--listen", "127.0.0.1:0", trace.to_str().unwrap()];
    words.extend(["--on-miss", "passthrough", "--record-new", new.to_str().unwrap(), "--"]);
    words.extend([server.to_str().unwrap(), "--mcp"]);
    words.extend(options);
    wiretape(home, &words)
}

/// Which process answers.
fn pid(at: SocketAddr, headers: &[&str], call: &str) -> u32 {
    let told = post(at, headers, call);
    let (_, text) = told.body.split_once(r#""text":""#).unwrap_or_else(|| panic!("{}", told.body));
    text.split('"').next().unwrap().parse().unwrap()
}

fn wait_for_end(pid: u32) {
    let start = Instant::now();
    while process::is_running(pid) {
        assert!(start.elapsed() < Duration::from_secs(30), "{pid} was left behind");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn each_session_has_a_server_of_its_own_and_ends_it() {
    let home = Home::new();
    let service = start(&home, &[]);
    let at = service.address();
    let (one, other) = (session(at, HELLO), session(at, HELLO));
    let first = pid(at, &[&one], &call(1, "pid", ""));
    assert_eq!(pid(at, &[&one], &call(2, "pid", "")), first);
    let second = pid(at, &[&other], &call(1, "pid", ""));
    let mut sse = Stream::open(at, "GET", "/sse", &[], "");
    let messages = sse.endpoint();
    assert_eq!(ask(at, "POST", &messages, &[], HELLO).status, 202);
    assert_eq!(ask(at, "POST", &messages, &[], &call(7, "pid", "")).status, 202);
    sse.until(r#""id":7,"#);
    let text = sse.heard.rsplit_once(r#""text":""#).unwrap().1;
    let third: u32 = text.split('"').next().unwrap().parse().unwrap();
    assert_eq!(BTreeSet::from([first, second, third]).len(), 3);
    assert_eq!(ask(at, "DELETE", "/mcp", &[&one], "").status, 200);
    wait_for_end(first);
    drop(sse);
    wait_for_end(third);
    assert!(process::is_running(second));
    let said = stop(service);
    assert!(!process::is_running(second));
    assert!(!said.contains("missed:"), "{said}");
    for name in ["new.jsonl", "new-2.jsonl", "new-3.jsonl"] {
        let new = fs::read_to_string(home.path(name)).unwrap();
        assert!(new.contains(r#""method":"initialize""#) && new.contains(r#""type":"end""#), "{name}: {new}");
    }
    assert!(!home.path("new-4.jsonl").exists());
}

#[test]
fn what_it_says_comes_on_the_stream_of_its_request() {
    let home = Home::new();
    let service = start(&home, &[]);
    let at = service.address();
    let session = session(at, HELLO);
    assert_eq!(post(at, &[&session], READY).status, 202);
    let told = post(at, &[&session], &call(3, "count", r#","_meta":{"progressToken":"mine"}"#));
    assert_eq!(told.header("content-type"), Some("text/event-stream"));
    assert_eq!(told.body.matches(PROGRESS).count(), 3, "{}", told.body);
    assert_eq!(told.body.matches(r#""progressToken":"mine""#).count(), 3, "{}", told.body);
    assert!(told.body.contains(r#""data":"counted""#) && told.body.contains(r#""id":3,"#), "{}", told.body);

    let mut asking = Stream::open(at, "POST", "/mcp", &[&session], &call(4, "ask", ""));
    asking.until("sampling/createMessage");
    let id = asking.heard.split(r#""id":"#).nth(1).unwrap().split(',').next().unwrap().to_owned();
    let reply = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"model":"none","role":"assistant"}}}}"#);
    assert_eq!(post(at, &[&session], &reply).status, 202);
    let heard = asking.rest();
    assert!(heard.contains(r#""id":4,"#) && heard.contains("assistant"), "{heard}");
    stop(service);
    check_plays_again(&home);
}

/// What was new is a trace that answers without the server.
fn check_plays_again(home: &Home) {
    let service = crate::http::replay(home, &[&home.path("new.jsonl")], &[]);
    let at = service.address();
    let session = session(at, HELLO);
    let told = post(at, &[&session], &call(9, "count", r#","_meta":{"progressToken":8}"#));
    assert_eq!(told.body.matches(r#""progressToken":8"#).count(), 3, "{}", told.body);
    assert!(told.body.contains(r#""id":9,"#), "{}", told.body);
    stop(service);
}

#[test]
fn a_call_is_cancelled() {
    let home = Home::new();
    let service = start(&home, &[]);
    let at = service.address();
    let session = session(at, HELLO);
    let mut news = Stream::open(at, "GET", "/mcp", &[&session], "");
    // The server is ready when it has answered something.
    pid(at, &[&session], &call(1, "pid", ""));
    let waiting = Stream::open(at, "POST", "/mcp", &[&session], &call(5, "wait", ""));
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#;
    // It may come before the call does.
    while !news.heard.contains("cancelled") {
        assert_eq!(post(at, &[&session], cancel).status, 202);
        if fs::read_to_string(home.path("new.jsonl")).unwrap().contains("cancelled") {
            news.until("cancelled");
        }
    }
    let heard = waiting.rest();
    assert!(!heard.contains(r#""id":5"#), "{heard}");
    stop(service);
}

#[test]
fn clients_without_a_session_share_a_server() {
    let home = Home::new();
    let service = start(&home, &[]);
    let at = service.address();
    let first = pid(at, &headers("pid"), &stateless(1, "pid", ""));
    assert_eq!(pid(at, &headers("pid"), &stateless(1, "pid", "")), first);
    let count = || {
        let told = post(at, &headers("count"), &stateless(1, "count", r#""progressToken":1,"#));
        assert_eq!(told.body.matches(r#""progressToken":1,"#).count(), 3, "{}", told.body);
        assert!(told.body.contains("three"), "{}", told.body);
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..20).for_each(|_| count()));
        }
    });
    // This revision has no server requests; the server gets an error.
    let told = post(at, &headers("ask"), &stateless(2, "ask", ""));
    assert!(told.body.contains("clients without a session can't receive requests"), "{}", told.body);
    // Closing the stream is cancelling, and nothing else is: another client may use the same id.
    let waiting = Stream::open(at, "POST", "/mcp", &headers("wait"), &stateless(3, "wait", ""));
    wait_for(&home.path("new.jsonl"), r#""name":"wait""#);
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#;
    assert_eq!(post(at, &["MCP-Protocol-Version: 2026-07-28"], cancel).status, 202);
    assert_eq!(pid(at, &headers("pid"), &stateless(1, "pid", "")), first);
    assert!(!fs::read_to_string(home.path("new.jsonl")).unwrap().contains("cancelled"));
    drop(waiting);
    wait_for(&home.path("new.jsonl"), "notifications/cancelled");
    stop(service);
    wait_for_end(first);
}

/// Waits until the output contains a text `times` times.
fn wait_until_said(service: &Service, text: &str, times: usize) {
    let start = Instant::now();
    while service.output().matches(text).count() < times {
        assert!(start.elapsed() < Duration::from_secs(30), "{}", service.output());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Over stdio a message is a line; over HTTP it may have several.
#[test]
fn messages_of_several_lines_are_passed_on() {
    let home = Home::new();
    let service = start(&home, &[]);
    let at = service.address();
    let in_lines = |message: &str| message.replace(',', ",\r\n  ");
    let session = session(at, &in_lines(HELLO));
    let first = pid(at, &[&session], &in_lines(&call(1, "pid", "")));
    assert_eq!(pid(at, &[&session], &call(2, "pid", "")), first);
    stop(service);
    let new = fs::read_to_string(home.path("new.jsonl")).unwrap();
    assert_eq!(new.matches(r#""name":"pid""#).count(), 2, "{new}");
}

fn wait_for(file: &Path, text: &str) {
    let start = Instant::now();
    while !fs::read_to_string(file).unwrap().contains(text) {
        assert!(start.elapsed() < Duration::from_secs(30), "{text} never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn secrets_are_not_recorded() {
    let home = Home::new();
    let service = start(&home, &[]);
    let at = service.address();
    let session = session(at, HELLO);
    let secret = r#","arguments":{"password":"correct horse battery"}"#;
    let told = post(at, &[&session], &call(1, "echo", secret));
    assert!(told.body.contains("correct horse battery"), "{}", told.body);
    stop(service);
    let new = fs::read_to_string(home.path("new.jsonl")).unwrap();
    assert!(new.contains("[REDACTED:") && !new.contains("horse"), "{new}");
}

#[test]
fn a_server_that_goes_away_is_told() {
    let home = Home::new();
    // `initialize`, `initialized` and one call.
    let service = start(&home, &["--after", "3"]);
    let at = service.address();
    let session = session(at, HELLO);
    let gone = "can't forward to the real server: it has exited";
    let told = post(at, &[&session], &call(1, "wait", ""));
    assert!(told.body.contains(gone), "{}", told.body);
    let told = post(at, &[&session], &call(2, "pid", ""));
    assert!(told.body.contains(gone), "{}", told.body);
    wait_until_said(&service, gone, 2);
    stop_with(service, 1);
}

#[test]
fn what_cannot_be_recorded_is_told() {
    let home = Home::new();
    let service = start(&home, &[]);
    let at = service.address();
    let (one, other) = (session(at, HELLO), session(at, HELLO));
    pid(at, &[&one], &call(1, "pid", ""));
    fs::remove_dir_all(home.path("")).unwrap();
    // The first has its file.
    pid(at, &[&one], &call(2, "pid", ""));
    pid(at, &[&other], &call(1, "pid", ""));
    wait_until_said(&service, "can't record the real server's messages", 1);
    stop_with(service, 2);
}

/// A real client can't tell which answers were recorded.
#[test]
fn features_with_a_real_client() {
    let Some(parts) = parts() else { return };
    for (sdk, transport) in [(Sdk::TypeScript, STREAMABLE), (Sdk::Python, ("sse", "/sse"))] {
        let home = Home::new();
        let recorded = home.record(&parts, sdk, "features");
        let trace = home.trace();
        // Of the first calls there is a recording.
        let text = fs::read_to_string(&trace).unwrap();
        let upto = text.find(r#""method":"tools/call""#).unwrap();
        let upto = text[..upto].rfind('\n').unwrap() + 1;
        let beginning = home.path("beginning.jsonl");
        fs::write(&beginning, &text[..upto]).unwrap();
        let server = parts.server_everything();
        let mut words = vec!["replay", "--listen", "127.0.0.1:0", beginning.to_str().unwrap()];
        words.extend(["--on-miss", "passthrough", "--", server.get_program().to_str().unwrap()]);
        words.extend(server.get_args().map(|word| word.to_str().unwrap()));
        let service = wiretape(&home, &words);
        let live = run(&home, &parts, sdk, transport, service.address(), "features");
        let said = stop(service);
        assert!(!said.contains("missed:"), "{said}");
        live.check_same(&recorded);
    }
}
