//! N023 `session-id-given`: A server that gives a session id in answer to a request of 2026-07-28.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "N023",
    name: "session-id-given",
    family: Family::Stateless,
    severity: Severity::Warning,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Earlier Streamable HTTP revisions",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#earlier-streamable-http-revisions",
    },
    what: "A server that gives a session id in answer to a request of 2026-07-28.",
    why: "There are no sessions. A client that repeats the id may be bound to one server for nothing.",
    fix: "Give `Mcp-Session-Id` only in answer to `initialize` of an earlier revision.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let is_answer = view.asked.is_some_and(|asked| asked.initialize.is_none()) && !view.is_from_client();
    let Some(exchange) = view.exchange.filter(|_| is_answer && support::server_is_stateless(view)) else {
        return;
    };
    // One that the client named itself is only repeated.
    let is_new = exchange.request_header("mcp-session-id").is_none();
    if is_new && exchange.response_header("mcp-session-id").is_some() {
        report.at("", "a session id is given with this, and there are no sessions");
    }
}
