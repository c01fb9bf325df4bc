//! M015 `error-shape`: An `error` that is not an object with a `code` and a string `message`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

pub(super) static RULE: Rule = Rule {
    code: "M015",
    name: "error-shape",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Error responses",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#error-responses",
    },
    what: "An `error` that is not an object with a `code` and a string `message`.",
    why: "Clients show the message to users and branch on the code. Without them, all that is left is \
          \"unknown error\".",
    fix: "Send `{\"code\": …, \"message\": \"…\"}`. Put further details into `data`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for defect in &view.envelope.defects {
        if matches!(
            defect,
            Defect::ErrorType
                | Defect::ErrorCodeMissing
                | Defect::ErrorMessageMissing
                | Defect::ErrorMessageType
        ) {
            report.at("/error", defect.to_string());
        }
    }
}
