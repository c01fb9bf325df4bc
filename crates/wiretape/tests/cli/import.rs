use crate::environment::TestEnvironment;
use serde_json::Value;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

const CALL: &str = r#"{"jsonrpc":"2.0","id":"call-1","method":"tools/call","params":{"name":"Calculator","arguments":{"a":1,"b":2}}}"#;
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":"call-1","result":{"sum":3}}"#;
const SECRET: &str = "hunter2-is-secret";

/// The result of an import.
struct Outcome {
    code: i32,
    stdout: String,
    stderr: String,
    /// What was written, if anything.
    trace: Option<String>,
}

impl Outcome {
    /// The payloads in the trace, with who sent them.
    fn messages(&self) -> Vec<String> {
        let lines = self.trace.as_deref().unwrap_or_default().lines();
        let values = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        values.filter_map(|line| Some(format!("{} {}", line["dir"].as_str()?, line.get("raw")?))).collect()
    }
}

fn import(content: impl AsRef<[u8]>, args: &[&str]) -> Outcome {
    let env = TestEnvironment::new();
    let source = env.file("source", content);
    let out = env.path("out.jsonl");
    let mut all = vec!["import", source.to_str().unwrap()];
    all.extend(args);
    if !args.contains(&"--to") {
        all.extend(["--out", out.to_str().unwrap()]);
    }
    let output = env.command(&all).output().unwrap();
    let left: Vec<_> = std::fs::read_dir(env.path("")).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(left.iter().all(|path| *path == source || *path == out), "{left:?}");
    let stderr = env.redact(&output.stderr);
    assert!(!stderr.contains(SECRET), "{stderr}");
    Outcome {
        code: output.status.code().unwrap(),
        stdout: env.redact(&output.stdout),
        stderr,
        trace: std::fs::read_to_string(out).ok(),
    }
}

fn envelope(transport: &str, entries: &str) -> String {
    format!("{{\"transport\":\"{transport}\",\"entries\":[{entries}]}}")
}

#[test]
fn a_label_is_redacted_in_the_trace_and_in_its_name() {
    let env = TestEnvironment::new();
    let entries = format!("{{\"timestamp_ms\":1000,\"request\":{CALL}}}");
    let source = env.data_dir().join("source");
    std::fs::write(&source, envelope("streamable-http", &entries)).unwrap();
    let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let output = env.command(&["import", "--label", &token]).arg(&source).output().unwrap();
    assert!(output.status.success(), "{}", env.redact(&output.stderr));
    let path = std::fs::read_dir(env.path("")).unwrap().next().unwrap().unwrap().path();
    let trace = std::fs::read_to_string(&path).unwrap();
    assert!(path.to_str().unwrap().contains("REDACTED-github-"), "{path:?}");
    assert!(trace.contains("\"label\":\"REDACTED-github-") && !trace.contains("16C7e42F"), "{trace}");
}

#[track_caller]
fn check_refused(content: impl AsRef<[u8]>, format: &str, rule: &str) {
    for args in [&["--format", format][..], &["--format", format, "--strict"]] {
        let outcome = import(content.as_ref(), args);
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(rule), "{}", outcome.stderr);
        assert_eq!(outcome.trace, None);
    }
}

/// Everything but some losses is brought in; with `--strict`, nothing.
#[track_caller]
fn check_salvaged(content: impl AsRef<[u8]>, format: &str, messages: &[&str], rule: &str) {
    let outcome = import(content.as_ref(), &["--format", format]);
    assert_eq!(outcome.messages(), messages);
    assert!(outcome.stderr.contains(rule), "{}", outcome.stderr);
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    let strict = import(content.as_ref(), &["--format", format, "--strict"]);
    assert_eq!((strict.code, strict.trace), (2, None));
    assert!(strict.stderr.contains(rule), "{}", strict.stderr);
}

