//! M003 `id-null`: A request, or a response with a result, whose `id` is null.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

pub(super) static RULE: Rule = Rule {
    code: "M003",
    name: "id-null",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Requests",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#requests",
    },
    what: "A request, or a response with a result, whose `id` is null.",
    why: "JSON-RPC allows null, MCP does not: a response can't be matched to its request by null.",
    fix: "Give each request a string or integer id and answer with the same one. Only an error about an \
          unreadable request may omit it.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for defect in &view.envelope.defects {
        // An error about an unreadable request has the id null (JSON-RPC 2.0, section 5).
        if matches!(defect, Defect::IdNull) && view.envelope.error.is_none() {
            report.at("/id", "`id` is null");
        }
    }
}
