//! What all commands have in common: help, errors, colors, closed pipes, and how traces are named.

use crate::environment::{TestEnvironment, sample_trace};
use std::io::Read as _;
use std::process::Stdio;

#[test]
fn help_needs_no_manual() {
    let env = TestEnvironment::new();
    insta::assert_snapshot!("help", env.run(&["--help"]));
    for command in [
        "ls",
        "show",
        "logs",
        "slow",
        "stats",
        "sessions",
        "session",
        "clients",
        "schema",
        "diff",
        "baseline",
        "store",
        "config",
        "ca",
        "prune",
        "completions",
        "man",
    ] {
        insta::assert_snapshot!(format!("help-{command}"), env.run(&[command, "--help"]));
    }
    insta::assert_snapshot!("help-store-load", env.run(&["store", "load", "--help"]));
    insta::assert_snapshot!("help-config-check", env.run(&["config", "check", "--help"]));
}

/// As with grep and diff: a script can tell a finding from a failure.
#[test]
fn a_finding_and_a_failure_have_different_exit_codes() {
    let env = TestEnvironment::new();
    env.trace("a.jsonl", "aaaa1111", 0);
    env.file("empty.jsonl", "");
    let whole = String::from_utf8(sample_trace("bbbb2222", "b", 60)).unwrap();
    let one_call_less: String =
        whole.split_inclusive('\n').filter(|line| !line.contains("tools/call")).collect();
    env.file("b.jsonl", one_call_less);
    let check = |args: &[&str], code: i32| {
        let told = env.run(args);
        assert!(told.ends_with(&format!("--- exit {code} ---\n")), "{args:?}: {told}");
    };
    check(&["diff", "aaaa", "aaaa"], 0);
    check(&["diff", "aaaa", "bbbb"], 1);
    check(&["diff", "aaaa", "bbbb", "--exit-code"], 1);
    check(&["diff", "aaaa", "traces/empty.jsonl"], 2);
    check(&["diff", "aaaa"], 2);
    check(&["lint", "aaaa", "--allow", "all"], 0);
    check(&["lint", "aaaa", "--deny", "all"], 1);
    check(&["lint", "zzzz"], 2);
    check(&["replay", "aaaa"], 0);
    check(&["replay", "aaaa", "--require-all"], 1);
    check(&["replay", "zzzz"], 2);
    check(&["verify", "aaaa", "--dry-run"], 0);
    check(&["verify", "zzzz", "--dry-run"], 2);
    check(&["ls", "nowhere"], 2);
}

#[test]
fn a_command_line_without_sense_is_2() {
    let env = TestEnvironment::new();
    assert!(env.run(&[]).ends_with("--- exit 2 ---\n"));
    assert!(env.run(&["frobnicate"]).ends_with("--- exit 2 ---\n"));
    assert!(env.run(&["show"]).ends_with("--- exit 2 ---\n"));
    assert!(env.run(&["--version"]).ends_with("--- exit 0 ---\n"));
}

#[test]
fn a_proxy_without_options_names_those_it_needs() {
    let env = TestEnvironment::new();
    let told = env.run(&["proxy"]);
    for option in ["--upstream", "--forward", "--config"] {
        assert!(told.contains(option), "{told}");
    }
    assert!(told.ends_with("--- exit 2 ---\n"), "{told}");
}

#[test]
fn a_password_in_a_url_is_not_repeated() {
    let env = TestEnvironment::new();
    for args in [
        &["proxy", "--upstream", "http://me:t0psecret@localhost:1/mcp"][..],
        &["record", "--url", "http://me:t0psecret@localhost:1/mcp"],
        &["verify", "trace.jsonl", "--url", "http://me:t0psecret@localhost:1/mcp"],
        &["proxy", "--forward", "--webhook", "http://me:t0psecret@localhost:1/"],
    ] {
        let told = env.run(args);
        assert!(!told.contains("t0psecret"), "{told}");
        assert!(told.contains("credentials") || told.contains("password"), "{told}");
    }
}

/// A folder that is missing is made; one that can't be is an error at once, not a loss later.
#[test]
#[cfg(unix)]
fn places_that_can_t_be_written_are_refused_at_the_start() {
    let env = TestEnvironment::new();
    env.file("file", "");
    for (option, place) in
        [("--store", "file/x/store.db"), ("--events", "file/x/e.ndjson"), ("--traces", "file/x")]
    {
        let place = env.path(place);
        let told =
            env.run(&["proxy", "--forward", "--listen", "127.0.0.1:0", option, place.to_str().unwrap()]);
        assert!(told.contains("error: can't ") && told.contains("hint: "), "{option}: {told}");
        assert!(!told.contains("listening"), "{option}: {told}");
    }
}

