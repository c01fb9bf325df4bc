//! W006 `version-header-missing`: An HTTP request without `MCP-Protocol-Version` after initialization.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::ExchangeView;

pub(super) static RULE: Rule = Rule {
    code: "W006",
    name: "version-header-missing",
    family: Family::Transport,
    severity: Severity::Error,
    revisions: Revisions::between(Revision::V2025_06_18, Revision::V2025_11_25),
    section: Section {
        title: "Protocol version header",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#protocol-version-header",
    },
    what: "An HTTP request without `MCP-Protocol-Version` after initialization.",
    why: "The server has to assume 2025-03-26, which may not be the negotiated revision.",
    fix: "Send the negotiated revision with every request after `initialize`.",
    check: Check::Exchange(check),
};

fn check(view: &ExchangeView<'_>, report: &mut Report<'_>) {
    // HTTP+SSE (2024-11-05) has rules of its own, and an import may have lost headers.
    if view.trace.http_sse || view.trace.imported {
        return;
    }
    let exchange = view.exchange;

    let is_first = exchange.sent.as_ref().is_some_and(|sent| sent.method.as_deref() == Some("initialize"));
    // Without the negotiated revision the requirement is unknown: it starts with 2025-06-18.
    let is_known = view.session.revision.is_some() && exchange.request.is_some();
    if is_known && !is_first && exchange.request_header("mcp-protocol-version").is_none() {
        report.at("/request/headers", "`MCP-Protocol-Version` is missing");
    }
}
