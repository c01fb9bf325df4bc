use crate::environment::{TestEnvironment, sample_trace};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

fn show(args: &[&str]) -> String {
    let env = TestEnvironment::new();
    env.trace("sample.jsonl", "5f3c9a52", 0);
    env.run(&[&["show", "latest"], args].concat())
}

#[test]
fn a_trace_is_shown_a_message_a_line() {
    insta::assert_snapshot!("show", show(&[]));
}

#[test]
fn filters_combine() {
    insta::assert_snapshot!("show-errors", show(&["--errors"]));
    insta::assert_snapshot!("show-tool", show(&["--tool", "d*"]));
    insta::assert_snapshot!("show-method-dir", show(&["--method", "tools/*", "--dir", "in"]));
    insta::assert_snapshot!("show-dir-out", show(&["--dir", "out", "-n", "2"]));
    insta::assert_snapshot!("show-nothing", show(&["--tool", "add", "--errors"]));
    assert!(show(&["--tool", "["]).ends_with("--- exit 2 ---\n"));
    assert!(show(&["--dir", "up"]).ends_with("--- exit 2 ---\n"));
}

#[test]
fn payloads_are_shown_in_full() {
    insta::assert_snapshot!("show-full", show(&["--full", "--tool", "add"]));
    insta::assert_snapshot!("show-raw", show(&["--raw", "--tool", "add"]));
    insta::assert_snapshot!("show-json", show(&["--json"]));
}

#[test]
fn several_traces_are_shown_one_after_the_other() {
    let env = TestEnvironment::new();
    env.trace("a.jsonl", "5f3c9a52", 0);
    env.trace("b.jsonl", "6a3c9a52", 5000);
    let (a, b) = (env.run(&["show", "traces/a.jsonl"]), env.run(&["show", "traces/b.jsonl"]));
    let body = |shown: &str| shown.split("--- exit").next().unwrap().to_owned();
    let both = env.run(&["show", "traces/a.jsonl", "traces/b.jsonl"]);
    assert_eq!(body(&both), format!("{}\n{}", body(&a), body(&b)));
    let tools = env.run(&["show", "tool:add", "traces/a.jsonl", "traces/b.jsonl", "--raw"]);
    assert_eq!(tools.matches("\"method\":\"tools/call\"").count(), 2, "{tools}");
    let few = env.run(&["show", "traces/a.jsonl", "traces/b.jsonl", "--json", "-n", "3"]);
    assert_eq!(body(&few).lines().count(), 3);
    for (args, why) in [
        (&["show", "traces/a.jsonl", "traces/b.jsonl", "-f"][..], "--follow needs exactly one TRACE"),
        (&["show", "tool:add"], "TRACE is required"),
    ] {
        let told = env.run(args);
        assert!(told.contains(why) && told.ends_with("--- exit 2 ---\n"), "{told}");
    }
}

#[test]
fn a_call_is_shown_across_the_parts_of_a_recording() {
    let env = TestEnvironment::new();
    env.file("wiretape-part-1.jsonl", include_str!("../../../../fixtures/traces/wiretape-part-1.jsonl"));
    env.file("wiretape-part-2.jsonl", include_str!("../../../../fixtures/traces/wiretape-part-2.jsonl"));
    let both = env.run(&["show", "traces/wiretape-part-1.jsonl", "traces/wiretape-part-2.jsonl"]);
    assert!(!both.contains("no open request"), "{both}");
    let last = env.run(&["show", "traces/wiretape-part-2.jsonl"]);
    assert!(last.contains("no open request") && last.contains("duration 200ms"), "{last}");
}

#[test]
fn a_command_that_is_one_string_is_shown() {
    let env = TestEnvironment::new();
    env.file("x.jsonl", "{\"v\":1,\"type\":\"meta\",\"label\":\"x\",\"command\":\"npx server\"}\n");
    let shown = env.run(&["show", "traces/x.jsonl"]);
    assert!(shown.contains("x  npx server"), "{shown}");
}

#[test]
fn nothing_in_a_trace_steers_the_terminal() {
    let env = TestEnvironment::new();
    let hostile = concat!(
        r#"{"v":1,"type":"meta","label":"\u001b[2Jlabel","command":["\u0007"]}"#,
        "\n",
        r#"{"type":"stderr","text":"\u001b]0;owned\u0007\u001b[31mred\u001b[0m \u009b2J"}"#,
        "\n",
        r#"{"type":"text","dir":"out","text":"\u001b[31mred"}"#,
        "\n",
        r#"{"dir":"in","raw":{"id":"\u001b[2J","method":"\u001b[2J\u202e","params":{"x":"\u001b"}}}"#,
        "\n",
        "\u{9b}2J\u{1b}[2J\n",
    );
    env.file("hostile.jsonl", hostile);
    for args in [&["show", "latest"][..], &["show", "latest", "--full"], &["stats", "latest"], &["ls"]] {
        let output = env.command(args).output().unwrap();
        let all = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(all).unwrap();
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{args:?}: {text:?}");
    }
}

#[test]
fn a_long_and_deep_payload_is_one_short_line() {
    let env = TestEnvironment::new();
    let deep = format!("{{\"dir\":\"in\",\"raw\":{}{}}}\n", "[".repeat(20_000), "]".repeat(20_000));
    let long = format!(
        "{{\"dir\":\"in\",\"raw\":{{\"method\":\"a/b\",\"params\":{{\"x\":\"{}\"}}}}}}\n",
        "y".repeat(3_000_000)
    );
    env.file("hostile.jsonl", deep + &long);
    let shown = env.run(&["show", "traces/hostile.jsonl"]);
    assert!(shown.len() < 10_000, "{}", shown.len());
    assert!(shown.contains("--- exit 0 ---"));
}

#[test]
fn a_growing_trace_is_followed_to_its_end() {
    let env = TestEnvironment::new();
    let trace = String::from_utf8(sample_trace("a", "growing", 0)).unwrap();
    let lines: Vec<&str> = trace.split_inclusive('\n').collect();
    let path = env.file("growing.jsonl", lines[0]);
    let mut child = env
        .command(&["show", "-f", "--json", "traces/growing.jsonl"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(shown.next().unwrap().unwrap().contains("\"type\":\"meta\""));
    let mut file = std::fs::File::options().append(true).open(path).unwrap();
    for line in &lines[1..] {
        // A line that is not finished is waited for.
        let (head, tail) = line.split_at(line.len() / 2);
        file.write_all(head.as_bytes()).unwrap();
        file.write_all(tail.as_bytes()).unwrap();
        let number = shown.next().unwrap().unwrap();
        assert!(number.starts_with("{\"line\":"), "{number}");
    }
    assert!(shown.next().is_none());
    assert!(child.wait().unwrap().success());
}

#[test]
fn following_goes_on_in_the_next_part() {
    let env = TestEnvironment::new();
    env.file("wiretape-part-1.jsonl", include_str!("../../../../fixtures/traces/wiretape-part-1.jsonl"));
    env.file("wiretape-part-2.jsonl", include_str!("../../../../fixtures/traces/wiretape-part-2.jsonl"));
    insta::assert_snapshot!("show-follow-parts", env.run(&["show", "-f", "traces/wiretape-part-1.jsonl"]));
    let evil = r#"{"type":"rotated","next":"../../etc/passwd"}"#;
    env.file("evil.jsonl", format!("{evil}\n"));
    assert!(env.run(&["show", "-f", "traces/evil.jsonl"]).contains("--- exit 0 ---"));
}
