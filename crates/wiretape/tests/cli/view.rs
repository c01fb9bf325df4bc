use crate::environment::TestEnvironment;

#[test]
fn what_can_not_be_looked_at_is_told_before_a_browser_opens() {
    let env = TestEnvironment::new();
    env.trace("a.jsonl", "aaaa", 0);
    env.file("noise.jsonl", "noise\n");
    insta::assert_snapshot!("view-one-of-two", env.run(&["view", "--diff", "aaaa"]));
    insta::assert_snapshot!("view-no-such-trace", env.run(&["view", "none.jsonl"]));
    insta::assert_snapshot!("view-no-trace", env.run(&["view", "traces/noise.jsonl"]));
}

#[cfg(feature = "page")]
#[test]
fn a_report_holds_the_page_and_no_secrets() {
    let env = TestEnvironment::new();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let line = format!(
        r#"{{"t":"2026-05-12T23:00:00.123Z","dir":"in","raw":{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"password":"hunter2hunter2","note":"{secret}"}}}}}}"#
    );
    let meta = r#"{"v":1,"type":"meta","label":"</script><b>","command":["srv"],"startedAt":"2026-05-12T23:00:00.000Z"}"#;
    env.file("a.jsonl", format!("{meta}\n{line}\n"));
    let told = env.run(&["export", "html", "traces/a.jsonl", "-o", "report.html"]);
    assert!(told.contains("secrets redacted in 1 line") && told.contains("exit 0"), "{told}");
    let report = std::fs::read_to_string(env.data_dir().join("report.html")).unwrap();
    assert!(report.contains("Content-Security-Policy") && report.contains("wiretape-lines-0"));
    assert!(report.contains("&lt;/script&gt;&lt;b&gt;") && !report.contains("hunter2"));
    let refused = env.run(&["export", "html", "traces/a.jsonl", "-o", "traces/a.jsonl"]);
    assert!(refused.contains("would be overwritten") && refused.contains("exit 2"), "{refused}");
    let told = env.run(&["export", "html", "traces/none.jsonl"]);
    assert!(told.contains("does not exist") && !env.data_dir().join("report-none.html").exists(), "{told}");
}
