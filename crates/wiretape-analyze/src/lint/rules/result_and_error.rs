//! M007 `result-and-error`: A response with both a `result` and an `error`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

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
    why: "Some receivers check `result` first, others `error`, so they disagree about the outcome.",
    fix: "Send only one. For a failed tool, send a result with `isError`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for defect in &view.envelope.defects {
        if matches!(defect, Defect::ResultAndError) {
            report.at("/error", "the response has both `result` and `error`");
        }
    }
}
