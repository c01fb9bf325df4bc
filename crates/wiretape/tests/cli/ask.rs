//! The commands that ask the store, and those that look after it.

use crate::environment::{TestEnvironment, sample_trace};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use wiretape_events::event::{ChangeType, SchemaItem};
use wiretape_events::store::Writer;
use wiretape_events::store::row::{Row, SchemaRow, ViolationRow};

const ASKING: [&[&str]; 8] = [
    &["logs"],
    &["slow"],
    &["stats"],
    &["sessions"],
    &["session", "aaaa"],
    &["clients"],
    &["schema"],
    &["store", "info"],
];

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// A store of four traces.
fn stored() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.trace("first.jsonl", "aaaa1111-first", 0);
    env.trace("second.jsonl", "aaaa2222-second", 60);
    env.file("wiretape.jsonl", fixture("wiretape.jsonl"));
    env.file("http.jsonl", fixture("wiretape-http.jsonl"));
    let told = env.run(&[
        "store",
        "load",
        "traces/first.jsonl",
        "aaaa2",
        "traces/wiretape.jsonl",
        "traces/http.jsonl",
    ]);
    insta::assert_snapshot!("store-load", told);
    env
}

#[test]
fn a_session_whose_server_crashed_says_why() {
    let env = TestEnvironment::new();
    env.file("crashed.jsonl", fixture("../lint/server-crashed/bad.jsonl"));
    env.run(&["store", "load", "traces/crashed.jsonl"]);
    let sessions = env.run(&["sessions"]);
    assert!(sessions.contains("crashed"), "{sessions}");
    let rows = env.run(&["sessions", "--json"]);
    let json: serde_json::Value = serde_json::from_str(rows.lines().next().unwrap()).unwrap();
    assert_eq!(json["crash"], "exit 1: TypeError: a is not a number");
    let session = env.run(&["session", json["id"].as_str().unwrap()]);
    assert!(session.contains("crashed   exit 1: TypeError: a is not a number"), "{session}");
}

#[test]
fn calls_are_logged_the_latest_last() {
    let env = stored();
    insta::assert_snapshot!("logs", env.run(&["logs"]));
    insta::assert_snapshot!("logs-n", env.run(&["logs", "-n", "2"]));
    insta::assert_snapshot!("logs-json", env.run(&["logs", "--json", "--server", "first"]));
    insta::assert_snapshot!("logs-errors", env.run(&["logs", "--errors", "--session", "aaaa"]));
    insta::assert_snapshot!("logs-status", env.run(&["logs", "--status", "tool-error,unanswered"]));
    insta::assert_snapshot!(
        "logs-tool",
        env.run(&["logs", "--tool", "add", "--since", "2026-05-12T23:00:30Z"])
    );
    insta::assert_snapshot!("logs-nothing", env.run(&["logs", "--until", "2020-01-01"]));
}

#[test]
fn the_slowest_calls_come_first() {
    let env = stored();
    insta::assert_snapshot!("slow", env.run(&["slow", "-n", "4"]));
    insta::assert_snapshot!("slow-over", env.run(&["slow", "--over", "10ms", "--server", "second"]));
    insta::assert_snapshot!("slow-json", env.run(&["slow", "--json", "-n", "1"]));
}

#[test]
fn the_store_counts_by_tool() {
    let env = stored();
    insta::assert_snapshot!("stats-store", env.run(&["stats"]));
    insta::assert_snapshot!("stats-store-one-server", env.run(&["stats", "--server", "first"]));
    insta::assert_snapshot!("stats-store-json", env.run(&["stats", "--json", "--server", "first"]));
    insta::assert_snapshot!("stats-store-nothing", env.run(&["stats", "--client", "nobody"]));
    insta::assert_snapshot!("stats-trace-and-filter", env.run(&["stats", "latest", "--tool", "add"]));
}

#[test]
fn sessions_are_listed_and_looked_into() {
    let env = stored();
    insta::assert_snapshot!("sessions", env.run(&["sessions"]));
    insta::assert_snapshot!("sessions-json", env.run(&["sessions", "--json", "-n", "1"]));
    insta::assert_snapshot!("session", env.run(&["session", "aaaa1"]));
    insta::assert_snapshot!("session-errors", env.run(&["session", "aaaa1", "--errors"]));
    insta::assert_snapshot!("session-json", env.run(&["session", "aaaa1", "--json", "--tool", "divide"]));
    insta::assert_snapshot!("session-ambiguous", env.run(&["session", "aaaa"]));
    insta::assert_snapshot!("session-unknown", env.run(&["session", "zzzz"]));
}

