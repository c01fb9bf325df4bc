//! Every rule has a trace that breaks it, a trace that keeps it, and a page.

#![allow(clippy::unwrap_used, reason = "a test that can't go on should say so at once")]

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use wiretape_analyze::definitions::{Collector, Definitions};
use wiretape_analyze::drift::Baseline;
use wiretape_analyze::lint::drift;
use wiretape_analyze::lint::{Check, Diagnostic, Family, LintOptions, Linter, Rule, Severity, rules};
use wiretape_analyze::reading::{Reading, RecordingState};
use wiretape_trace::format::TraceReader;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn definitions(trace: &[u8]) -> Definitions {
    let mut reading = Reading::new(Collector::new());
    let mut reader = TraceReader::new(trace);
    while let Some(line) = reader.next_line().unwrap() {
        reading.observe(&line);
    }
    reading.finish(RecordingState::Over).finish()
}

fn show_places(diagnostics: &mut [Diagnostic], trace: &[u8]) {
    let lines: Vec<&[u8]> = trace.split(|byte| *byte == b'\n').collect();
    for diagnostic in diagnostics.iter_mut().filter(|one| one.excerpt.is_none()) {
        diagnostic.show_in(lines[usize::try_from(diagnostic.line).unwrap() - 1]);
    }
}

/// The trace whose definitions are pinned, of the rules that compare with such.
fn pinned(rule: &Rule) -> Option<Vec<u8>> {
    fs::read(root().join("fixtures/lint").join(rule.name).join("pinned.jsonl")).ok()
}

fn check(trace: &[u8]) -> Vec<Diagnostic> {
    lint(trace, None)
}

fn lint_by(rule: &Rule, trace: &[u8]) -> Vec<Diagnostic> {
    lint(trace, pinned(rule).as_deref())
}

fn lint(trace: &[u8], baseline: Option<&[u8]>) -> Vec<Diagnostic> {
    let mut linter = Linter::new(LintOptions { revision: None, rules: rules::ALL.to_vec(), limit: None });
    let mut reader = TraceReader::new(trace);
    while let Some(line) = reader.next_line().unwrap() {
        linter.observe(&line);
    }
    let mut diagnostics = linter.finish().diagnostics;
    if let Some(baseline) = baseline {
        let baseline = Baseline { definitions: definitions(baseline) };
        diagnostics.extend(drift::findings(&baseline, &definitions(trace)));
        show_places(&mut diagnostics, trace);
    }
    diagnostics.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.rule.code));
    diagnostics
}

/// The files in a rule's folder whose names begin so.
fn fixtures(rule: &str, kind: &str) -> Vec<(String, Vec<u8>)> {
    let folder = root().join("fixtures/lint").join(rule);
    let entries = fs::read_dir(&folder).unwrap_or_else(|_| panic!("{} is missing", folder.display()));
    let mut found: Vec<(String, Vec<u8>)> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(kind))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
        .collect();
    found.sort();
    assert!(!found.is_empty(), "{rule} has no {kind}.jsonl");
    found
}

/// A finding in a few lines, its place marked.
fn tell(diagnostic: &Diagnostic) -> String {
    let rule = diagnostic.rule;
    let mut told = format!("{} {} {}: {}\n", rule.severity, rule.code, rule.name, diagnostic.message);
    told.push_str(&format!("  line {} {}\n", diagnostic.line, diagnostic.pointer));
    if let Some(excerpt) = &diagnostic.excerpt {
        let (before, after) = (&excerpt.text[..excerpt.mark.start], &excerpt.text[excerpt.mark.end..]);
        told.push_str(&format!("  {before}»{}«{after}\n", &excerpt.text[excerpt.mark.clone()]));
    }
    if let Some(related) = &diagnostic.related {
        told.push_str(&format!("  line {}: {}\n", related.line, related.what));
    }
    told
}

#[test]
fn what_breaks_a_rule_is_found() {
    let mut missed = Vec::new();
    for rule in rules::ALL {
        let mut told = String::new();
        for (name, trace) in fixtures(rule.name, "bad") {
            let found = lint_by(rule, &trace);
            if !found.iter().any(|one| one.rule == *rule) {
                missed.push(format!("{} {name}", rule.name));
            }
            told.push_str(&format!("{name}\n\n"));
            found.iter().for_each(|one| told.push_str(&format!("{}\n", tell(one))));
        }
        insta::with_settings!({ omit_expression => true, snapshot_path => "snapshots/lint" }, {
            insta::assert_snapshot!(rule.name, told);
        });
    }
    assert!(missed.is_empty(), "not found: {missed:?}");
}

