use crate::environment::{TestEnvironment, sample_trace};
use std::io::Write as _;

#[test]
fn an_empty_directory_says_how_to_begin() {
    let env = TestEnvironment::new();
    insta::assert_snapshot!("ls-empty", env.run(&["ls"]));
    std::fs::remove_dir(env.data_dir().join("traces")).unwrap();
    assert_eq!(env.run(&["ls", "--json"]), "--- exit 0 ---\n");
    insta::assert_snapshot!("ls-no-such-directory", env.run(&["ls", "--dir", "nowhere"]));
}

fn traces(env: &TestEnvironment) {
    env.trace("first.jsonl", "a1b2c3d4", 0);
    env.trace("second.jsonl", "a1b2ffff", 60);
    let crashed = sample_trace("0dead", "crashed", 120);
    env.file("crashed.jsonl", &crashed[..crashed.len() - 120]);
    let end = b"{\"type\":\"end\",\"exitCode\":137,\"durationMs\":9,\"signal\":9}\n";
    env.file("killed.jsonl", [&b"{\"v\":1,\"type\":\"meta\",\"startedAt\":\"2026-05-12T23:10:00.000Z\",\"label\":\"killed\",\"command\":[]}\n"[..], end].concat());
    env.file("broken.jsonl", "this is no trace\n");
    let mut gz =
        wiretape_trace::compress::Compressor::new(Vec::new(), wiretape_trace::compress::Compression::Gzip)
            .unwrap();
    gz.write_all(&sample_trace("77777777", "packed", 30)).unwrap();
    env.file("packed.jsonl.gz", gz.finish().unwrap());
    env.file("notes.txt", "not looked at");
}

#[test]
fn traces_are_listed_newest_first() {
    let env = TestEnvironment::new();
    traces(&env);
    insta::assert_snapshot!("ls", env.run(&["ls"]));
    insta::assert_snapshot!("ls-n", env.run(&["ls", "-n", "2"]));
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r#""bytes":\d+"#, r#""bytes":[SIZE]"#);
    settings.bind(|| insta::assert_snapshot!("ls-json", env.run(&["ls", "--json"])));
}

#[test]
fn calls_that_were_open_in_a_crash_are_not_called_unanswered() {
    let env = TestEnvironment::new();
    let lines = [
        r#"{"v":1,"type":"meta","startedAt":"2026-05-12T23:00:00.000Z","label":"x","command":[]}"#,
        r#"{"t":"2026-05-12T23:00:00.001Z","us":1000,"dir":"in","raw":{"jsonrpc":"2.0","id":1,"method":"ping"}}"#,
        r#"{"t":"2026-05-12T23:00:01.000Z","us":1000000,"type":"end","exitCode":3,"durationMs":1000}"#,
    ];
    env.file("x.jsonl", lines.join("\n") + "\n");
    let listed = env.run(&["ls"]);
    assert!(listed.contains("crashed (exit 3), 1 open"), "{listed}");
}

#[test]
fn parts_are_told_apart() {
    let env = TestEnvironment::new();
    for (name, part) in [
        ("wiretape-part-1.jsonl", include_str!("../../../../fixtures/traces/wiretape-part-1.jsonl")),
        ("wiretape-part-2.jsonl", include_str!("../../../../fixtures/traces/wiretape-part-2.jsonl")),
    ] {
        env.file(name, part);
    }
    insta::assert_snapshot!("ls-parts", env.run(&["ls"]));
}
