//! N009 `input-required-not-allowed`: An `input_required` result for a method other than `tools/call`, `prompts/get`
//! and `resources/read`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

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
    what: "An `input_required` result for a method other than `tools/call`, `prompts/get` and \
           `resources/read`.",
    why: "Clients don't expect input requests there.",
    fix: "Answer with a complete result or an error.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(request) = view.request.filter(|_| !view.is_from_client()) else { return };
    let kind = view.result().and_then(|result| result.get("resultType")?.string());
    let is_allowed = matches!(request.method, "tools/call" | "prompts/get" | "resources/read");
    if kind.as_deref() == Some("input_required") && !is_allowed {
        report.at(
            "/result/resultType",
            format!("`{}` must not be answered with `input_required`", request.method),
        );
    }
}
