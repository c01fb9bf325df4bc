//! T009 `structured-content-invalid`: Structured content that doesn't match the tool's `outputSchema`.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::schema::tree;
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "T009",
    name: "structured-content-invalid",
    family: Family::Tools,
    severity: Severity::Error,
    revisions: Revisions::since(Revision::V2025_06_18),
    section: Section {
        title: "Output schema",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#output-schema",
    },
    what: "Structured content that doesn't match the tool's `outputSchema`.",
    why: "Clients validate against the schema and discard a result that violates it.",
    fix: "Return what the schema describes, or correct the schema.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some((request, tool)) = support::answered_tool(view) else { return };
    // An error result need not match the schema.
    let Some(schema) = tool.output.as_ref().filter(|_| !view.envelope.is_error) else { return };
    let Some(content) = view.result().and_then(|result| tree(result.get("structuredContent")?.raw)) else {
        return;
    };
    for misfit in schema.misfits(&content) {
        let name = request.name.unwrap_or_default();
        let message = format!("structured content of `{name}`: {}", misfit.message);
        report.at_with(
            &format!("/result/structuredContent{}", misfit.pointer),
            message,
            tool.line,
            "the tool's definition",
        );
    }
}
