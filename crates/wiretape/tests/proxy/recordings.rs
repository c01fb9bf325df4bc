//! What is in the traces, and what must never be.

use crate::proxy::{Proxy, SIGKILL, Stopped, say_skipped, traces_in, wait_until, wiretape};
use crate::trace::Trace;
use crate::wire::{LAST_CHUNK, OPEN_STREAM, Peer, STREAM, Upstream, chunk, ok, post};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Stdio};
use wiretape_testkit::payload;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

/// One exchange through a proxy of its own, and what is left of that.
fn recorded(options: &[&str], request: &[u8], response: &[u8]) -> Stopped {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, options);
    let mut client = proxy.connect();
    client.send(request);
    let (_server, ..) = upstream.answer(response);
    client.receive();
    drop(client);
    proxy.stop()
}

/// One exchange on a connection of its own.
fn round_trip(proxy: &Proxy, upstream: &Upstream, request: &str, response: &str) -> Vec<u8> {
    let mut client = proxy.connect();
    client.send(request);
    let (_server, ..) = upstream.answer(response);
    client.receive().1
}

#[test]
fn a_label_is_redacted_in_the_trace_and_its_events() {
    let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let upstream = Upstream::listen();
    let label = format!("run-{secret}");
    let proxy = Proxy::before(&upstream, &["--label", &label, "--events", "events.ndjson"]);
    round_trip(&proxy, &upstream, &post("", CALL), &ok("", RESULT));
    let stopped = proxy.stop();
    let trace = stopped.trace();
    assert!(trace.lines[0]["label"].as_str().unwrap().starts_with("run-REDACTED-github-"), "{trace:?}");
    let events = std::fs::read_to_string(stopped.home().join("events.ndjson")).unwrap();
    assert!(!events.is_empty() && !events.contains(&secret), "{events}");
}

#[test]
fn a_session_is_one_trace() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &["--label", "my-server"]);
    round_trip(&proxy, &upstream, &post("", INITIALIZE), &ok("Mcp-Session-Id: s-1\r\n", INITIALIZED));
    let named = "Mcp-Session-Id: s-1\r\n";
    round_trip(&proxy, &upstream, &post(named, CALL), &ok("", RESULT));
    round_trip(&proxy, &upstream, &post(named, CALL), &ok("", RESULT));
    let stopped = proxy.stop();
    let trace = stopped.trace();
    assert_eq!(trace.raw("in"), [INITIALIZE, CALL, CALL]);
    assert_eq!(trace.raw("out"), [INITIALIZED, RESULT, RESULT]);
    let meta = &trace.lines[0];
    assert_eq!(
        (&meta["type"], &meta["transport"], &meta["redacted"]),
        (&json!("meta"), &json!("http"), &json!(true))
    );
    assert_eq!((&meta["command"], &meta["label"]), (&json!([upstream.url()]), &json!("my-server")));
    let sessions: Vec<&Value> = trace.messages().iter().map(|line| &line["session"]).collect();
    assert_eq!(sessions[1..], [&json!("s-1"); 5], "{trace:?}");
    let numbers: Vec<&Value> = trace.messages().iter().map(|line| &line["http"]["x"]).collect();
    assert_eq!(numbers, [1, 1, 2, 2, 3, 3]);
}

#[test]
fn heads_stand_there_once() {
    let stopped = recorded(
        &[],
        post("X-Mine: a\"b\r\nX-Two: 1\r\nX-Two: 2\r\n", CALL).as_bytes(),
        ok("", RESULT).as_bytes(),
    );
    let trace = stopped.trace();
    let [request] = trace.heads("request")[..] else { panic!("{trace:?}") };
    assert_eq!(
        (&request["method"], &request["target"], &request["version"]),
        (&json!("POST"), &json!("/mcp"), &json!("1.1"))
    );
    assert_eq!(
        (&request["headers"]["x-mine"], &request["headers"]["x-two"]),
        (&json!("a\"b"), &json!(["1", "2"]))
    );
    let [response] = trace.heads("response")[..] else { panic!("{trace:?}") };
    assert_eq!(
        (&response["status"], &response["headers"]["content-type"]),
        (&json!(200), &json!("application/json"))
    );
}

