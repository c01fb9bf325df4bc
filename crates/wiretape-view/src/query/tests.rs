//! The page says of a trace what the other commands say.

use super::calls;
use super::select::{Selections, Sort, TypedFilter};
use super::{Set, detail, info, lines, timeline, tools};
use crate::api::types::{CallRow, Meanwhile};
use crate::trace::OpenTrace;
use parking_lot::Mutex;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use tempfile::NamedTempFile;
use wiretape_analyze::call::Call;
use wiretape_analyze::filter::Filter;
use wiretape_analyze::listing::CallLister;
use wiretape_analyze::reading::RecordingState;
use wiretape_library::TraceState;
use wiretape_trace::compress;
use wiretape_trace::format::{End, TraceReader};

fn open(path: &Path) -> Arc<OpenTrace> {
    let state = TraceState::Ended(End::default());
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let trace = OpenTrace::open(name.clone(), name, path, Arc::new(move || state.clone())).unwrap();
    while !trace.progress().is_complete {
        thread::sleep(Duration::from_millis(1));
    }
    trace
}

fn trace_of(lines: &[&str]) -> (Arc<OpenTrace>, NamedTempFile) {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(lines.join("\n").as_bytes()).unwrap();
    file.write_all(b"\n").unwrap();
    (open(file.path()), file)
}

fn filter(text: &str) -> TypedFilter {
    TypedFilter { text: text.to_owned(), filter: Filter::parse(text).unwrap() }
}

fn rows(set: &Set, text: &str, sort: &str) -> Vec<CallRow> {
    let selections = Selections::default();
    let rows = selections.calls(set, &filter(text), Sort::parse(sort).unwrap()).unwrap();
    calls::page(set, &rows, 0, u64::MAX).unwrap().rows
}

/// What `wiretape calls` lists.
fn listed(path: &Path, text: &str) -> Vec<Call> {
    let mut lister = CallLister::new(Filter::parse(text).unwrap());
    let mut calls = Vec::new();
    let mut reader = TraceReader::new(compress::reader(File::open(path).unwrap()).unwrap());
    while let Some(line) = reader.next_line().unwrap() {
        lister.observe(&line, |call| calls.push(call));
    }
    lister.finish(RecordingState::Over, |call| calls.push(call));
    calls.sort_by_key(|call| call.number);
    calls
}

fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut found = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_trace = path.to_string_lossy().contains(".jsonl");
            if path.is_dir() {
                folders.push(path);
            } else if is_trace {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn calls_are_those_that_the_terminal_lists() {
    let fixtures = fixtures();
    assert!(fixtures.len() > 50, "{} fixtures", fixtures.len());
    for path in fixtures {
        let set = Set { traces: vec![open(&path)] };
        for text in ["", "status:error", "-status:ok", "method:tools/*", "dir:out", "text:o", "id:1,2"] {
            let (shown, listed) = (rows(&set, text, ""), listed(&path, text));
            let numbers: Vec<u64> = shown.iter().map(|row| row.call).collect();
            let expected: Vec<u64> = listed.iter().map(|call| call.number).collect();
            assert_eq!(numbers, expected, "{} {text}", path.display());
            for (row, listed) in shown.iter().zip(&listed) {
                check_row(row, listed, &path);
            }
        }
    }
}

fn check_row(row: &CallRow, call: &Call, path: &Path) {
    let told = (row.line, row.response_line, row.latency_us, row.status.as_str(), row.operation, row.parent);
    let response = call.response.map(|place| place.line);
    let expected =
        (call.request.line, response, call.duration_us, call.outcome.name(), call.operation, call.parent);
    assert_eq!(told, expected, "{} call {}", path.display(), call.number);
    assert_eq!((row.method.as_str(), row.tool.as_deref()), (&*call.method, call.tool.as_deref()));
    assert_eq!((row.request_bytes, row.response_bytes), (call.request_bytes, call.response_bytes));
    assert_eq!(
        (row.progress, row.nested, row.person_us, row.client_us),
        (call.progress, call.nested, call.person_us, call.client_us)
    );
}

/// A request that waits until a trace is read sees the final outcomes of its calls, however soon it asks.
#[test]
fn a_trace_is_complete_when_it_is_known_what_became_of_its_calls() {
    let (began, has_begun) = mpsc::channel();
    let (go, may_go) = mpsc::channel();
    let (began, may_go) = (Mutex::new(began), Mutex::new(may_go));
    let state_of = move || {
        // The first time is before anything is read.
        if thread::current().name() == Some("index") {
            began.lock().send(()).unwrap();
            may_go.lock().recv().unwrap();
        }
        TraceState::Ended(End::default())
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/view/weather.jsonl");
    let trace = OpenTrace::open("w".to_owned(), "w".to_owned(), &path, Arc::new(state_of)).unwrap();
    has_begun.recv().unwrap();
    let held = trace.index();
    go.send(()).unwrap();
    thread::sleep(Duration::from_millis(30));
    assert!(!trace.progress().is_complete, "nothing could be said of open calls yet");
    drop(held);
    while !trace.progress().is_complete {
        thread::sleep(Duration::from_millis(1));
    }
    let set = Set { traces: vec![trace] };
    assert_eq!(rows(&set, "id:6", "")[0].status, "cancelled");
}

const META: &str =
    r#"{"v":1,"type":"meta","startedAt":"2026-05-12T23:00:00.000Z","label":"files","command":["srv"]}"#;

fn message(dir: &str, us: u64, raw: &str) -> String {
    format!(r#"{{"t":"2026-05-12T23:00:00.000Z","dir":"{dir}","seq":1,"us":{us},"raw":{raw}}}"#)
}

#[test]
fn every_line_of_a_file_is_there_as_it_is() {
    let odd = ["", "noise", r#"{"type":"turn","role":"user"}"#, r#"{"type":"stderr","us":3,"text":"oh"}"#];
    let lines: Vec<&str> = [META].into_iter().chain(odd).collect();
    let (trace, _file) = trace_of(&lines);
    let page = lines::raw_page(&trace, 0, 100).unwrap();
    let told: Vec<&str> = page.lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(told, lines);
    let set = Set { traces: vec![trace] };
    let all = Selections::default().lines(&set, &filter("")).unwrap();
    assert_eq!(lines::page(&set, &all, 0, 100).unwrap().rows.len(), lines.len());
}

#[test]
fn a_line_that_was_never_finished_is_there_too() {
    let mut file = NamedTempFile::new().unwrap();
    write!(file, "{META}\r\n{{\"dir\":\"in\",\"ra").unwrap();
    let trace = open(file.path());
    let page = lines::raw_page(&trace, 0, 100).unwrap();
    assert_eq!((page.total, page.lines[1].line, page.lines[1].text.as_str()), (2, 2, "{\"dir\":\"in\",\"ra"));
    assert!(
        trace.notices().iter().any(|notice| notice.contains("cut off after 15 bytes")),
        "{:?}",
        trace.notices()
    );
    let whole = format!("{META}\r\n{{\"type\":\"x\"}}\r\n");
    fs::write(file.path(), whole).unwrap();
    let trace = open(file.path());
    assert_eq!((lines::raw_page(&trace, 0, 100).unwrap().total, trace.torn()), (2, None));
}

#[test]
fn what_came_meanwhile_is_the_same_for_one_call_and_for_all() {
    let mut lines = vec![
        r#"{"v":1,"type":"meta","startedAt":"2026-05-12T23:00:00.000Z","label":"x","command":[]}"#.to_owned(),
    ];
    for id in 0..40 {
        lines.push(format!(r#"{{"us":{id},"dir":"in","raw":{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"a","_meta":{{"progressToken":{id}}}}}}}}}"#));
        lines.push(r#"{"type":"stderr","text":"a line"}"#.to_owned());
        lines.push(format!(r#"{{"dir":"out","raw":{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":1}}}}}}"#));
        lines.push(format!(r#"{{"dir":"out","raw":{{"jsonrpc":"2.0","id":{id},"method":"sampling/createMessage","params":{{}}}}}}"#));
        // Every third call is never answered, and so open until the end.
        if id % 3 != 0 {
            lines.push(format!(r#"{{"dir":"in","raw":{{"jsonrpc":"2.0","id":{id},"result":{{}}}}}}"#));
            lines.push(format!(r#"{{"dir":"out","raw":{{"jsonrpc":"2.0","id":{id},"result":{{}}}}}}"#));
        }
    }
    lines.extend(std::iter::repeat_n(r#"{"type":"stderr","text":"the end"}"#.to_owned(), 1200));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (trace, _file) = trace_of(&lines);
    let companions = detail::Companions::of(&trace.index());
    let set = Set { traces: vec![Arc::clone(&trace)] };
    let rows = rows(&set, "", "");
    assert!(rows.len() >= 80);
    let shown = |(told, more): (Vec<Meanwhile>, u64)| {
        (told.iter().map(|item| (item.line, item.kind)).collect::<Vec<_>>(), more)
    };
    for row in &rows {
        let alone = shown(detail::meanwhile(&trace, row).unwrap());
        assert_eq!(shown(detail::meanwhile_by(&companions, &trace, row).unwrap()), alone, "{}", row.call);
    }
    let first = detail::meanwhile(&trace, &rows[0]).unwrap();
    assert!(first.0.len() == 1000 && first.1 > 200, "{} {}", first.0.len(), first.1);
}

#[test]
fn a_call_has_what_came_meanwhile() {
    let ask = message(
        "in",
        1_000,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":7}}}"#,
    );
    let progress = message(
        "out",
        2_000,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}"#,
    );
    let sample =
        message("out", 3_000, r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}"#);
    let sampled = message("in", 4_000, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    let stderr = r#"{"type":"stderr","us":4500,"text":"hm"}"#;
    let answer = message("out", 5_000, r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
    let (trace, _file) = trace_of(&[META, &ask, &progress, &sample, &sampled, stderr, &answer]);
    let detail = detail::detail(&trace, 0, 1).unwrap().unwrap();
    let kinds: Vec<String> =
        detail.meanwhile.iter().map(|item| format!("{:?} {}", item.kind, item.line)).collect();
    assert_eq!(kinds, ["Progress 3", "Request 4", "Answer 5", "Stderr 6"]);
    assert_eq!(detail.meanwhile[0].after_us, Some(1_000));
    assert_eq!((detail.nested.len(), detail.nested[0].call, detail.nested[0].parent), (1, 2, Some(1)));
    assert_eq!(detail.response.unwrap().text, r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
    assert!(detail::detail(&trace, 0, 9).unwrap().is_none());
}

/// More than fit into a column of text, which once was the limit.
#[test]
fn a_call_has_all_requests_that_the_server_made_during_it() {
    let mut lines = vec![META.to_owned()];
    lines.push(message("in", 0, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#));
    for id in 1..=300 {
        let request =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"sampling/createMessage","params":{{}}}}"#);
        lines.push(message("out", id, &request));
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (trace, _file) = trace_of(&lines);
    assert_eq!(detail::detail(&trace, 0, 1).unwrap().unwrap().nested.len(), 300);
}

/// A session that idles for half a minute before it ends lasts until its end, not until its last message.
#[test]
fn a_trace_lasts_until_its_end_line() {
    let ask = message("in", 1_000, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let answer = message("out", 3_000, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    let end =
        r#"{"t":"2026-05-12T23:00:30.000Z","type":"end","us":30000000,"exitCode":0,"durationMs":30000}"#;
    let (trace, _file) = trace_of(&[META, &ask, &answer, end]);
    let set = Set { traces: vec![trace] };
    let info = info::set_info(&set).unwrap();
    assert_eq!(info.to_us - info.from_us, 30_000_000);
    let call = &rows(&set, "", "")[0];
    assert_eq!((call.status.as_str(), call.latency_us), ("ok", Some(2_000)));
    let session = &super::sessions::sessions(&set).unwrap()[0];
    assert_eq!((session.to_us - session.from_us, session.errors), (29_999_000, 0));
}

/// Of several sessions in one trace, each lasts until its own last line, whether or not that belongs to a call.
#[test]
fn each_session_lasts_until_its_last_line() {
    let line = |us: u64, session: &str, raw: &str| {
        format!(r#"{{"dir":"in","us":{us},"session":"{session}","http":{{"x":{us}}},"raw":{raw}}}"#)
    };
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    let failed = |us: u64, x: u64, session: &str| {
        format!(
            r#"{{"type":"http","us":{us},"session":"{session}","http":{{"x":{x},"response":{{"status":500}},"ended":"complete"}}}}"#
        )
    };
    let lines = [line(10, "a", notice), line(20, "a", ask), failed(25, 20, "a"), line(30, "b", ask)];
    let more = [failed(35, 30, "b"), line(40, "a", notice), line(90, "c", notice)];
    let all: Vec<&str> = std::iter::once(META).chain(lines.iter().chain(&more).map(String::as_str)).collect();
    let (trace, _file) = trace_of(&all);
    let sessions = super::sessions::sessions(&Set { traces: vec![trace] }).unwrap();
    let times: Vec<_> =
        sessions.iter().map(|row| (row.session.as_deref(), row.to_us - row.from_us)).collect();
    assert_eq!(times, [(Some("a"), 30), (Some("b"), 5)]);
}

/// A call without an answer lasts until the server crashed, and so does its session.
#[test]
fn a_crashed_call_lasts_until_the_end_line() {
    let ask = message("in", 1_000, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let end =
        r#"{"t":"2026-05-12T23:00:30.000Z","type":"end","us":30000000,"exitCode":1,"durationMs":30000}"#;
    let (trace, _file) = trace_of(&[META, &ask, end]);
    let set = Set { traces: vec![trace] };
    let call = &rows(&set, "", "")[0];
    assert_eq!((call.status.as_str(), call.latency_us, call.is_error), ("crashed", Some(29_999_000), true));
    let session = &super::sessions::sessions(&set).unwrap()[0];
    assert_eq!((session.to_us - session.from_us, session.errors), (29_999_000, 1));
}

/// The session of an HTTP client starts with the `initialize` whose answer assigned its id: it is one row.
#[test]
fn a_session_starts_with_its_initialize() {
    let http = |dir: &str, us: u64, session: &str, x: u64, raw: &str| {
        format!(r#"{{"dir":"{dir}","us":{us}{session},"http":{{"x":{x}}},"raw":{raw}}}"#)
    };
    let named = r#","session":"s""#;
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"c"}}}"#;
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"v"}}}"#;
    let lines = [
        http("in", 1, "", 1, ask),
        http("out", 2, named, 1, answer),
        http("in", 3, named, 2, r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#),
        http("out", 4, named, 2, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#),
    ];
    let (trace, _file) = trace_of(&[META, &lines[0], &lines[1], &lines[2], &lines[3]]);
    let sessions = super::sessions::sessions(&Set { traces: vec![trace] }).unwrap();
    let told: Vec<_> =
        sessions.iter().map(|row| (row.session.as_deref(), row.client.as_deref(), row.calls)).collect();
    assert_eq!(told, [(Some("s"), Some("c"), 2)]);
    assert_eq!(sessions[0].server.as_deref(), Some("v"));
}

#[test]
fn several_traces_are_merged_by_time() {
    let first = message("in", 1_000, r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#);
    let third = message("in", 3_000, r#"{"jsonrpc":"2.0","id":2,"method":"c"}"#);
    let second = message("in", 2_000, r#"{"jsonrpc":"2.0","id":1,"method":"b"}"#);
    let ((one, _one), (other, _other)) = (trace_of(&[META, &first, &third]), trace_of(&[META, &second]));
    let set = Set { traces: vec![one, other] };
    let methods: Vec<(u32, String)> =
        rows(&set, "", "").into_iter().map(|row| (row.trace, row.method)).collect();
    assert_eq!(methods, [(0, "a".to_owned()), (1, "b".to_owned()), (0, "c".to_owned())]);
    let names: Vec<String> = rows(&set, "", "-name").into_iter().map(|row| row.method).collect();
    assert_eq!(names, ["c", "b", "a"]);
    let told = info::set_info(&set).unwrap();
    assert_eq!(told.to_us - told.from_us, 3_000);
    let density = timeline::density(&set, 3);
    assert_eq!(density.calls, [0, 1, 2]);
    let rows = Selections::default().calls(&set, &filter(""), Sort::default()).unwrap();
    let part = told.from_us + 1_500..=told.from_us + 2_500;
    let bars = timeline::timeline(&set, &rows, &part, 10);
    // The first call has no answer: it lasts until the last line.
    let names: Vec<&str> = bars.bars.iter().map(|bar| bar.name.as_str()).collect();
    assert_eq!((bars.total, names), (2, vec!["a", "b"]));
}

/// Lines that are not messages have times, too: a gap or a rotation is merged where it happened.
#[test]
fn gaps_and_rotations_are_merged_by_their_own_time() {
    let first = message("in", 1_000, r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#);
    let gap = r#"{"t":"2026-05-12T23:00:00.003Z","type":"gap","seq":2,"us":3000,"lost":2,"reason":"full"}"#;
    let rotated =
        r#"{"t":"2026-05-12T23:00:00.005Z","type":"rotated","seq":3,"us":5000,"next":"part-2.jsonl"}"#;
    let other = |us| message("in", us, r#"{"jsonrpc":"2.0","id":1,"method":"b"}"#);
    let ((one, _one), (two, _two)) =
        (trace_of(&[META, &first, gap, rotated]), trace_of(&[META, &other(2_000), &other(4_000)]));
    let set = Set { traces: vec![one, two] };
    let found = Selections::default().lines(&set, &filter("")).unwrap();
    let rows = lines::page(&set, &found, 0, u64::MAX).unwrap().rows;
    let start = rows.iter().map(|row| row.at_us).min().unwrap();
    let told: Vec<(u32, u64, i64)> =
        rows.iter().filter(|row| row.line > 1).map(|row| (row.trace, row.line, row.at_us - start)).collect();
    assert_eq!(told, [(0, 2, 1_000), (1, 2, 2_000), (0, 3, 3_000), (1, 3, 4_000), (0, 4, 5_000)]);
}

#[test]
fn tools_are_listed_whether_or_not_somebody_calls_them() {
    let ask = message("in", 1, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let list = message(
        "out",
        2,
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object"}},{"name":"idle","inputSchema":{"type":"object"}}]}}"#,
    );
    let call = message("in", 3, r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add"}}"#);
    let answer = message("out", 9, r#"{"jsonrpc":"2.0","id":2,"result":{"content":[],"isError":true}}"#);
    let (trace, _file) = trace_of(&[META, &ask, &list, &call, &answer]);
    let report = tools::tools(&Set { traces: vec![trace] }).unwrap();
    let told: Vec<_> =
        report.tools.iter().map(|row| (row.name.as_str(), row.calls, row.errors, row.p95_us)).collect();
    assert_eq!(told, [("add", 1, 1, Some(6)), ("idle", 0, 0, None)]);
    assert!(report.tools[1].definition_tokens.is_some_and(|tokens| tokens > 0));
    assert_eq!(report.methods.len(), 1);
}
