//! W005 `byte-order-mark`: A byte order mark before a message.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::MessageView;

pub(super) static RULE: Rule = Rule {
    code: "W005",
    name: "byte-order-mark",
    family: Family::Transport,
    severity: Severity::Warning,
    revisions: Revisions::ALL,
    section: Section {
        title: "JSON text of RFC 8259",
        url: "https://www.rfc-editor.org/rfc/rfc8259#section-8.1",
    },
    what: "A byte order mark before a message.",
    why: "Most JSON parsers reject it, so the first message of the session is lost.",
    fix: "Write UTF-8 without a byte order mark.",
    check: Check::Message(check),
};

fn check(view: &MessageView<'_>, report: &mut Report<'_>) {
    if view.wire.iter().any(|word| word == "bom") {
        report.at("", "this message starts with a byte order mark");
    }
}
