use crate::environment::TestEnvironment;
use serde_json::Value;

/// A fixture of a rule, in this environment.
fn fixture(env: &TestEnvironment, rule: &str, name: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/lint");
    let content = std::fs::read(format!("{root}/{rule}/{name}.jsonl")).unwrap();
    env.file(&format!("{rule}.jsonl"), content);
    format!("traces/{rule}.jsonl")
}

#[test]
fn findings_are_told_with_their_place() {
    let env = TestEnvironment::new();
    let traces = [
        "id-null",
        "header-annotation-invalid",
        "param-header",
        "stdout-pollution",
        "request-without-response",
    ]
    .map(|rule| fixture(&env, rule, "bad"));
    let words: Vec<&str> = ["lint"].into_iter().chain(traces.iter().map(String::as_str)).collect();
    insta::assert_snapshot!(env.run(&words));
}

#[test]
fn a_good_trace_has_nothing_to_tell() {
    let env = TestEnvironment::new();
    let trace = fixture(&env, "id-null", "good");
    assert_eq!(env.run(&["lint", &trace]), "no findings in 1 trace\n--- exit 0 ---\n");
}

#[test]
fn what_is_denied_decides_the_exit_code() {
    let env = TestEnvironment::new();
    let warning = fixture(&env, "duplicate-key", "bad");
    let error = fixture(&env, "id-null", "bad");
    let check = |words: &[&str], expected: &str| {
        let told = env.run(&[&["lint"], words].concat());
        assert!(told.ends_with(&format!("--- exit {expected} ---\n")), "{words:?}: {told}");
    };
    check(&[&warning], "0");
    check(&[&warning, "--deny", "warnings"], "1");
    check(&[&warning, "--deny", "all", "--allow", "M024"], "0");
    check(&[&error], "1");
    check(&[&error, "--allow", "id-null"], "0");
    check(&[&error, "--allow", "errors"], "0");
    check(&[&error, "--deny", "no-such-rule"], "2");
    check(&["traces/none.jsonl"], "2");
    check(&[], "2");
}

#[test]
fn other_formats_are_well_formed() {
    let env = TestEnvironment::new();
    let trace = fixture(&env, "id-reused", "bad");
    let noisy = env.file(
        "noisy.jsonl",
        "{\"v\":1,\"type\":\"meta\",\"transport\":\"stdio\"}\n{\"type\":\"text\",\"dir\":\"out\",\"text\":\"\\u001b[1m<b>&\\\"\"}\n",
    );
    let noisy = noisy.to_str().unwrap();
    for format in ["json", "sarif", "junit"] {
        let told = env.run(&["lint", &trace, noisy, "--format", format]);
        insta::with_settings!({ filters => vec![(r#""semanticVersion": "[^"]*""#, r#""semanticVersion": "…""#)] }, {
            insta::assert_snapshot!(format!("lint-{format}"), told);
        });
        if format != "junit" {
            let output = env.command(&["lint", &trace, noisy, "--format", format]).output().unwrap();
            serde_json::from_slice::<Value>(&output.stdout).unwrap();
        }
    }
}

#[test]
fn a_sarif_log_has_what_its_schema_requires() {
    let env = TestEnvironment::new();
    let trace = fixture(&env, "id-reused", "bad");
    let output = env.command(&["lint", &trace, "--format", "sarif"]).output().unwrap();
    let log: Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for result in run["results"].as_array().unwrap() {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
        assert!(result["message"]["text"].is_string());
        let place = &result["locations"][0]["physicalLocation"];
        assert!(place["region"]["startLine"].as_u64().unwrap() > 0);
        assert!(place["artifactLocation"]["uri"].is_string());
    }
}

#[test]
fn a_rule_is_explained() {
    let env = TestEnvironment::new();
    insta::assert_snapshot!(env.run(&["lint", "--explain", "L012"]));
    let list = env.run(&["lint", "--rules"]);
    assert!(list.contains("response-without-request") && list.contains("--- exit 0 ---"), "{list}");
}

#[test]
fn the_rest_is_counted() {
    let env = TestEnvironment::new();
    let line = "{\"type\":\"text\",\"dir\":\"out\",\"text\":\"noise\"}\n";
    env.file(
        "a.jsonl",
        format!("{{\"v\":1,\"type\":\"meta\",\"transport\":\"stdio\"}}\n{}", line.repeat(50)),
    );
    let told = env.run(&["lint", "traces/a.jsonl"]);
    assert!(
        told.contains("30 more of W001 stdout-pollution") && told.contains("50 errors in 1 trace"),
        "{told}"
    );
    let all = env.run(&["lint", "traces/a.jsonl", "--all"]);
    assert_eq!(all.matches("error[W001").count(), 50);
}

#[test]
fn a_revision_can_be_forced() {
    let env = TestEnvironment::new();
    let trace = fixture(&env, "batch-not-supported", "good");
    assert!(env.run(&["lint", &trace]).contains("no findings"));
    let told = env.run(&["lint", &trace, "--revision", "2025-11-25"]);
    assert!(told.contains("batch-not-supported") && told.contains("exit 1"), "{told}");
    assert!(env.run(&["lint", &trace, "--revision", "2025"]).contains("expected one of 2024-11-05"));
}