#[test]
fn a_trace_has_the_sessions_that_the_store_has_of_it() {
    let env = stored();
    let of_trace = env.run(&["sessions", "traces/http.jsonl"]);
    insta::assert_snapshot!("sessions-trace", of_trace);
    let of_trace = env.run(&["sessions", "--json", "aaaa1"]);
    assert_eq!(of_trace, env.run(&["sessions", "--json", "--session", "aaaa1"]));
    insta::assert_snapshot!("sessions-no-trace", env.run(&["sessions", "nowhere.jsonl"]));
}

#[test]
fn clients_are_listed() {
    let env = stored();
    insta::assert_snapshot!("clients", env.run(&["clients"]));
    insta::assert_snapshot!("clients-json", env.run(&["clients", "--json"]));
}

#[test]
fn without_a_store_it_is_said_how_one_comes_to_be() {
    let env = TestEnvironment::new();
    insta::assert_snapshot!("store-missing", env.run(&["logs"]));
    let expected = env.run(&["logs"]);
    for command in ASKING {
        assert_eq!(env.run(command), expected, "{command:?}");
        assert_eq!(env.run(&[command, &["--json"]].concat()), expected, "{command:?}");
    }
    assert_eq!(env.run(&["store", "prune", "--older-than", "1d"]), expected);
    assert_eq!(env.run(&["store", "vacuum"]), expected);
    assert!(!env.data_dir().join("store.db").exists(), "asking makes nothing");
}

#[test]
fn an_empty_store_has_nothing_to_tell() {
    let env = TestEnvironment::new();
    drop(Writer::open(&env.data_dir().join("store.db")).unwrap());
    let told: String = ASKING[..7].iter().map(|command| env.run(command)).collect();
    insta::assert_snapshot!("store-empty", told);
    for command in ["logs", "slow", "sessions", "clients", "schema"] {
        assert_eq!(env.run(&[command, "--json"]), "--- exit 0 ---\n", "{command}");
    }
}

#[test]
fn what_can_t_be_a_store_is_refused() {
    let env = TestEnvironment::new();
    env.file("notes.txt", "Dear diary, nothing today. ".repeat(50));
    let told = env.run(&["logs", "--store", "traces/notes.txt"]);
    insta::assert_snapshot!("store-not-one", told);
}

#[test]
fn filters_without_sense_are_refused() {
    let env = stored();
    for (name, args) in [
        ("since", &["logs", "--since", "yesterday"][..]),
        ("status", &["logs", "--status", "nice"]),
        ("over", &["slow", "--over", "long"]),
        ("schema", &["schema", "--errors"]),
        ("prune", &["store", "prune"]),
    ] {
        insta::assert_snapshot!(format!("bad-filter-{name}"), env.run(args));
    }
}

#[test]
fn traces_are_loaded_once_and_trouble_is_told() {
    let env = stored();
    insta::assert_snapshot!("store-load-again", env.run(&["store", "load", "aaaa1", "--json"]));
    env.file("broken.jsonl", "this is no trace\n");
    env.trace("third.jsonl", "bbbb", 120);
    let some = env.run(&["store", "load", "traces/broken.jsonl", "traces/third.jsonl"]);
    insta::assert_snapshot!("store-load-some", some);
    let none = env.run(&["store", "load", "traces/broken.jsonl", "--json"]);
    insta::assert_snapshot!("store-load-none", none);
    let trace = String::from_utf8(sample_trace("cccc", "torn", 180)).unwrap();
    let middle = trace.lines().count() / 2;
    let damaged: String = trace
        .lines()
        .enumerate()
        .map(|(at, line)| if at == middle { "{torn\n".to_owned() } else { format!("{line}\n") })
        .collect();
    env.file("damaged.jsonl", damaged);
    insta::assert_snapshot!("store-load-damaged", env.run(&["store", "load", "traces/damaged.jsonl"]));
}

/// What went can be brought back, all of it or a part.
#[test]
fn a_pruned_trace_can_be_loaded_again() {
    let env = stored();
    let loaded = env.run(&["logs", "--server", "first", "--json"]);
    env.run(&["store", "prune", "--older-than", "0s"]);
    assert!(env.run(&["logs"]).contains("No calls in the store match"));
    assert!(env.run(&["store", "load", "traces/first.jsonl"]).contains("loaded 3 calls"));
    let again = env.run(&["logs", "--server", "first", "--json"]);
    let times = |told: &str| told.lines().filter(|line| line.contains("\"time\"")).count();
    assert_eq!((times(&loaded), times(&again)), (3, 3));
}

