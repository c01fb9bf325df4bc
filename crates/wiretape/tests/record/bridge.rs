//! `wiretape record --url`: a stdio client and a server over HTTP.

use crate::real_parts::{check_order, parts, python_client, run, secret, words};
use crate::session::{Home, Session, traces_in, wait_until};
use crate::trace::What;
use crate::web::{Reply, Seen, Web};
use serde_json::{Value, json};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use wiretape_testkit::parts::Parts;
use wiretape_testkit::process;
use wiretape_testkit::service::Service;
use wiretape_trace::message::Direction::{ClientToServer, ServerToClient};

const SIGTERM: i32 = 15;
const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Put together here, so that no scanner takes this file for a leak.
fn token() -> String {
    ["tok", "en-5tRq8ZxW2mNv"].concat()
}

impl Home {
    fn bridge(&self, url: &str, options: &[&str]) -> Session {
        let mut command = self.wiretape();
        command.args(["record", "--url", url]).args(options);
        self.start_command(command)
    }

    fn trace_path(&self) -> std::path::PathBuf {
        traces_in(&self.traces_dir()).remove(0)
    }

    fn trace_text(&self) -> String {
        fs::read_to_string(self.trace_path()).unwrap()
    }
}

impl Session {
    fn say(&mut self, line: &str) {
        self.send(format!("{line}\n"));
    }

    fn hear(&mut self) -> Value {
        serde_json::from_str(&self.receive_line()).unwrap()
    }

    /// Begins a session, with a server that answers as usual.
    fn begin(&mut self) {
        self.say(INITIALIZE);
        assert_eq!(self.hear()["id"], 1);
        self.say(INITIALIZED);
    }
}

fn call(id: u64, name: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}"}}}}"#)
}

fn result(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#)
}

/// A server with sessions that answers calls so.
fn server(answer: impl Fn(&Seen, &mut Reply) + Send + Sync + 'static) -> Web {
    Web::start(move |seen, reply| {
        let special = seen.is("tools/call") || seen.method == "GET";
        if !special || (seen.method == "GET" && seen.header("mcp-session-id").is_none()) {
            assert!(reply.usual(seen), "{seen:?}");
        } else {
            answer(seen, reply);
        }
    })
}

#[test]
fn a_label_is_redacted() {
    let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let web = server(|seen, reply| assert!(reply.usual(seen)));
    let home = Home::new();
    let (label, header) = (format!("{token} for s3same0pen"), "X-Door: s3same0pen");
    let mut session = home.bridge(&web.url(), &["--label", &label, "--header", header]);
    session.begin();
    session.end().check_quiet();
    let label = home.trace().meta.label;
    assert!(label.starts_with("REDACTED-github-"), "{label}");
    assert!(!label.contains("16C7") && !label.contains("s3same0pen"), "{label}");
}

