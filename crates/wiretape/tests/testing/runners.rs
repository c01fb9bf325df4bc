//! Tests as users write them, with the test runners that they use.

use crate::folder::Folder;

/// The wording of a miss, wherever it is reported.
const MISS: &str = r#"nearest is line 9: params/arguments/city was "Lisbon" and is "Graz""#;

const PYTEST: &str = "python -m pytest -p no:cacheprovider";

#[test]
fn the_tests_with_pytest_pass() {
    let Some(folder) = Folder::new() else { return };
    folder.run("pytest", PYTEST).check(0, &["6 passed"]);
}

/// In this test the agent takes every error for an answer.
#[test]
fn a_miss_fails_a_test_with_pytest() {
    let Some(folder) = Folder::new() else { return };
    folder.edit("pytest/test_advice.py", r#"["Lisbon", "Oslo"]"#, r#"["Lisbon", "Graz"]"#);
    let told = folder.run("pytest", PYTEST);
    told.check(1, &["1 failed, 5 passed", MISS, "unused: line 11, tools/call weather"]);
}

/// The page says how the trace was made; made again, it is the same.
#[test]
fn recording_with_the_python_sdk_makes_the_same_trace() {
    let Some(folder) = Folder::new() else { return };
    folder.run("pytest", "python record.py").check(0, &["Take an umbrella.\nTake an umbrella.\n"]);
    folder.run("pytest", "mv recorded/*-weather.jsonl ../again.jsonl").check(0, &[]);
    folder.run("", "wiretape diff weather.jsonl again.jsonl").check(0, &["5 calls unchanged"]);
}

#[test]
fn the_tests_with_vitest_pass() {
    let Some(folder) = Folder::new() else { return };
    folder.run("vitest", "npm test").check(0, &["5 passed"]);
}

/// The agent takes the error for an answer, and here that is what the test expects.
#[test]
fn a_miss_fails_a_test_with_vitest() {
    let Some(folder) = Folder::new() else { return };
    folder.edit(
        "vitest/advice.test.ts",
        r#"advice(client, "Lisbon")).toBe("No forecast"#,
        r#"advice(client, "Graz")).toBe("No forecast"#,
    );
    folder.run("vitest", "npm test").check(1, &["1 failed", "4 passed", MISS]);
}
