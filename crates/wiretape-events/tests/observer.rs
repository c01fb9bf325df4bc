//! The signals made from exchanges: every event and line is validated against its schema.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod support;

use serde_json::{Value, json};
use std::time::Duration;
use support::{Told, answer, call, initialize, transaction};
use wiretape_events::{Ended, Timings, Transaction};

const STATUSES: [&str; 7] =
    ["ok", "tool_error", "protocol_error", "http_error", "cancelled", "timeout", "disconnected"];

/// The status, code and message of a call that ended so.
fn check_status(transaction: Transaction, expected: (&str, Option<i64>, Option<&str>)) {
    let mut told = Told::new();
    told.observe(transaction);
    let event = told.events("request").pop().unwrap();
    let status = event["status"].as_str().unwrap();
    assert!(STATUSES.contains(&status));
    assert_eq!((status, event["error_code"].as_i64(), event["error_message"].as_str()), expected);
    let lines = told.lines("tool_call");
    let line = &lines[0];
    assert_eq!(line["status"], if status == "ok" { "ok" } else { "error" });
    assert_eq!(line.get("error_code").is_some(), status != "ok");
    assert_eq!(line.get("error_message").is_some(), status != "ok");
}

#[test]
fn how_a_call_went_is_told_apart() {
    check_status(call(1, "add", &answer(1, r#""result":{"content":[]}"#)), ("ok", None, None));
    let failed = r#""result":{"isError":true,"content":[{"type":"text","text":"no such file"}]}"#;
    check_status(call(1, "add", &answer(1, failed)), ("tool_error", None, Some("no such file")));
    let error = r#""error":{"code":-32602,"message":"bad arguments"}"#;
    check_status(call(1, "add", &answer(1, error)), ("protocol_error", Some(-32602), Some("bad arguments")));
    let unanswered = |ended, status| Transaction { ended, status, ..call(1, "add", "") };
    check_status(unanswered(Ended::Complete, Some(401)), ("http_error", None, Some("HTTP 401")));
    let ended = "the response ended without a result";
    check_status(unanswered(Ended::Complete, Some(200)), ("http_error", None, Some(ended)));
    check_status(
        unanswered(Ended::ClientClosed, Some(200)),
        ("disconnected", None, Some("the client disconnected")),
    );
    check_status(unanswered(Ended::Timeout, None), ("timeout", None, None));
    let refused =
        Transaction { error: Some("can't connect".to_owned()), ..unanswered(Ended::Unreachable, Some(502)) };
    check_status(refused, ("http_error", None, Some("can't connect")));
    let modern = Transaction {
        protocol_version: Some("2026-07-28".to_owned()),
        ..unanswered(Ended::ClientClosed, Some(200))
    };
    check_status(modern, ("cancelled", None, Some("the client disconnected")));
    check_status(
        unanswered(Ended::Stopped, Some(200)),
        ("disconnected", None, Some("the proxy was stopped")),
    );
    let late = Transaction { ended: Ended::ClientClosed, ..call(1, "add", &answer(1, r#""result":{}"#)) };
    check_status(late, ("ok", None, None));
}

#[test]
fn without_an_answer_of_the_server_the_response_is_null() {
    for ended in
        [Ended::Unreachable, Ended::UpstreamClosed, Ended::ClientClosed, Ended::Timeout, Ended::Stopped]
    {
        let mut told = Told::new();
        told.observe(Transaction { ended, status: Some(502), ..call(1, "add", "") });
        assert_eq!(told.events("request")[0]["response"], Value::Null, "{ended:?}");
    }
}

#[test]
fn an_event_has_what_the_schema_promises() {
    let mut told = Told::new();
    told.observe(call(7, "add", &answer(7, r#""result":{"content":[]}"#)));
    let event = told.events("request").pop().unwrap();
    assert_eq!(event["request_id"], "7");
    assert_eq!(event["request"]["kind"], "mcp");
    assert_eq!(event["request"]["method"], "POST");
    assert_eq!(event["request"]["path"], "/mcp");
    assert_eq!(event["request"]["mcp_method"], "tools/call");
    assert_eq!(event["request"]["tool"], "add");
    assert_eq!(event["request"]["message"]["params"]["name"], "add");
    assert_eq!(event["request"]["parts"]["headers"]["accept"], "application/json");
    assert_eq!(event["response"]["kind"], "mcp");
    assert_eq!((&event["response"]["status"], &event["response"]["result"]), (&json!(200), &json!("ok")));
    assert_eq!(event["response"]["message"]["id"], 7);
    assert_eq!((event["latency_us"].as_u64(), event["upstream_us"].as_u64()), (Some(900), Some(700)));
    assert_eq!(event["spans"], json!([["Connect", 100], ["Upstream", 400], ["Body", 300], ["Finish", 100]]));
    assert_eq!(event["openai"], Value::Null);
}

#[test]
fn the_stages_add_up_whatever_is_missing() {
    let check = |connected_us, answered_us, responded_us, expected: Value| {
        let mut told = Told::new();
        let mut transaction = call(1, "add", "");
        transaction.timings.connected_us = connected_us;
        transaction.timings.answered_us = answered_us;
        transaction.timings.responded_us = responded_us;
        told.observe(transaction);
        assert_eq!(told.events("request").pop().unwrap()["spans"], expected);
    };
    // The stage in which it broke off takes the rest.
    check(None, None, None, json!([["Connect", 900]]));
    check(Some(5), None, None, json!([["Connect", 5], ["Upstream", 895]]));
    check(Some(5), Some(3), None, json!([["Connect", 5], ["Upstream", 0], ["Body", 895]]));
    check(
        Some(1),
        Some(2),
        Some(800),
        json!([["Connect", 1], ["Upstream", 1], ["Body", 798], ["Finish", 100]]),
    );
    check(
        Some(1),
        Some(2),
        Some(2000),
        json!([["Connect", 1], ["Upstream", 1], ["Body", 898], ["Finish", 0]]),
    );
    check(None, Some(2), Some(3), json!([["Upstream", 2], ["Body", 1], ["Finish", 897]]));
}

#[test]
fn a_client_that_leaves_does_so_in_the_last_stage() {
    let check = |ended, [connected_us, answered_us, responded_us]: [Option<u64>; 3], expected: Value| {
        let mut told = Told::new();
        let mut transaction = Transaction { ended, ..call(1, "add", "") };
        let started = transaction.timings.started;
        transaction.timings = Timings {
            started,
            connected_us,
            answered_us,
            responded_us,
            ended_us: 503_077,
            ..Timings::default()
        };
        told.observe(transaction);
        assert_eq!(told.events("request")[0]["spans"], expected, "{ended:?}");
    };
    for ended in [Ended::ClientClosed, Ended::Timeout, Ended::UpstreamClosed, Ended::Stopped] {
        check(ended, [None, None, None], json!([["Connect", 503_077]]));
        check(ended, [Some(10), None, None], json!([["Connect", 10], ["Upstream", 503_067]]));
        let body = json!([["Connect", 10], ["Upstream", 1964], ["Body", 501_103]]);
        check(ended, [Some(10), Some(1974), None], body);
    }
}

/// A stream of HTTP+SSE, which has its session from its `endpoint` event.
fn sse_stream(session: &str) -> Transaction {
    Transaction {
        method: "GET".into(),
        target: "/sse".to_owned(),
        session: Some(session.to_owned()),
        response_head: Some(support::head(200, "text/event-stream")),
        ended: Ended::ClientClosed,
        ..transaction("", "")
    }
}

#[test]
fn a_session_of_http_sse_ends_with_its_stream() {
    let mut told = Told::new();
    told.observe(Transaction {
        target: "/messages?sessionId=a1".to_owned(),
        session: None,
        ..initialize("")
    });
    assert_eq!(told.lines("session_start").len(), 1);
    told.observe(sse_stream("a1"));
    let ends = told.lines("session_end");
    assert_eq!((ends.len(), &ends[0]["session"]), (1, &json!("a1")));
}

/// A server may close a stream before its answer, and a client may lose it: the answer comes on the stream that resumes it.
#[test]
fn a_call_is_answered_on_the_stream_that_resumes_its_own() {
    let broken = |ended| Transaction {
        session: Some("s1".to_owned()),
        is_resumable: true,
        ended,
        ..call(1, "add", "")
    };
    for ended in [Ended::Complete, Ended::ClientClosed] {
        let mut told = Told::new();
        told.observe(broken(ended));
        assert!(told.events("request").is_empty(), "the answer is still to come");
        told.stream("s1", &answer(1, r#""result":{}"#), 900);
        let events = told.events("request");
        assert_eq!((events.len(), &events[0]["status"]), (1, &json!("ok")), "{ended:?}");

        let mut told = Told::new();
        told.observe(broken(ended));
        told.finish();
        assert_ne!(told.events("request")[0]["status"], "ok", "{ended:?}: nothing came");
    }
}

/// A client that has its answer from the stream may close the POST before the server has accepted it.
#[test]
fn an_answer_on_the_stream_counts_however_its_post_ends() {
    let post = || Transaction {
        target: "/messages?sessionId=a1".to_owned(),
        ended: Ended::ClientClosed,
        status: None,
        ..call(1, "add", "")
    };
    let result = answer(1, r#""result":{}"#);
    let mut told = Told::new();
    told.stream("a1", &result, 900);
    told.observe(post());
    assert_eq!(told.events("request")[0]["status"], "ok", "the answer came first");
    let mut told = Told::new();
    told.observe(post());
    told.stream("a1", &result, 900);
    assert_eq!(told.events("request")[0]["status"], "ok", "the POST ended first");
}

#[test]
fn a_session_of_streamable_http_outlives_its_stream() {
    let mut told = Told::new();
    told.observe(initialize("s1"));
    let session = [("mcp-session-id", std::borrow::Cow::Borrowed(&b"s1"[..]))];
    let head = wiretape_trace::format::Head::request("GET", "/mcp", "1.1", session.into_iter());
    told.observe(Transaction { request_head: Some(std::sync::Arc::new(head)), ..sse_stream("s1") });
    assert!(told.lines("session_end").is_empty());
}

#[test]
fn a_client_can_end_a_session_that_began_before_the_proxy() {
    let mut told = Told::new();
    let end = Transaction { method: "DELETE".into(), session: Some("s1".to_owned()), ..transaction("", "") };
    told.observe(end);
    assert_eq!(told.lines("session_end")[0]["session"], "s1");
    let mut told = Told::new();
    told.observe(Transaction { session: Some("s1".to_owned()), ..call(1, "add", "") });
    told.finish();
    assert!(told.lines("session_end").is_empty(), "nobody ended it");
}

#[test]
fn a_refused_initialize_begins_no_session() {
    let refusal = answer(0, r#""error":{"code":-32602,"message":"no"}"#);
    let mut told = Told::new();
    told.observe(Transaction { response: Some(refusal.into()), ..initialize("s1") });
    assert!(told.events("session").is_empty());
    assert_eq!(told.events("request")[0]["session"], Value::Null);
}

#[test]
fn the_first_byte_never_comes_after_the_end() {
    let mut told = Told::new();
    let mut posted = Transaction { session: Some("a1".to_owned()), status: Some(202), ..call(1, "add", "") };
    posted.timings.first_byte_us = Some(890);
    told.observe(posted);
    told.stream("a1", &answer(1, r#""result":{}"#), 700);
    let event = told.events("request").pop().unwrap();
    assert_eq!((event["latency_us"].as_u64(), event["first_byte_us"].as_u64()), (Some(700), Some(700)));
}

#[test]
fn a_widget_is_served_as_a_page_or_as_a_resource() {
    let mut told = Told::new();
    let request =
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"ui://widget/clock.html"}}"#;
    let html =
        r#""result":{"contents":[{"uri":"ui://widget/clock.html","mimeType":"text/html","text":"<p>"}]}"#;
    told.observe(Transaction { csp_applied: true, ..transaction(request, &answer(1, html)) });
    let lines = told.lines("widget_serve");
    assert_eq!(lines.len(), 1);
    assert_eq!((&lines[0]["path"], &lines[0]["csp_applied"]), (&json!("/widget/clock.html"), &json!(true)));
}

#[test]
fn what_chatgpt_says_of_its_user_is_told() {
    let mut told = Told::new();
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"openai/locale":"de","other":1,"openai/userLocation":{"city":"Ulm"}}}}"#;
    told.observe(transaction(request, &answer(1, r#""result":{}"#)));
    let event = told.events("request").pop().unwrap();
    assert_eq!(event["openai"], json!({ "locale": "de", "userLocation": { "city": "Ulm" } }));
}

#[test]
fn what_is_no_message_is_http() {
    let mut told = Told::new();
    let page = Transaction {
        method: "GET".into(),
        target: "/widget/clock.html?x=1".to_owned(),
        request: None,
        response: None,
        request_bytes: 0,
        is_html: true,
        csp_applied: true,
        ..call(1, "add", "")
    };
    told.observe(page);
    let event = told.events("request").pop().unwrap();
    assert_eq!(
        event["request"],
        json!({ "kind": "http", "method": "GET", "uri": "/widget/clock.html?x=1", "body_size": 0 })
    );
    assert_eq!(event["response"], json!({ "kind": "http", "status": 200, "body_size": 60 }));
    assert_eq!(event["request_id"].as_str().unwrap().len(), 36);
    let line = told.lines("widget_serve").pop().unwrap();
    assert_eq!((&line["path"], &line["csp_applied"]), (&json!("/widget/clock.html"), &json!(true)));
}

#[test]
fn a_batch_is_one_event_with_all_its_messages() {
    let mut told = Told::new();
    let request = r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b"}}]"#;
    let response = r#"[{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}},{"jsonrpc":"2.0","id":1,"result":{}}]"#;
    told.observe(transaction(request, response));
    let events = told.events("request");
    assert_eq!(events.len(), 1);
    let messages = events[0]["request"]["messages"].as_array().unwrap();
    let statuses: Vec<_> = messages.iter().map(|message| message["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["ok", "ok", "protocol_error"]);
    assert_eq!(messages[1]["error_message"], Value::Null, "it is another's");
    let bytes =
        |name: &str| messages.iter().map(|message| message[name].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(bytes("request_bytes"), [68, 44, 68]);
    assert_eq!(bytes("response_bytes"), [36, 0, 59], "those of each answer, whatever their order");
    assert_eq!(events[0]["request"]["kind"], "mcp_batch");
    assert_eq!(events[0]["response"]["messages"].as_array().unwrap().len(), 2);
    assert_eq!(told.lines("tool_call").len(), 2);
}

#[test]
fn an_error_without_an_id_is_about_all_that_was_sent() {
    let refused = |request: &str, id: &str| {
        let response = format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32600,"message":"no session"}}}}"#);
        Transaction { status: Some(400), ..transaction(request, &response) }
    };
    let add = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}"#;
    let expected = ("protocol_error", Some(-32600), Some("no session"));
    check_status(refused(add, r#""id":null,"#), expected);
    check_status(refused(add, ""), expected);
    check_status(refused(&format!("[{add},{add}]"), ""), expected);
    // Python SDK 1.x makes up an id.
    check_status(refused(add, r#""id":"server-error","#), expected);
    check_status(refused(add, r#""id":7,"#), expected);
    let unclear = ("http_error", None, Some("HTTP 400"));
    check_status(refused(&format!("[{add},{add}]"), r#""id":7,"#), unclear);
    let mut told = Told::new();
    told.observe(refused(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, ""));
    assert_eq!(told.events("request")[0]["error_code"], -32600);
}

#[test]
fn the_time_is_that_of_the_end_however_late_it_is_told() {
    let mut told = Told::new();
    told.observe(initialize("s1"));
    let mut long = in_session("s1", call(1, "add", &answer(1, r#""result":{}"#)));
    long.timings.ended_us = 2_500_000;
    told.observe(long);
    let delete = Transaction { method: "DELETE".into(), status: Some(204), ..transaction("", "") };
    told.observe(in_session("s1", delete));
    let requests = told.events("request");
    let times: Vec<_> =
        requests.iter().map(|event| event["ts"].as_i64().unwrap() - 1_712_050_530_142).collect();
    assert_eq!(times, [0, 2500, 0]);
    assert_eq!(told.events("session")[0]["ts"], 1_712_050_530_142_i64);
    assert_eq!(told.lines("tool_call")[0]["ts"], "2024-04-02T09:35:32.642Z");
    assert_eq!(told.lines("session_start")[0]["ts"], "2024-04-02T09:35:30.142Z");
    assert_eq!(told.lines("session_end")[0]["ts"], "2024-04-02T09:35:30.142Z");
}

#[test]
fn a_session_that_nobody_saw_begin_ends_only_where_a_side_ends_it() {
    let mut told = Told::new();
    let lost = Transaction { status: Some(404), ..in_session("lost", call(1, "add", "")) };
    told.observe(lost);
    told.observe(in_session("older", call(1, "add", &answer(1, r#""result":{}"#))));
    assert_eq!(told.events("request")[1]["session"], "older");
    // Here the client begins it anew: that is one start, and one end.
    told.observe(in_session("anew", call(1, "add", &answer(1, r#""result":{}"#))));
    told.observe(initialize("anew"));
    told.finish();
    let sessions = |kind: &str| {
        let lines = told.lines(kind);
        lines.iter().map(|line| line["session"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (sessions("session_start"), sessions("session_end")),
        (vec!["anew".into()], vec!["lost".into(), "anew".into()])
    );
}

#[test]
fn a_session_begins_once_and_ends_once() {
    let mut told = Told::new();
    told.observe(initialize("s1"));
    told.observe(in_session("s1", call(1, "add", &answer(1, r#""result":{}"#))));
    let session = told.events("session").pop().unwrap();
    assert_eq!(
        [
            &session["session_id"],
            &session["client_name"],
            &session["client_version"],
            &session["client_platform"]
        ],
        [&json!("s1"), &json!("probe"), &json!("1.2"), &json!("linux")]
    );
    assert_eq!(
        (&session["server_name"], &session["protocol_version"]),
        (&json!("demo"), &json!("2025-06-18"))
    );
    assert_eq!(told.events("request")[1]["protocol_version"], "2025-06-18");
    assert_eq!(told.events("request")[1]["session"], "s1");
    assert_eq!(told.lines("session_start").len(), 1);
    told.observe(in_session(
        "s1",
        Transaction { method: "DELETE".into(), request: None, ..call(1, "x", "") },
    ));
    assert_eq!(told.lines("session_end").len(), 1);
    told.finish();
    assert_eq!(told.lines("session_end").len(), 1);
}

fn in_session(session: &str, transaction: Transaction) -> Transaction {
    Transaction { session: Some(session.to_owned()), ..transaction }
}

#[test]
fn sessions_end_when_the_server_forgot_them_nothing_is_heard_or_the_proxy_ends() {
    let mut told = Told::new();
    told.observe(initialize("gone"));
    told.observe(initialize("last"));
    told.observe(in_session("gone", Transaction { status: Some(404), ..call(1, "add", "") }));
    assert_eq!(told.lines("session_end")[0]["session"], "gone");
    told.finish();
    assert_eq!(told.lines("session_end")[1]["session"], "last");

    let mut told = Told::with_idle(Duration::ZERO);
    told.observe(initialize("silent"));
    told.look(Duration::from_millis(150));
    assert_eq!(told.lines("session_end")[0]["session"], "silent");
}

#[test]
fn ten_sessions_may_use_the_same_ids() {
    let mut told = Told::new();
    for n in 0..10 {
        let name = format!("s{n}");
        told.observe(initialize(&name));
        told.observe(in_session(&name, call(1, "add", &answer(1, r#""result":{}"#))));
    }
    assert_eq!(told.events("session").len(), 10);
    let events = told.events("request");
    let mut ids: Vec<_> = events.iter().map(|event| event["event_id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 20);
}

#[test]
fn a_client_without_sessions_is_one_group() {
    let mut told = Told::new();
    let request = |name: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"x","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"{name}","version":"1"}}}}}}}}"#
        )
    };
    for name in ["a", "b", "a"] {
        told.observe(transaction(&request(name), &answer(1, r#""result":{}"#)));
    }
    let sessions = told.events("session");
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions[0]["client_name"], "a");
    let requests = told.events("request");
    assert_eq!(requests[0]["session"], requests[2]["session"]);
    assert_ne!(requests[0]["session"], requests[1]["session"]);
    assert_eq!(requests[0]["protocol_version"], "2026-07-28");
}

#[test]
fn asking_a_server_of_an_older_revision_begins_no_session() {
    let mut told = Told::new();
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"}}}}"#;
    told.observe(transaction(request, &answer(1, r#""error":{"code":-32601,"message":"unknown"}"#)));
    assert!(told.events("session").is_empty());
    assert_eq!(told.events("request")[0]["session"], Value::Null);
}

#[test]
fn without_session_ids_a_connection_is_a_session_from_its_initialize_on() {
    let mut told = Told::new();
    told.observe(Transaction { session: None, connection: Some(5), ..initialize("x") });
    told.observe(Transaction { connection: Some(5), ..call(1, "add", "") });
    told.observe(Transaction { connection: Some(6), ..call(1, "add", "") });
    let requests = told.events("request");
    assert_eq!(requests[0]["session"], requests[1]["session"]);
    assert_eq!(requests[2]["session"], Value::Null);
    assert_eq!(told.lines("tool_call")[1]["session"], "");
}

#[test]
fn what_the_client_cancelled_is_cancelled() {
    let mut told = Told::new();
    told.observe(initialize("s"));
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#;
    told.observe(in_session("s", Transaction { status: Some(202), ..transaction(cancel, "") }));
    let gone = |id| in_session("s", Transaction { ended: Ended::ClientClosed, ..call(id, "add", "") });
    told.observe(gone(5));
    told.observe(gone(6));
    let requests = told.events("request");
    assert_eq!(
        (&requests[2]["status"], &requests[3]["status"]),
        (&json!("cancelled"), &json!("disconnected"))
    );
}

#[test]
fn lists_are_told_when_they_are_new_or_have_changed() {
    let mut told = Told::new();
    let list = |tools: &str| {
        let request = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        transaction(request, &answer(1, &format!(r#""result":{{"tools":{tools}}}"#)))
    };
    told.observe(list(r#"[{"name":"a","description":"A"},{"name":"b"}]"#));
    told.observe(list(r#"[{"name":"b"},{"description":"A","name":"a"}]"#));
    told.observe(list(r#"[{"name":"a","description":"other"}]"#));
    let changes: Vec<_> = told
        .events("schema")
        .iter()
        .map(|event| (event["change_type"].clone(), event["items"].clone()))
        .collect();
    assert_eq!(
        changes,
        [
            (json!("initial"), json!([{ "name": "a", "description": "A" }, { "name": "b" }])),
            (json!("modified"), json!([{ "name": "a", "description": "other" }])),
            (json!("removed"), json!([{ "name": "b" }])),
        ]
    );
    assert_eq!(told.lines("tool_list").len(), 3);
}

#[test]
fn a_stream_that_a_get_opened_may_end_when_it_likes() {
    let mut told = Told::new();
    told.observe(Transaction {
        method: "GET".into(),
        request: None,
        response: None,
        ended: Ended::ClientClosed,
        response_head: Some(support::head(200, "text/event-stream")),
        ..call(1, "x", "")
    });
    assert_eq!(told.events("request")[0]["status"], "ok");
}

#[test]
fn a_violation_is_a_line() {
    let mut told = Told::new();
    told.violate("https://cdn.example.com/x.js", "script-src");
    let line = told.lines("csp_violation").pop().unwrap();
    assert_eq!(
        (&line["blocked_uri"], &line["directive"]),
        (&json!("https://cdn.example.com/x.js"), &json!("script-src"))
    );
}

/// Over HTTP+SSE a request is accepted, and answered on a stream of its own.
fn accepted(id: u64) -> Transaction {
    Transaction { status: Some(202), target: "/message?sessionId=s".to_owned(), ..call(id, "add", "") }
}

#[test]
fn an_answer_on_another_stream_is_waited_for() {
    let mut told = Told::new();
    let transaction = accepted(1);
    told.observe(transaction);
    assert!(told.events("request").is_empty());
    told.stream("s", &answer(1, r#""error":{"code":-5,"message":"no"}"#), 5900);
    let event = told.events("request").pop().unwrap();
    assert_eq!((&event["status"], &event["error_code"]), (&json!("protocol_error"), &json!(-5)));
    assert_eq!((&event["latency_us"], &event["session"]), (&json!(5900), &json!("s")));
}

/// Peers compare ids by value: `1.0` is the number 1, and `"1"` is another id.
#[test]
fn ids_are_compared_by_value() {
    let add = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}"#;
    let float = r#"{"jsonrpc":"2.0","id":1.0,"result":{}}"#;
    let string = r#"{"jsonrpc":"2.0","id":"1","result":{}}"#;
    let statuses = |told: &Told| -> Vec<String> {
        told.events("request").iter().map(|event| event["status"].as_str().unwrap().to_owned()).collect()
    };
    let mut told = Told::new();
    told.observe(transaction(add, float));
    told.observe(transaction(add, string));
    told.observe(transaction(&add.replace(":1,", ":1.0,"), &answer(1, r#""result":{}"#)));
    assert_eq!(statuses(&told), ["ok", "http_error", "ok"]);
    assert_eq!(told.events("request")[2]["request_id"], "1.0");

    // On another stream.
    let mut told = Told::new();
    told.observe(accepted(1));
    told.stream("s", string, 700);
    assert!(told.events("request").is_empty(), "that is another request's");
    told.stream("s", float, 900);
    assert_eq!(statuses(&told), ["ok"]);

    // In a cancellation.
    let cancel = |id: &str| {
        let cancel = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        );
        Transaction { request: Some(cancel.into()), ..accepted(0) }
    };
    let mut told = Told::new();
    told.observe(accepted(1));
    told.observe(cancel(r#""1""#));
    assert_eq!(statuses(&told), ["ok"], "only the notification");
    told.observe(cancel("1.0"));
    assert_eq!(statuses(&told), ["ok", "cancelled", "ok"]);
}

#[test]
fn it_may_come_before_the_request_has_ended() {
    let mut told = Told::new();
    let transaction = accepted(1);
    told.stream("s", &answer(1, r#""result":{}"#), 500);
    told.observe(transaction);
    let event = told.events("request").pop().unwrap();
    assert_eq!((&event["status"], &event["latency_us"]), (&json!("ok"), &json!(500)));
}

/// The answer to a cancelled call may arrive long after it, on a stream that stays open.
#[test]
fn the_times_of_a_cancelled_call_end_with_it() {
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let mut told = Told::new();
    told.observe(accepted(1));
    let mut cancels = Transaction { request: Some(cancel.into()), ..accepted(0) };
    cancels.timings.asked_at = Some(400);
    told.observe(cancels);
    let event = &told.events("request")[0];
    assert_eq!((&event["status"], &event["latency_us"]), (&json!("cancelled"), &json!(400)));
    assert_eq!((&event["first_byte_us"], &event["upstream_us"]), (&json!(400), &json!(300)));
    assert_eq!(event["spans"], json!([["Connect", 100], ["Upstream", 300], ["Body", 0], ["Finish", 0]]));
}

#[test]
fn it_may_never_come() {
    let mut told = Told::new();
    told.observe(accepted(1));
    told.observe(accepted(2));
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    told.observe(Transaction { request: Some(cancel.into()), ..accepted(0) });
    let statuses = |told: &Told| -> Vec<String> {
        told.events("request").iter().map(|event| event["status"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(statuses(&told), ["cancelled", "ok"]);
    told.finish();
    assert_eq!(statuses(&told), ["cancelled", "ok", "http_error"]);
}

#[test]
fn a_client_that_closes_its_stream_has_left_its_requests() {
    let mut told = Told::new();
    told.observe(accepted(1));
    told.observe(Transaction {
        method: "GET".into(),
        target: "/sse".to_owned(),
        session: Some("s".to_owned()),
        request: None,
        ended: Ended::ClientClosed,
        response_head: Some(support::head(200, "text/event-stream")),
        ..call(1, "x", "")
    });
    let requests = told.events("request");
    assert_eq!((&requests[0]["status"], &requests[1]["status"]), (&json!("disconnected"), &json!("ok")));
}
