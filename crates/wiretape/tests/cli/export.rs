use crate::environment::TestEnvironment;
use serde_json::Value;

const FORMATS: [&str; 7] = ["assay-v2", "jsonrpc", "streamable-http", "http-sse", "har", "perfetto", "csv"];

#[test]
fn a_trace_in_every_format() {
    let env = TestEnvironment::new();
    env.trace("a.jsonl", "aaaa", 0);
    for format in FORMATS {
        insta::assert_snapshot!(format!("export-{format}"), env.run(&["export", "aaaa", "--to", format]));
    }
}

#[test]
fn documents_are_json() {
    let env = TestEnvironment::new();
    env.file("http.jsonl", include_str!("../../../../fixtures/traces/wiretape-http.jsonl"));
    for format in ["streamable-http", "http-sse", "har", "perfetto"] {
        let out = format!("{format}.json");
        let told = env.run(&["export", "traces/http.jsonl", "--to", format, "--out", &out]);
        assert!(told.contains("source: recorded") && told.contains("exit 0"), "{told}");
        let document = std::fs::read(env.data_dir().join(&out)).unwrap();
        serde_json::from_slice::<Value>(&document).unwrap();
    }
}

#[test]
fn what_was_exported_is_imported_again() {
    let env = TestEnvironment::new();
    env.trace("a.jsonl", "aaaa", 0);
    let calls = |trace: &str| {
        let output = env.command(&["stats", "--json", trace]).output().unwrap();
        let stats: Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = stats["rows"].as_array().expect("statistics have rows").iter();
        rows.map(|row| (row["method"].clone(), row["tool"].clone(), row["calls"].clone())).collect::<Vec<_>>()
    };
    let expected = calls("traces/a.jsonl");
    assert!(!expected.is_empty());
    for format in ["jsonrpc", "streamable-http", "http-sse", "har"] {
        let (exported, imported) = (format!("{format}.out"), format!("{format}.jsonl"));
        env.run(&["export", "aaaa", "--to", format, "--out", &exported]);
        let told = env.run(&["import", &exported, "--out", &imported, "--strict"]);
        assert!(told.contains("exit 0") && told.contains(format), "{told}");
        assert_eq!(calls(&imported), expected, "{format}");
    }
}

#[test]
fn a_time_that_nobody_gave_is_none_after_a_round_trip() {
    let env = TestEnvironment::new();
    let fixture = include_str!("../../../../fixtures/import/jsonrpc.jsonl");
    std::fs::write(env.data_dir().join("a.txt"), fixture).unwrap();
    env.run(&["import", "a.txt", "--to", "har", "--out", "a.har"]);
    env.run(&["import", "a.har", "--out", "b.jsonl"]);
    let shown = env.run(&["export", "b.jsonl", "--to", "csv"]);
    assert!(!shown.contains("1970") && shown.contains("forecast"), "{shown}");
}

#[test]
fn secrets_are_taken_out_on_the_way() {
    let env = TestEnvironment::new();
    let line = r#"{"t":"2026-05-12T23:00:00.123Z","dir":"in","raw":{"jsonrpc":"2.0","id":1,"method":"x","params":{"password":"hunter2"}}}"#;
    env.file("a.jsonl", format!("{line}\n"));
    for format in FORMATS {
        let told = env.run(&["export", "traces/a.jsonl", "--to", format, "--redact"]);
        assert!(
            !told.contains("hunter2")
                && told.contains("recorded, redacted, incomplete: the recording was cut off"),
            "{told}"
        );
    }
}

#[test]
fn the_trace_is_never_overwritten() {
    let env = TestEnvironment::new();
    env.trace("a.jsonl", "aaaa", 0);
    let told = env.run(&["export", "aaaa", "--to", "csv", "--out", "traces/a.jsonl"]);
    assert!(told.contains("is the input"), "{told}");
}
