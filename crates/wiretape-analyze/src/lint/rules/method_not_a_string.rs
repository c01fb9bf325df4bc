//! M009 `method-not-a-string`: A `method` that is not a string.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

pub(super) static RULE: Rule = Rule {
    code: "M009",
    name: "method-not-a-string",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Requests",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#requests",
    },
    what: "A `method` that is not a string.",
    why: "The receiver can't know which method is meant.",
    fix: "Send the method name as a string.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for defect in &view.envelope.defects {
        if matches!(defect, Defect::MethodType) {
            report.at("/method", "`method` is not a string");
        }
    }
}
