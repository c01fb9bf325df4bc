//! T013 `cursor-repeated`: A page whose `nextCursor` is the cursor that it was asked for with.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "T013",
    name: "cursor-repeated",
    family: Family::Tools,
    severity: Severity::Warning,
    revisions: Revisions::ALL,
    section: Section {
        title: "Pagination",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/pagination",
    },
    what: "A page whose `nextCursor` is the cursor that it was asked for with.",
    why: "A client that reads all pages never comes to the end.",
    fix: "Give each page a cursor of its own, and the last one none.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(asked) = view.asked.filter(|asked| asked.cursor.is_some()) else { return };
    let next = view.result().and_then(|result| result.get("nextCursor")?.string());
    if next.is_some() && next.as_deref() == asked.cursor.as_deref() {
        report.at_with("/result/nextCursor", "the next page is this page", asked.line, "the request");
    }
}
