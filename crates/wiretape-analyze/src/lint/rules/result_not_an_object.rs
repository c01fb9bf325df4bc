//! M014 `result-not-an-object`: A response whose `result` is not an object.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

pub(super) static RULE: Rule = Rule {
    code: "M014",
    name: "result-not-an-object",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Responses",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#responses",
    },
    what: "A response whose `result` is not an object.",
    why: "Every MCP result is an object, even an empty one.",
    fix: "Send `{}` if there is nothing to return, and wrap lists and strings in a member.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for defect in &view.envelope.defects {
        if matches!(defect, Defect::ResultType) {
            report.at("/result", "`result` is not an object");
        }
    }
}
