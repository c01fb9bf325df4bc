//! N009 `input-required-not-allowed`: A result `input_required` for another method than `tools/call`, `prompts/get` and `resources/read`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "N009",
    name: "input-required-not-allowed",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Multi round-trip requests",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#supported-requests",
    },
    what: "A result `input_required` for another method than `tools/call`, `prompts/get` and `resources/read`.",
    why: "Clients don't expect to be asked something there.",
    fix: "Answer with the result, or with an error.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(asked) = view.asked.filter(|_| !view.is_from_client()) else { return };
    let kind = view.result().and_then(|result| result.get("resultType")?.string());
    let is_allowed = matches!(asked.method.as_str(), "tools/call" | "prompts/get" | "resources/read");
    if kind.as_deref() == Some("input_required") && !is_allowed {
        report.at("/result/resultType", format!("`{}` is answered with a question", asked.method));
    }
}