#[track_caller]
fn check_whole(content: impl AsRef<[u8]>, format: &str, messages: &[&str]) {
    for args in [&["--format", format][..], &["--format", format, "--strict"], &[]] {
        let outcome = import(content.as_ref(), args);
        assert_eq!(
            (outcome.code, outcome.messages()),
            (0, messages.iter().map(|&m| m.to_owned()).collect()),
            "{}",
            outcome.stderr
        );
        assert!(outcome.stderr.contains(format), "{}", outcome.stderr);
    }
}

/// The canonical envelope of the contract, with times of our day.
const CANONICAL: &str = r#"{"transport":"streamable-http",
"transport_context":{"headers":{"MCP-Protocol-Version":"2025-06-18","Mcp-Session-Id":"session-123"}},
"entries":[{"timestamp_ms":1750000000000,"request":{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"lookup_customer","arguments":{"id":"cust_123"}}}},
{"timestamp_ms":1750000000001,"response":{"jsonrpc":"2.0","id":"1","result":{"name":"Alice"}}},
{"timestamp_ms":1750000000002,"transport_context":{"headers":{"Last-Event-ID":"evt-9"}},"sse":{"event":"message","id":"evt-10","data":{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":50}}}}]}"#;

#[test]
fn an_import_begins_with_the_first_time_of_its_source() {
    let env = TestEnvironment::new();
    std::fs::write(env.data_dir().join("x.json"), CANONICAL).unwrap();
    env.run(&["import", "x.json", "--format", "streamable-http", "--out", "x.jsonl"]);
    let trace = std::fs::read_to_string(env.data_dir().join("x.jsonl")).unwrap();
    let lines: Vec<Value> = trace.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["startedAt"], "2025-06-15T15:06:40.000Z");
    assert_eq!((&lines[1]["t"], &lines[1]["assumed"]), (&lines[0]["startedAt"], &serde_json::json!(["t"])));
    assert_eq!(lines.last().unwrap()["durationMs"], 2);
    let shown = env.run(&["show", "x.jsonl"]);
    assert!(shown.contains("duration 2.00ms") && shown.contains("+0.002s"), "{shown}");
}

/// Both command lines as Assay documents them, and what else they take.
#[test]
fn the_two_command_lines_of_assay() {
    let env = TestEnvironment::new();
    let file = |name: &str| env.data_dir().join(name);
    let trace = |name: &str| std::fs::read_to_string(file(name)).unwrap();
    std::fs::write(file("session.json"), CANONICAL).unwrap();
    let args = "import session.json --format streamable-http --out-trace session.trace.jsonl";
    let told = env.run(&args.split(' ').collect::<Vec<_>>());
    assert!(told.contains("--- exit 0 ---"), "{told}");
    assert!(trace("session.trace.jsonl").contains("lookup_customer"));
    std::fs::remove_file(file("session.trace.jsonl")).unwrap();
    std::fs::write(file("session.json"), CANONICAL.replace("streamable-http", "http-sse")).unwrap();
    let args = "trace import-mcp --input session.json --format http-sse --out-trace session.trace.jsonl";
    let told = env.run(&args.split(' ').collect::<Vec<_>>());
    assert!(told.contains("--- exit 0 ---"), "{told}");
    assert!(trace("session.trace.jsonl").contains("lookup_customer"));
    let alias =
        args.replace("http-sse", "sse-legacy") + " --to assay-v2 --episode-id e1 --test-id t1 --prompt hello";
    let told = env.run(&alias.split(' ').collect::<Vec<_>>());
    assert!(told.contains("--- exit 0 ---"), "{told}");
    let episode = trace("session.trace.jsonl");
    assert!(episode.contains("\"e1\"") && episode.contains("hello"), "{episode}");
    let wrong = env.run(&["trace", "import-mcp", "session.json"]);
    assert!(wrong.contains("--- exit 2 ---"), "{wrong}");
}

#[test]
fn a_null_slot_beside_a_filled_one_is_absent() {
    let entries = format!(
        "{{\"request\":{CALL},\"response\":null,\"sse\":null}},\n{{\"request\":null,\"response\":{ANSWER}}}"
    );
    let [call, answer] = both();
    check_whole(envelope("streamable-http", &entries), "streamable-http", &[&call, &answer]);
    let nothing = "{\"request\":null,\"response\":null}";
    check_refused(
        envelope("streamable-http", nothing),
        "streamable-http",
        "line 1, entry 1: an entry must have",
    );
}

#[test]
fn an_event_that_is_encoded_twice_is_a_message() {
    let twice = Value::from(Value::from(ANSWER).to_string());
    let entries = format!("{{\"request\":{CALL}}},{{\"sse\":{{\"event\":\"message\",\"data\":{twice}}}}}");
    let outcome = import(envelope("streamable-http", &entries), &[]);
    assert_eq!((outcome.code, outcome.messages()), (0, both().to_vec()), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("entry 2: the event's data is a message that was encoded twice"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn an_event_that_is_cut_off_is_a_loss() {
    let cut_off = Value::from(&ANSWER[..20]);
    let entries = format!("{{\"request\":{CALL}}},{{\"sse\":{{\"data\":{cut_off}}}}}");
    let [call, _] = both();
    check_salvaged(
        envelope("streamable-http", &entries),
        "streamable-http",
        &[&call],
        "line 1, entry 2: not JSON",
    );
}

fn both() -> [String; 2] {
    [format!("in {}", sorted(CALL)), format!("out {}", sorted(ANSWER))]
}

/// As a JSON library prints it.
fn sorted(json: &str) -> String {
    serde_json::from_str::<Value>(json).unwrap().to_string()
}

#[test]
fn the_four_formats_of_the_contract() {
    let [call, answer] = both();
    let expected = [call.as_str(), answer.as_str()];
    check_whole(format!("{CALL}\n{ANSWER}\n"), "jsonrpc", &expected);
    check_whole(format!("[{CALL},\n{ANSWER}]"), "inspector", &expected);
    check_whole(format!("{{\"events\":[{CALL},{ANSWER}]}}"), "inspector", &expected);
    let entries = format!(
        "{{\"timestamp_ms\":1000,\"request\":{CALL}}},\n{{\"timestamp_ms\":1001,\"response\":{ANSWER}}}"
    );
    check_whole(envelope("streamable-http", &entries), "streamable-http", &expected);
    let text = Value::from(ANSWER);
    let entries = format!(
        "{{\"sse\":{{\"event\":\"endpoint\",\"id\":\"evt-0\",\"data\":\"/messages?session=1\"}}}},\
         {{\"request\":{CALL}}},{{\"sse\":{{\"event\":\"message\",\"id\":\"evt-1\",\"data\":{text}}}}}"
    );
    check_whole(envelope("http-sse", &entries), "http-sse", &expected);
    assert_eq!(import(envelope("http-sse", &entries), &["--format", "sse-legacy"]).code, 0);
}

#[test]
fn what_must_fail_fails() {
    for id in ["true", "{}", "[1]"] {
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{SECRET}"}}}}"#);
        check_refused(&message, "jsonrpc", "line 1: the `id` of a message must be a string or a number");
        check_refused(
            envelope("streamable-http", &format!("{{\"request\":{message}}}")),
            "streamable-http",
            "`id`",
        );
    }
    check_refused(
        format!("{CALL}\n{ANSWER}\n{CALL}\n"),
        "jsonrpc",
        "line 3: a `tools/call` request has the `id`",
    );
    let number = CALL.replace("\"call-1\"", "1");
    let text = CALL.replace("call-1", "1");
    check_refused(format!("{number}\n{text}\n"), "jsonrpc", "`id` of an earlier one");
    for entries in
        ["{}", "{\"timestamp_ms\":1}", &format!("{{\"request\":{CALL},\"response\":{ANSWER}}}"), "7"]
    {
        check_refused(envelope("streamable-http", entries), "streamable-http", "exactly one of");
    }
    let entries = format!("{{\"request\":{CALL}}}");
    check_refused(envelope("streamable-http", &entries), "http-sse", "`transport` must be \"http-sse\"");
    check_refused("", "jsonrpc", "no message");
    check_refused("{\"transport\":\"streamable-http\",\"entries\":[]}", "streamable-http", "no message");
    check_refused("not a document", "streamable-http", "document");
}

#[test]
fn ids_pair_as_the_contract_says() {
    let lines = |text: &str| {
        let outcome = import(text, &["--format", "jsonrpc", "--to", "assay-v2", "--episode-id", "e"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let events = outcome.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events
            .filter(|event| event["type"] == "tool_call")
            .map(|event| (event["result"].clone(), event["error"].clone()))
            .collect::<Vec<_>>()
    };
    let call = |id: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"x"}}}}"#) + "\n"
    };
    let answer = |id: &str, n: u8| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"n":{n}}}}}"#) + "\n";
    let timeout = (Value::Null, Value::from("timeout/no_response"));
    let ok = |n: u8| (serde_json::json!({ "n": n }), Value::Null);
    assert_eq!(lines(&(call("1") + &answer("\"1\"", 1))), [ok(1)]);
    assert_eq!(lines(&(call("1") + &answer("1", 1) + &answer("1", 2))), [ok(1)]);
    assert_eq!(lines(&(call("\"null\"") + &answer("null", 1))), std::slice::from_ref(&timeout));
    assert_eq!(lines(&(call("null") + &answer("null", 1))), [(Value::Null, Value::Null)]);
    assert_eq!(lines(&(answer("1", 1) + &call("1"))), [timeout]);
    // A server counts its own requests: both have a 1, and neither meets the other's.
    let sampling = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sampling/createMessage\",\"params\":{}}\n";
    let sampled =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"model\":\"m\",\"role\":\"assistant\",\"content\":{}}}\n";
    assert_eq!(lines(&(call("1") + sampling + sampled + &answer("1", 3))), [ok(3)]);
}

