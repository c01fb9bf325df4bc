//! M013 `params-not-an-object`: A message whose `params` is not an object.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

pub(super) static RULE: Rule = Rule {
    code: "M013",
    name: "params-not-an-object",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Requests",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#requests",
    },
    what: "A message whose `params` is not an object.",
    why: "JSON-RPC also allows positional params; MCP allows only named ones.",
    fix: "Send an object or omit `params`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for defect in &view.envelope.defects {
        if matches!(defect, Defect::ParamsType) {
            report.at("/params", "`params` is not an object");
        }
    }
}
