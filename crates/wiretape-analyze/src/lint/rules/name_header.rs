//! N020 `name-header`: A POST of `tools/call`, `prompts/get` or `resources/read` whose `Mcp-Name` header is missing
//! or doesn't match the name or URI in the body.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "N020",
    name: "name-header",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Standard request headers",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#standard-request-headers",
    },
    what: "A POST of `tools/call`, `prompts/get` or `resources/read` whose `Mcp-Name` header is missing or \
           doesn't match the name or URI in the body.",
    why: "Gateways authorize requests by it. A server must reject the request with 400 and -32020.",
    fix: "Repeat the name or URI in `Mcp-Name`, encoded as `=?base64?…?=` if it isn't valid in a header.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(exchange) = support::stateless_post(view) else { return };
    let member = match view.method() {
        Some("tools/call" | "prompts/get") => "name",
        Some("resources/read") => "uri",
        _ => return,
    };
    let Some(name) = view.param_text(&[member]) else { return };
    match exchange.request_header("mcp-name") {
        None => report.in_line("/http/request/headers", "`Mcp-Name` is missing"),
        Some(header) if !support::header_says(header, &name) => {
            let message = format!("`Mcp-Name` is {header:?}, but `params.{member}` is {name:?}");
            report.in_line("/http/request/headers/mcp-name", message);
        }
        Some(_) => {}
    }
}
