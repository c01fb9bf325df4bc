//! T010 `structured-content-missing`: A result without `structuredContent` from a tool that has an `outputSchema`.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::value::Value;

pub(super) static RULE: Rule = Rule {
    code: "T010",
    name: "structured-content-missing",
    family: Family::Tools,
    severity: Severity::Error,
    revisions: Revisions::since(Revision::V2025_06_18),
    section: Section {
        title: "Output schema",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#output-schema",
    },
    what: "A result without `structuredContent` from a tool that has an `outputSchema`.",
    why: "A server that declares an output schema must return structured results. Clients reject a result \
          without them.",
    fix: "Return `structuredContent`, or remove `outputSchema` from the definition.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some((request, tool)) = support::answered_tool(view) else { return };
    let Some(result) = view.result().filter(|_| tool.has_output && !view.envelope.is_error) else { return };
    // The structured content of a task or of a later round trip is still to come.
    let is_other = result.get("task").is_some()
        || result.get("resultType").and_then(Value::string).is_some_and(|kind| kind != "complete");
    if result.get("structuredContent").is_none() && !is_other {
        let name = request.name.unwrap_or_default();
        let message = format!("`{name}` has an `outputSchema`, but its result has no `structuredContent`");
        report.at_with("/result", message, tool.line, "the tool's definition");
    }
}
