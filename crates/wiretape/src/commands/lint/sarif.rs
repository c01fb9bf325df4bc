//! Findings as SARIF 2.1.0, for code scanning.

use super::outcome::LintedTrace;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use wiretape_analyze::lint::{Diagnostic, Rule, Severity, rules};

/// The SARIF log, with one run.
pub(crate) fn document(traces: &[LintedTrace]) -> Value {
    let found: BTreeSet<&str> =
        traces.iter().flat_map(|trace| &trace.diagnostics).map(|diagnostic| diagnostic.rule.code).collect();
    let rules: Vec<&Rule> = rules::ALL.iter().copied().filter(|rule| found.contains(rule.code)).collect();
    let index = |rule: &Rule| rules.iter().position(|one| *one == rule);
    let results: Vec<Value> = traces
        .iter()
        .flat_map(|trace| trace.diagnostics.iter().map(move |diagnostic| (trace, diagnostic)))
        .map(|(trace, diagnostic)| result(&trace.path, diagnostic, index(diagnostic.rule)))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "wiretape",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.what},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.fix},
        "helpUri": rule.section.url,
        "defaultConfiguration": {"level": level(rule.severity)},
        "properties": {"tags": [rule.family.name()]},
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn result(path: &Path, diagnostic: &Diagnostic, index: Option<usize>) -> Value {
    let mut result = json!({
        "ruleId": diagnostic.rule.code,
        "level": level(diagnostic.rule.severity),
        "message": {"text": format!("{}. {}", diagnostic.message, diagnostic.rule.fix)},
        "locations": [location(path, diagnostic)],
        // Equal for the same finding in a later recording of the same session.
        "partialFingerprints": {
            "finding/v1": format!("{}:{}:{}", diagnostic.rule.code, diagnostic.pointer, diagnostic.message),
        },
    });
    if let Some(index) = index {
        result["ruleIndex"] = json!(index);
    }
    if let Some(related) = &diagnostic.related {
        result["relatedLocations"] = json!([{
            "physicalLocation": {"artifactLocation": {"uri": uri(path)}, "region": {"startLine": related.line}},
            "message": {"text": related.what},
        }]);
    }
    result
}

fn location(path: &Path, diagnostic: &Diagnostic) -> Value {
    // SARIF columns count characters, and ours are bytes, so the place within the line is a JSON pointer.
    let mut region = json!({"startLine": diagnostic.line.max(1)});
    if let Some(excerpt) = &diagnostic.excerpt {
        region["snippet"] = json!({"text": excerpt.text});
    }
    let mut location =
        json!({"physicalLocation": {"artifactLocation": {"uri": uri(path)}, "region": region}});
    if !diagnostic.pointer.is_empty() {
        location["logicalLocations"] = json!([{"fullyQualifiedName": diagnostic.pointer, "kind": "member"}]);
    }
    location
}

/// A path as a relative reference, or as a URI.
fn uri(path: &Path) -> String {
    let text = path.display().to_string().replace('\\', "/");
    let mut uri = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' | b':' => {
                uri.push(byte.into());
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    let has_drive = cfg!(windows) && uri.as_bytes().get(1) == Some(&b':');
    match uri.starts_with('/') {
        true => format!("file://{uri}"),
        false if has_drive => format!("file:///{uri}"),
        // A colon in the first segment of a relative reference would end a scheme (RFC 3986, section 4.2).
        false if uri.split('/').next().is_some_and(|part| part.contains(':')) => format!("./{uri}"),
        false => uri,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        let check = |path: &str, expected: &str| assert_eq!(uri(Path::new(path)), expected);
        check("a/b c.jsonl", "a/b%20c.jsonl");
        check("/tmp/ü.jsonl", "file:///tmp/%C3%BC.jsonl");
        check("a:b.jsonl", "./a:b.jsonl");
    }
}
