//! W008 `session-id-missing`: A request without the session id that is rejected with 400.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::ExchangeView;

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
    what: "A request without the session id that is rejected with 400.",
    why: "If the server assigned a session id, every later request must carry it. Otherwise the server \
          can't know which session it belongs to.",
    fix: "Store `Mcp-Session-Id` from the response to `initialize`, and send it with every request.",
    check: Check::Exchange(check),
};

fn check(view: &ExchangeView<'_>, report: &mut Report<'_>) {
    // HTTP+SSE (2024-11-05) has rules of its own, and an import may have lost headers.
    if view.trace.http_sse || view.trace.imported {
        return;
    }
    let exchange = view.exchange;

    let sent = exchange.sent.as_ref();
    let is_first = sent.is_none_or(|sent| sent.method.as_deref() == Some("initialize"));
    let is_refused = exchange.status() == Some(400) && exchange.request_header("mcp-session-id").is_none();
    // A 400 can have many causes. Without the word in the body this would be a guess.
    let is_about_session = support::answer_mentions(view, "session");
    if !is_first && is_refused && is_about_session && exchange.request.is_some() {
        report.at("/response/status", "rejected because `Mcp-Session-Id` is missing");
    }
}
