//! N003 `result-type-missing`: A result without `resultType`.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "N003",
    name: "result-type-missing",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "ResultType",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic#resulttype",
    },
    what: "A result without `resultType`.",
    why: "It says how the result is to be read. Clients take a missing one for `complete` only to get on with \
           older servers.",
    fix: "Send `\"resultType\": \"complete\"`, or `\"input_required\"` if something is to be asked first.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let is_answer = view.asked.is_some() && !view.is_from_client() && support::server_is_stateless(view);
    if let Some(result) = view.result().filter(|result| is_answer && result.is_object())
        && result.get("resultType").is_none()
    {
        report.at("/result", "the result has no `resultType`");
    }
}
