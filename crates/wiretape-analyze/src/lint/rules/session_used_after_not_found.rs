//! W015 `session-used-after-not-found`: A client that keeps using a session after the server answered 404 for it.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::ExchangeView;
use wiretape_trace::message::MessageKind;

pub(super) static RULE: Rule = Rule {
    code: "W015",
    name: "session-used-after-not-found",
    family: Family::Transport,
    severity: Severity::Error,
    revisions: Revisions::between(Revision::V2025_03_26, Revision::V2025_11_25),
    section: Section {
        title: "Session management",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management",
    },
    what: "A client that keeps using a session after the server answered 404 for it.",
    why: "The session is gone. Every request fails until the client starts a new one.",
    fix: "On 404, send `initialize` without a session id.",
    check: Check::Exchange(check),
};

fn check(view: &ExchangeView<'_>, report: &mut Report<'_>) {
    // HTTP+SSE (2024-11-05) has rules of its own, and an import may have lost headers.
    if view.trace.http_sse || view.trace.imported {
        return;
    }
    let exchange = view.exchange;

    let names_session = exchange.request_header("mcp-session-id").is_some();
    let is_message = exchange.sent.as_ref().is_some_and(|sent| sent.kind == MessageKind::Request);
    // The first 404 is news to the client; only the requests after it are its mistake.
    if let (true, true, Some(line)) = (names_session, is_message, view.session.not_found)
        && exchange.status() == Some(404)
    {
        report.at_with(
            "/response/status",
            "the server already answered 404 for this session",
            line,
            "the first 404",
        );
    }
}