#[test]
fn what_keeps_a_rule_is_not() {
    for rule in rules::ALL {
        for (name, trace) in fixtures(rule.name, "good") {
            let found = lint_by(rule, &trace);
            let told: Vec<String> = found
                .iter()
                .filter(|one| one.rule == *rule || one.rule.severity > Severity::Info)
                .map(tell)
                .collect();
            assert!(told.is_empty(), "{} {name}: {}", rule.name, told.join("\n"));
        }
    }
}

/// A trace whose value at a place of a line was redacted; `None` if the place leads nowhere.
fn redacted(trace: &[u8], line: u64, pointer: &str) -> Option<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = trace.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let line = lines.get_mut(usize::try_from(line).unwrap().checked_sub(1)?)?;
    let mut value: serde_json::Value = serde_json::from_slice(line).ok()?;
    *value.pointer_mut(pointer)? = "[REDACTED:custom:0a1b2c3d]".into();
    *line = value.to_string().into_bytes();
    Some(lines.join(&b'\n'))
}

#[test]
fn what_is_redacted_is_never_wrong() {
    let mut checked = 0;
    // What is found at the end, or by comparing definitions, is not about a value on the line.
    for rule in rules::ALL.iter().filter(|rule| matches!(rule.check, Check::Payload(_) | Check::Message(_))) {
        for (name, trace) in fixtures(rule.name, "bad") {
            let found = lint_by(rule, &trace);
            for finding in found.iter().filter(|one| one.rule == *rule && one.pointer.starts_with("/raw/")) {
                let Some(clean) = redacted(&trace, finding.line, &finding.pointer) else { continue };
                let again = lint_by(rule, &clean);
                let is_same = |one: &&Diagnostic| {
                    one.rule == *rule && (one.line, &one.pointer) == (finding.line, &finding.pointer)
                };
                assert!(!again.iter().any(|one| is_same(&one)), "{} {name}: {}", rule.name, tell(finding));
                checked += 1;
            }
        }
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn no_fixture_is_left_over() {
    let names: BTreeSet<&str> = rules::ALL.iter().map(|rule| rule.name).collect();
    for entry in fs::read_dir(root().join("fixtures/lint")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            names.contains(name.as_str()) || name == "README.md",
            "fixtures/lint/{name} belongs to no rule"
        );
    }
}

/// If set, the test writes the pages instead of checking them.
const UPDATE: &str = "WIRETAPE_UPDATE_DOCS";

fn is_update() -> bool {
    #[allow(
        clippy::disallowed_methods,
        reason = "how the documents are written; the crate itself reads nothing"
    )]
    std::env::var_os(UPDATE).is_some()
}

/// The payload, or the whole line, that the first finding of the rule in its first bad fixture is about.
fn example(rule: &Rule) -> String {
    let (_, trace) = fixtures(rule.name, "bad.jsonl").remove(0);
    let found = lint_by(rule, &trace).into_iter().find(|one| one.rule == rule).expect("it breaks the rule");
    let text = String::from_utf8(trace).unwrap();
    let line = text.lines().nth(usize::try_from(found.line).unwrap() - 1).unwrap();
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    let is_about_payload = found.pointer.starts_with("/raw") || found.pointer.is_empty();
    let shown = match value.get("raw").filter(|_| is_about_payload) {
        Some(_) => &line[line.find("\"raw\":").unwrap() + 6..line.len() - 1],
        None => line,
    };
    format!("```json\n{shown}\n```\n\n> {}\n", found.message)
}

fn page(rule: &Rule) -> String {
    format!(
        "# {code} {name}\n\n{what}\n\n\
         | | |\n|---|---|\n| severity | {severity} |\n| family | {family} |\n| revisions | {revisions} |\n\
         | specification | [{title}]({url}) |\n\n\
         ## Why it matters\n\n{why}\n\n## How to fix it\n\n{fix}\n\n## Example\n\n{example}\n\
         To ignore this rule: `wiretape lint --allow {name}`. [All rules](README.md).\n",
        code = rule.code,
        name = rule.name,
        what = rule.what,
        severity = rule.severity,
        family = rule.family.name(),
        revisions = rule.revisions.names().join(", "),
        title = rule.section.title,
        url = rule.section.url,
        why = rule.why,
        fix = rule.fix,
        example = example(rule),
    )
}

