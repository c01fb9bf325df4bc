//! M006 `response-without-id`: A response with a result and no `id`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "M006",
    name: "response-without-id",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Responses",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#responses",
    },
    what: "A response with a result and no `id`.",
    why: "The sender of the request waits for its id, and never learns that this was the answer.",
    fix: "Copy the id of the request into the response, as it was written.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let is_missing = view.envelope.defects.contains(&Defect::ResponseWithoutId);
    if is_missing && view.envelope.error.is_none() {
        report.at("", "the response has no `id`");
    }
}