#[test]
fn broken_files_are_salvaged() {
    let [call, answer] = both();
    let expected = [call.as_str(), answer.as_str()];
    check_salvaged(
        format!("{CALL}\nListening on {SECRET}\n{ANSWER}\n"),
        "jsonrpc",
        &expected,
        "line 2: not JSON at byte 0",
    );
    check_salvaged(
        format!("{CALL}\n{ANSWER}\n{{\"jsonrpc\":\"2.0\",\"id"),
        "jsonrpc",
        &expected,
        "line 3: not JSON",
    );
    check_salvaged(
        format!("{CALL}\n{{\"hello\":\"{SECRET}\"}}\n{ANSWER}"),
        "jsonrpc",
        &expected,
        "line 2: not a JSON-RPC message",
    );
    let entries = format!("{{\"request\":{CALL}}},\n{{\"response\":{ANSWER}}},\n{{\"response\":{{\"jsonr");
    let cut_off = format!("{{\"transport\":\"streamable-http\",\"entries\":[{entries}");
    check_salvaged(&cut_off, "streamable-http", &expected, "line 3, entry 3: the source is cut off");
    let odd = [
        CALL.as_bytes(),
        b"\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":\"\xFF\"}\n",
    ]
    .concat();
    let mended = "out {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":\"\u{FFFD}\"}";
    check_salvaged(odd, "jsonrpc", &[&call, mended], "line 2: invalid UTF-8");
}

