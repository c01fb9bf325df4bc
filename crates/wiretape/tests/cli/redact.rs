use crate::environment::TestEnvironment;
use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;

/// Recorded without redaction. The password is repeated in prose, and the key on stderr spans several lines.
fn unredacted() -> String {
    let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let key = ["-----BEGIN", " PRIVATE KEY-----"].concat();
    [
        r#"{"v":1,"type":"meta","startedAt":"2026-05-12T23:00:00.000Z","label":"a","command":["srv","--password","s3cretpassw0rd"],"id":"aaaa0001","chain":"sha256"}"#.to_owned(),
        r#"{"t":"2026-05-12T23:00:00.123Z","dir":"in","raw":{"jsonrpc":"2.0","id":1,"method":"login","params":{"password":"s3cretpassw0rd"}}}"#.to_owned(),
        format!(r#"{{"t":"2026-05-12T23:00:00.124Z","dir":"out","raw":{{"jsonrpc":"2.0","id":1,"result":{{"note":"{token} for s3cretpassw0rd"}}}}}}"#),
        format!(r#"{{"t":"2026-05-12T23:00:00.125Z","type":"stderr","text":"{key}"}}"#),
        r#"{"t":"2026-05-12T23:00:00.126Z","type":"stderr","text":"QUJDREVGQUJDREVGQUJDREVG"}"#.to_owned(),
    ]
    .join("\n")
        + "\n"
}

const SECRETS: [&str; 3] = ["s3cretpassw0rd", "16C7e42F292c", "QUJDREVG"];

#[test]
fn a_trace_is_checked_explained_copied_and_replaced() {
    let env = TestEnvironment::new();
    let path = env.file("a.jsonl", unredacted());
    let output = env.command(&["redact", "--check", "--json"]).arg(&path).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "there is something to redact");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["values"].as_u64().unwrap() >= 5, "{report}");
    assert!(report["rules"]["github"] == 1, "{report}");
    assert_eq!(fs::read_to_string(&path).unwrap(), unredacted(), "--check changes nothing");

    let explained = env.run(&["redact", path.to_str().unwrap(), "--explain"]);
    assert!(explained.contains("line 3: github: "), "{explained}");
    assert!(SECRETS.iter().all(|secret| !explained.contains(secret)), "{explained}");

    env.run(&["redact", path.to_str().unwrap(), "-o", "clean"]);
    let copy = fs::read_to_string(env.data_dir().join("clean/a.jsonl")).unwrap();
    assert!(SECRETS.iter().all(|secret| !copy.contains(secret)), "{copy}");
    assert_eq!(copy.lines().count(), 5);
    assert!(copy.lines().next().unwrap().contains("\"redacted\":true"), "{copy}");

    env.run(&["redact", path.to_str().unwrap(), "--in-place"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), copy);
    let output = env.command(&["redact", "--check"]).arg(&path).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "redacting twice is redacting once");
}

/// Records a session with a server that repeats every message, without redaction. Returns the files in order.
fn recorded(env: &TestEnvironment, options: &[&str]) -> Vec<PathBuf> {
    let mut command = env.command(&["record", "--no-redact"]);
    command.args(options).arg("--").arg(wiretape_testkit::bins::path("wt-echo")).stdin(Stdio::piped());
    let mut recorder = command.stdout(Stdio::null()).spawn().unwrap();
    let mut input = recorder.stdin.take().unwrap();
    for id in 1..=30 {
        let secret = if id == 3 { "login" } else { "note" };
        let key = if id == 3 { "password" } else { "text" };
        writeln!(
            input,
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{secret}","params":{{"{key}":"s3cretpassw0rd"}}}}"#
        )
        .unwrap();
    }
    drop(input);
    assert!(recorder.wait().unwrap().success());
    let mut files: Vec<PathBuf> =
        fs::read_dir(env.data_dir().join("traces")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort_by_key(|path| (path.file_name().map(std::ffi::OsStr::len), path.clone()));
    files
}

#[test]
fn a_redacted_copy_of_a_recording_is_intact() {
    for options in [&[][..], &["--max-bytes", "2kB"]] {
        let env = TestEnvironment::new();
        let files = recorded(&env, options);
        assert_eq!(files.len() > 2, !options.is_empty(), "{files:?}");
        let output = env.command(&["redact", "-o", "clean"]).args(&files).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let copies: Vec<PathBuf> =
            files.iter().map(|file| env.data_dir().join("clean").join(file.file_name().unwrap())).collect();
        let text: String = copies.iter().map(|copy| fs::read_to_string(copy).unwrap()).collect();
        assert!(text.contains("[REDACTED:password:") && text.contains("[REDACTED:repeated:"), "{text}");
        // Whatever came before the login can't be known.
        assert!(text.matches("s3cretpassw0rd").count() <= 4, "{text}");
        let output = env.command(&["integrity"]).arg(&copies[0]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));

        // Copying does not hide that the original was modified.
        let original = fs::read_to_string(&files[0]).unwrap();
        fs::write(&files[0], original.replacen("\"id\":2,", "\"id\":4,", 1)).unwrap();
        env.run(&["redact", "-o", "clean", files[0].to_str().unwrap()]);
        let output = env.command(&["integrity"]).arg(&copies[0]).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(printed.contains("modified at line "), "{printed}");
    }
}

