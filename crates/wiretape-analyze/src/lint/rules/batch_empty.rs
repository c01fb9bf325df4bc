//! M019 `batch-empty`: An array without any messages.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::MessageView;
use wiretape_trace::message::payloads;

pub(super) static RULE: Rule = Rule {
    code: "M019",
    name: "batch-empty",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Messages",
        url: "https://modelcontextprotocol.io/specification/2025-03-26/basic#batching",
    },
    what: "An array without any messages.",
    why: "JSON-RPC calls this an invalid request: there is nothing to answer.",
    fix: "Send nothing instead.",
    check: Check::Message(check),
};

fn check(view: &MessageView<'_>, report: &mut Report<'_>) {
    if view.raw.trim_ascii_start().first() == Some(&b'[') && payloads(view.raw).is_empty() {
        report.at("", "the batch is empty");
    }
}
