use crate::diff::session;
use crate::environment::TestEnvironment;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

/// What the binary says to a client that sends these lines and goes away.
fn play(env: &TestEnvironment, args: &[&str], lines: &[&str]) -> String {
    env.tell(&talk(env.command(args), lines))
}

fn talk(mut command: Command, lines: &[&str]) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = lines.join("\n").into_bytes();
    input.push(b'\n');
    // If it has already exited, its output explains why.
    let _ = child.stdin.take().unwrap().write_all(&input);
    child.wait_with_output().unwrap()
}

fn environment() -> TestEnvironment {
    let env = TestEnvironment::new();
    let add = |a: &str| format!(r#"{{"name":"add","arguments":{{"a":{a},"b":2}}}}"#);
    let result = |text: &str| format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
    let calls = [
        ("initialize", r#"{"protocolVersion":"2025-11-25"}"#.to_owned(), INITIALIZED.to_owned(), 100),
        ("tools/list", "{}".to_owned(), r#"{"tools":[]}"#.to_owned(), 100),
        ("tools/call", add("1"), result("3"), 2_000),
        ("tools/call", add("1"), result("three"), 2_000),
        ("tools/call", add("5"), result("7"), 2_000),
    ];
    let calls: Vec<_> =
        calls.iter().map(|(method, params, result, us)| (*method, &**params, &**result, *us)).collect();
    env.file("sums.jsonl", session("aaaa", "sums", &calls));
    env
}

const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s"}}"#;
const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const ONE: &str =
    r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"arguments":{"b":2,"a":1},"name":"add"}}"#;
const NINE: &str =
    r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"add","arguments":{"a":9,"b":2}}}"#;
const TEN: &str =
    r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"add","arguments":{"a":10,"b":2}}}"#;

#[test]
fn a_trace_answers() {
    let env = environment();
    insta::assert_snapshot!("replay", play(&env, &["replay", "aaaa"], &[HELLO, READY, ONE, ONE, ONE]));
}

