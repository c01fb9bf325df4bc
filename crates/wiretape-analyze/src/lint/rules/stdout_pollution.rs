//! W001 `stdout-pollution`: A line on the server's standard output that is no message.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::Piece;
use crate::lint::view::TextView;
use wiretape_trace::message::Direction;

/// The rule.
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
    what: "A line on the server's standard output that is no message.",
    why: "Standard output is the protocol's. A line of a log, a banner or a progress bar there breaks the \
           client's parser, and many end the session.",
    fix: "Print to standard error. Look for a print statement, a library that logs to standard output, or a \
           package manager that starts the server.",
    check: Check::Text(check),
};

fn check(view: &TextView<'_>, report: &mut Report<'_>) {
    let is_pipe = view.http.is_none() && !view.trace.imported && !view.trace.http;
    if is_pipe && view.direction == Direction::ServerToClient && view.piece == Piece::None && !view.is_binary
    {
        report.at("", "this is no message, and stands on standard output");
    }
}
