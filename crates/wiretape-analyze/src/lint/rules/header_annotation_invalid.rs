//! T014 `header-annotation-invalid`: An `x-mcp-header` that is no header's name, that stands twice in a tool, or whose parameter is not a string, an integer or a boolean.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::schema::tree;
use crate::lint::view::PayloadView;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// The rule.
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
    what: "An `x-mcp-header` that is no header's name, that stands twice in a tool, or whose parameter is not a \
           string, an integer or a boolean.",
    why: "Clients over HTTP must leave out a tool with such an annotation.",
    fix: "Use a name of letters, digits and `-`, once in a tool, on parameters of those types that are reached \
           by `properties` only.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(tools) = view.result_of("tools/list").and_then(|result| result.get("tools")) else { return };

    support::each(tools, |at, tool| {
        let Some(schema) = tool.get("inputSchema").and_then(|schema| tree(schema.raw)) else { return };
        let mut seen = BTreeSet::new();
        support::annotations(&schema, &mut |pointer, annotated, is_reachable| {
            let header = annotated.get("x-mcp-header").and_then(Json::as_str);
            let is_new = header.is_some_and(|header| seen.insert(header.to_ascii_lowercase()));
            let kind = annotated.get("type").and_then(Json::as_str);
            let what = match header {
                None | Some("") => "it is no text, or empty",
                Some(header) if !header.bytes().all(support::is_token_byte) => {
                    "it can't be part of a header's name"
                }
                Some(_) if !is_new => "another parameter has the same",
                Some(_) if !matches!(kind, Some("string" | "integer" | "boolean")) => {
                    "its parameter is not a string, an integer or a boolean"
                }
                Some(_) if !is_reachable => "its parameter is not reached by `properties` alone",
                Some(_) => return,
            };
            let place = format!("/result/tools/{at}/inputSchema{pointer}/x-mcp-header");
            report.at(&place, format!("an `x-mcp-header` that can't be used: {what}"));
        });
    });
}
