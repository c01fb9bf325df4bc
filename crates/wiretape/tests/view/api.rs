//! What can be asked, and what is refused in words.

use crate::viewer::{Viewer, fixtures};
use std::fmt::Write as _;

const NOTES: &str = "0b6f8c1e-52a7-4c1d-9d3e-7a41f0c2b901";

fn notes() -> Viewer {
    Viewer::of_fixture("view/notes.jsonl")
}

/// A trace with this many calls.
fn many(calls: usize) -> String {
    let mut text =
        r#"{"v":1,"type":"meta","startedAt":"2026-07-01T12:00:00.000Z","label":"many","id":"many"}"#
            .to_owned();
    for id in 0..calls {
        let (asked, answered) = (r#""method":"ping""#, r#""result":{}"#);
        for (dir, rest) in [("in", asked), ("out", answered)] {
            let raw = format!(r#"{{"jsonrpc":"2.0","id":{id},{rest}}}"#);
            write!(text, "\n{{\"t\":\"2026-07-01T12:00:01.000Z\",\"dir\":\"{dir}\",\"raw\":{raw}}}").unwrap();
        }
    }
    text + "\n"
}

#[test]
fn unknown_traces_are_refused_and_files_are_not_opened_by_their_path() {
    let viewer = notes();
    let elsewhere = fixtures().join("view/weather.jsonl");
    for name in ["nothing-like-it", "../notes.jsonl", "%2Fetc%2Fpasswd", &elsewhere.display().to_string()] {
        for path in ["set", "calls", "messages", "raw", "tools", "lint", "sessions", "density", "timeline"] {
            let answer = viewer.ask(&format!("/api/{path}?trace={name}"));
            assert_eq!(answer.status, 404, "{path} {name}: {answer:?}");
            assert!(answer.error().starts_with("no trace `"), "{answer:?}");
        }
    }
    let answer = viewer.ask("/api/set?trace=nothing-like-it");
    assert!(answer.json()["hint"].as_str().unwrap().contains("wiretape view FILE"), "{answer:?}");
    assert_eq!(viewer.ask("/api/set").status, 400);
    assert_eq!(viewer.ask(&format!("/api/set?trace={NOTES};nothing")).status, 404);
    assert_eq!(viewer.ask(&format!("/api/diff?a={NOTES}&b=nothing")).status, 404);
}

#[test]
fn what_is_not_in_a_trace_is_refused() {
    let viewer = notes();
    viewer.wait_for(NOTES);
    for target in
        ["call?call=0", "call?call=12", "call?call=1&at=1", "line?line=0", "line?line=99", "raw?at=7"]
    {
        let (path, rest) = target.split_once('?').unwrap();
        let answer = viewer.ask(&format!("/api/{path}?trace={NOTES}&{rest}"));
        assert_eq!(answer.status, 404, "{target}: {answer:?}");
        assert!(!answer.error().is_empty());
    }
    assert_eq!(viewer.ask(&format!("/api/call?trace={NOTES}&call=11")).json()["row"]["tool"], "search_notes");
}

#[test]
fn a_wrong_filter_is_told_with_its_place() {
    let viewer = notes();
    for path in ["calls", "messages", "timeline"] {
        let answer = viewer.ask(&format!("/api/{path}?trace={NOTES}&filter=tool:x%20latency%3Esoon"));
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.error().contains("`soon` is not a time"), "{answer:?}");
        assert_eq!(answer.json()["span"], serde_json::json!([7, 19]));
    }
    let answer = viewer.ask(&format!("/api/calls?trace={NOTES}&sort=colour"));
    assert_eq!(answer.status, 400);
    assert!(answer.json()["hint"].as_str().unwrap().contains("latency"), "{answer:?}");
}

#[test]
fn pages_of_rows_have_a_limit_whatever_is_asked() {
    let viewer = Viewer::with(&[("many.jsonl", &many(1500))]);
    viewer.wait_for("many");
    let page = |path: &str, rest: &str| viewer.ask(&format!("/api/{path}?trace=many&{rest}")).json();
    let rows = |path: &str, rest: &str| page(path, rest)["rows"].as_array().unwrap().len();
    for (path, total) in [("calls", 1500), ("messages", 3001)] {
        assert_eq!(page(path, "limit=1")["total"], total, "{path}");
        assert_eq!(rows(path, ""), 200, "{path}");
        assert_eq!(rows(path, "limit=99999999"), 1000, "{path}");
        assert_eq!(rows(path, "limit=0"), 0, "{path}");
        assert_eq!(rows(path, &format!("from={}", total - 3)), 3, "{path}");
        assert_eq!(rows(path, "from=18446744073709551615&limit=1000"), 0, "{path}");
    }
    for rest in ["limit=-1", "from=-1", "from=18446744073709551616", "limit=many", "at=x"] {
        assert_eq!(viewer.ask(&format!("/api/calls?trace=many&{rest}")).status, 400, "{rest}");
    }
}

#[test]
fn what_is_handed_over_must_be_a_trace() {
    let viewer = notes();
    let kind = "application/octet-stream";
    for body in ["", "Dear Ada,\n", "{\"some\":\"thing\"}\n"] {
        let answer = viewer.post("/api/upload?name=letter.txt", kind, body);
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.error().contains("`letter.txt` is not a trace"), "{answer:?}");
    }
    let opened = viewer.post("/api/upload?name=many.jsonl", kind, &many(2));
    let key = opened.json()["key"].as_str().unwrap().to_owned();
    assert_eq!(viewer.ask(&format!("/api/set?trace={key}")).json()["traces"][0]["label"], "many");
}

/// What is handed over may have secrets in it.
#[cfg(unix)]
#[test]
fn what_is_handed_over_goes_away_with_the_program() {
    for signal in [2, 15, 1] {
        let mut viewer = notes();
        viewer.post("/api/upload?name=many.jsonl", "application/octet-stream", &many(2)).json();
        assert_eq!(viewer.own_files(), 1);
        viewer.end_by(signal);
        assert_eq!(viewer.own_files(), 0, "signal {signal}");
    }
}

#[test]
fn only_recorders_of_this_machine_are_listened_to() {
    let viewer = notes();
    for url in
        ["ws://192.0.2.7:7317/x", "ws://evil.example:7317", "wss://127.0.0.1:7317", "file:///etc/passwd", "x"]
    {
        let answer = viewer.post("/api/live", "application/json", &format!(r#"{{"url":"{url}"}}"#));
        assert_eq!(answer.status, 400, "{url}: {answer:?}");
    }
    let answer = viewer.post("/api/live", "application/json", r#"{"url":"ws://127.0.0.1:9/secret"}"#);
    assert_eq!(answer.status, 502);
    assert!(!answer.body.contains("secret"), "the token of a recorder is not repeated: {answer:?}");
}

#[test]
fn each_way_is_asked_as_it_is_meant() {
    let viewer = notes();
    assert_eq!(viewer.ask("/api/upload").status, 405);
    assert_eq!(viewer.post("/api/home", "text/plain", "").status, 405);
    assert_eq!(viewer.ask("/api/nothing").status, 404);
    assert_eq!(viewer.ask("/../../etc/passwd").status, 404);
    assert_eq!(viewer.ask("/api/store").status, 404);
}
