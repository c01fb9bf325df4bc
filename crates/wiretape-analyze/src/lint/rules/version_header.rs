//! N018 `version-header`: A POST whose `MCP-Protocol-Version` header is missing or doesn't match the version in
//! `_meta`.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::protocol::meta_key;

pub(super) static RULE: Rule = Rule {
    code: "N018",
    name: "version-header",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Protocol version header",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#protocol-version-header",
    },
    what: "A POST whose `MCP-Protocol-Version` header is missing or doesn't match the version in `_meta`.",
    why: "Gateways use the header, servers the body. A server must reject the request with 400 and -32020.",
    fix: "Send the version in both places.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(exchange) = support::stateless_post(view) else { return };
    let Some(version) = view.param_text(&["_meta", meta_key::PROTOCOL_VERSION]) else { return };
    match exchange.request_header("mcp-protocol-version") {
        None => report.in_line("/http/request/headers", "`MCP-Protocol-Version` is missing"),
        Some(header) if header != version => {
            let message = format!("`MCP-Protocol-Version` is {header}, but `_meta` says {version}");
            report.in_line("/http/request/headers/mcp-protocol-version", message);
        }
        Some(_) => {}
    }
}