#[test]
fn servers_go_by_name_by_address_and_by_url() {
    let env = stored();
    let url = "http://localhost:9411";
    let by_url = env.run(&["logs", "--json", "--server", url]);
    assert!(by_url.contains(url), "{by_url}");
    for name in ["localhost:9411", "http://localhost:9411/mcp"] {
        assert_eq!(env.run(&["logs", "--json", "--server", name]), by_url, "{name}");
    }
    insta::assert_snapshot!("unknown-server", env.run(&["logs", "--server", "frist"]));
    insta::assert_snapshot!("unknown-tool", env.run(&["stats", "--tool", "ad"]));
    for command in ["slow", "sessions", "clients", "schema"] {
        let told = env.run(&[command, "--server", "frist"]);
        assert!(told.contains("no server `frist` in the store"), "{command}: {told}");
    }
}

#[test]
fn what_browsers_blocked_is_shown() {
    let env = stored();
    assert!(env.run(&["logs", "--violations"]).contains("No violations in the store match"));
    let mut writer = Writer::open(&env.data_dir().join("store.db")).unwrap();
    let violation = |time, directive: &str| {
        Row::Violation(ViolationRow {
            time,
            server: Arc::from("http://localhost:9411"),
            session: Some(Arc::from("s1")),
            blocked_uri: "https://cdn.example.com/\u{1b}script.js".to_owned(),
            directive: directive.to_owned(),
        })
    };
    let start = crate::environment::START_MS;
    writer.write(&[violation(start, "script-src"), violation(start + 1000, "connect-src")]).unwrap();
    insta::assert_snapshot!("violations", env.run(&["logs", "--violations"]));
    insta::assert_snapshot!("violations-json", env.run(&["logs", "--violations", "-n", "1", "--json"]));
}

#[test]
fn the_store_says_what_is_in_it() {
    let env = stored();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"size     .*", "size     [SIZE]");
    settings.add_filter(r#""(bytes|freeBytes)": \d+"#, r#""$1": [SIZE]"#);
    settings.bind(|| {
        insta::assert_snapshot!("store-info", env.run(&["store", "info"]));
        insta::assert_snapshot!("store-info-json", env.run(&["store", "info", "--json"]));
    });
}

