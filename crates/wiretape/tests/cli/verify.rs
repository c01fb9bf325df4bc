use crate::diff::session;
use crate::environment::TestEnvironment;

/// The calls of a session: method, params, result, microseconds.
type Calls<'c> = Vec<(&'c str, String, String, u64)>;

fn calls(three: &str, tool: &str) -> Calls<'static> {
    let add = |a: u32| format!(r#"{{"name":"add","arguments":{{"a":{a},"b":2}}}}"#);
    let result = |text: &str| format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
    let introduction =
        r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s"}}"#;
    let annotations = r#""annotations":{"readOnlyHint":true}"#;
    let tools = format!(
        r#"{{"tools":[{{"name":"add","description":"{tool}","inputSchema":{{"type":"object"}},{annotations}}},{{"name":"drop","inputSchema":{{"type":"object"}}}}]}}"#
    );
    vec![
        ("initialize", r#"{"protocolVersion":"2025-11-25"}"#.to_owned(), introduction.to_owned(), 100),
        ("tools/list", "{}".to_owned(), tools, 100),
        ("tools/call", add(1), result(three), 2_000),
        ("tools/call", add(5), result("7"), 2_000),
        ("tools/call", r#"{"name":"drop","arguments":{}}"#.to_owned(), result("gone"), 2_000),
    ]
}

fn trace(id: &str, label: &str, calls: &Calls<'_>) -> Vec<u8> {
    let calls: Vec<_> =
        calls.iter().map(|(method, params, result, us)| (*method, &**params, &**result, *us)).collect();
    session(id, label, &calls)
}

/// A trace, and one of a server that answers one call otherwise and says something else of a tool.
fn environment() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.file("old.jsonl", trace("aaaa", "sums", &calls("3", "Adds")));
    env.file("new.jsonl", trace("bbbb", "sums", &calls("three", "Adds two numbers")));
    env
}

/// Verifies `aaaa` against the replay of a trace.
fn verify(env: &TestEnvironment, options: &[&str], server: &str) -> String {
    let binary = env!("CARGO_BIN_EXE_wiretape");
    let mut args = vec!["verify", "aaaa"];
    args.extend(options);
    args.extend(["--", binary, "replay", server]);
    env.run(&args).replace(binary, "wiretape")
}

#[test]
fn the_same_server_is_the_same() {
    let env = environment();
    insta::assert_snapshot!("verify-same", verify(&env, &[], "aaaa"));
    insta::assert_snapshot!("verify-all", verify(&env, &["--all", "--allow-writes"], "aaaa"));
}

#[test]
fn what_has_changed_is_named() {
    let env = environment();
    insta::assert_snapshot!("verify-changed", verify(&env, &[], "bbbb"));
    let definitions = verify(&env, &["--definitions", "none", "--only", "method:initialize"], "bbbb");
    assert!(definitions.contains("exit 0"), "{definitions}");
    let ignored = verify(&env, &["--definitions", "breaking", "--ignore", "/content/*/text"], "bbbb");
    assert!(ignored.contains("4 same, 1 skipped") && ignored.contains("exit 0"), "{ignored}");
    let slip = verify(&env, &["--ignore", "/contents"], "aaaa");
    assert!(slip.contains("--ignore /contents matched nothing in any response"), "{slip}");
    assert!(slip.contains("exit 1"), "{slip}");
    let only = verify(&env, &["--only", "text:7", "--only", "tool:add"], "bbbb");
    assert!(only.contains("2 same, 3 skipped") && only.contains("exit 0"), "{only}");
}

#[test]
fn nothing_is_done_in_a_dry_run() {
    let env = environment();
    insta::assert_snapshot!("verify-dry-run", env.run(&["verify", "aaaa", "--dry-run"]));
    insta::assert_snapshot!("verify-dry-run-json", env.run(&["verify", "aaaa", "--dry-run", "--json"]));
}

#[test]
fn no_secret_is_shown() {
    const KEY: &str = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    let env = TestEnvironment::new();
    let recorded = |instructions: &str| {
        let mut calls = calls("3", "Adds");
        calls[0].2.insert_str(1, &format!(r#""instructions":"{instructions} {KEY}","#));
        calls[2].1 = r#"{"name":"add","arguments":{"a":1,"password":"hunter2hunter2"}}"#.to_owned();
        calls
    };
    env.file("old.jsonl", trace("aaaa", "sums", &recorded("Use")));
    env.file("new.jsonl", trace("bbbb", "sums", &recorded("Never use")));
    let check = |told: &str, words: &[&str]| {
        assert!(!told.contains(KEY) && !told.contains("hunter2"), "{told}");
        for word in words {
            assert!(told.contains(word), "lacks {word:?}:\n{told}");
        }
    };
    check(&env.run(&["verify", "aaaa", "--dry-run"]), &[r#""password": "[REDACTED:"#]);
    let all = verify(&env, &["--all"], "bbbb");
    check(&all, &["instructions to the model have changed", r#""password": "[REDACTED:"#]);
    check(&verify(&env, &["--json"], "bbbb"), &["Never use [REDACTED:"]);
    for name in ["report.xml", "report.json"] {
        verify(&env, &["--report", name], "bbbb");
        check(&std::fs::read_to_string(env.data_dir().join(name)).unwrap(), &["instructions"]);
    }
    let started = env.run(&["verify", "aaaa", "--", "sh", "-c", "exit 3", "--password", "hunter2hunter2"]);
    check(&started, &["against sh -c exit 3 --password [REDACTED:"]);
    let reached = env.run(&["verify", "aaaa", "--url", "http://127.0.0.1:9/mcp?api_key=hunter2hunter2"]);
    check(&reached, &["against http://127.0.0.1:9/mcp?api_key=[REDACTED:"]);
}

/// How long something took is another each time.
fn no_times(text: &str) -> String {
    let mut clean = String::new();
    let mut rest = text;
    while let Some(at) = ["\"tookUs\":", "time=\""]
        .into_iter()
        .filter_map(|word| rest.find(word).map(|at| at + word.len()))
        .min()
    {
        clean.push_str(&rest[..at]);
        let after = rest[at..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        if after.len() < rest.len() - at {
            clean.push('T');
        }
        rest = after;
    }
    clean + rest
}

#[test]
fn programs_are_told() {
    let env = environment();
    insta::assert_snapshot!("verify-json", no_times(&verify(&env, &["--json"], "bbbb")));
    for name in ["report.xml", "report.json"] {
        let told = verify(&env, &["--report", name], "bbbb");
        assert!(told.contains("exit 1"), "{told}");
        let report = std::fs::read_to_string(env.data_dir().join(name)).unwrap();
        insta::assert_snapshot!(format!("verify-{name}"), no_times(&env.redact(report.as_bytes())));
    }
    // Reported at once, before anything is called.
    let nowhere = verify(&env, &["--report", "no/such/dir/report.json"], "bbbb");
    assert!(nowhere.contains("can't write no/such/dir/report.json"), "{nowhere}");
    assert!(!nowhere.contains("against"), "{nowhere}");
}

#[test]
fn a_new_trace_is_written() {
    let env = environment();
    let told = verify(&env, &["--update", "updated.jsonl"], "bbbb");
    assert!(told.contains("wrote the new responses to updated.jsonl"), "{told}");
    // It has the new answers, and what was skipped as it was recorded.
    let replay = env!("CARGO_BIN_EXE_wiretape");
    let again = env.run(&["verify", "updated.jsonl", "--allow-writes", "--", replay, "replay", "bbbb"]);
    assert!(again.contains("5 calls: 5 same\n") && again.contains("exit 0"), "{again}");
    let shown = env.run(&["calls", "updated.jsonl"]);
    assert!(shown.contains("drop"), "{shown}");
    // Compressed, if its name says so.
    for (name, magic) in [("packed.jsonl.gz", &b"\x1f\x8b"[..]), ("packed.jsonl.zst", b"\x28\xb5\x2f\xfd")] {
        verify(&env, &["--update", name], "bbbb");
        assert!(std::fs::read(env.data_dir().join(name)).unwrap().starts_with(magic), "{name}");
        let again = env.run(&["verify", name, "--allow-writes", "--", replay, "replay", "bbbb"]);
        assert!(again.contains("5 calls: 5 same\n"), "{again}");
    }
    // The trace itself can be the one that is written.
    let told = verify(&env, &["--update", "traces/old.jsonl"], "bbbb");
    assert!(told.contains("exit 1"), "{told}");
    let again = env.run(&["verify", "traces/old.jsonl", "--", replay, "replay", "bbbb"]);
    assert!(again.contains("exit 0"), "{again}");
}

#[test]
fn a_call_that_was_cancelled_is_so_in_a_new_trace() {
    let env = environment();
    let whole = String::from_utf8(trace("cccc", "sums", &calls("3", "Adds"))).unwrap();
    let cancelled = r#"{"dir":"in","us":500100,"raw":{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}}"#;
    let lines = whole.lines().map(|line| if line.contains("gone") { cancelled } else { line });
    env.file("cancelled.jsonl", lines.map(|line| format!("{line}\n")).collect::<String>());
    let replay = env!("CARGO_BIN_EXE_wiretape");
    let update = ["verify", "traces/cancelled.jsonl", "--update", "updated.jsonl"];
    let told = env.run(&[&update[..], &["--", replay, "replay", "aaaa"]].concat());
    assert!(told.contains("4 same, 1 skipped") && told.contains("was cancelled"), "{told}");
    let told = env.run(&["verify", "updated.jsonl", "--", replay, "replay", "aaaa"]);
    assert!(told.contains("4 same, 1 skipped") && told.contains("was cancelled"), "{told}");
}

#[test]
fn servers_that_misbehave_are_named() {
    let env = environment();
    let check = |options: &[&str], server: &[&str], words: &[&str]| {
        let mut args = vec!["verify", "aaaa", "--timeout", "2s"];
        args.extend(options);
        args.push("--");
        args.extend(server);
        let told = env.run(&args);
        for word in words {
            assert!(told.contains(word), "{server:?} lacks {word:?}:\n{told}");
        }
    };
    check(&[], &["no-such-server-here"], &["can't start `no-such-server-here`", "hint: ", "exit 2"]);
    check(&[], &["sh", "-c", "exit 3"], &["the server has ended with exit status 3", "1 missing", "exit 1"]);
    check(&[], &["sh", "-c", "kill -9 $$"], &["ended by signal 9"]);
    check(&[], &["sleep", "100"], &["timed out", "1 missing, 4 skipped"]);
    check(&[], &["sh", "-c", "echo Listening; sleep 100"], &["not a message: Listening", "timed out"]);
    check(&[], &["yes"], &["not a message: y", "timed out"]);
    let refuses =
        r#"read x; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no"}}'; sleep 100"#;
    check(&[], &["sh", "-c", refuses], &["1 new error, 4 skipped", "exit 1"]);
    check(&["--update", "x.jsonl"], &["sh", "-c", refuses], &["x.jsonl was not written"]);
    assert!(!env.data_dir().join("x.jsonl").exists());
    let told = env.run(&["verify", "aaaa", "--url", "http://127.0.0.1:9/mcp"]);
    assert!(
        told.contains("    can't reach http://127.0.0.1:9: ") && told.contains("1 missing, 4 skipped"),
        "{told}"
    );
}

/// The exit status is the verdict, and the report is written, even if the reader of the output closes it early.
#[test]
fn whoever_has_read_enough_still_learns_how_it_ended() {
    let env = environment();
    let binary = env!("CARGO_BIN_EXE_wiretape");
    for options in [&[][..], &["--json"], &["--all"]] {
        let report = env.data_dir().join("report.xml");
        let args =
            [&["verify", "aaaa", "--report", "report.xml"], options, &["--", binary, "replay", "bbbb"]];
        let mut command = env.command(&args.concat());
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(1), "{options:?}");
        assert!(std::fs::read_to_string(&report).unwrap().contains("<failure"), "{options:?}");
        std::fs::remove_file(report).unwrap();
    }
}

#[test]
fn a_server_that_falls_is_started_again_for_the_next_session() {
    let env = environment();
    env.file("again.jsonl", trace("cccc", "sums", &calls("3", "Adds")));
    let falls_once = r#"[ -e fallen ] || { touch fallen; exit 3; }; exec "$0" replay aaaa"#;
    let binary = env!("CARGO_BIN_EXE_wiretape");
    let told = env.run(&["verify", "aaaa", "cccc", "--", "sh", "-c", falls_once, binary]);
    assert!(told.contains("the server has ended with exit status 3"), "{told}");
    assert!(told.contains("10 calls: 4 same, 1 missing, 5 skipped") && told.contains("exit 1"), "{told}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let env = environment();
    let check = |args: &[&str], words: &[&str]| {
        let told = env.run(&[&["verify"], args].concat());
        assert!(told.contains("exit 2"), "{told}");
        for word in words {
            assert!(told.contains(word), "{args:?} lacks {word:?}:\n{told}");
        }
    };
    check(&["aaaa"], &["no server to test", "--url", "--dry-run"]);
    check(
        &["aaaa", "--only", "tool", "--only", "latency>soon", "--dry-run"],
        &["--only latency>soon", "docs/calls.md"],
    );
    check(&["aaaa", "--only", "tool:zzz", "--", "x"], &["--only tool:zzz matches no recorded call"]);
    check(&["aaaa", "--ignore", "nothing", "--", "x"], &["a path must start with"]);
    check(&["aaaa", "--concurrency", "0", "--", "x"], &["--concurrency"]);
    check(&["aaaa", "--slower", "much", "--", "x"], &["is not a percentage"]);
    check(&["aaaa", "--header", "A: b", "--", "x"], &["--header"]);
    check(
        &["aaaa", "--url", "http://x", "--header", "secret", "--dry-run"],
        &["a header looks like 'Name: value'"],
    );
    check(&["aaaa", "--url", "http://x", "--", "x"], &["--url"]);
    let told = env.run(&["verify", "zzzz", "--dry-run"]);
    assert!(told.contains("exit 2"), "{told}");
}

#[test]
fn odd_traces_are_no_trouble() {
    let env = environment();
    let whole = trace("cccc", "torn", &calls("3", "Adds"));
    let torn = whole.iter().rposition(|byte| *byte == b'{').unwrap();
    env.file("torn.jsonl", &whole[..torn + 20]);
    env.file("empty.jsonl", "");
    let replay = env!("CARGO_BIN_EXE_wiretape");
    let told = env.run(&["verify", "traces/torn.jsonl", "--", replay, "replay", "aaaa"]);
    assert!(told.contains("4 same, 1 skipped") && told.contains("exit 0"), "{told}");
    let told = env.run(&["verify", "traces/empty.jsonl", "--", replay, "replay", "aaaa"]);
    assert!(told.contains("is empty: nothing was recorded") && told.contains("exit 2"), "{told}");
    // Two traces are one client, in two connections.
    let told = env.run(&["verify", "aaaa", "traces/torn.jsonl", "--", replay, "replay", "aaaa"]);
    assert!(told.contains("and 1 more") && told.contains("8 same, 2 skipped"), "{told}");
}
