//! N021 `param-header`: A call whose `Mcp-Param-…` header is missing or doesn't match the argument that the tool's
//! schema maps to it.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "N021",
    name: "param-header",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Custom headers from tool parameters",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters",
    },
    what: "A call whose `Mcp-Param-…` header is missing or doesn't match the argument that the tool's \
           schema maps to it.",
    why: "Clients must repeat arguments marked with `x-mcp-header`. A server must reject the request with \
          400 and -32020.",
    fix: "Send each marked argument in its header, except those that are missing or null.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(exchange) = support::stateless_post(view) else { return };
    let Some(tool) = support::called_tool(view) else { return };
    for (path, name) in &tool.headers {
        let steps: Vec<&str> = ["arguments"].into_iter().chain(path.iter().map(String::as_str)).collect();
        let value = view.param(&steps).filter(|value| !value.is_null());
        let header = exchange.request_header(&format!("mcp-param-{}", name.to_ascii_lowercase()));
        match (value, header) {
            (None, None) => {}
            (None, Some(_)) => {
                report
                    .in_line("/http/request/headers", format!("`Mcp-Param-{name}` has no matching argument"));
            }
            (Some(_), None) => {
                report.in_line("/http/request/headers", format!("`Mcp-Param-{name}` is missing"));
            }
            (Some(value), Some(header)) => {
                let text = value.string().unwrap_or_else(|| String::from_utf8_lossy(value.raw));
                // Clients may write the same number differently: `1` and `1.0` match.
                if !support::header_says(header, &text) && !is_same_number(header, &text) {
                    let message = format!("`Mcp-Param-{name}` is {header:?}, but the argument is {text:?}");
                    report.in_line("/http/request/headers", message);
                }
            }
        }
    }
}

fn is_same_number(one: &str, other: &str) -> bool {
    one.parse::<f64>().is_ok_and(|one| other.parse::<f64>() == Ok(one))
}