#[test]
fn sessions_do_not_mix() {
    const SESSIONS: usize = 8;
    const ROUNDS: usize = 12;
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &["--workers", "4"]);
    let address = proxy.address();
    let serving = std::thread::spawn(move || {
        let serve = |mut server: Peer| {
            std::thread::spawn(move || {
                for _ in 0..ROUNDS {
                    let (_, body) = server.receive();
                    server.send(ok(
                        "",
                        &String::from_utf8(body).unwrap().replace("\"method\":\"ping\"", "\"result\":{}"),
                    ));
                }
            })
        };
        let all: Vec<_> = (0..SESSIONS * 2).map(|_| serve(upstream.accept())).collect();
        all.into_iter().for_each(|server| server.join().unwrap());
    });
    // Each session over two connections at a time.
    let clients: Vec<_> = (0..SESSIONS * 2)
        .map(|n| {
            std::thread::spawn(move || {
                let mut client = Peer::connect(address);
                let session = n % SESSIONS;
                for round in 0..ROUNDS {
                    let call = format!(
                        "{{\"jsonrpc\":\"2.0\",\"id\":\"{session}/{n}/{round}\",\"method\":\"ping\"}}"
                    );
                    client.send(post(&format!("Mcp-Session-Id: session-{session}\r\n"), &call));
                    assert_eq!(client.receive().0.status(), 200);
                }
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    serving.join().unwrap();
    let traces = proxy.stop().traces();
    assert_eq!(traces.len(), SESSIONS);
    for trace in &traces {
        let session = trace.messages()[0]["session"].clone();
        assert_eq!(trace.messages().len(), ROUNDS * 2 * 2);
        for line in trace.messages() {
            assert_eq!(line["session"], session);
            let id = line["raw"]["id"].as_str().unwrap();
            assert_eq!(format!("session-{}", id.split('/').next().unwrap()), session);
        }
    }
}

/// No request that was answered comes after its answer.
#[test]
fn requests_stand_before_their_answers() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    for _ in 0..20 {
        round_trip(&proxy, &upstream, &post("Mcp-Session-Id: s\r\n", CALL), &ok("", RESULT));
    }
    let trace = proxy.stop().trace();
    let directions: Vec<&Value> = trace.messages().iter().map(|line| &line["dir"]).collect();
    assert!(directions.chunks(2).all(|pair| pair == [&json!("in"), &json!("out")]), "{directions:?}");
}

#[test]
fn secrets_never_reach_the_disk() {
    let request = "POST /mcp?token=SECRET-a1b2c3d4&x=plain HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer SECRET-e5f6a7b8\r\n\
        Cookie: sid=SECRET-c9d0e1f2\r\nX-Api-Key: SECRET-a3b4c5d6\r\nReferer: http://x/?access_token=SECRET-r1r2r3r4\r\n\
        Content-Type: application/json\r\nContent-Length: 76\r\n\r\n\
        {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"password\":\"SECRET-e7f8a9b0\"}}";
    let response = "HTTP/1.1 302 Found\r\nLocation: http://x/cb?code=SECRET-l1l2l3l4&state=plain\r\n\
        Set-Cookie: sid=SECRET-s1s2s3s4; Path=/\r\nSet-Cookie: other=SECRET-s5s6s7s8\r\n\
        Content-Type: application/json\r\nContent-Length: 36\r\n\r\n{\"access_token\":\"SECRET-t1t2t3t4t5\"}";
    let stopped = recorded(&[], request.as_bytes(), response.as_bytes());
    let trace = stopped.trace();
    assert!(!trace.text.contains("SECRET"), "{}", trace.text);
    assert!(trace.text.contains("x=plain"), "{}", trace.text);
    assert!(trace.text.contains("[REDACTED:"), "{}", trace.text);
    assert!(!stopped.stderr.contains("SECRET"), "{}", stopped.stderr);
}

#[test]
fn secrets_of_heads_are_redacted_wherever_they_are_repeated() {
    let encode = |text: &str| base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text);
    let named = ["quiet-river-stone", "Xk29fLq81mZp", "amber!Falcon7x", "bob:amber!Falcon7x"];
    let later = "plainly-visible-0";
    let headers = format!(
        "Authorization: Basic {}\r\nX-Api-Key: {}\r\nX-Note: {later}\r\nMcp-Session-Id: s\r\n",
        encode(named[3]),
        named[0]
    );
    let request = |path: &str, text: &str| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"text": text}}).to_string();
        post(&headers, &body).replacen("/mcp", path, 1)
    };
    let repeated: String =
        named.iter().map(|secret| format!("it was {secret}, {}. ", encode(&format!("<{secret}>")))).collect();

    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &["--events", "events.ndjson"]);
    let mut client = proxy.connect();
    client.send(request(&format!("/mcp?token={}", named[1]), "first"));
    let (mut server, ..) = upstream.answer(ok("", RESULT));
    client.receive();
    let mut exchange = |request: &str, response: &str| {
        client.send(request);
        server.receive();
        server.send(response);
        client.receive();
    };
    exchange(&request("/mcp", &repeated), &ok(&format!("X-Echo: {}\r\n", named[0]), RESULT));
    exchange(&request(&format!("/mcp/{}/{}", named[0], named[1]), "path"), &ok("", RESULT));
    // A head that is cached, with a value that only this body names.
    exchange(&request("/mcp", "third"), &ok("", &format!(r#"{{"password":"{later}"}}"#)));
    let before = traces_in(&proxy.home().join("data/traces"))[0].text.clone();
    exchange(&request("/mcp", "last"), &ok("", RESULT));
    let stopped = proxy.stop();
    let trace = stopped.trace();
    let events = fs::read_to_string(stopped.home().join("events.ndjson")).unwrap();
    for text in [&trace.text, &events, &stopped.stderr] {
        for secret in named {
            assert!(!text.contains(secret) && !text.contains(&encode(secret)[..14]), "{secret}: {text}");
        }
    }
    assert!(trace.text.contains("[REDACTED:repeated:"), "{}", trace.text);
    assert!(before.contains(later), "nothing had named it yet: {before}");
    assert!(!trace.text[before.len()..].contains(later), "{}", trace.text);
}

#[test]
fn secrets_reach_the_disk_if_the_user_wants_it() {
    let stopped = recorded(
        &["--no-redact"],
        post("Authorization: Bearer SECRET-1\r\n", CALL).as_bytes(),
        ok("", RESULT).as_bytes(),
    );
    let trace = stopped.trace();
    assert!(trace.text.contains("Bearer SECRET-1"));
    assert_eq!(trace.lines[0]["redacted"], false);
}

#[test]
fn nothing_is_recorded_if_the_user_wants_that() {
    let stopped = recorded(&["--no-traces"], post("", CALL).as_bytes(), ok("", RESULT).as_bytes());
    assert!(stopped.traces().is_empty());
}

#[test]
fn forms_are_not_recorded() {
    let form = "grant_type=authorization_code&code=SECRET-code&client_secret=SECRET-client";
    let request = format!(
        "POST /token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    );
    let response =
        ok("", r#"{"access_token":"SECRET-access","token_type":"Bearer","refresh_token":"SECRET-refresh"}"#);
    let trace = recorded(&[], request.as_bytes(), response.as_bytes()).trace();
    assert!(!trace.text.contains("SECRET") && !trace.text.contains("authorization_code"), "{}", trace.text);
    let line = trace.of_type("http")[0];
    assert_eq!(line["http"]["requestBody"], json!({ "bytes": form.len() }));
}

#[test]
fn a_body_on_several_lines_is_put_on_one() {
    let pretty = "{\n  \"jsonrpc\" : \"2.0\",\r\n\t\"id\": 1.0,\n  \"method\":\"m\",\n \"params\": { \"a\": \"x  y\\n\", \"a\": 10000000000000000000001 }\n}\n";
    let compact =
        r#"{"jsonrpc":"2.0","id":1.0,"method":"m","params":{"a":"x  y\n","a":10000000000000000000001}}"#;
    let trace = recorded(&[], post("", pretty).as_bytes(), ok("", pretty).as_bytes()).trace();
    assert_eq!((trace.raw("in"), trace.raw("out")), (vec![compact], vec![compact]));
}

/// Otherwise white space is left alone.
#[test]
fn a_body_on_one_line_stays_as_it_is() {
    let spaced = r#"{ "jsonrpc" : "2.0", "id":  1 , "method":"m" }"#;
    let trace = recorded(&[], post("", spaced).as_bytes(), ok("", spaced).as_bytes()).trace();
    assert_eq!((trace.raw("in"), trace.raw("out")), (vec![spaced], vec![spaced]));
}

#[test]
fn a_batch_is_one_line() {
    let batch = format!("[{CALL},{CALL}]");
    let answers = format!("[{RESULT},{RESULT}]");
    let trace = recorded(&[], post("", &batch).as_bytes(), ok("", &answers).as_bytes()).trace();
    assert_eq!((trace.raw("in"), trace.raw("out")), (vec![batch.as_str()], vec![answers.as_str()]));
}

#[test]
fn an_answer_that_is_no_message_is_told() {
    let body = r#"{"error":"invalid_token","error_description":"expired"}"#;
    let response = ok("WWW-Authenticate: Bearer resource_metadata=\"http://x/y\"\r\n", body)
        .replace("200 OK", "401 Unauthorized");
    let trace = recorded(&[], post("", CALL).as_bytes(), response.as_bytes()).trace();
    assert_eq!((trace.raw("in"), trace.raw("out")), (vec![CALL], vec![]));
    let [line] = trace.of_type("http")[..] else { panic!("{trace:?}") };
    assert_eq!(line["http"]["response"]["status"], 401);
    assert_eq!(line["http"]["responseBody"], json!({ "bytes": body.len(), "text": body }));
    assert_eq!(line["http"]["ended"], "complete");
}

#[test]
fn a_session_that_is_deleted_ends_its_trace() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let named = "Mcp-Session-Id: s\r\n";
    let mut stream = proxy.connect();
    stream.send(OPEN_STREAM.replace("\r\n\r\n", &format!("\r\n{named}\r\n")));
    let (mut events, ..) = upstream.answer(STREAM);
    stream.receive_head();
    round_trip(&proxy, &upstream, &post(named, CALL), &ok("", RESULT));
    let delete = format!("DELETE /mcp HTTP/1.1\r\nHost: x\r\n{named}\r\n");
    round_trip(&proxy, &upstream, &delete, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    // The stream may still say something.
    events.send([&chunk("data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n")[..], LAST_CHUNK].concat());
    stream.receive_chunked();
    wait_until("the trace has ended", || proxy.traces()[0].reason().is_some());
    let [trace] = &proxy.traces()[..] else { panic!("one session, one trace") };
    assert_eq!(trace.reason(), Some("the client ended the session"));
    assert_eq!(trace.raw("out").len(), 2);
    // Who uses the name again begins anew.
    round_trip(&proxy, &upstream, &post(named, CALL), &ok("", RESULT));
    drop(stream);
    assert_eq!(proxy.stop().traces().len(), 2);
}

#[test]
fn a_session_that_is_silent_ends_its_trace() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &["--session-idle", "1s"]);
    round_trip(&proxy, &upstream, &post("Mcp-Session-Id: s\r\n", CALL), &ok("", RESULT));
    wait_until("the trace has ended", || proxy.traces()[0].reason().is_some());
}

/// What comes on the same connection later, without a session, is another conversation.
#[test]
fn a_connection_that_was_silent_begins_another_trace() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &["--session-idle", "1s"]);
    let mut client = proxy.connect();
    client.send(post("", CALL));
    let (mut server, ..) = upstream.answer(ok("Keep-Alive: timeout=60\r\n", RESULT));
    client.receive();
    wait_until("the trace has ended", || proxy.traces()[0].reason().is_some());
    client.send(post("", CALL));
    server.receive();
    server.send(ok("", RESULT));
    client.receive();
    drop(client);
    let traces = proxy.stop().traces();
    assert_eq!(traces.iter().map(|trace| trace.messages().len()).collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn only_the_owner_may_read() {
    let stopped = recorded(&[], post("", CALL).as_bytes(), ok("", RESULT).as_bytes());
    let path = stopped.trace().path;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn large_bodies_pass_and_are_recorded() {
    const SIZE: usize = 20_000_000;
    let text: String = (0..SIZE / 20).map(|n| format!("line {n:>13} ")).collect();
    let call = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":\"{text}\"}}");
    let result = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"{text}\"}}");
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    let answer = ok("", &result);
    let serving = std::thread::spawn(move || upstream.answer(answer).2);
    client.send(post("", &call));
    assert!(client.receive().1 == result.as_bytes());
    assert!(serving.join().unwrap() == call.as_bytes());
    drop(client);
    let trace = proxy.stop().trace();
    assert!(trace.raw("in") == [&call], "the request is recorded as it is");
    assert!(trace.raw("out") == [&result], "the answer is recorded as it is");
}

#[test]
fn a_large_event_passes_and_is_recorded() {
    let message = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"{}\"}}", "word ".repeat(1_000_000));
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(post("", CALL));
    let (mut server, ..) = upstream.answer(STREAM);
    let event = format!("data: {message}\n\n");
    let sent = [&chunk(&event)[..], LAST_CHUNK].concat();
    let sending = std::thread::spawn(move || server.send(sent));
    client.receive_head();
    assert!(client.receive_chunked().0 == event.as_bytes());
    sending.join().unwrap();
    drop(client);
    assert!(proxy.stop().trace().raw("out") == [&message]);
}

