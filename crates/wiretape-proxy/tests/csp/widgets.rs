//! The widgets of MCP Apps get what is configured, in whatever form the answer comes.

use crate::peers::{Proxy, answer, rule};
use std::io::Write as _;
use wiretape_proxy::http::csp::{Mode, Rule};

const BEFORE: &str = "{ \"jsonrpc\":\"2.0\",\"id\":1,\n\"result\":{\"resources\":[{\"uri\":\"ui://w/a.html\",\"n\":1.0,\
    \"_meta\":{\"openai\\/widgetCSP\":{\"connect_domains\":[]},\"ui\":{\"csp\":{\"connectDomains\":[\"https://own\"]}}}},\
    {\"uri\":\"ui://other\",\"_meta\":{\"ui\":{\"csp\":{}}}},{\"uri\":\"ui://w/plain\"}]}}\n";

fn after() -> String {
    BEFORE
        .replace("\"connect_domains\":[]", "\"connect_domains\":[\"https://api.example.com\"]")
        .replace("[\"https://own\"]", "[\"https://own\",\"https://api.example.com\"]")
}

fn rules() -> Vec<Rule> {
    vec![rule(&["ui://w/**"], Mode::Extend, &[("connect-src", &["'self'", "https://api.example.com"])])]
}

const JSON: &str = "Content-Type: application/json\r\n";

#[test]
fn an_answer_is_extended_and_its_length_is_right() {
    let proxy = Proxy::start(rules(), |_| answer(&format!("{JSON}ETag: \"1\"\r\n"), BEFORE));
    let told = proxy.call("resources/list");
    assert_eq!((told.text(), told.header("etag")), (after().as_str(), None));
    assert_eq!(told.header("content-length"), Some(after().len().to_string().as_str()));
    for other in ["tools/list", "resources/read", "resources/subscribe"] {
        let passed = proxy.call(other);
        assert_eq!((passed.text(), passed.header("etag")), (BEFORE, Some("\"1\"")), "{other}");
    }
    let transactions = proxy.transactions(4);
    let applied: Vec<bool> = transactions.iter().map(|one| one.csp_applied).collect();
    assert_eq!(applied, [true, false, false, false]);
    // The transaction has the response as the server sent it.
    let said: serde_json::Value = serde_json::from_slice(transactions[0].response.as_ref().unwrap()).unwrap();
    assert_eq!(said, serde_json::from_str::<serde_json::Value>(BEFORE).unwrap());
}

#[test]
fn an_answer_without_widgets_passes_as_it_is() {
    let plain = BEFORE.replace("ui://w/", "ui://v/");
    let body = plain.clone();
    let proxy = Proxy::start(rules(), move |_| answer(JSON, &body));
    assert_eq!(proxy.call("resources/list").text(), plain);
    assert!(!proxy.transactions(1)[0].csp_applied);
}

#[test]
fn a_chunked_answer_is_extended() {
    let proxy = Proxy::start(rules(), |_| {
        let (one, two) = BEFORE.split_at(100);
        let head = format!("HTTP/1.1 200 OK\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n");
        format!("{head}{:x}\r\n{one}\r\n{:x}\r\n{two}\r\n0\r\n\r\n", one.len(), two.len()).into_bytes()
    });
    assert_eq!(proxy.call("resources/list").text(), after());
    assert!(proxy.transactions(1)[0].csp_applied);
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_compressed_answer_is_extended_and_comes_plain() {
    let proxy = Proxy::start(rules(), |asked| {
        let text = if asked.text().contains("list") { BEFORE } else { "{}" };
        answer(&format!("{JSON}Content-Encoding: gzip\r\n"), gzip(text))
    });
    let told = proxy.call("resources/list");
    assert_eq!((told.text(), told.header("content-encoding")), (after().as_str(), None));
    let passed = proxy.call("resources/read");
    assert_eq!((passed.header("content-encoding"), &passed.body), (Some("gzip"), &gzip("{}")));
}

#[test]
fn an_answer_in_a_stream_is_extended() {
    let event = |message: &str| {
        let lines: String = message.lines().map(|line| format!("data: {line}\n")).collect();
        format!(": ping\n\nevent: message\nid: 1\n{lines}\n")
    };
    for encoding in ["", "Content-Encoding: gzip\r\n"] {
        let proxy = Proxy::start(rules(), move |_| {
            let stream = event(BEFORE);
            let body = if encoding.is_empty() { stream.into_bytes() } else { gzip(&stream) };
            answer(&format!("Content-Type: text/event-stream\r\n{encoding}"), body)
        });
        let told = proxy.call("resources/list");
        assert_eq!((told.text(), told.header("content-encoding")), (event(&after()).as_str(), None));
        assert!(proxy.transactions(1)[0].csp_applied);
    }
}

#[test]
fn rules_for_pages_alone_leave_answers_alone() {
    let rules = vec![rule(&["/**"], Mode::Extend, &[("connect-src", &["https://api.example.com"])])];
    let proxy = Proxy::start(rules, |_| answer(JSON, BEFORE));
    assert_eq!(proxy.call("resources/list").text(), BEFORE);
}
