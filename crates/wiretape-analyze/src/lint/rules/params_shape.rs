//! S001 `params-shape`: A request whose `params` don't match the schema of its method.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

pub(super) static RULE: Rule = Rule {
    code: "S001",
    name: "params-shape",
    family: Family::Shapes,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Schema reference",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/schema",
    },
    what: "A request whose `params` don't match the schema of its method.",
    why: "The receiver rejects it as invalid or misreads it.",
    fix: "Compare the marked position with the method's schema in the session's revision.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    if view.envelope.kind == MessageKind::Request {
        support::report_params(view, report);
    }
}