fn index() -> String {
    let mut index = format!(
        "# Rules\n\n[`wiretape lint`](../lint.md) has {} rules. An error violates a MUST of the specification, a warning a \
         SHOULD;\nan info is only worth knowing. These pages are generated from the rules.\n",
        rules::ALL.len()
    );
    for family in Family::ALL {
        let of_family: Vec<_> = rules::ALL.iter().filter(|rule| rule.family == family).collect();
        if of_family.is_empty() {
            continue;
        }
        index.push_str(&format!(
            "\n## {}\n\n| code | name | severity | finds |\n|---|---|---|---|\n",
            family.name()
        ));
        for rule in of_family {
            let (code, name, what) = (rule.code, rule.name, rule.what.replace('|', "\\|"));
            index.push_str(&format!("| {code} | [{name}]({name}.md) | {} | {what} |\n", rule.severity));
        }
    }
    index
}

#[test]
fn every_rule_has_a_fresh_page() {
    let folder = root().join("docs/rules");
    let mut pages: BTreeMap<String, String> =
        rules::ALL.iter().map(|rule| (format!("{}.md", rule.name), page(rule))).collect();
    pages.insert("README.md".to_owned(), index());
    if is_update() {
        fs::create_dir_all(&folder).unwrap();
        for (name, page) in &pages {
            fs::write(folder.join(name), page).unwrap();
        }
    }
    for (name, page) in &pages {
        let there = fs::read_to_string(folder.join(name)).unwrap_or_default().replace("\r\n", "\n");
        assert!(there == *page, "docs/rules/{name} is stale: run this test with {UPDATE}=1");
    }
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(pages.contains_key(&name), "docs/rules/{name} belongs to no rule");
    }
}

/// A trace of these payloads from the client.
fn trace_of(payloads: impl Iterator<Item = String>) -> Vec<u8> {
    let mut trace = b"{\"v\":1,\"type\":\"meta\",\"transport\":\"stdio\"}\n".to_vec();
    for (at, payload) in payloads.enumerate() {
        trace.extend_from_slice(format!("{{\"dir\":\"in\",\"us\":{at},\"raw\":{payload}}}\n").as_bytes());
    }
    trace
}

#[test]
fn hostile_traces_come_to_an_end() {
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"x","arguments":{arguments}}}}}"#
        )
    };
    check(&trace_of(
        [call(&deep), deep.clone(), format!(r#"{{"jsonrpc":"2.0","id":1,"result":{deep}}}"#)].into_iter(),
    ));
    let same = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned();
    assert!(check(&trace_of(std::iter::repeat_n(same, 3000))).len() > 2000);
    let pending = |id| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":"tools/call","params":{{"_meta":{{"progressToken":{id}}}}}}}"#
        )
    };
    check(&trace_of((0..3000).map(pending)));
    let many = format!("[{}]", vec!["{}"; 3000].join(","));
    let found = check(&trace_of(std::iter::once(many)));
    assert!(found.iter().filter(|one| one.rule.name == "not-a-message").count() >= 50);
}

/// Every line of every fixture.
fn lines() -> Vec<Vec<u8>> {
    let all = rules::ALL
        .iter()
        .flat_map(|rule| [fixtures(rule.name, "bad"), fixtures(rule.name, "good")])
        .flatten();
    let mut lines: Vec<Vec<u8>> = all
        .flat_map(|(_, trace)| trace.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>())
        .collect();
    lines.sort();
    lines.dedup();
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_panics_on_lines_in_any_order_and_with_any_bytes(
        picks in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u8..8, any::<u8>()), 1..60),
    ) {
        let lines = lines();
        let mut trace = Vec::new();
        for (line, place, kind, byte) in picks {
            let mut line = line.get(&lines).clone();
            if !line.is_empty() {
                let at = place.index(line.len());
                match kind {
                    0 => line[at] = byte,
                    1 => line.truncate(at),
                    2 => line.insert(at, b"{}[]\",:0"[usize::from(byte) % 8]),
                    _ => {}
                }
            }
            trace.extend_from_slice(&line);
            trace.push(b'\n');
        }
        prop_assert_eq!(check(&trace), check(&trace));
    }
}
