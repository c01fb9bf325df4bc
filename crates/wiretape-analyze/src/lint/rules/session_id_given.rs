//! N023 `session-id-given`: A server that returns a session id for a 2026-07-28 request.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

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
    what: "A server that returns a session id for a 2026-07-28 request.",
    why: "This revision has no sessions. If a client repeats the id, a load balancer may send all its \
          requests to one server for no reason.",
    fix: "Return `Mcp-Session-Id` only for `initialize` of an earlier revision.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let is_answer =
        view.request.is_some_and(|request| request.initialize.is_none()) && !view.is_from_client();
    // A server of an earlier revision that gets a stateless request may answer by its own rules.
    let Some(exchange) = view.exchange.filter(|_| is_answer && support::server_is_stateless(view)) else {
        return;
    };
    // An id that the client sent itself is merely echoed.
    let is_new = exchange.request_header("mcp-session-id").is_none();
    if is_new && exchange.response_header("mcp-session-id").is_some() {
        report.at("", "the response has a session id, but this revision has no sessions");
    }
}
