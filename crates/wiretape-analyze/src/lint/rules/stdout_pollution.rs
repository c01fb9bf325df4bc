//! W001 `stdout-pollution`: A line on the server's standard output that is not a message.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::Piece;
use crate::lint::view::TextView;
use wiretape_trace::message::Direction;

pub(super) static RULE: Rule = Rule {
    code: "W001",
    name: "stdout-pollution",
    family: Family::Transport,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "stdio",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio",
    },
    what: "A line on the server's standard output that is not a message.",
    why: "Standard output is reserved for the protocol. A log line, banner or progress bar breaks the \
          client's parser, and many clients end the session.",
    fix: "Print to standard error. Look for a print statement, a library that logs to standard output, or \
          a package manager that starts the server.",
    check: Check::Text(check),
};

fn check(view: &TextView<'_>, report: &mut Report<'_>) {
    // Fragments of JSON and invalid UTF-8 have their own rules (`embedded-newline`, `not-utf-8`).
    let is_pipe = view.http.is_none() && !view.trace.imported && !view.trace.http;
    if is_pipe && view.direction == Direction::ServerToClient && view.piece == Piece::None && !view.is_binary
    {
        report.at("", "this line on standard output is not a message");
    }
}
