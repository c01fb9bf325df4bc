//! M016 `error-code-type`: An `error.code` that is not an integer.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

pub(super) static RULE: Rule = Rule {
    code: "M016",
    name: "error-code-type",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Error responses",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#error-responses",
    },
    what: "An `error.code` that is not an integer.",
    why: "Clients compare codes as integers and can't use a string or a fraction.",
    fix: "Use an integer; choose your own codes outside -32768 to -32000.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for defect in &view.envelope.defects {
        if matches!(defect, Defect::ErrorCodeType) {
            report.at("/error/code", "`error.code` is not an integer");
        }
    }
}
