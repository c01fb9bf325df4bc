//! M008 `method-in-response`: A message with a `method` and also a `result` or an `error`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

pub(super) static RULE: Rule = Rule {
    code: "M008",
    name: "method-in-response",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Responses",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#responses",
    },
    what: "A message with a `method` and also a `result` or an `error`.",
    why: "Some receivers treat it as a request, others as a response.",
    fix: "Remove `method` from responses.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for defect in &view.envelope.defects {
        if matches!(defect, Defect::MethodInResponse) {
            report.at("/method", "`method` next to `result` or `error`");
        }
    }
}
