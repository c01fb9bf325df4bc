//! M002 `jsonrpc-version`: A message whose `jsonrpc` is missing or is not the string "2.0".

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

pub(super) static RULE: Rule = Rule {
    code: "M002",
    name: "jsonrpc-version",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Messages",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#messages",
    },
    what: "A message whose `jsonrpc` is missing or is not the string \"2.0\".",
    why: "It identifies the message as JSON-RPC 2.0. Strict receivers reject messages without it.",
    fix: "Write `\"jsonrpc\": \"2.0\"` in every message.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for defect in &view.envelope.defects {
        // JSON that is not a message at all is `not-a-message`, not a message with a wrong version.
        if matches!(defect, Defect::JsonRpcMissing | Defect::JsonRpcWrong)
            && !view.envelope.defects.contains(&Defect::NotAMessage)
        {
            report.at("/jsonrpc", defect.to_string());
        }
    }
}
