//! T009 `structured-content-invalid`: Structured content that does not fit the tool's `outputSchema`.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::schema::tree;
use crate::lint::view::PayloadView;

/// The rule.
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
    what: "Structured content that does not fit the tool's `outputSchema`.",
    why: "The schema is a promise. Clients check it, and throw the result away where it is broken.",
    fix: "Return what the schema says, or write the schema as the result really is.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some((asked, tool)) = support::answered_tool(view) else { return };
    let Some(schema) = tool.output.as_ref().filter(|_| !view.envelope.is_error) else { return };
    let Some(content) = view.result().and_then(|result| tree(result.get("structuredContent")?.raw)) else {
        return;
    };
    for misfit in schema.misfits(&content) {
        let name = asked.name.as_deref().unwrap_or_default();
        let message = format!("the structured content of `{name}`: {}", misfit.message);
        report.at_with(
            &format!("/result/structuredContent{}", misfit.pointer),
            message,
            tool.line,
            "the tool's definition",
        );
    }
}
