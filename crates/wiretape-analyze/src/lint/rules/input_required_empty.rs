//! N008 `input-required-empty`: An `input_required` result with neither `inputRequests` nor `requestState`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::value::Value;

pub(super) static RULE: Rule = Rule {
    code: "N008",
    name: "input-required-empty",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Multi round-trip requests",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow",
    },
    what: "An `input_required` result with neither `inputRequests` nor `requestState`.",
    why: "The client is asked to retry but has nothing to retry with.",
    fix: "Send at least one of them.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(result) = view.result().filter(|_| !view.is_from_client()) else { return };
    let is_question = result.get("resultType").and_then(Value::string).as_deref() == Some("input_required");
    if is_question && result.get("inputRequests").is_none() && result.get("requestState").is_none() {
        report.at("/result/resultType", "`inputRequests` and `requestState` are both missing");
    }
}
