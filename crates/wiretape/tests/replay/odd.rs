//! What can happen to a replay: signals, clients that stop reading, that cancel or that come together, and files that change
//! under it. It never hangs, and says what happened.

use crate::http::{replay, stop};
use crate::raw::{Stream, ask, paced_trace, post, session, trace};
use crate::session::Home;
use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use wiretape_testkit::peer::Peer;
use wiretape_testkit::{bins, process};
use wiretape_trace::message::Direction::{self, ClientToServer, ServerToClient};

/// After this a process is killed and its test fails: generous, for the machine may be busy.
const LIMIT: Duration = Duration::from_secs(60);

const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

const HELLO: &str =
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow"}}"#;
const ERA: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

const SAID: [(Direction, &str); 6] = [
    (ClientToServer, HELLO),
    (ServerToClient, r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}"#),
    (ClientToServer, LIST),
    (ServerToClient, r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#),
    (ClientToServer, CALL),
    (ServerToClient, r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#),
];

/// A client on standard input and output.
struct Client {
    peer: Peer,
    stderr: tempfile::NamedTempFile,
}

impl Client {
    fn start(home: &Home, trace: &Path, options: &[&str]) -> Self {
        let stderr = tempfile::NamedTempFile::new().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_wiretape"));
        command.arg("replay").arg(trace).args(options).env("WIRETAPE_DATA_DIR", home.path("data"));
        command.stderr(Stdio::from(stderr.reopen().unwrap()));
        Client { peer: Peer::spawn(&mut command, LIMIT).unwrap(), stderr }
    }

    fn say(&mut self, line: &str) {
        self.peer.send(format!("{line}\n").as_bytes()).unwrap();
    }

    fn ask(&mut self, line: &str) -> String {
        self.say(line);
        String::from_utf8(self.peer.receive_line().unwrap()).unwrap()
    }

    /// Its exit status, and what it said on standard error.
    fn finish(mut self) -> (Option<i32>, String) {
        self.peer.close_stdin();
        let (status, _) = self.peer.finish().unwrap();
        (status.code(), fs::read_to_string(self.stderr.path()).unwrap())
    }
}

#[test]
fn a_signal_ends_it_with_its_report() {
    for signal in [SIGINT, SIGTERM] {
        let home = Home::new();
        let trace = trace(&home, &SAID);
        let report = home.path("report.json");
        let mut client = Client::start(&home, &trace, &["--report", report.to_str().unwrap()]);
        client.ask(HELLO);
        process::signal(client.peer.pid(), signal).unwrap();
        let (status, _) = client.peer.finish().unwrap();
        let said = fs::read_to_string(client.stderr.path()).unwrap();
        assert_eq!(status.code(), Some(0), "{said}");
        assert!(said.contains("1 of 3 recorded calls used"), "{said}");
        let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
        assert_eq!(report["traces"][0]["used"], 1);
    }
}

#[test]
fn a_signal_ends_the_real_server_too() {
    let home = Home::new();
    let trace = trace(&home, &SAID);
    let (new, server) = (home.path("new.jsonl"), bins::path("wt-echo"));
    let options = ["--on-miss", "passthrough", "--record-new", new.to_str().unwrap(), "--"];
    let options = [&options[..], &[server.to_str().unwrap(), "--mcp"]].concat();
    let mut client = Client::start(&home, &trace, &options);
    client.ask(HELLO);
    let told = client.ask(&CALL.replace("slow", "pid"));
    let told: Value = serde_json::from_str(&told).unwrap();
    let pid = told["result"]["content"][0]["text"].as_str().unwrap().parse().unwrap();
    assert!(process::is_running(pid));
    process::signal(client.peer.pid(), SIGTERM).unwrap();
    let (status, _) = client.peer.finish().unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(!process::is_running(pid));
    assert!(fs::read_to_string(new).unwrap().contains(r#""type":"end""#));
}

#[test]
fn a_client_that_reads_no_more_is_its_end() {
    for options in [&[][..], &["--speed", "1"]] {
        let home = Home::new();
        let trace = trace(&home, &SAID);
        let mut client = Client::start(&home, &trace, options);
        client.ask(HELLO);
        client.peer.close_stdout();
        // It may have gone by then.
        let _ = client.peer.send(format!("{LIST}\n{LIST}\n").as_bytes());
        let (status, _) = client.peer.finish().unwrap();
        assert_eq!(status.code(), Some(0));
    }
}

#[test]
fn a_trace_that_changes_while_it_plays() {
    let home = Home::new();
    let trace = trace(&home, &SAID);

    let mut client = Client::start(&home, &trace, &[]);
    client.ask(HELLO);
    fs::remove_file(&trace).unwrap();
    assert!(client.ask(LIST).contains(r#""tools":[]"#), "an open file stays");
    assert_eq!(client.finish().0, Some(0));

    // More bytes in between than are read ahead.
    let long = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":"{}"}}}}"#,
        "x".repeat(300_000)
    );
    let mut said = SAID.to_vec();
    said.insert(2, (ClientToServer, &long));
    let trace = paced_trace(&home, &said, Duration::from_millis(1));
    let mut client = Client::start(&home, &trace, &[]);
    client.ask(HELLO);
    fs::OpenOptions::new().write(true).open(&trace).unwrap().set_len(100).unwrap();
    let told = client.ask(LIST);
    assert!(told.contains("the recorded response to tools/list can't be read"), "{told}");
    let (status, said) = client.finish();
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("can't read the trace: the file was truncated"), "{said}");
    assert!(said.contains("1 missed"), "{said}");
}

/// What is written after the replay has begun is left alone, though it be the rest of a line.
#[test]
fn a_trace_that_is_still_being_written() {
    let home = Home::new();
    let trace = trace(&home, &SAID);
    let whole = fs::read(&trace).unwrap();
    let cut = whole.len() - 150;
    fs::write(&trace, &whole[..cut]).unwrap();
    let mut client = Client::start(&home, &trace, &[]);
    client.ask(HELLO);
    let mut file = fs::OpenOptions::new().append(true).open(&trace).unwrap();
    file.write_all(&whole[cut..]).unwrap();
    assert!(client.ask(LIST).contains(r#""tools":[]"#));
    let (_, said) = client.finish();
    assert!(said.contains("the last line was cut off"), "{said}");
}

/// A recorder may have seen several sessions, one after the other: their calls are one server's.
#[test]
fn a_trace_of_several_sessions() {
    let home = Home::new();
    let more = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"new"}]}}"#;
    let second = [SAID[0], SAID[1], SAID[2], (ServerToClient, more)];
    let trace = trace(&home, &[&SAID[..], &second].concat());
    let mut client = Client::start(&home, &trace, &["--strict"]);
    for expected in [r#""tools":[]"#, r#""name":"new""#] {
        assert!(client.ask(HELLO).contains("2025-06-18"));
        client.say(READY);
        assert!(client.ask(LIST).contains(expected));
    }
    assert_eq!(client.finish().0, Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_is_no_trace() {
    let home = Home::new();
    let pipe = home.path("pipe.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (status, said) = Client::start(&home, &pipe, &[]).finish();
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("is not a regular file"), "{said}");
}

/// An answer that is an hour away: a client that cancels it need not wait.
const HOUR: Duration = Duration::from_secs(3600);

fn cancel(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
}

#[test]
fn a_call_with_its_pace_is_cancelled_on_standard_input() {
    let home = Home::new();
    let trace = paced_trace(&home, &SAID[4..], HOUR);
    let mut client = Client::start(&home, &trace, &["--speed", "1"]);
    client.say(CALL);
    client.say(&cancel(2));
    let ping = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
    assert!(client.ask(ping).contains(r#""id":3"#));
    assert_eq!(client.finish().0, Some(0));
}

#[test]
fn a_call_with_its_pace_is_cancelled_over_http() {
    let home = Home::new();
    let trace = paced_trace(&home, &SAID[4..], HOUR);
    let service = replay(&home, &[&trace], &["--speed", "1"]);
    let at = service.address();
    let session = session(at, HELLO);
    let call = Stream::open(at, "POST", "/mcp", &[&session], CALL);
    let (ended, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || ended.send(call.rest()));
    // It may come before the call does.
    let heard = loop {
        assert_eq!(post(at, &[&session], &cancel(2)).status, 202);
        if let Ok(heard) = wait.recv_timeout(Duration::from_millis(20)) {
            break heard;
        }
    };
    assert!(!heard.contains("content\":"), "{heard}");

    let headers = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: slow"];
    let stateless = CALL.replace(r#""name":"slow""#, &format!(r#""name":"slow",{ERA}"#));
    let mut call = Stream::open(at, "POST", "/mcp", &headers, &stateless);
    call.until("text/event-stream");
    drop(call);
    // Nobody waits for it.
    stop(service);
}

/// Clients of all eras at once: each has its own place, and its own answers.
#[test]
fn clients_of_all_eras_at_once() {
    let home = Home::new();
    let trace = trace(&home, &SAID);
    let service = replay(&home, &[&trace], &[]);
    let at = service.address();
    std::thread::scope(|scope| {
        for id in 10..14 {
            scope.spawn(move || talk_in_session(at, id));
            scope.spawn(move || talk_over_sse(at, id));
            scope.spawn(move || talk_without_session(at, id));
        }
    });
    let said = stop(service);
    assert!(!said.contains("missed:"), "{said}");
}

fn with_id(message: &str, id: u64) -> String {
    message.replace(r#""id":1"#, &format!(r#""id":{id}"#))
}

fn talk_in_session(at: SocketAddr, id: u64) {
    let session = session(at, HELLO);
    for _ in 0..20 {
        let told = post(at, &[&session], &with_id(LIST, id));
        assert_eq!(told.body, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[]}}}}"#));
    }
}

fn talk_over_sse(at: SocketAddr, id: u64) {
    let mut stream = Stream::open(at, "GET", "/sse", &["Accept: text/event-stream"], "");
    let messages = stream.endpoint();
    for n in 0..20 {
        let id = id * 1000 + n;
        assert_eq!(ask(at, "POST", &messages, &[], &with_id(LIST, id)).status, 202);
        stream.until(&format!(r#""id":{id},"result""#));
    }
}

fn talk_without_session(at: SocketAddr, id: u64) {
    let headers = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list"];
    let list = with_id(LIST, id).replace(r#""tools/list""#, &format!(r#""tools/list","params":{{{ERA}}}"#));
    for _ in 0..20 {
        let told = post(at, &headers, &list);
        assert_eq!(told.body, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[]}}}}"#));
    }
}