/// Whoever has seen the end of a message finds it in the trace.
#[test]
fn messages_are_recorded_before_they_arrive() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let chunked = |head: &str, body: &str| {
        let head = format!("{head}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
        [head.as_bytes(), &chunk(&body[..9]), &chunk(&body[9..]), LAST_CHUNK].concat()
    };
    let requests = [post("", CALL).into_bytes(), chunked("POST /mcp HTTP/1.1\r\nHost: x", CALL)];
    let responses = [ok("", RESULT).into_bytes(), chunked("HTTP/1.1 200 OK", RESULT)];
    let mut client = proxy.connect();
    let mut server = None;
    for round in 0..20 {
        client.send(&requests[round % 2]);
        let server = server.get_or_insert_with(|| upstream.accept());
        server.receive();
        assert_eq!(proxy.traces()[0].raw("in").len(), round + 1);
        server.send(&responses[round % 2]);
        client.receive();
        assert_eq!(proxy.traces()[0].raw("out").len(), round + 1);
    }
}

/// Killed while events pour through: what the client has seen is in the trace.
#[test]
fn what_was_seen_survives_a_kill() {
    const MARKER: &str = "event-number-";
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(OPEN_STREAM);
    let (server, ..) = upstream.answer(STREAM);
    let sending = std::thread::spawn(move || {
        use std::io::Write as _;
        let mut stream = &server.stream;
        for n in 0.. {
            let event = format!("data: {{\"jsonrpc\":\"2.0\",\"method\":\"{MARKER}{n}\"}}\n\n");
            if stream.write_all(&chunk(event)).is_err() {
                return;
            }
        }
    });
    client.receive_head();
    client.read_through(format!("{MARKER}2000\"}}\n\n").as_bytes());
    proxy.signal(SIGKILL);
    let (rest, _) = client.receive_rest();
    sending.join().unwrap();
    // The last event that arrived whole.
    let rest = String::from_utf8_lossy(&rest).into_owned();
    let whole = rest.rfind("\n\n").map_or("", |end| &rest[..end]);
    let last: usize = whole
        .rsplit_once(MARKER)
        .map_or(2000, |(_, number)| number.split('"').next().unwrap().parse().unwrap());
    let traces = proxy.wait().unfinished_traces();
    let [trace] = &traces[..] else { panic!("one trace") };
    let recorded = trace.messages();
    assert!(recorded.len() > last, "{last} was seen, {} are recorded", recorded.len());
    for (n, line) in recorded.iter().enumerate() {
        assert_eq!(line["raw"]["method"], format!("{MARKER}{n}"));
    }
    let torn = trace.text.split_inclusive('\n').filter(|line| !line.ends_with('\n')).count();
    assert!(torn <= 1);
    assert!(trace.of_type("end").is_empty());
}