#[test]
fn traces_are_named_by_path_by_id_or_as_latest() {
    let env = TestEnvironment::new();
    env.trace("old.jsonl", "aaaa1111", 0);
    env.trace("new.jsonl", "aaaa2222", 60);
    env.trace("mid.jsonl", "bbbb3333", 30);
    let label = |selector: &str| {
        let shown = env.run(&["show", selector, "-n", "1"]);
        shown.split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(label("latest"), "new");
    assert_eq!(label("latest~1"), "mid");
    assert_eq!(label("latest~2"), "old");
    assert_eq!(label("bb"), "mid");
    assert_eq!(label("AAAA1"), "old");
    assert_eq!(label("traces/old.jsonl"), "old");
    assert_eq!(label(env.path("mid.jsonl").to_str().unwrap()), "mid");
    insta::assert_snapshot!(
        "selector-errors",
        [
            env.run(&["show", "aaaa"]),
            env.run(&["show", "cccc"]),
            env.run(&["show", "latest~3"]),
            env.run(&["show", "nowhere/x.jsonl"]),
            env.run(&["show", "traces"]),
        ]
        .join("\n")
    );
}

#[test]
fn without_traces_latest_says_how_to_make_one() {
    let env = TestEnvironment::new();
    insta::assert_snapshot!(env.run(&["show", "latest"]), @r"
    --- stderr ---
    error: no traces in $DATA/traces
    hint: run `wiretape record -- COMMAND` to record one, or `wiretape ls` to list traces
    --- exit 2 ---
    ");
}

#[test]
fn what_is_no_trace_is_refused_with_file_line_and_fix() {
    let env = TestEnvironment::new();
    env.file("notes.txt", "Dear diary,\nnothing today.\n");
    env.file("rows.jsonl", "{\"id\":1}\n{\"id\":2}\n");
    env.file("empty.jsonl", "");
    insta::assert_snapshot!(
        "not-a-trace",
        [
            env.run(&["show", "traces/notes.txt"]),
            env.run(&["stats", "traces/rows.jsonl"]),
            env.run(&["show", "traces/empty.jsonl"]),
        ]
        .join("\n")
    );
}

#[test]
fn colors_are_the_users_choice() {
    let env = TestEnvironment::new();
    env.trace("a.jsonl", "aaaa", 0);
    let colored = |args: &[&str], no_color| {
        let mut command = env.command(args);
        if no_color {
            command.env("NO_COLOR", "1");
        }
        command.output().unwrap().stdout.contains(&b'\x1b')
    };
    assert!(!colored(&["show", "latest"], false));
    assert!(colored(&["show", "latest", "--color", "always"], false));
    assert!(colored(&["show", "latest", "--color", "always"], true));
    assert!(!colored(&["show", "latest", "--color", "never"], false));
    assert!(!colored(&["ls", "--json", "--color", "always"], false));
}

#[test]
fn a_reader_that_stops_reading_is_no_error() {
    let env = TestEnvironment::new();
    let lines: String = (0..20_000)
        .map(|n| format!("{{\"dir\":\"in\",\"raw\":{{\"id\":{n},\"method\":\"ping\"}}}}\n"))
        .collect();
    env.file("long.jsonl", lines);
    env.run(&["store", "load", "traces/long.jsonl"]);
    for args in [
        &["show", "traces/long.jsonl"][..],
        &["show", "--json", "traces/long.jsonl"],
        &["logs", "-n", "20000"],
        &["logs", "-n", "20000", "--json"],
        &["--help"],
    ] {
        let mut child = env.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 10]).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{args:?}");
    }
}

#[test]
fn completions_and_manual_are_generated() {
    let env = TestEnvironment::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(env.run(&["completions", shell]).contains("prune"), "{shell}");
    }
    assert!(env.run(&["man"]).contains(".TH wiretape 1"));
    assert_eq!(env.run(&["man", "pages"]), "--- exit 0 ---\n");
    for page in ["wiretape.1", "wiretape-show.1", "wiretape-ls.1", "wiretape-stats.1", "wiretape-prune.1"] {
        assert!(env.data_dir().join("pages").join(page).is_file(), "{page}");
    }
}

/// A renamed option keeps its old name, hidden from the help.
#[test]
fn old_names_of_options_still_work() {
    let env = TestEnvironment::new();
    env.trace("a.jsonl", "aaaa1111", 0);
    for (command, old, new) in [
        ("show", "--dir", "--direction"),
        ("diff", "--slower-floor", "--min-slowdown"),
        ("verify", "--slower-floor", "--min-slowdown"),
        ("proxy", "--drain", "--drain-timeout"),
    ] {
        let help = env.run(&[command, "--help"]);
        assert!(help.contains(&format!("{new} <")) && !help.contains(&format!("{old} <")), "{help}");
    }
    for direction in ["--dir", "--direction"] {
        let shown = env.run(&["show", "aaaa", direction, "in", "--json"]);
        assert!(shown.contains(r#""dir":"in""#) && !shown.contains(r#""dir":"out""#), "{shown}");
    }
    for slowdown in ["--slower-floor", "--min-slowdown"] {
        let same = env.run(&["diff", "aaaa", "aaaa", slowdown, "1s"]);
        assert!(same.ends_with("--- exit 0 ---\n"), "{same}");
    }
}