#[test]
fn messages_pass_with_the_headers_of_their_session() {
    let web = server(|seen, reply| match seen.method.as_str() {
        "GET" => assert!(reply.usual(seen)),
        _ => reply.json("{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 7,\n  \"result\": {\"text\": \"a  b\"}\n}\n"),
    });
    let home = Home::new();
    let mut session = home.bridge(&web.url(), &["--label", "remote"]);
    session.begin();
    let odd = r#"{"jsonrpc":"2.0", "id":7,"method":"tools/call","params":{"n":1.0,"n":12345678901234567890,"s":"\u00e9"}}"#;
    session.say(odd);
    assert_eq!(session.receive_line(), r#"{"jsonrpc":"2.0","id":7,"result":{"text":"a  b"}}"#);
    session.end().check_quiet();

    let seen = web.seen();
    let post = seen.iter().find(|seen| seen.is("tools/call")).unwrap();
    assert_eq!(String::from_utf8_lossy(&post.body), odd);
    assert_eq!(post.header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(post.header("content-type"), Some("application/json"));
    assert_eq!(post.header("mcp-session-id"), Some("session-1"));
    assert_eq!(post.header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!((seen[0].header("mcp-session-id"), seen[0].header("mcp-protocol-version")), (None, None));
    let get = seen.iter().find(|seen| seen.method == "GET").unwrap();
    assert_eq!(
        (get.header("accept"), get.header("mcp-session-id")),
        (Some("text/event-stream"), Some("session-1"))
    );
    let delete = seen.iter().find(|seen| seen.method == "DELETE").unwrap();
    assert_eq!(delete.header("mcp-session-id"), Some("session-1"));

    let trace = home.trace();
    assert_eq!((trace.meta.transport.as_deref(), trace.meta.label.as_str()), (Some("http"), "remote"));
    assert_eq!(trace.meta.command, [web.url()]);
    assert_eq!(trace.messages(ClientToServer)[2], odd.as_bytes());
    assert_eq!((trace.messages(ClientToServer).len(), trace.messages(ServerToClient).len()), (3, 2));
    trace.check_ended(0);
}

#[test]
fn the_id_of_a_session_that_looks_like_a_secret_is_not_in_the_trace() {
    const SECRET: &str = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    let web = Web::start(|seen, reply| {
        if seen.is("initialize") || seen.is("tools/call") {
            let headers = format!("Content-Type: application/json\r\nMcp-Session-Id: {SECRET}\r\n");
            let result = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
            let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
            return reply.whole("200 OK", &headers, &answer);
        }
        assert!(reply.usual(seen), "{seen:?}");
    });
    let home = Home::new();
    let mut session = home.bridge(&web.url(), &[]);
    session.begin();
    session.say(&call(1, "x"));
    session.receive_line();
    session.end().check_quiet();
    let sent = web.seen();
    assert_eq!(sent.last().unwrap().header("mcp-session-id"), Some(SECRET), "the server needs it");
    let text = home.trace_text();
    assert!(text.contains(r#""session":"#) && !text.contains(SECRET), "{text}");
}

#[test]
fn a_line_is_in_the_trace_before_the_server_has_it() {
    let home = Arc::new(Home::new());
    let (told, tells) = mpsc::channel();
    let (told, place) = (Mutex::new(told), Arc::clone(&home));
    let web = Web::start(move |seen, reply| {
        let text = String::from_utf8_lossy(&seen.body).into_owned();
        told.lock().unwrap().send(place.trace_text().contains(&text)).unwrap();
        reply.json(&result(1));
    });
    let mut session = home.bridge(&web.url(), &[]);
    session.say(&call(1, "x"));
    session.receive_line();
    assert_eq!(tells.recv(), Ok(true));
    assert_eq!(home.trace().messages(ServerToClient), [result(1).as_bytes()]);
    session.end().check_quiet();
}

#[test]
fn requests_run_side_by_side() {
    let gate = Arc::new(std::sync::Barrier::new(20));
    let web = server(move |seen, reply| match seen.method.as_str() {
        "GET" => assert!(reply.usual(seen)),
        _ => {
            gate.wait();
            reply.json(&result(seen.json()["id"].as_u64().unwrap()));
        }
    });
    let home = Home::new();
    let mut session = home.bridge(&web.url(), &[]);
    session.begin();
    (10..30).for_each(|id| session.say(&call(id, "x")));
    let mut ids: Vec<u64> = (10..30).map(|_| session.hear()["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (10..30).collect::<Vec<_>>());
    session.end().check_quiet();
}

#[test]
fn a_stream_that_breaks_is_resumed() {
    let web = server(|seen, reply| match (seen.method.as_str(), seen.header("last-event-id")) {
        ("POST", _) => {
            reply.events();
            reply.write("id: 1\nretry: 20\ndata: \n\n");
            reply.write("id: 2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\nid: 3\ndata: {\"js");
        }
        ("GET", Some("2")) => {
            reply.events();
            reply
                .write("id: 4\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"notifications/message\"}\n\n");
        }
        ("GET", Some("4")) => {
            reply.events();
            reply.write(format!(": still there\n\nid: 5\nevent: message\ndata: {}\n\n", result(2)));
            reply.wait_for_close();
        }
        _ => assert!(reply.usual(seen)),
    });
    let home = Home::new();
    let mut session = home.bridge(&web.url(), &[]);
    session.begin();
    session.say(&call(2, "x"));
    assert_eq!(session.hear()["method"], "notifications/progress");
    assert_eq!(session.receive_line(), r#"{"jsonrpc":"2.0","method":"notifications/message"}"#);
    assert_eq!(session.receive_line(), result(2));
    session.end().check_quiet();
    let resumed: Vec<_> =
        web.seen().iter().filter_map(|seen| seen.header("last-event-id").map(str::to_owned)).collect();
    assert_eq!(resumed, ["2", "4"]);
}

#[test]
fn a_stream_that_can_not_be_resumed_is_an_error() {
    let web = server(|seen, reply| match seen.method.as_str() {
        "POST" => {
            reply.events();
            reply.write("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n");
        }
        _ => assert!(reply.usual(seen)),
    });
    let home = Home::new();
    let mut session = home.bridge(&web.url(), &[]);
    session.begin();
    session.say(&call(2, "x"));
    assert_eq!(session.hear()["method"], "notifications/progress");
    let error = session.hear();
    assert_eq!((&error["id"], &error["error"]["data"]["reason"]), (&json!(2), &json!("no-answer")));
    assert_eq!(session.end().code, Some(0));
}

#[test]
fn what_the_server_says_unasked_is_heard_and_asked_for_again() {
    let web = server(|seen, reply| match seen.header("last-event-id") {
        None => {
            reply.events();
            reply.write("retry: 10\nid: a\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n");
        }
        Some(_) => {
            reply.events();
            reply.write("id: b\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n");
            reply.wait_for_close();
        }
    });
    let home = Home::new();
    let mut session = home.bridge(&web.url(), &[]);
    session.begin();
    assert_eq!(session.hear()["method"], "ping");
    session.say(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_eq!(session.hear()["method"], "notifications/message");
    session.end().check_quiet();
}

#[test]
fn without_a_token_the_user_is_told_of_it() {
    let web = Web::start(|_, reply| reply.whole("401 Unauthorized", "WWW-Authenticate: Bearer\r\n", "no"));
    let home = Home::new();
    let mut session = home.bridge(&web.url(), &[]);
    session.say(INITIALIZE);
    let error = session.hear();
    assert_eq!((&error["id"], &error["error"]["code"]), (&json!(1), &json!(-32000)));
    assert_eq!(
        error["error"]["data"],
        json!({"source": "wiretape", "reason": "unauthorized", "status": 401})
    );
    let ended = session.end();
    assert!(ended.stderr.contains("--header 'Authorization: Bearer …'"), "{}", ended.stderr);
    assert_eq!((ended.code, web.log()), (Some(0), vec!["POST initialize".to_owned()]));
    let text = home.trace_text();
    assert!(
        text.contains("\"status\":401") && text.contains("\"responseBody\":{\"bytes\":2,\"text\":\"no\"}"),
        "{text}"
    );
}

#[test]
fn headers_reach_the_server_and_nothing_else() {
    for options in [&[][..], &["--no-redact"]] {
        // It is as careless as a server can be.
        let web = Web::start(|seen, reply| {
            let echo =
                format!("{} {}", seen.header("authorization").unwrap(), seen.header("x-quoted").unwrap());
            let body =
                json!({"jsonrpc": "2.0", "id": seen.json()["id"], "error": {"code": 1, "message": echo}});
            match seen.is("initialize") {
                true => reply.json(&body.to_string()),
                false => reply.whole(
                    "500 Oops",
                    &format!("X-Echo: {echo}\r\n"),
                    &json!({"error": body["error"]}).to_string(),
                ),
            }
        });
        let home = Home::new();
        let bearer = format!("Authorization: Bearer {}", token());
        let mut options = options.to_vec();
        options.extend(["--header", &bearer, "--header", "X-Quoted: \"quo\\ted\""]);
        let mut session = home.bridge(&web.url(), &options);
        session.say(INITIALIZE);
        // To the client it passes as it is.
        assert_eq!(session.hear()["error"]["message"], format!("Bearer {} \"quo\\ted\"", token()));
        session.say(&call(2, "x"));
        let ours = session.receive_line();
        let ended = session.end();
        let written = [ours, ended.stderr, home.trace_text()].concat();
        assert!(!written.contains(&token()) && !written.contains("quo\\"), "{written}");
        assert!(written.contains("\"authorization\":\"[REDACTED"), "{written}");
        home.trace().check_ended(0);
    }
}

#[test]
fn a_session_that_is_gone_and_a_server_that_is_gone() {
    let web = server(|seen, reply| match seen.method.as_str() {
        "POST" => {
            let body = r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}"#;
            reply.whole("404 Not Found", "Content-Type: application/json\r\n", body);
        }
        _ => assert!(reply.usual(seen)),
    });
    let home = Home::new();
    let mut session = home.bridge(&web.url(), &[]);
    session.begin();
    session.say(&call(2, "x"));
    let error = session.hear();
    assert_eq!((&error["id"], &error["error"]["data"]["reason"]), (&json!(2), &json!("session-gone")));
    assert!(session.end().stderr.contains("Session not found"));

    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let home = Home::new();
    let mut session = home.bridge(&format!("http://{nobody}/mcp"), &[]);
    session.say(r#"{"jsonrpc":"2.0","id":"a","method":"initialize"}"#);
    let error = session.hear();
    assert_eq!((&error["id"], &error["error"]["data"]["reason"]), (&json!("a"), &json!("unreachable")));
    let ended = session.end();
    assert_eq!((ended.code, ended.warnings().len()), (Some(0), 1));
    home.trace().check_ended(0);
}

#[test]
fn an_error_in_the_body_is_the_answer() {
    let body = r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"no such method"}}"#;
    let web =
        Web::start(move |_, reply| reply.whole("404 Not Found", "Content-Type: application/json\r\n", body));
    let home = Home::new();
    let mut session = home.bridge(&web.url(), &[]);
    session.say(&call(5, "x"));
    assert_eq!(session.receive_line(), body);
    session.end().check_quiet();
}

#[test]
fn a_server_of_2024_is_talked_to_as_it_was() {
    let stream = Arc::new(Mutex::new(None::<Reply>));
    let web = Web::start(move |seen, reply| match (seen.method.as_str(), seen.target.as_str()) {
        ("GET", _) => {
            reply.events();
            *stream.lock().unwrap() = Some(reply.again());
            reply.write("event: endpoint\ndata: /messages?session=1\n\n");
            reply.wait_for_close();
        }
        (_, "/messages?session=1") => {
            reply.accepted();
            if let Some(id) = seen.json()["id"].as_u64() {
                let event = format!("event: message\ndata: {}\n\n", result(id));
                assert!(stream.lock().unwrap().as_mut().unwrap().write(event));
            }
            if seen.is("tools/call") {
                stream.lock().unwrap().take().unwrap().close();
            }
        }
        _ => reply.whole("405 Method Not Allowed", "", ""),
    });
    let home = Home::new();
    let mut session = home.bridge(&web.url(), &[]);
    session.begin();
    session.say(&call(2, "x"));
    assert_eq!(session.receive_line(), result(2));
    // Its session ends with its stream; the next message begins another.
    wait_until("the end of the stream was seen", || session.stderr().contains("closed the stream"));
    session.say(&call(3, "x"));
    assert_eq!(session.receive_line(), result(3));
    assert_eq!(session.end().code, Some(0));
    let trace = home.trace();
    assert_eq!((trace.messages(ClientToServer).len(), trace.messages(ServerToClient).len()), (6, 4));
    assert_eq!(trace.texts().len(), 2);
    // The refused probe does not end the handshake: it is one call, and answered.
    let expected = ["initialize ok", "tools/call ok", "initialize ok", "tools/call ok"];
    assert_eq!(calls(&home), expected);
    assert_sound_ids(&home);
}

/// Lint finds nothing wrong with the ids: each request is answered once, and none is used twice in a session.
fn assert_sound_ids(home: &Home) {
    let lint = home.wiretape().arg("lint").arg(home.trace_path()).output().unwrap();
    let found = String::from_utf8_lossy(&lint.stdout).into_owned();
    assert!(!found.contains("L012") && !found.contains("M005"), "{found}");
}

/// The method and the outcome of each call of the only trace.
fn calls(home: &Home) -> Vec<String> {
    let output = home.wiretape().args(["calls", "--json"]).arg(home.trace_path()).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let calls = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    calls.map(|call| format!("{} {}", text(&call["method"]), text(&call["status"]))).collect()
}

/// A server that was restarted does not know the sessions that it had. (2025-11-25, Transports, "Session Management")
#[test]
fn a_session_that_the_server_has_lost_is_begun_anew() {
    let sessions = Arc::new(Mutex::new(0));
    let web = Web::start(move |seen, reply| {
        let mut sessions = sessions.lock().unwrap();
        let current = format!("session-{sessions}");
        if seen.is("initialize") {
            *sessions += 1;
            let headers = format!("Content-Type: application/json\r\nMcp-Session-Id: session-{sessions}\r\n");
            let result = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
            let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, seen.json()["id"]);
            reply.whole("200 OK", &headers, &body);
        } else if seen.method == "POST" && seen.header("mcp-session-id") != Some(&current) {
            let body = r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}"#;
            reply.whole("404 Not Found", "Content-Type: application/json\r\n", body);
        } else if seen.is("tools/call") {
            reply.json(&result(seen.json()["id"].as_u64().unwrap()));
            if seen.json()["params"]["name"] == "restart" {
                *sessions += 1;
            }
        } else {
            assert!(reply.usual(seen), "{seen:?}");
        }
    });
    let home = Home::new();
    let mut session = home.bridge(&web.url(), &[]);
    session.begin();
    session.say(&call(2, "restart"));
    assert_eq!(session.receive_line(), result(2));
    session.say(&call(3, "x"));
    // The client hears nothing of it but its answer.
    assert_eq!(session.receive_line(), result(3));
    session.say(&call(4, "x"));
    assert_eq!(session.receive_line(), result(4));
    let ended = session.end();
    assert_eq!((ended.code, ended.warnings().len()), (Some(0), 1), "{}", ended.stderr);
    assert!(ended.stderr.contains("has lost the session; a new one was started"), "{}", ended.stderr);
    let expected = ["initialize", "notifications/initialized", "tools/call", "tools/call"];
    let again = ["initialize", "notifications/initialized", "tools/call", "tools/call"];
    let sent: Vec<String> =
        web.log().iter().filter_map(|line| line.strip_prefix("POST ")).map(str::to_owned).collect();
    assert_eq!(sent, [expected, again].concat());

    let text = home.trace_text();
    assert_eq!(text.matches(r#""own":true"#).count(), 2, "{text}");
    assert_eq!(text.matches(r#""again":"#).count(), 1, "{text}");
    let expected = ["initialize ok", "tools/call ok", "tools/call ok", "initialize ok", "tools/call ok"];
    assert_eq!(calls(&home), expected);
    assert_sound_ids(&home);
}

#[test]
fn an_endpoint_elsewhere_is_not_followed() {
    let web = Web::start(|seen, reply| match seen.method.as_str() {
        "GET" => {
            reply.events();
            reply.write("event: endpoint\ndata: http://elsewhere.example/messages\n\n");
            reply.wait_for_close();
        }
        _ => reply.whole("404 Not Found", "", ""),
    });
    let home = Home::new();
    let mut session = home.bridge(&web.url(), &[]);
    session.say(INITIALIZE);
    assert_eq!(session.hear()["error"]["data"]["status"], 404);
    assert_eq!(session.end().code, Some(0));
}

#[test]
fn requests_of_2026_describe_themselves_in_headers() {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    let tools = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}}"#;
    let (closed, is_closed) = mpsc::channel();
    let closed = Mutex::new(closed);
    let web = Web::start(move |seen, reply| match seen.json()["method"].as_str() {
        Some("tools/list") => reply.json(tools),
        Some("tools/call") => reply.json(&result(2)),
        _ => {
            reply.events();
            reply.write(
                "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\"}\n\n",
            );
            reply.wait_for_close();
            closed.lock().unwrap().send(()).unwrap();
        }
    });
    let home = Home::new();
    let mut session = home.bridge(&web.url(), &[]);
    session.say(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{meta}}}}}"#));
    assert_eq!(session.receive_line(), tools);
    session.say(&format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"t","arguments":{{"region":"Wien Süd"}},{meta}}}}}"#
    ));
    assert_eq!(session.receive_line(), result(2));
    let call = web.seen().pop().unwrap();
    assert_eq!(call.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!((call.header("mcp-method"), call.header("mcp-name")), (Some("tools/call"), Some("t")));
    assert_eq!(call.header("mcp-param-region"), Some("=?base64?V2llbiBTw7xk?="));
    // There, closing the stream is what takes a request back.
    session
        .say(&format!(r#"{{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{{{meta}}}}}"#));
    session.receive_line();
    session.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#);
    is_closed.recv_timeout(Duration::from_secs(60)).unwrap();
    session.end().check_quiet();
    assert_eq!(web.log(), ["POST tools/list", "POST tools/call", "POST subscriptions/listen"]);
    assert_eq!(home.trace().messages(ClientToServer).len(), 4);
}

#[test]
fn a_signal_ends_the_session_well() {
    let web = server(|seen, reply| match seen.method.as_str() {
        "GET" => {
            reply.events();
            reply.wait_for_close();
        }
        // It never answers.
        _ => reply.wait_for_close(),
    });
    let home = Home::new();
    let mut session = home.bridge(&web.url(), &[]);
    session.begin();
    session.say(&call(2, "x"));
    wait_until("the call came", || web.log().contains(&"POST tools/call".to_owned()));
    process::signal(session.peer.pid(), SIGTERM).unwrap();
    wait_until("the session was ended", || web.log().contains(&"DELETE".to_owned()));
    session.end().check_quiet();
    let trace = home.trace();
    trace.check_ended(0);
    let stopped = trace.entries.iter().filter(|entry| match &entry.what {
        What::Http(line) => line["http"]["ended"] == "stopped",
        _ => false,
    });
    assert_eq!(stopped.count(), 1);
}

#[test]
fn a_client_that_does_not_read_any_more_ends_it() {
    let web = server(|seen, reply| match seen.method.as_str() {
        "GET" => assert!(reply.usual(seen)),
        _ => reply.json(&result(seen.json()["id"].as_u64().unwrap())),
    });
    let home = Home::new();
    let mut session = home.bridge(&web.url(), &[]);
    session.begin();
    session.peer.close_stdout();
    session.say(&call(2, "x"));
    wait_until("the session was ended", || web.log().contains(&"DELETE".to_owned()));
    wait_until("the trace was ended", || home.trace_text().contains("\"type\":\"end\""));
}

#[test]
fn a_command_line_without_sense_tells_no_secret() {
    let home = Home::new();
    let bad_value = format!("X-Key: {}\u{1}", token());
    for arguments in [
        &["--url", "http://localhost/", "--", "cat"][..],
        &["--header", "A: b", "--", "cat"],
        &["--url", "localhost"],
        &["--url", "http://localhost/", "--header", &token()],
        &["--url", "http://localhost/", "--header", &bad_value],
        &[],
    ] {
        let output = home.wiretape().arg("record").args(arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(!stderr.contains(&token()), "{stderr}");
    }
    assert!(!home.data_dir().exists());
}

fn everything(parts: &Parts, mode: &str) -> Service {
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let mut command = parts.server_everything_over(mode);
    command.env("PORT", address.port().to_string());
    Service::spawn_at(command, SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())), crate::session::LIMIT)
        .unwrap()
}

/// A real client sees the server as it does over stdio.
fn check_everything(mode: &str, path: &str) {
    let Some(parts) = parts() else { return };
    let home = Home::new();
    let client = python_client(&parts, "everything");
    let direct = run(&home, &client, &words(&parts.server_everything()));
    let service = everything(&parts, mode);
    let mut recorder = home.wiretape();
    recorder.args(["record", "--url", &format!("http://{}{path}", service.address())]);
    let bridged = run(&home, &client, &words(&recorder));
    for (bridged, direct) in bridged.lines().zip(direct.lines()) {
        assert_eq!(bridged, direct);
    }
    assert_eq!(bridged.len(), direct.len());
    let trace = home.trace();
    check_order(&trace);
    trace.check_ended(0);
    assert!(!home.trace_text().contains(&secret()));
}

#[test]
fn python_client_and_server_everything_over_streamable_http() {
    check_everything("streamableHttp", "/mcp");
}

#[test]
fn python_client_and_server_everything_over_http_and_sse() {
    check_everything("sse", "/sse");
}