#[test]
fn a_copy_replaces_neither_its_source_nor_another_copy() {
    let env = TestEnvironment::new();
    let path = env.file("a.jsonl", unredacted());
    fs::create_dir(env.data_dir().join("other")).unwrap();
    fs::write(env.data_dir().join("other/a.jsonl"), unredacted()).unwrap();
    let told = env.run(&["redact", "traces/a.jsonl", "-o", "traces"]);
    assert!(told.contains("the copy would replace traces/a.jsonl") && told.contains("exit 2"), "{told}");
    // Not the trace itself, but another input.
    let told = env.run(&["redact", "traces/a.jsonl", "other/a.jsonl", "-o", "other/../other"]);
    assert!(told.contains("the copy would replace other/a.jsonl") && told.contains("exit 2"), "{told}");
    let told = env.run(&["redact", "traces/a.jsonl", "other/a.jsonl", "-o", "clean"]);
    let both = "traces/a.jsonl and other/a.jsonl would both be written to clean/a.jsonl";
    assert!(told.contains(both) && told.contains("exit 2"), "{told}");
    assert!(!env.data_dir().join("clean").exists(), "nothing is written");
    assert_eq!(fs::read_to_string(path).unwrap(), unredacted());

    let told = env.run(&["redact", "traces/a.jsonl", "traces/a.jsonl", "-o", "clean"]);
    assert!(told.contains("exit 0"), "a trace may be named twice: {told}");
    let told = env.run(&["redact", "traces/a.jsonl", "-o", "clean"]);
    assert!(told.contains("exit 0"), "a copy may be made again: {told}");
}

#[test]
fn rules_are_listed_and_tried() {
    let env = TestEnvironment::new();
    let listed = env.run(&["redact", "--rules"]);
    assert!(listed.contains("github") && listed.lines().count() > 200, "{listed}");
    let tried = env.run(&["redact", "--try", "password=hunter2hunter2"]);
    assert!(tried.contains("[REDACTED:password:") && !tried.contains("hunter2"), "{tried}");
}

#[test]
fn custom_and_disabled_rules_are_listed_and_tried() {
    let env = TestEnvironment::new();
    let config = "[redact]\ndisable = [\"jwt\"]\nkeys = [\"ssn\"]\n\
        [[redact.patterns]]\nname = \"card\"\nregex = '4[0-9]{15}'\n\
        [[redact.tokens]]\nname = \"acme\"\nprefix = \"acme_\"\nalphabet = \"hex\"\nlength = 16\n\
        [[redact.tokens]]\nname = \"badge\"\nprefix = \"B-\"\nalphabet = \"digits\"\nmin-length = 6\nmax-length = 9\n";
    fs::write(env.data_dir().join("config.toml"), config).unwrap();
    let listed = env.run(&["redact", "--rules"]);
    let first: Vec<String> =
        listed.lines().take(4).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        first,
        [
            "custom-key (custom) values named `ssn`",
            "card (custom) a regular expression",
            "acme (custom) `acme_` and 16 characters of `hex`",
            "badge (custom) `B-` and 6 to 9 characters of `digits`",
        ]
    );
    assert!(listed.lines().any(|line| line.starts_with("jwt ") && line.contains("(disabled)")), "{listed}");
    let lines = env.command(&["redact", "--rules", "--json"]).output().unwrap().stdout;
    let lines: Vec<Value> =
        lines.split(|b| *b == b'\n').filter_map(|l| serde_json::from_slice(l).ok()).collect();
    assert_eq!((&lines[2]["rule"], &lines[2]["custom"]), (&"acme".into(), &true.into()));
    let jwt = lines.iter().find(|line| line["rule"] == "jwt").unwrap();
    assert_eq!((&jwt["disabled"], &jwt["custom"]), (&true.into(), &false.into()));

    let tried = env.run(&["redact", "--try", "use acme_0123456789abcdef, not acme_0123, for B-1234567"]);
    assert!(
        tried.contains("use [REDACTED:acme:") && tried.contains(", not acme_0123, for [REDACTED:badge:"),
        "{tried}"
    );
    assert!(!tried.contains("456789") && !tried.contains("1234567"), "{tried}");
}

#[test]
fn what_to_do_must_be_said() {
    let env = TestEnvironment::new();
    env.file("a.jsonl", unredacted());
    assert_eq!(env.command(&["redact", "traces/a.jsonl"]).output().unwrap().status.code(), Some(2));
    assert_eq!(env.command(&["redact", "--check"]).output().unwrap().status.code(), Some(2));
}
