//! W002 `stdin-pollution`: A line on the server's standard input that is not a message.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::Piece;
use crate::lint::view::TextView;
use wiretape_trace::message::Direction;

pub(super) static RULE: Rule = Rule {
    code: "W002",
    name: "stdin-pollution",
    family: Family::Transport,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "stdio",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio",
    },
    what: "A line on the server's standard input that is not a message.",
    why: "The server must be able to parse every line as a message.",
    fix: "Write only messages, one per line.",
    check: Check::Text(check),
};

fn check(view: &TextView<'_>, report: &mut Report<'_>) {
    // Imported transcripts and HTTP have no standard input.
    let is_pipe = view.http.is_none() && !view.trace.imported && !view.trace.http;
    if is_pipe && view.direction == Direction::ClientToServer && view.piece == Piece::None && !view.is_binary
    {
        report.at("", "this line on standard input is not a message");
    }
}
