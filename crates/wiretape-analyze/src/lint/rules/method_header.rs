//! N019 `method-header`: A POST whose `Mcp-Method` header is missing or doesn't match the method in the body.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "N019",
    name: "method-header",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Standard request headers",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#standard-request-headers",
    },
    what: "A POST whose `Mcp-Method` header is missing or doesn't match the method in the body.",
    why: "Gateways route by it. A server must reject the request with 400 and -32020.",
    fix: "Repeat the method in `Mcp-Method`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(exchange) = support::stateless_post(view) else { return };
    let Some(method) = view.method() else { return };
    match exchange.request_header("mcp-method") {
        None => report.in_line("/http/request/headers", "`Mcp-Method` is missing"),
        Some(header) if header != method => {
            let message = format!("`Mcp-Method` is {header:?}, but the method is {method:?}");
            report.in_line("/http/request/headers/mcp-method", message);
        }
        Some(_) => {}
    }
}
