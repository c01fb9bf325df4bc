//! M018 `batch-not-supported`: An array of messages in a revision without batching.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::MessageView;

pub(super) static RULE: Rule = Rule {
    code: "M018",
    name: "batch-not-supported",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL.except(Revision::V2025_03_26),
    section: Section {
        title: "Changes in 2025-06-18",
        url: "https://modelcontextprotocol.io/specification/2025-06-18/changelog",
    },
    what: "An array of messages in a revision without batching.",
    why: "Only 2025-03-26 supports batches. With any other revision the receiver rejects the array and \
          every message in it.",
    fix: "Send each message separately.",
    check: Check::Message(check),
};

fn check(view: &MessageView<'_>, report: &mut Report<'_>) {
    if view.raw.trim_ascii_start().first() == Some(&b'[') {
        let revision = view.revision.map(|revision| format!(" in {revision}")).unwrap_or_default();
        report.at("", format!("batches are not supported{revision}"));
    }
}
