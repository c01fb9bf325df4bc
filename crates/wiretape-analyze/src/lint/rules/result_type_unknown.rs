//! N004 `result-type-unknown`: A `resultType` that the protocol does not define.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "N004",
    name: "result-type-unknown",
    family: Family::Stateless,
    severity: Severity::Warning,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "ResultType",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic#resulttype",
    },
    what: "A `resultType` that the protocol does not define.",
    why: "A client must treat an unknown type as invalid. Only an extension that both sides declared may \
          add one.",
    fix: "Use `complete` or `input_required`, or declare the extension that defines the type.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let is_answer = view.request.is_some() && !view.is_from_client();
    let Some(kind) =
        view.result().filter(|_| is_answer).and_then(|result| result.get("resultType")?.string())
    else {
        return;
    };
    // Extensions define result types of their own, which we can't know.
    let has_extensions = view.session.server_has(&["extensions"]) == Some(true);
    if !matches!(&*kind, "complete" | "input_required" | "task") && !has_extensions {
        report.at("/result/resultType", format!("{kind:?} is not a defined result type"));
    }
}
