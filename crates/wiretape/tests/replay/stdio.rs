//! Over stdio.

use crate::session::{Home, Sdk, as_reference_producer, parts};
use std::fs;

/// Records a scenario, replays it to the same client, and compares the client's output.
fn check(sdk: Sdk, scenario: &str) {
    let Some(parts) = parts() else { return };
    let home = Home::new();
    let recorded = home.record(&parts, sdk, scenario);
    let trace = home.trace();
    let replay = home.wiretape(&["replay", trace.to_str().unwrap(), "--require-all"]);
    let replayed = home.run_stdio(&parts, sdk, &replay, scenario);
    replayed.check_same(&recorded);
    assert!(replayed.stderr.contains(" 0 unused, 0 missed\n"), "{}", replayed.stderr);
}

#[test]
fn features_with_the_typescript_sdk() {
    check(Sdk::TypeScript, "features");
}

#[test]
fn features_with_the_python_sdk() {
    check(Sdk::Python, "features");
}

#[test]
fn features_with_the_first_python_sdk() {
    check(Sdk::PythonFirst, "features");
}

/// Every tool, prompt and resource.
#[test]
fn everything_with_each_sdk() {
    for sdk in Sdk::ALL {
        check(sdk, "all");
    }
}

#[test]
fn calls_are_cancelled() {
    for sdk in Sdk::ALL {
        check(sdk, "cancel");
    }
}

/// A client that is another than was recorded gets the same answers.
#[test]
fn one_sdk_is_played_what_another_has_recorded() {
    let Some(parts) = parts() else { return };
    let home = Home::new();
    home.record(&parts, Sdk::Python, "features");
    let trace = home.trace();
    let replay = home.wiretape(&["replay", trace.to_str().unwrap()]);
    let replayed = home.run_stdio(&parts, Sdk::PythonFirst, &replay, "features");
    assert!(replayed.stderr.contains(" 0 missed\n"), "{}", replayed.stderr);
}

#[test]
fn traces_of_the_reference_producer_are_played() {
    let Some(parts) = parts() else { return };
    for sdk in Sdk::ALL {
        let home = Home::new();
        // The client prints what it receives as text, in which the order of members matters.
        let recorded = home.record(&parts, sdk, "features").without("heard");
        let trace = fs::read_to_string(home.trace()).unwrap();
        let damaged = home.path("reference.jsonl");
        let text = as_reference_producer(&trace);
        assert!(text.contains(r#""maxTokens":"[REDACTED]""#), "nothing is damaged");
        fs::write(&damaged, text).unwrap();
        let replay = home.wiretape(&["replay", damaged.to_str().unwrap(), "--require-all"]);
        let replayed = home.run_stdio(&parts, sdk, &replay, "features").without("heard");
        replayed.check_same(&recorded);
        assert!(replayed.stderr.contains("damaged by another program's redaction"), "{}", replayed.stderr);
    }
}
