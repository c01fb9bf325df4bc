//! W007 `version-header-wrong`: An HTTP request whose `MCP-Protocol-Version` is not the negotiated version.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::ExchangeView;

pub(super) static RULE: Rule = Rule {
    code: "W007",
    name: "version-header-wrong",
    family: Family::Transport,
    severity: Severity::Warning,
    revisions: Revisions::between(Revision::V2025_06_18, Revision::V2025_11_25),
    section: Section {
        title: "Protocol version header",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#protocol-version-header",
    },
    what: "An HTTP request whose `MCP-Protocol-Version` is not the negotiated version.",
    why: "The server handles this request by another revision or rejects it.",
    fix: "Send the `protocolVersion` from the result of `initialize`.",
    check: Check::Exchange(check),
};

fn check(view: &ExchangeView<'_>, report: &mut Report<'_>) {
    // HTTP+SSE (2024-11-05) has rules of its own, and an import may have lost headers.
    if view.trace.http_sse || view.trace.imported {
        return;
    }
    let exchange = view.exchange;

    let is_first = exchange.sent.as_ref().is_some_and(|sent| sent.method.as_deref() == Some("initialize"));
    let header = exchange.request_header("mcp-protocol-version");
    if let (false, Some(agreed), Some(sent)) = (is_first, view.session.version.as_deref(), header) {
        // Without a session, the request may be another client's, which negotiated another revision.
        let names_session = exchange.request_header("mcp-session-id").is_some();
        if agreed != sent && names_session {
            let pointer = support::header_pointer(view.http, "mcp-protocol-version");
            report.at(&pointer, format!("`MCP-Protocol-Version` is {sent}, but {agreed} was negotiated"));
        }
    }
}