#[test]
fn odd_files_are_read_whole() {
    let [call, answer] = both();
    let expected = [call.as_str(), answer.as_str()];
    let plain = format!("{CALL}\r\n\r\n{ANSWER}\r\n");
    check_whole(format!("\u{FEFF}{plain}"), "jsonrpc", &expected);
    let wide: Vec<u8> = plain.encode_utf16().flat_map(u16::to_le_bytes).collect();
    check_whole([b"\xFF\xFE", &wide[..]].concat(), "jsonrpc", &expected);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(plain.as_bytes()).unwrap();
    check_whole(gzip.finish().unwrap(), "jsonrpc", &expected);
    check_whole(zstd::encode_all(plain.as_bytes(), 1).unwrap(), "jsonrpc", &expected);
    let batch = format!("[{CALL},{}]\n", CALL.replace("call-1", "call-2"));
    let outcome = import(&batch, &["--format", "jsonrpc"]);
    assert_eq!((outcome.code, outcome.messages().len()), (0, 1));
    assert!(outcome.stderr.contains("imported 2 messages"), "{}", outcome.stderr);
}

#[test]
fn payloads_stay_as_they_are() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let odd = format!(
        r#"{{"jsonrpc":"2.0","id":12345678901234567890, "result":{{"b":1E400,"a":1.0,"a":{deep}}}}}"#
    );
    let outcome = import(format!("{odd}\n"), &["--format", "jsonrpc"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.trace.unwrap().contains(&format!("\"raw\":{odd}}}\n")));
}

