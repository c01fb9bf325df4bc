//! W004 `not-utf-8`: A line on a pipe that is not UTF-8.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::TextView;

pub(super) static RULE: Rule = Rule {
    code: "W004",
    name: "not-utf-8",
    family: Family::Transport,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Transports",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports",
    },
    what: "A line on a pipe that is not UTF-8.",
    why: "Messages must be UTF-8. Receivers replace invalid bytes or end the session.",
    fix: "Set the encoding of the stream: on Windows and in Python the default may differ.",
    check: Check::Text(check),
};

fn check(view: &TextView<'_>, report: &mut Report<'_>) {
    if view.is_binary && view.http.is_none() && !view.trace.imported {
        report.at("", "this line is not UTF-8");
    }
}
