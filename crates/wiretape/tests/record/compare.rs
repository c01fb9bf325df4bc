//! The same session with a real server, recorded twice and compared.

use crate::real_parts::{parts, words};
use crate::session::{Home, Session, traces_in};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use wiretape_analyze::definitions::{Collector, Definitions, ListKind};
use wiretape_analyze::drift::{Baseline, compare};
use wiretape_analyze::reading::{Reading, RecordingState};
use wiretape_trace::format::TraceReader;

/// Asks, and waits for the answer.
fn ask(session: &mut Session, id: u32, method: &str, params: &Value) {
    let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    session.send(format!("{request}\n"));
    loop {
        let message: Value = serde_json::from_str(&session.receive_line()).unwrap();
        if message["id"] == id && message.get("method").is_none() {
            return;
        }
    }
}

/// Records a session with server-everything, in which one tool gets this message. Its number differs from run to run, as
/// tokens do.
fn record(home: &Home, server: &[std::ffi::OsString], number: usize, message: &str) {
    let mut session = home.start(&[], server);
    let client = json!({"name": "compare", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    ask(&mut session, 0, "initialize", &hello);
    session.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    for (id, method) in
        [(1, "tools/list"), (2, "prompts/list"), (3, "resources/list"), (4, "resources/templates/list")]
    {
        ask(&mut session, id, method, &json!({}));
    }
    let sum = json!({"name": "get-sum", "arguments": {"a": 1, "b": 2}, "_meta": {"progressToken": number}});
    ask(&mut session, 5, "tools/call", &sum);
    ask(&mut session, 6, "tools/call", &json!({"name": "echo", "arguments": {"message": message}}));
    ask(&mut session, 7, "prompts/get", &json!({"name": "simple-prompt"}));
    ask(&mut session, 8, "tools/call", &json!({"name": "no-such-tool", "arguments": {}}));
    assert_eq!(session.end().code, Some(0));
}

fn definitions(trace: &Path) -> Definitions {
    let mut reader = TraceReader::new(fs::File::open(trace).unwrap());
    let mut reading = Reading::new(Collector::new());
    while let Some(line) = reader.next_line().unwrap() {
        reading.observe(&line);
    }
    reading.finish(RecordingState::Over).finish()
}

#[test]
fn the_same_session_twice_is_the_same() {
    let Some(parts) = parts() else { return };
    let server = words(&parts.server_everything());
    let home = Home::new();
    for (number, message) in ["hello", "hello", "goodbye"].into_iter().enumerate() {
        record(&home, &server, number, message);
    }
    let traces = traces_in(&home.traces_dir());
    let [first, second, third] = &traces[..] else { panic!("{traces:?}") };
    let diff = |one: &Path, other: &Path| {
        let output = home.wiretape().args(["diff", "--json"]).args([one, other]).output().unwrap();
        let lines = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (output.status.code(), lines)
    };
    let (code, lines) = diff(first, second);
    assert_eq!(
        (code, &lines[0]["same"], &lines[0]["definitions"]),
        (Some(0), &json!(9), &json!(0)),
        "{lines:?}"
    );
    let (code, lines) = diff(second, third);
    let changed: Vec<&Value> = lines.iter().filter(|line| line["status"] == "changed").collect();
    assert_eq!((code, changed.len(), &lines[0]["same"]), (Some(1), 1, &json!(8)), "{lines:?}");
    assert_eq!(changed[0]["name"], "echo");
    let pointers: Vec<&str> = changed[0]["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|difference| difference["pointer"].as_str().unwrap())
        .collect();
    assert_eq!(pointers, ["/arguments/message", "/content/0/text"]);
    check_baseline(&home, first, second);
}

/// What was pinned by one recording has not drifted in the next.
fn check_baseline(home: &Home, first: &Path, second: &Path) {
    let file = home.path("baseline.json");
    let output = home.wiretape().arg("baseline").arg(first).arg("-o").arg(&file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let baseline = Baseline::parse(&fs::read(&file).unwrap()).unwrap();
    assert!(baseline.definitions.lists[&ListKind::Tools].entries.len() > 5);
    let drift = compare(&baseline.definitions, &definitions(second));
    assert_eq!((drift.changes, drift.unseen, drift.partial), (vec![], vec![], vec![]));
    let again = Baseline { definitions: definitions(second) };
    assert_eq!(again.to_bytes(), fs::read(&file).unwrap());
}