#[test]
fn what_is_odd_but_whole_is_noted_and_refused_when_strict() {
    let nuls = format!("\0\0{CALL}\0\n{ANSWER}");
    let twice = format!("{CALL}\n{}", ANSWER.replace("\"id\"", "\"id\":0,\"id\""));
    let entries =
        format!("{{\"request\":{CALL}}},{{\"sse\":{{\"data\":\"{SECRET}\"}}}},{{\"response\":{ANSWER}}}");
    let event = envelope("streamable-http", &entries);
    for (source, format) in [(&nuls, "jsonrpc"), (&twice, "jsonrpc"), (&event, "streamable-http")] {
        let outcome = import(source, &["--format", format]);
        assert_eq!((outcome.code, outcome.messages().len()), (0, 2), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("note: source, line "), "{}", outcome.stderr);
        assert_eq!(import(source, &["--format", format, "--strict"]).code, 2);
    }
}

#[test]
fn a_login_that_is_asked_for_is_seen() {
    let discovery = |response: &str, context: &str| {
        let entries =
            format!("{{\"request\":{CALL}}},{{\"transport_context\":{context},\"response\":{response}}}");
        let outcome = import(envelope("streamable-http", &entries), &["--to", "assay-v2"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let start: Value = serde_json::from_str(outcome.stdout.lines().next().unwrap()).unwrap();
        start["meta"]["mcp"]["authorization_discovery"].clone()
    };
    let challenge = r#"{"status":401,"headers":{"WWW-Authenticate":"Bearer resource_metadata=\"https://x/y\", scope=\"a\""}}"#;
    let visible = serde_json::json!({
        "visible": true, "source_kind": "www_authenticate", "resource_metadata_visible": true,
        "authorization_servers_visible": false, "scope_challenge_visible": true,
    });
    assert_eq!(discovery("null", challenge), visible);
    assert_eq!(discovery(r#"{"error":"invalid_token","error_description":"x"}"#, challenge), visible);
    assert_eq!(
        discovery(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}"#, challenge),
        visible
    );
    assert_eq!(discovery(ANSWER, &challenge.replace("401", "200"))["visible"], false);
    assert_eq!(discovery(ANSWER, &challenge.replace("401", "200"))["source_kind"], "unknown");
}

#[test]
fn an_episode_is_the_same_on_every_run() {
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let listed =
        r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}"#;
    let failed = r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"no"}}"#;
    let other = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"b"}}"#;
    let open = r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"c","arguments":{}}}"#;
    let at = |ms: i64, slot: &str, message: &str| format!("{{\"timestamp_ms\":{ms},\"{slot}\":{message}}}");
    let entries = [
        at(1000, "request", list),
        at(990, "response", listed),
        at(1010, "request", CALL),
        at(1020, "request", open),
        // Stamped before its request, and its response all the same.
        at(1005, "response", ANSWER),
        at(1030, "request", other),
        at(1040, "response", failed),
    ];
    let source = envelope("streamable-http", &entries.join(",\n"));
    let args = ["--to", "assay-v2", "--episode-id", "e1", "--test-id", "t1"];
    let (one, two) = (import(&source, &args), import(&source, &args));
    assert_eq!(one.stdout, two.stdout);
    insta::assert_snapshot!("import-assay", one.stdout);
}

