//! W003 `embedded-newline`: JSON that spans several lines of a pipe.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::Piece;
use crate::lint::view::TextView;

pub(super) static RULE: Rule = Rule {
    code: "W003",
    name: "embedded-newline",
    family: Family::Transport,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "stdio",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio",
    },
    what: "JSON that spans several lines of a pipe.",
    why: "Messages are delimited by newlines: the receiver parses each line as a message and fails on all \
          of them.",
    fix: "Write each message on one line; don't pretty-print.",
    check: Check::Text(check),
};

fn check(view: &TextView<'_>, report: &mut Report<'_>) {
    // Reported once, at the first fragment: the others are its consequence.
    if view.piece == Piece::First && !view.trace.imported && !view.trace.http {
        report.at("", "JSON starts here and continues on the next line");
    }
}
