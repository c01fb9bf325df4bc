//! M001 `not-a-message`: JSON that is not a JSON-RPC message: not an object, or without `method`, `result` and
//! `error`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

pub(super) static RULE: Rule = Rule {
    code: "M001",
    name: "not-a-message",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Messages",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#messages",
    },
    what: "JSON that is not a JSON-RPC message: not an object, or without `method`, `result` and `error`.",
    why: "The receiver can neither answer it nor match it to a request. Many drop the connection.",
    fix: "Send only requests, responses and notifications. Print everything else to standard error.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for defect in &view.envelope.defects {
        if matches!(defect, Defect::NotAnObject | Defect::NotAMessage) {
            report.at("", defect.to_string());
        }
    }
}