/// A file system of 64 kB, unmounted when dropped.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(path: &'a Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k,mode=755", "tmpfs"]).arg(path).stderr(Stdio::null());
        if mount.status().is_ok_and(|status| status.success()) {
            return Some(SmallDisk(path));
        }
        let must = fs::metadata(path).unwrap().uid() == 0 && std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!must, "CI runs this as root and must be able to mount a tmpfs");
        say_skipped("a small disk can't be mounted here; that takes root");
        None
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        // Lazily: a proxy that a failed test left behind may still be in it.
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_costs_the_recording_only() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(dir.path()) else { return };
    let upstream = Upstream::listen();
    let proxy =
        Proxy::before(&upstream, &["--traces", dir.path().to_str().unwrap(), "--admin", "127.0.0.1:0"]);
    // Several sessions, and all of them want to write.
    for id in 1..=300 {
        let call = String::from_utf8(payload::small_call(id)).unwrap();
        let request = post(&format!("Mcp-Session-Id: s{}\r\n", id % 3), call.trim_end());
        let got = round_trip(&proxy, &upstream, &request, &ok("", RESULT));
        assert_eq!(got, RESULT.as_bytes());
    }
    let stopped = proxy.stop();
    let told: Vec<_> = stopped.warnings().into_iter().filter(|line| line.contains("can't write")).collect();
    assert_eq!(told.len(), 1, "{}", stopped.stderr);
    assert!(told[0].contains("No space left on device"), "{}", stopped.stderr);
    assert!(stopped.stderr.contains("could not be recorded"), "{}", stopped.stderr);
    let traces: Vec<Trace> = traces_in(dir.path());
    assert!(traces.iter().map(|trace| trace.messages().len()).sum::<usize>() > 20);
    drop(disk);
}

/// A proxy reports calls to the store, and no lines of its traces.
#[test]
fn loading_a_trace_adds_its_hash_to_the_store() {
    let stopped = recorded(&[], post("", CALL).as_bytes(), ok("", RESULT).as_bytes());
    let run = |command: &[&str]| {
        let output = wiretape(stopped.home()).args(command).arg("latest").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let printed = run(&["integrity"]);
    assert!(printed.contains(": intact, ") && !printed.contains("same as in the store"), "{printed}");
    assert!(run(&["store", "load"]).contains("already loaded"));
    let printed = run(&["integrity"]);
    assert!(printed.contains("; same as in the store"), "{printed}");
}