#[test]
fn a_miss_is_loud() {
    let env = environment();
    insta::assert_snapshot!("replay-miss", play(&env, &["replay", "aaaa"], &[NINE, "{\"id\":1}", "what?"]));
    let null = play(&env, &["replay", "aaaa", "--on-miss", "null"], &[NINE]);
    assert!(null.contains(r#""id":9,"result":{"content":[]}"#) && null.contains("exit 1"), "{null}");
    let loose = play(&env, &["replay", "aaaa", "--match", "loose"], &[NINE]);
    insta::assert_snapshot!("replay-loose", loose);
    let ignoring = play(&env, &["replay", "aaaa", "--ignore", "params/arguments/a"], &[NINE]);
    assert!(ignoring.contains(r#""id":9,"result""#) && ignoring.contains("exit 0"), "{ignoring}");
}

#[test]
fn what_is_asked_too_often_or_never_can_fail() {
    let env = environment();
    let strict = play(&env, &["replay", "aaaa", "--strict"], &[ONE, ONE, ONE]);
    assert!(strict.contains("all matching recorded calls are used up") && strict.contains("exit 1"));
    insta::assert_snapshot!(
        "replay-require-all",
        play(&env, &["replay", "aaaa", "--require-all"], &[HELLO, ONE])
    );
    let order = play(&env, &["replay", "aaaa", "--order", "recorded"], &[ONE]);
    assert!(order.contains("tools/call add is out of order; next is line 4, tools/list"), "{order}");
}

/// Nothing else takes secrets out of what a client says: it is not recorded.
#[test]
fn what_is_told_of_a_client_has_no_secrets() {
    let env = environment();
    let secret = ["ghp_", &"a1B2c3D4e5".repeat(4)].concat();
    let login = r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"add","arguments":{"a":9,"password":"hunter two","text":"it is SECRET"}}}"#;
    let login = login.replace("SECRET", &secret);
    for options in [&[][..], &["--match", "loose"], &["--order", "recorded"]] {
        for report in ["report.json", "report.xml"] {
            let args = [&["replay", "aaaa", "--report", report], options].concat();
            let told = play(&env, &args, &[HELLO, READY, &login]);
            let report = std::fs::read_to_string(env.data_dir().join(report)).unwrap();
            for text in [&told, &report] {
                assert!(!text.contains("hunter") && !text.contains(&secret), "{text}");
            }
            assert!(told.contains("params/arguments/password was missing and is \"[REDACTED:"), "{told}");
        }
    }
    // Without valid rules, no values are printed.
    std::fs::write(env.data_dir().join("config.toml"), "[redact]\nkeys = 7\n").unwrap();
    let told = play(&env, &["replay", "aaaa"], &[&login]);
    assert!(told.contains("params/arguments/password differs") && !told.contains("hunter"), "{told}");
}

#[test]
fn reports_are_for_programs() {
    let env = environment();
    for (name, snapshot) in [("report.json", "replay-json"), ("report.xml", "replay-junit")] {
        play(&env, &["replay", "aaaa", "--require-all", "--report", name], &[HELLO, ONE, NINE, NINE, TEN]);
        let report = std::fs::read(env.data_dir().join(name)).unwrap();
        insta::assert_snapshot!(snapshot, env.redact(&report));
    }
    // Reported at once, not at the end.
    let nowhere = play(&env, &["replay", "aaaa", "--report", "no/such/dir/report.json"], &[HELLO]);
    assert!(
        nowhere.contains("can't write no/such/dir/report.json") && nowhere.contains("exit 2"),
        "{nowhere}"
    );
    assert!(!nowhere.contains("protocolVersion"), "{nowhere}");
}

#[test]
fn faults_are_the_same_with_the_same_seed() {
    let env = environment();
    let run = |seed| {
        let fault = "tool:add error=-32000 p=0.5";
        play(&env, &["replay", "aaaa", "--fault", fault, "--seed", seed], &[ONE, ONE, ONE, ONE, ONE, ONE])
    };
    let first = run("1");
    assert_eq!(first, run("1"));
    assert_ne!(first, run("2"));
    assert!(first.contains("injected fault (error): tools/call add"), "{first}");
    let gone = play(&env, &["replay", "aaaa", "--fault", "disconnect"], &[ONE, ONE]);
    assert!(!gone.contains("result") && gone.contains("exit 0"), "{gone}");
    let hung = play(&env, &["replay", "aaaa", "--fault", "hang"], &[ONE]);
    assert!(!hung.contains("result") && hung.contains("exit 0"), "{hung}");
    let late = play(&env, &["replay", "aaaa", "--fault", "tool:add delay=1ms"], &[ONE]);
    assert!(late.contains("injected fault (delay)") && late.contains("1 fault injected"), "{late}");
    assert!(late.contains(r#""id":"x","result""#) && !late.contains("failed"), "{late}");
}

/// A test of a fault that never comes would pass, and so would one that leaves nothing out.
#[test]
fn faults_and_paths_that_match_nothing_are_reported() {
    let env = environment();
    let fault = play(&env, &["replay", "aaaa", "--fault", "tool:ad error=-1"], &[ONE]);
    assert!(fault.contains("--fault 'tool:ad error=-1' matches no recorded call"), "{fault}");
    assert!(fault.contains("exit 2") && !fault.contains("result"), "{fault}");
    let ignoring = play(&env, &["replay", "aaaa", "--ignore", "params/argument/a"], &[ONE]);
    assert!(ignoring.contains("--ignore params/argument/a matched nothing"), "{ignoring}");
    assert!(ignoring.contains("exit 1") && ignoring.contains("result"), "{ignoring}");
    let live = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"now":7}}"#;
    let only_live = play(&env, &["replay", "aaaa", "--ignore", "params/now"], &[live]);
    assert!(only_live.contains("exit 0"), "{only_live}");
}

#[test]
fn a_real_server_is_asked_what_was_not_recorded() {
    let env = environment();
    let server = [env!("CARGO_BIN_EXE_wiretape"), "sample-server"];
    let mut args = vec!["replay", "aaaa", "--on-miss", "passthrough", "--record-new", "new.jsonl", "--"];
    args.extend(server);
    let list = r#"{"jsonrpc":"2.0","id":3,"method":"resources/list"}"#;
    let mut child = env
        .command(&args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all([HELLO, READY, ONE, list].join("\n").as_bytes()).unwrap();
    stdin.write_all(b"\n").unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let told: Vec<String> = (0..3).map(|_| lines.next().unwrap().unwrap()).collect();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert!(told[1].contains("\"3\"") && told[2].contains(r#""id":3"#), "{told:?}");
    let new = std::fs::read_to_string(env.data_dir().join("new.jsonl")).unwrap();
    assert!(new.contains("resources/list") && new.contains(r#""type":"end""#), "{new}");
    let again = play(&env, &["replay", "new.jsonl"], &[HELLO, READY, list]);
    assert!(again.contains(r#""id":3"#) && again.contains("0 missed"), "{again}");
}

/// As from a file: the last answers come though the input has ended.
#[test]
fn a_client_that_has_said_its_last_is_answered() {
    let env = environment();
    let server = [env!("CARGO_BIN_EXE_wiretape"), "sample-server"];
    let mut args = vec!["replay", "aaaa", "--on-miss", "passthrough", "--record-new", "last.jsonl", "--"];
    args.extend(server);
    let list = r#"{"jsonrpc":"2.0","id":3,"method":"resources/list"}"#;
    // A batch is as good.
    let batch = r#"[{"jsonrpc":"2.0","id":4,"method":"resources/list"}]"#;
    let told = play(&env, &args, &[HELLO, READY, list, batch]);
    assert!(told.contains(r#""id":3,"result""#) && told.contains(r#""id":4,"result""#), "{told}");
    assert!(told.contains("exit 0"), "{told}");
    let new = std::fs::read_to_string(env.data_dir().join("last.jsonl")).unwrap();
    assert_eq!(new.matches(r#""resources":["#).count(), 2, "{new}");
    // Where nothing was new, nothing is left behind: the same command works again.
    args[5] = "none.jsonl";
    for _ in 0..2 {
        let told = play(&env, &args, &[HELLO, READY, ONE]);
        assert!(told.contains("exit 0"), "{told}");
        assert!(!env.data_dir().join("none.jsonl").exists());
    }
    let slowly = play(&env, &["replay", "aaaa", "--fault", "delay=200ms"], &[ONE]);
    assert!(slowly.contains(r#""id":"x","result""#), "{slowly}");
}

#[test]
fn a_real_server_that_never_stops_talking_keeps_nobody() {
    let env = environment();
    let told = play(&env, &["replay", "aaaa", "--on-miss", "passthrough", "--", "yes"], &[HELLO, NINE]);
    assert!(told.contains("1 passed to the real server"), "{told}");
}

#[test]
fn a_real_server_that_cannot_be_started_is_told() {
    let env = environment();
    let told = play(&env, &["replay", "aaaa", "--on-miss", "passthrough", "--", "no-such-command"], &[NINE]);
    assert!(told.contains("can't forward to the real server: it can't be started"), "{told}");
    assert!(
        told.contains("wiretape: missed: ") && told.contains("1 missed") && told.contains("exit 1"),
        "{told}"
    );
}

#[test]
fn odd_traces_have_a_clear_word_each() {
    let env = environment();
    env.file("empty.jsonl", "");
    env.file("text.jsonl", "hello\n");
    env.file("meta.jsonl", r#"{"v":1,"type":"meta","label":"x"}"#);
    let whole = std::fs::read(env.path("sums.jsonl")).unwrap();
    env.file("torn.jsonl", &whole[..whole.len() * 3 / 4]);
    for trace in ["empty", "text", "meta", "torn"] {
        let path = env.path(&format!("{trace}.jsonl"));
        let told = play(&env, &["replay", path.to_str().unwrap()], &[HELLO, ONE]);
        insta::assert_snapshot!(format!("replay-{trace}"), told);
    }
    let compressed = flate2_of(&whole);
    env.file("sums.jsonl.gz", compressed);
    let told = play(&env, &["replay", env.path("sums.jsonl.gz").to_str().unwrap()], &[ONE]);
    assert!(told.contains(r#""text":"3""#), "{told}");
    let directory = play(&env, &["replay", "."], &[]);
    assert!(directory.contains("can't open .") && directory.contains("exit 2"), "{directory}");
    if cfg!(unix) {
        let endless = play(&env, &["replay", "/dev/zero"], &[]);
        assert!(
            endless.contains("/dev/zero is not a regular file") && endless.contains("exit 2"),
            "{endless}"
        );
    }
}

/// A client's first word is answered while the rest of a long trace is being read; nothing else is different.
#[test]
fn a_long_trace_answers_as_a_short_one_does() {
    let env = environment();
    let short = std::fs::read_to_string(env.path("sums.jsonl")).unwrap();
    let (before, after) = short.split_at(short.find(r#""method":"tools/list""#).unwrap());
    let at = before.rfind('\n').unwrap() + 1;
    let stderr = format!(
        "{{\"t\":\"2026-05-12T23:00:00.000Z\",\"type\":\"stderr\",\"text\":\"{}\"}}\n",
        "x".repeat(1000)
    );
    let long = format!("{}{}{}{after}", &before[..at], stderr.repeat(2000), &before[at..]);
    env.file("long.jsonl", long);
    let talk = |trace: &str| {
        let told = play(&env, &["replay", trace], &[HELLO, READY, ONE, ONE, NINE]);
        told.replace("long", "sums").replace("line 2006", "line 6").replace("\"line\":2006", "\"line\":6")
    };
    let (long, short) = (talk("traces/long.jsonl"), talk("traces/sums.jsonl"));
    assert_eq!(long, short);
    assert!(short.contains("protocolVersion") && short.contains("1 missed"), "{short}");
}

/// A handshake that failed at the beginning of a long trace is not taken for the only one.
#[test]
fn a_long_trace_is_greeted_as_it_was_at_last() {
    let env = environment();
    let line = |dir: &str, raw: &str| {
        format!("{{\"t\":\"2026-05-12T23:00:00.000Z\",\"dir\":\"{dir}\",\"raw\":{raw}}}\n")
    };
    let refused = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32001,"message":"not logged in"}}"#;
    let stderr = format!(
        "{{\"t\":\"2026-05-12T23:00:00.000Z\",\"type\":\"stderr\",\"text\":\"{}\"}}\n",
        "x".repeat(1000)
    );
    let good = format!(r#"{{"jsonrpc":"2.0","id":0,"result":{INITIALIZED}}}"#);
    let lines =
        [line("in", HELLO), line("out", refused), stderr.repeat(2000), line("in", HELLO), line("out", &good)];
    env.file("long.jsonl", lines.concat());
    let told = play(&env, &["replay", "traces/long.jsonl"], &[HELLO]);
    assert!(told.contains(r#""serverInfo":{"name":"s"}"#) && !told.contains("not logged in"), "{told}");
}

fn flate2_of(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn parts_of_a_recording_are_one_server() {
    let env = environment();
    let fixture = |name: &str| {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces").join(name);
        env.file(name, std::fs::read(path).unwrap());
    };
    fixture("wiretape-part-1.jsonl");
    fixture("wiretape-part-2.jsonl");
    let told = play(&env, &["replay", env.path("wiretape-part-2.jsonl").to_str().unwrap()], &[]);
    insta::assert_snapshot!("replay-parts", told);
}

#[test]
fn the_order_of_several_traces_is_that_of_their_beginnings() {
    let env = TestEnvironment::new();
    for (second, name) in [(1, "a"), (2, "b"), (3, "c")] {
        let call = [("tools/call", &*format!(r#"{{"name":"{name}"}}"#), r#"{"content":[]}"#, 100)];
        let trace = String::from_utf8(session(&name.repeat(4), name, &call)).unwrap();
        let started = format!("2026-05-12T23:00:0{second}.000Z");
        env.file(&format!("{name}.jsonl"), trace.replace("2026-05-12T23:00:00.000Z", &started));
    }
    let ask =
        |name| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}"}}}}"#);
    let args = ["replay", "--merge", "--order", "recorded", "aaaa", "bbbb", "cccc"];
    let told = play(&env, &args, &[&ask("a"), &ask("b"), &ask("c")]);
    assert!(told.contains("3 of 3 recorded calls used") && told.contains("exit 0"), "{told}");
    let told = play(&env, &args, &[&ask("c"), &ask("b"), &ask("a")]);
    assert!(told.contains("tools/call c is out of order") && told.contains("exit 1"), "{told}");
}

#[test]
fn every_fixture_can_be_played() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces");
    let env = TestEnvironment::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let told = play(&env, &["replay", path.to_str().unwrap()], &[HELLO, READY]);
            assert!(told.contains(r#""protocolVersion":"2025-06-18""#) && told.contains("exit 0"), "{told}");
        }
    }
}

#[test]
fn the_command_line_is_checked() {
    let env = environment();
    let check = |args: &[&str], expected: &str| {
        let told = play(&env, &[&["replay"], args].concat(), &[]);
        assert!(told.contains(expected) && told.contains("exit 2"), "{args:?}: {told}");
    };
    check(&[], "TRACE");
    check(&["aaaa", "aaaa"], "a client on standard input can use only one trace");
    check(&["aaaa", "--on-miss", "passthrough"], "needs a server");
    check(&["aaaa", "--", "cat"], "a server command needs --on-miss passthrough");
    check(&["aaaa", "--record-new", "x"], "--record-new needs --on-miss passthrough");
    let several = ["aaaa", "aaaa", "--listen", "127.0.0.1:0", "--on-miss", "passthrough", "--", "cat"];
    check(&several, "--on-miss passthrough needs exactly one trace");
    check(&["aaaa", "--listen", "somewhere"], "somewhere");
    check(&["aaaa", "--allow-origin", "https://a.example"], "--listen");
    check(&["aaaa", "--match", "fuzzy"], "fuzzy");
    check(&["aaaa", "--listen", "8080"], "expected an IP address with a port, e.g. 127.0.0.1:8080");
    check(&["aaaa", "--speed", "fast"], "speed must be 0 (no delays)");
    check(&["aaaa", "--speed", "-1"], "speed must be 0 (no delays)");
    check(&["aaaa", "--fault", "nonsense"], "no fault given");
    check(&["aaaa", "--fault", "tool:x"], "no fault given");
    check(&["aaaa", "--ignore", "x"], "a path must start with");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let busy = play(&env, &["replay", "aaaa", "--listen", &address], &[]);
    assert!(busy.contains(&format!("can't listen on {address}")) && busy.contains("exit 2"), "{busy}");
    env.file("taken.jsonl", "");
    let taken = env.path("taken.jsonl");
    let record = ["aaaa", "--on-miss", "passthrough", "--record-new", taken.to_str().unwrap(), "--", "cat"];
    let exists = play(&env, &[&["replay"], &record[..]].concat(), &[]);
    assert!(exists.contains("a trace is never overwritten") && exists.contains("exit 2"), "{exists}");
    let none = play(&env, &["replay", "zzzz"], &[]);
    assert!(none.contains("no trace `zzzz`") && none.contains("exit 2"), "{none}");
}

/// What another program wrote down is a server, too: each call of it that was answered is answered again.
#[test]
fn imported_traces_can_be_played() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/import");
    let env = TestEnvironment::new();
    let mut played = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let source = entry.unwrap().path();
        let out = env.path("imported.jsonl");
        let out = out.to_str().unwrap();
        env.run(&["import", source.to_str().unwrap(), "--out", out]);
        // Some hold several sessions, or don't say of which format they are.
        let Ok(trace) = std::fs::read_to_string(out) else { continue };
        played += 1;
        let requests: Vec<String> = trace.lines().filter_map(request_in).collect();
        let requests: Vec<&str> = requests.iter().map(String::as_str).collect();
        let told = play(&env, &["replay", out], &requests);
        let answered =
            told.lines().filter(|line| line.contains("\"result\"") || line.contains("\"error\"")).count();
        // Nothing answers the server's questions here, and what was cancelled stays open.
        let questions =
            told.lines().filter(|line| line.contains("\"method\"") && line.contains("\"id\"")).count();
        let silent = trace.matches("notifications/cancelled").count() + questions;
        assert!(answered + silent >= requests.len() && !requests.is_empty(), "{}: {told}", source.display());
        assert!(!told.contains("no recorded call matches"), "{}: {told}", source.display());
        std::fs::remove_file(out).unwrap();
    }
    assert!(played >= 6, "only {played} could be imported");
}

/// The client's request on a line of a trace.
fn request_in(line: &str) -> Option<String> {
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let raw = line.get("raw").filter(|raw| raw.get("method").is_some() && raw.get("id").is_some())?;
    (line["dir"] == "in").then(|| raw.to_string())
}
