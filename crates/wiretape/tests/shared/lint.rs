//! Lints the traces of real sessions: no false alarms. What is found all the same is named, with the reason.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// A rule that real sessions break, and why that is true.
pub(crate) type Known = (&'static str, &'static str);

/// Lints traces. Errors and warnings must be of rules that are known to be broken.
pub(crate) fn check(traces: &[PathBuf], known: &[Known]) {
    assert!(!traces.is_empty(), "there is nothing to lint");
    let mut command = Command::new(env!("CARGO_BIN_EXE_wiretape"));
    let output = command.args(["lint", "--format", "json", "--allow", "info"]).args(traces).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{stderr}"));
    let mut alarms: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for trace in document["traces"].as_array().unwrap() {
        for found in trace["diagnostics"].as_array().unwrap() {
            let rule = found["rule"].as_str().unwrap();
            if !known.iter().any(|(name, _)| *name == rule) {
                let told =
                    format!("{}:{} {} {}", trace["path"], found["line"], found["message"], found["excerpt"]);
                alarms.entry(rule.to_owned()).or_default().push(told);
            }
        }
    }
    assert!(alarms.is_empty(), "{alarms:#?}");
}
