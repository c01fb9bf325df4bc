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

/// A message may have both a result and an error, or one of them as null (JSON-RPC 1.0). As everywhere, an error that is not
/// null decides.
#[test]
fn assay_has_the_error_of_a_response_with_both() {
    let env = TestEnvironment::new();
    let mut trace = String::from(
        "{\"v\":1,\"type\":\"meta\",\"startedAt\":\"2026-05-12T23:00:00.000Z\",\"label\":\"x\",\"command\":[\"x\"]}\n",
    );
    let error = r#"{"code":5,"message":"no"}"#;
    let answers = [
        format!(r#""result":{{"a":1}},"error":{error}"#),
        format!(r#""result":null,"error":{error}"#),
        r#""error":null,"result":{"a":1}"#.to_owned(),
    ];
    for (id, answer) in (1..).zip(answers) {
        let call =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t{id}"}}}}"#);
        trace += &format!("{{\"dir\":\"in\",\"us\":1,\"raw\":{call}}}\n");
        trace +=
            &format!("{{\"dir\":\"out\",\"us\":2,\"raw\":{{\"jsonrpc\":\"2.0\",\"id\":{id},{answer}}}}}\n");
    }
    env.file("both.jsonl", trace);
    let output = env.command(&["export", "traces/both.jsonl", "--to", "assay-v2"]).output().unwrap();
    let lines: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &Value| line["type"] == "tool_call")
        .collect();
    let failed = serde_json::json!({ "error": { "code": 5, "message": "no" } });
    let told: Vec<_> = lines.iter().map(|line| (&line["result"], line["error"].as_str())).collect();
    let result = serde_json::json!({ "a": 1 });
    assert_eq!(told, [(&failed, Some("mcp_error")), (&failed, Some("mcp_error")), (&result, None)]);
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

/// In every kind of line, also before a line has named the secret.
#[test]
fn an_export_is_redacted_as_a_whole() {
    let env = TestEnvironment::new();
    let t = r#""t":"2026-05-12T23:00:00.123Z""#;
    let key = ["-----BEGIN", " PRIVATE KEY-----"].concat();
    let secret = "s3cretpassw0rd";
    env.file(
        "a.jsonl",
        [
            r#"{"v":1,"type":"meta","startedAt":"2026-05-12T23:00:00.000Z","label":"a","command":["srv","--password","0therpassw0rd"],"id":"aaaa0001"}"#.to_owned(),
            format!(r#"{{{t},"type":"text","dir":"out","text":"early {secret} and 0therpassw0rd"}}"#),
            format!(r#"{{{t},"type":"stderr","text":"{key}"}}"#),
            format!(r#"{{{t},"type":"stderr","text":"QUJDREVGQUJDREVGQUJDREVG"}}"#),
            format!(r#"{{{t},"type":"of-the-future","note":"it is {secret}"}}"#),
            format!(r#"{{{t},"dir":"in","raw":{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{secret}","arguments":{{"password":"{secret}"}}}}}}}}"#),
            format!(r#"{{{t},"dir":"out","raw":{{"jsonrpc":"2.0","id":1,"error":{{"code":1,"message":"wrong: {secret}"}}}}}}"#),
        ]
        .map(|line| line + "\n")
        .concat(),
    );
    for format in FORMATS {
        let told = env.run(&["export", "traces/a.jsonl", "--to", format, "--redact"]);
        for secret in [secret, "0therpassw0rd", "QUJDREVG"] {
            assert!(!told.contains(secret), "{format}: {told}");
        }
    }
}

#[test]
fn the_header_of_an_export_has_no_secret_that_is_named_later() {
    let env = TestEnvironment::new();
    let secret = "Tr0ub4dor-xyz";
    let t = r#""t":"2026-05-12T23:00:00.123Z""#;
    env.file(
        "a.jsonl",
        [
            format!(r#"{{"v":1,"type":"meta","startedAt":"2026-05-12T23:00:00.000Z","label":"acme {secret}","command":["srv-{secret}"],"id":"aaaa0001"}}"#),
            format!(r#"{{{t},"type":"http","http":{{"context":{{"note":"for {secret}"}}}}}}"#),
            format!(r#"{{{t},"dir":"in","raw":{{"jsonrpc":"2.0","id":1,"method":"login","params":{{"password":"{secret}"}}}}}}"#),
        ]
        .map(|line| line + "\n")
        .concat(),
    );
    for format in FORMATS {
        let plain = env.run(&["export", "traces/a.jsonl", "--to", format]);
        let redacted = env.run(&["export", "traces/a.jsonl", "--to", format, "--redact"]);
        // HAR makes a host name of the label, in lower case.
        assert!(!redacted.to_lowercase().contains(&secret.to_lowercase()), "{format}: {redacted}");
        let header = match format {
            "har" => Some(["http://acme-tr0ub4dor-xyz.invalid", "http://acme--redacted-"]),
            "perfetto" => Some(["acme Tr0ub4dor-xyz", "acme [REDACTED:"]),
            "streamable-http" => Some(["for Tr0ub4dor-xyz", "for [REDACTED:"]),
            _ => None,
        };
        if let Some([before, after]) = header {
            assert!(plain.contains(before), "{format}: {plain}");
            assert!(redacted.contains(after), "{format}: {redacted}");
        }
    }
}

#[test]
fn the_trace_is_never_overwritten() {
    let env = TestEnvironment::new();
    env.trace("a.jsonl", "aaaa", 0);
    let told = env.run(&["export", "aaaa", "--to", "csv", "--out", "traces/a.jsonl"]);
    assert!(told.contains("is the input"), "{told}");
}
