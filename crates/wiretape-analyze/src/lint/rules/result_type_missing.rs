//! N003 `result-type-missing`: A result without `resultType`.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

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
    why: "It tells the client how to read the result. Clients assume `complete` only for compatibility \
          with older servers.",
    fix: "Send `\"resultType\": \"complete\"`, or `\"input_required\"` to request input first.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    // A server of an earlier revision that gets a stateless request may answer by its own rules.
    let is_answer = view.request.is_some() && !view.is_from_client() && support::server_is_stateless(view);
    if let Some(result) = view.result().filter(|result| is_answer && result.is_object())
        && result.get("resultType").is_none()
    {
        report.at("/result", "the result has no `resultType`");
    }
}