#[test]
fn what_is_old_goes_and_its_room_comes_back() {
    let env = stored();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d[\d.]* k?B", "[SIZE]");
    settings.add_filter(r#"Bytes": \d+"#, r#"Bytes": [SIZE]"#);
    settings.add_filter(r#""bytesFreed": \d+"#, r#""bytesFreed": [SIZE]"#);
    settings.bind(|| {
        let nothing = env.run(&["store", "prune", "--older-than", "300000d"]);
        insta::assert_snapshot!("store-prune-nothing", nothing);
        insta::assert_snapshot!("store-prune", env.run(&["store", "prune", "--max-bytes", "1"]));
        insta::assert_snapshot!(
            "store-prune-json",
            env.run(&["store", "prune", "--max-bytes", "1", "--json"])
        );
        insta::assert_snapshot!("store-vacuum", env.run(&["store", "vacuum"]));
        insta::assert_snapshot!("store-vacuum-json", env.run(&["store", "vacuum", "--json"]));
    });
    assert!(env.run(&["logs"]).contains("No calls in the store match"));
}

#[test]
fn what_comes_is_followed_until_nobody_reads() {
    for json in [false, true] {
        let env = stored();
        let mut command = env.command(&["logs", "-f", "-n", "1"]);
        if json {
            command.arg("--json");
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let headings = if json { 0 } else { 1 };
        let shown: Vec<String> = lines.by_ref().take(headings + 1).map(Result::unwrap).collect();
        assert!(shown[headings].contains("http"), "{shown:?}");
        env.trace("third.jsonl", "bbbb3333-third", 120);
        env.run(&["store", "load", "traces/third.jsonl"]);
        let come: Vec<String> = lines.by_ref().take(3).map(Result::unwrap).collect();
        for (line, name) in come.iter().zip(["add", "divide", "tools/nope"]) {
            assert!(line.contains("third") && line.contains(name), "{come:?}");
        }
        drop(lines);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    }
}

fn schema_row(time: i64, change: ChangeType, items: &[(&str, &str)]) -> Row {
    let item = |(key, definition): &(&str, &str)| SchemaItem {
        key: (*key).to_owned(),
        definition: definition.as_bytes().to_vec().into(),
    };
    Row::Schema(SchemaRow {
        time,
        server: Arc::from("first"),
        method: "tools/list",
        session: Some(Arc::from("aaaa1111-first")),
        change,
        items: items.iter().map(item).collect(),
    })
}

/// A store that knows of a server's tools.
fn stored_with_tools() -> TestEnvironment {
    let env = stored();
    let mut writer = Writer::open(&env.data_dir().join("store.db")).unwrap();
    let start = crate::environment::START_MS;
    let rows = [
        schema_row(
            start,
            ChangeType::Initial,
            &[
                ("add", r#"{"name":"add","description":"adds","inputSchema":{"max":1.0}}"#),
                ("drop", r#"{"name":"drop"}"#),
                ("gone", r#"{"name":"gone"}"#),
            ],
        ),
        schema_row(
            start + 1000,
            ChangeType::Modified,
            &[("add", r#"{"name":"add","description":"adds numbers","inputSchema":{"max":1.0}}"#)],
        ),
        schema_row(start + 1000, ChangeType::Removed, &[("gone", r#"{"name":"gone"}"#)]),
        schema_row(start + 2000, ChangeType::Added, &[("\u{1b}[2Jevil", r#"{"name":"\u001b[2Jevil"}"#)]),
    ];
    writer.write(&rows).unwrap();
    env
}

#[test]
fn what_servers_offer_is_shown_with_what_has_changed() {
    let env = stored_with_tools();
    insta::assert_snapshot!("schema", env.run(&["schema"]));
    insta::assert_snapshot!("schema-json", env.run(&["schema", "--json", "--tool", "add"]));
    insta::assert_snapshot!("schema-name", env.run(&["schema", "add"]));
    insta::assert_snapshot!("schema-no-such-name", env.run(&["schema", "subtract"]));
    insta::assert_snapshot!("schema-changes", env.run(&["schema", "--changes"]));
    let later = ["schema", "--changes", "--since", "2026-05-12T23:00:01Z", "--json"];
    insta::assert_snapshot!("schema-changes-json", env.run(&later));
    insta::assert_snapshot!("schema-unused", env.run(&["schema", "--unused"]));
    insta::assert_snapshot!("schema-unused-json", env.run(&["schema", "--unused", "--json", "-n", "1"]));
    insta::assert_snapshot!("schema-session", env.run(&["schema", "--session", "nobody"]));
    assert!(
        env.run(&["schema", "--unused", "--session", "nobody"]).contains("add"),
        "nobody called it there"
    );
    assert!(
        env.run(&["schema", "--changes", "--session", "nobody"]).starts_with("No changes"),
        "nobody saw a change"
    );
    let later = ["schema", "--unused", "--since", "2026-05-13"];
    assert!(env.run(&later).contains("add"), "nobody called it since");
}

#[test]
fn no_name_steers_the_terminal() {
    let env = stored_with_tools();
    let hostile = String::from_utf8(sample_trace("evil\u{1b}]0;id\u{7}", "evil", 300)).unwrap();
    let hostile = hostile
        .replace(r#""name":"add""#, r#""name":"\u001b[31madd\u202e""#)
        .replace("division by zero", r"\u001b]0;title\u0007 two\nlines")
        .replace(r#""label":"evil""#, r#""label":"evil\u001b[2J""#)
        .replace(
            r#""method":"tools/nope""#,
            r#""method":"initialize","params":{"protocolVersion":"\u001b[1m","clientInfo":{"name":"\u001b[5mcli","version":"\u009b1m"}}"#,
        );
    env.file("evil.jsonl", hostile);
    let mut commands = ASKING.to_vec();
    commands[4] = &["session", "evil"];
    commands.extend([
        &["store", "load", "traces/evil.jsonl"][..],
        &["schema", "--changes"],
        &["schema", "--unused"],
        &["sessions", "traces/evil.jsonl"],
        &["session", "evil\u{1b}no"],
    ]);
    commands.rotate_right(5);
    for args in commands {
        let output = env.command(args).output().unwrap();
        let told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let steers = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!told.contains(steers), "{args:?}: {told:?}");
    }
}