/// Two servers, whose names look the same on disk.
fn two_servers(one: &str, other: &str) -> String {
    let line = |server: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"_meta\":{{\"dir\":\"send\",\"server\":\"{server}\",\"ts\":\"2026-06-03T09:15:02.274Z\"}}}}\n"
        )
    };
    line(one) + &line(other)
}

#[test]
fn every_server_has_a_file_of_its_own() {
    let env = TestEnvironment::new();
    std::fs::write(env.data_dir().join("two.ndjson"), two_servers("a b", "a/b")).unwrap();
    let told = env.run(&["import", "two.ndjson", "--out", "x.jsonl"]);
    assert!(told.contains("x-a-b.jsonl\n  x-a-b-2.jsonl") && told.contains("exit 0"), "{told}");
    let told = env.run(&["import", "two.ndjson", "--server", "a/b", "--out", "y.jsonl"]);
    assert!(told.contains("imported 1 message from two.ndjson (mcporter)\n  y.jsonl"), "{told}");
    assert!(env.data_dir().join("y.jsonl").exists());
    let told = env.run(&["import", "two.ndjson", "--server", "c", "--out", "z.jsonl"]);
    assert!(told.contains("no server `c`") && told.contains("hint: servers: a b, a/b"), "{told}");
    let told = env.run(&["import", "two.ndjson", "--out", "-"]);
    assert!(told.contains("2 servers") && told.contains("exit 2"), "{told}");
    std::fs::write(env.data_dir().join("w-one.jsonl"), two_servers("one", "two")).unwrap();
    let told = env.run(&["import", "w-one.jsonl", "--out", "w.jsonl"]);
    assert!(told.contains("is the input") && told.contains("exit 2"), "{told}");
    assert!(std::fs::read_to_string(env.data_dir().join("w-one.jsonl")).unwrap().contains("_meta"));
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_nothing_behind() {
    let env = TestEnvironment::new();
    let mut command = env.command(&["import", "-", "--format", "jsonrpc", "--out", "x.jsonl"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Enough for a batch, so that a draft is begun.
    let drafts = || {
        std::fs::read_dir(env.data_dir())
            .unwrap()
            .filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|e| e == "draft"))
            .count()
    };
    let mut id = 0;
    while drafts() == 0 {
        for _ in 0..1000 {
            id += 1;
            writeln!(stdin, "{}", CALL.replace("call-1", &format!("call-{id}"))).unwrap();
        }
    }
    wiretape_testkit::process::signal(child.id(), 15).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
    assert_eq!(drafts(), 0);
    assert!(!env.data_dir().join("x.jsonl").exists());
}

#[test]
fn ids_that_both_sides_use_are_told_apart() {
    let line = |text: &str| format!("{{\"jsonrpc\":\"2.0\",{text}}}\n");
    let source = line(r#""id":2,"method":"tools/call","params":{"name":"x"}"#)
        + &line(r#""id":2,"method":"ping""#)
        + &line(r#""id":2,"result":{}"#)
        + &line(r#""id":2,"result":{"content":[]}"#);
    let outcome = import(source, &["--format", "jsonrpc"]);
    let directions: Vec<String> =
        outcome.messages().iter().map(|message| message.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(directions, ["in", "out", "in", "out"]);
    let colliding = include_str!("../../../../fixtures/traces/colliding-ids.jsonl");
    let env = TestEnvironment::new();
    env.file("c.jsonl", colliding);
    env.run(&["export", "traces/c.jsonl", "--to", "jsonrpc", "--out", "c.txt"]);
    let told = env.run(&["import", "c.txt", "--to", "assay-v2"]);
    assert!(told.contains("said yes"), "{told}");
}

#[test]
fn a_batch_with_something_odd_in_it_keeps_its_messages() {
    let batch = format!("[{CALL},{{\"foo\":1}},{}]\n", CALL.replace("call-1", "call-2"));
    let outcome = import(&batch, &["--format", "jsonrpc"]);
    assert_eq!((outcome.code, outcome.messages().len()), (0, 1), "{}", outcome.stderr);
    check_refused(format!("[{CALL},{CALL}]\n"), "jsonrpc", "`id` of an earlier one");
    assert_eq!(import(format!("[7,{CALL},{CALL}]\n"), &["--format", "jsonrpc"]).code, 2);
}

#[test]
fn the_input_is_never_overwritten() {
    let env = TestEnvironment::new();
    let source = env.file("a.jsonl", CALL);
    let told = env.run(&["import", "traces/a.jsonl", "--out", "traces/../traces/a.jsonl"]);
    assert!(told.contains("is the input") && told.contains("exit 2"), "{told}");
    assert_eq!(std::fs::read_to_string(source).unwrap(), CALL);
}

#[test]
fn standard_input_and_standard_output() {
    let env = TestEnvironment::new();
    let mut command = env.command(&["import", "-", "--out", "-"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(format!("{CALL}\n{ANSWER}\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 4);
}

#[test]
fn an_import_stands_among_the_traces() {
    let env = TestEnvironment::new();
    std::fs::write(env.data_dir().join("mine.jsonl"), format!("{CALL}\n{ANSWER}\n")).unwrap();
    let told = env.run(&["import", "mine.jsonl"]);
    assert!(told.contains("imported 2 messages from mine.jsonl (jsonrpc)\n  $DATA/traces/"), "{told}");
    let stats = env.run(&["stats", "latest"]);
    assert!(stats.contains("Calculator"), "{stats}");
    let listed = env.run(&["ls"]);
    assert!(listed.contains("mine") && !listed.contains("1970"), "{listed}");
}

#[test]
fn what_nobody_knows_is_told_so() {
    let env = TestEnvironment::new();
    env.file("odd", "hello\nworld\n");
    env.trace("trace.jsonl", "aaaa", 0);
    insta::assert_snapshot!("import-unknown", env.run(&["import", "traces/odd"]));
    insta::assert_snapshot!("import-trace", env.run(&["import", "traces/trace.jsonl"]));
    insta::assert_snapshot!("import-missing", env.run(&["import", "traces/none"]));
    insta::assert_snapshot!("import-format", env.run(&["import", "traces/odd", "--format", "x"]));
}

#[test]
fn a_secret_never_reaches_the_disk() {
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"x","arguments":{{"password":"{SECRET}"}}}}}}"#
    );
    let entries = format!(
        "{{\"transport_context\":{{\"headers\":{{\"Authorization\":\"Bearer {SECRET}\"}}}},\"request\":{call}}}"
    );
    let outcome = import(envelope("streamable-http", &entries), &[]);
    assert!(!outcome.trace.unwrap().contains(SECRET));
    let outcome = import(&call, &["--format", "jsonrpc", "--no-redact"]);
    assert!(outcome.trace.unwrap().contains(SECRET));
}

/// The ids of traces are new each time.
fn without_ids(shown: &str) -> String {
    let without = |line: &str| match line.split_once(" · id ") {
        Some((before, _)) => format!("{before} · id $ID\n"),
        None => format!("{line}\n"),
    };
    shown.lines().map(without).collect()
}

/// Each committed transcript is recognized, is read whole, and means the same for ever.
#[test]
fn every_fixture_is_recognized_and_reads_the_same_for_ever() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/import");
    let mut fixtures: Vec<_> = std::fs::read_dir(dir).unwrap().map(|file| file.unwrap().path()).collect();
    fixtures.sort();
    assert!(fixtures.len() >= 11, "{fixtures:?}");
    for fixture in fixtures {
        let env = TestEnvironment::new();
        let name = fixture.file_name().unwrap().to_str().unwrap();
        let stem = name.split('.').next().unwrap();
        std::fs::copy(&fixture, env.data_dir().join(name)).unwrap();
        let told = env.run(&["import", name, "--out", "out.jsonl"]);
        let mut files: Vec<_> = std::fs::read_dir(env.data_dir())
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let mut shown = told;
        for file in files.iter().filter(|file| file.starts_with("out")) {
            shown.push_str(&format!("\n--- {file}\n{}", env.run(&["show", file])));
        }
        insta::assert_snapshot!(format!("import-fixture-{stem}"), without_ids(&shown));
    }
}
