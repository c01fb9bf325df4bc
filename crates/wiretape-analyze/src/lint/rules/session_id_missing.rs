//! W008 `session-id-missing`: A client that leaves out the session's id, and is refused with 400 for it.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::ExchangeView;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "W008",
    name: "session-id-missing",
    family: Family::Transport,
    severity: Severity::Error,
    revisions: Revisions::between(Revision::V2025_03_26, Revision::V2025_11_25),
    section: Section {
        title: "Session management",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management",
    },
    what: "A client that leaves out the session's id, and is refused with 400 for it.",
    why: "If the server gave an id, every later request must have it. The server can't tell otherwise whose \
           request it is.",
    fix: "Keep `Mcp-Session-Id` of the response to `initialize`, and send it with every request.",
    check: Check::Exchange(check),
};

fn check(view: &ExchangeView<'_>, report: &mut Report<'_>) {
    if view.trace.http_sse || view.trace.imported {
        return;
    }
    let exchange = view.exchange;

    let sent = exchange.sent.as_ref();
    let is_first = sent.is_none_or(|sent| sent.method.as_deref() == Some("initialize"));
    let is_refused = exchange.status() == Some(400) && exchange.request_header("mcp-session-id").is_none();
    let is_about_session = support::answer_mentions(view, "session");
    if !is_first && is_refused && is_about_session && exchange.request.is_some() {
        report.at("/response/status", "refused, for the request has no `Mcp-Session-Id`");
    }
}
