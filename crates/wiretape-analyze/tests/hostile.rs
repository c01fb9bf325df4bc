//! Hostile traces: reading them terminates, with time and memory bounded by their pending calls.

#![allow(clippy::unwrap_used, reason = "a test that can't go on should say so at once")]

use wiretape_analyze::definitions::Collector;
use wiretape_analyze::export::{self, ExportOptions, Survey};
use wiretape_analyze::filter::Filter;
use wiretape_analyze::lint::{LintOptions, Linter, rules};
use wiretape_analyze::listing::{CallLister, HELD};
use wiretape_analyze::reading::{Reading, RecordingState};
use wiretape_analyze::stats::ToolStats;
use wiretape_analyze::summary::TraceSummary;
use wiretape_analyze::toolbox::Toolbox;
use wiretape_trace::format::{Line, parse_line};

/// How many requests a trace has that has many.
const MANY: u64 = 30_000;

/// Shows the lines to all who look, and returns how many calls were listed.
fn look(lines: impl Iterator<Item = String>) -> u64 {
    let mut listed = 0;
    let analyses = ((ToolStats::new(), Toolbox::new()), (Collector::new(), TraceSummary::new()));
    let mut reading = Reading::new(analyses);
    let mut lister = CallLister::new(Filter::parse("!text:nowhere").unwrap());
    for (number, line) in (1..).zip(lines) {
        let bytes = line.as_bytes();
        let line = Line { number, offset: 0, bytes, record: parse_line(bytes) };
        reading.observe(&line);
        lister.observe(&line, |_| listed += 1);
    }
    lister.finish(RecordingState::Over, |_| listed += 1);
    let ((stats, toolbox), (definitions, summary)) = reading.finish(RecordingState::Over);
    toolbox.finish();
    definitions.finish();
    assert_eq!(stats.totals().counts.calls + stats.server_requests().counts.calls, listed);
    assert_eq!(summary.calls.calls + summary.server_requests.calls, listed);
    listed
}

fn request(id: &str, us: u64) -> String {
    format!(
        r#"{{"dir":"in","us":{us},"raw":{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":{id}}}}}}}}}"#
    )
}

fn response(id: &str, us: u64) -> String {
    format!(r#"{{"dir":"out","us":{us},"raw":{{"jsonrpc":"2.0","id":{id},"result":{{}}}}}}"#)
}

#[test]
fn requests_that_nobody_answers() {
    assert_eq!(look((0..MANY).map(|n| request(&n.to_string(), n))), MANY);
}

/// In quadratic time, each of these would take minutes.
#[test]
fn requests_that_nobody_answers_are_exported_and_checked() {
    let options = ExportOptions { episode_id: "e".to_owned(), test_id: None, prompt: "p".to_owned() };
    for name in ["har", "perfetto", "csv", "assay-v2"] {
        let mut exporter = export::find(name).unwrap().begin(&options, &Survey::new());
        let mut out = Vec::new();
        exporter.begin(&mut out).unwrap();
        for (number, line) in (1..).zip((0..MANY).map(|n| request(&n.to_string(), n))) {
            let bytes = line.as_bytes();
            exporter.line(&Line { number, offset: 0, bytes, record: parse_line(bytes) }, &mut out).unwrap();
        }
        exporter.finish(RecordingState::Over, &mut out).unwrap();
        let unanswered = if name == "assay-v2" { "timeout/no_response" } else { "unanswered" };
        let found = memchr::memmem::find_iter(&out, unanswered.as_bytes()).count();
        assert_eq!(found as u64, MANY, "{name}");
    }
    let mut linter = Linter::new(LintOptions { revision: None, rules: rules::ALL.to_vec(), limit: Some(20) });
    for (number, line) in (1..).zip((0..MANY).map(|n| request(&n.to_string(), n))) {
        let bytes = line.as_bytes();
        linter.observe(&Line { number, offset: 0, bytes, record: parse_line(bytes) });
    }
    linter.finish();
}

#[test]
fn one_id_again_and_again() {
    assert_eq!(look((0..MANY).map(|n| request("1", n))), MANY);
}

#[test]
fn answers_that_nobody_waits_for() {
    assert_eq!(look((0..MANY).map(|n| response(&n.to_string(), n))), 0);
}

#[test]
fn one_call_that_outlasts_all_others() {
    let others = (1..MANY).flat_map(|n| [request(&n.to_string(), n), response(&n.to_string(), n)]);
    let lines = std::iter::once(request("0", 0)).chain(others).chain([response("0", MANY)]);
    assert_eq!(look(lines), MANY);
    assert!(HELD < MANY as usize, "some must have been listed before it");
}

#[test]
fn requests_of_a_server_during_one_call() {
    let asks = (0..MANY).map(|n| {
        format!(
            r#"{{"dir":"out","us":{n},"raw":{{"jsonrpc":"2.0","id":{n},"method":"elicitation/create"}}}}"#
        )
    });
    assert_eq!(look(std::iter::once(request("0", 0)).chain(asks)), MANY + 1);
}

/// An error with an unknown id may be about the only request of its exchange.
#[test]
fn errors_about_nothing_beside_requests_of_a_server() {
    let asks = (0..MANY).map(|n| {
        format!(
            r#"{{"dir":"out","http":{{"x":1}},"raw":{{"jsonrpc":"2.0","id":"s{n}","method":"roots/list"}}}}"#
        )
    });
    let errors = (0..MANY).map(|n| {
        format!(
            r#"{{"dir":"out","http":{{"x":1}},"raw":{{"jsonrpc":"2.0","id":"e{n}","error":{{"code":-1,"message":""}}}}}}"#
        )
    });
    assert_eq!(look(asks.chain(errors)), MANY);
}

#[test]
fn a_session_for_each_request() {
    let lines = (0..MANY).map(|n| {
        format!(r#"{{"dir":"in","session":"{n}","http":{{"x":{n}}},"raw":{{"jsonrpc":"2.0","id":1,"method":"ping"}}}}"#)
    });
    assert_eq!(look(lines), MANY);
}

#[test]
fn deep_and_long_payloads() {
    let deep = format!("{}1{}", "[".repeat(20_000), "]".repeat(20_000));
    let object = format!("{}1{}", r#"{"a":"#.repeat(20_000), "}".repeat(20_000));
    let long = "x".repeat(5_000_000);
    let call = |id: u64, arguments: &str| {
        format!(
            r#"{{"dir":"in","us":{id},"raw":{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}}}"#
        )
    };
    let result = |id: u64, result: &str| {
        format!(r#"{{"dir":"out","us":{id},"raw":{{"jsonrpc":"2.0","id":{id},"result":{result}}}}}"#)
    };
    let lines = [
        call(1, &deep),
        result(
            1,
            &format!(r#"{{"content":[{{"type":"text","text":{object}}}],"structuredContent":{object}}}"#),
        ),
        call(2, &object),
        result(2, &format!(r#"{{"content":[{{"type":"text","text":"{long}"}}]}}"#)),
        r#"{"dir":"in","raw":{"jsonrpc":"2.0","id":3,"method":"tools/list"}}"#.to_owned(),
        result(3, &format!(r#"{{"tools":[{{"name":"deep","inputSchema":{object}}}]}}"#)),
        call(4, "{}"),
        result(4, &deep),
    ];
    assert_eq!(look(lines.into_iter()), 4);
}
