//! T007 `invalid-arguments-accepted`: A server that answers with a result though the arguments don't fit the tool's own `inputSchema`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "T007",
    name: "invalid-arguments-accepted",
    family: Family::Tools,
    severity: Severity::Warning,
    revisions: Revisions::ALL,
    section: Section {
        title: "Security considerations",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#security-considerations",
    },
    what: "A server that answers with a result though the arguments don't fit the tool's own `inputSchema`.",
    why: "Servers must validate all inputs of tools. What the schema rules out reaches the tool all the same.",
    fix: "Validate arguments against the schema before the tool runs, or write the schema as the tool really \
           is.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(asked) = view.asked.filter(|asked| asked.method == "tools/call") else { return };
    let is_good = view.envelope.result.is_some() && !view.envelope.is_error;
    if let Some(misfit) = asked.misfit.as_ref().filter(|_| is_good) {
        let name = asked.name.as_deref().unwrap_or_default();
        let message =
            format!("`{name}` was called with arguments that don't fit, and the server took them: {misfit}");
        report.at_with("/result", message, asked.line, "the call");
    }
}
