//! S002 `result-shape`: A result that does not fit the schema of the method that was asked for.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::schema::{Misfit, tree};
use crate::lint::shapes;
use crate::lint::view::PayloadView;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "S002",
    name: "result-shape",
    family: Family::Shapes,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Schema reference",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/schema",
    },
    what: "A result that does not fit the schema of the method that was asked for.",
    why: "SDKs check results as they read them: one wrong field and the whole result is lost, the right parts \
           included.",
    fix: "Compare the place that is marked with the result's schema in the session's revision.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let (Some(asked), Some(revision)) = (view.asked, view.revision) else { return };
    let Some(result) = view.envelope.result.and_then(tree) else { return };
    for misfit in shapes::result_misfits(revision, &asked.method, &result) {
        if !is_told_elsewhere(&asked.method, &misfit) {
            let message = format!("the result of `{}`: {}", asked.method, misfit.message);
            report.at_with(&format!("/result{}", misfit.pointer), message, asked.line, "the request");
        }
    }
}

/// What has a rule of its own, which says more.
fn is_told_elsewhere(method: &str, misfit: &Misfit) -> bool {
    let fields = ["\"resultType\"", "\"ttlMs\"", "\"cacheScope\""];
    let is_field = misfit.keyword == "required" && fields.iter().any(|field| misfit.message.contains(field));
    let is_schema = method == "tools/list"
        && (misfit.pointer.contains("Schema") || misfit.message.starts_with("\"inputSchema\""));
    let is_whole = misfit.pointer.is_empty() && misfit.keyword == "type";
    is_field || is_schema || is_whole
}
