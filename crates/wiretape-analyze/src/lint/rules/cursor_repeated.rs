//! T013 `cursor-repeated`: A page whose `nextCursor` is the cursor it was requested with.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

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
    what: "A page whose `nextCursor` is the cursor it was requested with.",
    why: "A client that reads all pages never reaches the end.",
    fix: "Return a new cursor with each page, and none with the last.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(request) = view.request.filter(|request| request.cursor.is_some()) else { return };
    let next = view.result().and_then(|result| result.get("nextCursor")?.string());
    if next.is_some() && next.as_deref() == request.cursor {
        report.at_with(
            "/result/nextCursor",
            "`nextCursor` points to this same page",
            request.line,
            "the request",
        );
    }
}
