//! T014 `header-annotation-invalid`: An `x-mcp-header` that is not a valid header name, occurs twice in a tool, or is
//! on a parameter that is not a string, integer or boolean.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::schema::tree;
use crate::lint::view::PayloadView;
use serde_json::Value as Json;
use std::collections::BTreeSet;

pub(super) static RULE: Rule = Rule {
    code: "T014",
    name: "header-annotation-invalid",
    family: Family::Tools,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "x-mcp-header",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header",
    },
    what: "An `x-mcp-header` that is not a valid header name, occurs twice in a tool, or is on a parameter \
           that is not a string, integer or boolean.",
    why: "Clients that use HTTP must drop a tool with such an annotation.",
    fix: "Use letters, digits and `-`, each name once per tool, on string, integer or boolean parameters \
          reached only through `properties`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(tools) = view.result_of("tools/list").and_then(|result| result.get("tools")) else { return };

    support::each(tools, |at, tool| {
        let Some(schema) = tool.get("inputSchema").and_then(|schema| tree(schema.raw)) else { return };
        let mut seen = BTreeSet::new();
        support::annotations(&schema, &mut |pointer, annotated, is_reachable| {
            let header = annotated.get("x-mcp-header").and_then(Json::as_str);
            // Header names are case-insensitive, so `Region` and `region` collide.
            let is_new = header.is_some_and(|header| seen.insert(header.to_ascii_lowercase()));
            let kind = annotated.get("type").and_then(Json::as_str);
            let what = match header {
                None | Some("") => "not a string, or empty",
                Some(header) if !header.bytes().all(support::is_token_byte) => "not valid in a header name",
                Some(_) if !is_new => "another parameter has the same name",
                Some(_) if !matches!(kind, Some("string" | "integer" | "boolean")) => {
                    "its parameter is not a string, integer or boolean"
                }
                Some(_) if !is_reachable => "its parameter is not reached through `properties` alone",
                Some(_) => return,
            };
            let place = format!("/result/tools/{at}/inputSchema{pointer}/x-mcp-header");
            report.at(&place, format!("invalid `x-mcp-header`: {what}"));
        });
    });
}
