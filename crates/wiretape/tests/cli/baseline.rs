use crate::diff::session;
use crate::environment::TestEnvironment;
use std::fs;

const TOOLS: &str = r#"{"tools":[{"name":"b","inputSchema":{"type":"object"}},{"name":"a","description":"A","inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":12345678901234567890}}}}]}"#;
const SERVER: &str = r#"{"protocolVersion":"2025-11-25","serverInfo":{"version":"1","name":"s"},"capabilities":{"tools":{}},"instructions":"Be kind"}"#;

fn environment() -> TestEnvironment {
    let env = TestEnvironment::new();
    let prompts = r#"{"prompts":[{"name":"p"}]}"#;
    let calls =
        [("initialize", "{}", SERVER, 1), ("tools/list", "{}", TOOLS, 1), ("prompts/list", "{}", prompts, 1)];
    env.file("a.jsonl", session("aaaa", "a", &calls));
    env
}

#[test]
fn what_a_server_offers_is_pinned() {
    let env = environment();
    insta::assert_snapshot!("baseline-stdout", env.run(&["baseline", "aaaa", "-o", "-"]));
    insta::assert_snapshot!("baseline-file", env.run(&["baseline", "aaaa", "-o", "one.json"]));
    insta::assert_snapshot!("baseline-json", env.run(&["baseline", "aaaa", "-o", "two.json", "--json"]));
    let read = |name: &str| fs::read_to_string(env.data_dir().join(name)).unwrap();
    assert_eq!(read("one.json"), read("two.json"));
    assert!(env.run(&["baseline", "aaaa", "-o", "-"]).starts_with(&read("one.json")));
}

#[test]
fn a_pin_is_not_lost_by_accident() {
    let env = environment();
    env.run(&["baseline", "aaaa", "-o", "one.json"]);
    insta::assert_snapshot!(
        "baseline-errors",
        [
            env.run(&["baseline", "aaaa", "-o", "one.json"]),
            env.run(&["baseline", "aaaa", "-o", "traces/a.jsonl", "--force"]),
            env.run(&["baseline", "aaaa"]),
            env.run(&["baseline", "aaaa", "-o", "-", "--json"]),
        ]
        .join("\n")
    );
    assert!(env.run(&["baseline", "aaaa", "-o", "one.json", "--force"]).contains("exit 0"));
}

#[test]
fn a_trace_without_lists_pins_nothing() {
    let env = TestEnvironment::new();
    env.trace("a.jsonl", "aaaa", 0);
    insta::assert_snapshot!("baseline-nothing", env.run(&["baseline", "aaaa", "-o", "one.json"]));
    assert!(!env.data_dir().join("one.json").exists());
}

#[test]
fn a_list_that_was_read_partly_is_told() {
    let env = TestEnvironment::new();
    let page = r#"{"tools":[{"name":"a"}],"nextCursor":"2"}"#;
    env.file("a.jsonl", session("aaaa", "a", &[("tools/list", "{}", page, 1)]));
    insta::assert_snapshot!("baseline-partial", env.run(&["baseline", "aaaa", "-o", "-"]));
}
