//! Differences from a baseline, as findings of the rules D001 to D007.

use super::diagnostic::Diagnostic;
use super::rule::Rule;
use super::rules;
use crate::definitions::{Definition, Definitions, Extent, ListKind, Listing};
use crate::drift::{Baseline, Change, ChangeKind, Effect, compare};
use std::collections::BTreeMap;

/// The findings for a trace's definitions, compared with a baseline.
pub fn findings(baseline: &Baseline, now: &Definitions) -> Vec<Diagnostic> {
    let drift = compare(&baseline.definitions, now);
    let mut findings: Vec<Diagnostic> = drift.changes.iter().map(of_change).collect();
    findings.extend(drift.unseen.iter().map(|list| not_compared(*list, now, "is not in the trace")));
    findings.extend(drift.partial.iter().map(|list| not_compared(*list, now, "was not read completely")));
    for finding in now.others.iter().flat_map(|other| of_other(baseline, other)) {
        // A server that keeps changing a tool would otherwise repeat the same finding for each list.
        if !findings.iter().any(|known| known.rule == finding.rule && known.message == finding.message) {
            findings.push(finding);
        }
    }
    findings
}

/// Compares a definition that a later list replaced. A client may have used it, so a server can't evade the baseline by
/// changing a tool for a while and changing it back.
fn of_other(
    baseline: &Baseline,
    (kind, name, definition): &(ListKind, String, Definition),
) -> Vec<Diagnostic> {
    let entries = BTreeMap::from([(name.clone(), definition.clone())]);
    // Partial, because the other entries of that list are not here: none of them counts as removed.
    let listing = Listing { entries, extent: Extent::Partial, line: None };
    let given = Definitions { lists: BTreeMap::from([(*kind, listing)]), ..Definitions::default() };
    compare(&baseline.definitions, &given).changes.iter().map(of_change).collect()
}

fn of_change(change: &Change) -> Diagnostic {
    let spot = change.spot.as_ref();
    let pointer = spot.map(|spot| format!("/raw{}", spot.pointer)).unwrap_or_default();
    finding(rule_of(change), spot.map_or(1, |spot| spot.line), pointer, message(change))
}

/// The sentence of a change and, for text, its earlier version; the new version is in the trace.
fn message(change: &Change) -> String {
    /// Bytes of the earlier text that are shown.
    const ENOUGH: usize = 200;
    let sentence = &change.sentence;
    let is_words =
        matches!(change.kind, ChangeKind::Description | ChangeKind::Title | ChangeKind::Instructions);
    let Some(before) = change.before.as_ref().filter(|_| is_words) else { return sentence.clone() };
    let before = String::from_utf8_lossy(before);
    let cut = before.floor_char_boundary(ENOUGH);
    let more = if cut < before.len() { "…" } else { "" };
    format!("{sentence}; before: {}{more}", &before[..cut])
}

fn rule_of(change: &Change) -> &'static Rule {
    let name = match (change.kind, change.effect) {
        (ChangeKind::Removed, _) => "definition-removed",
        (ChangeKind::Renamed, _) => "definition-renamed",
        (ChangeKind::Added, _) => "definition-added",
        (ChangeKind::Description | ChangeKind::Title | ChangeKind::Instructions, _) => "description-changed",
        (_, Effect::Breaking) => "definition-broken",
        (_, Effect::Informing) => "definition-changed",
    };
    rules::find(name).expect("the rules of family D are in the catalog; each has a fixture")
}

fn not_compared(list: ListKind, now: &Definitions, how: &str) -> Diagnostic {
    let line = now.lists.get(&list).and_then(|listing| listing.line).unwrap_or(1);
    let rule = rules::find("baseline-not-compared")
        .expect("the rules of family D are in the catalog; each has a fixture");
    finding(rule, line, String::new(), format!("`{}` is in the baseline but {how}", list.method()))
}

fn finding(rule: &'static Rule, line: u64, pointer: String, message: String) -> Diagnostic {
    Diagnostic { rule, line, seq: None, pointer, span: None, message, excerpt: None, related: None }
}
