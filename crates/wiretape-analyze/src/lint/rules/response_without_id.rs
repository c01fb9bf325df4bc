//! M006 `response-without-id`: A response with a `result` but no `id`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

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
    what: "A response with a `result` but no `id`.",
    why: "The client can't match it to its request and keeps waiting.",
    fix: "Copy the request's id into the response, unchanged.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let is_missing = view.envelope.defects.contains(&Defect::ResponseWithoutId);
    // An error about an unreadable request may omit the id.
    if is_missing && view.envelope.error.is_none() {
        report.at("", "the response has no `id`");
    }
}
