//! W014 `unknown-session-status`: A request for an ended or unknown session that is rejected with a status other than
//! 404.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::ExchangeView;

pub(super) static RULE: Rule = Rule {
    code: "W014",
    name: "unknown-session-status",
    family: Family::Transport,
    severity: Severity::Error,
    revisions: Revisions::between(Revision::V2025_03_26, Revision::V2025_11_25),
    section: Section {
        title: "Session management",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management",
    },
    what: "A request for an ended or unknown session that is rejected with a status other than 404.",
    why: "On 404 the client starts a new session. On 400, 500 or 503 it gives up or retries the same \
          request.",
    fix: "Answer 404 to every request with an unknown `Mcp-Session-Id`.",
    check: Check::Exchange(check),
};

fn check(view: &ExchangeView<'_>, report: &mut Report<'_>) {
    // HTTP+SSE (2024-11-05) has rules of its own, and an import may have lost headers.
    if view.trace.http_sse || view.trace.imported {
        return;
    }
    let exchange = view.exchange;

    let names_session = exchange.request_header("mcp-session-id").is_some() && exchange.method() != "DELETE";
    let Some(status) =
        // These say something else than "unknown session": authorization, or a method that the server doesn't offer.
        exchange.status().filter(|status| *status >= 400 && !matches!(status, 401 | 403 | 404 | 405))
    else {
        return;
    };
    let is_gone = view.session.deleted.is_some();
    let is_unknown = !view.session.has_begun() && support::answer_mentions(view, "session");
    if names_session && (is_gone || is_unknown) {
        report.at("/response/status", format!("the session is unknown, but the status is {status}"));
    }
}
