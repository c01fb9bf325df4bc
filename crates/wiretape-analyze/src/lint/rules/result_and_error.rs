//! M007 `result-and-error`: A response with both a `result` and an `error`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "M007",
    name: "result-and-error",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Responses",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#responses",
    },
    what: "A response with both a `result` and an `error`.",
    why: "Receivers look for one or the other first, so two of them understand it differently.",
    fix: "Send one of the two. A tool that failed has a result with `isError`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for defect in &view.envelope.defects {
        if matches!(defect, Defect::ResultAndError) {
            report.at("/error", "both `result` and `error` are there");
        }
    }
}
