//! S002 `result-shape`: A result that doesn't match the schema of its method.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::schema::{Misfit, tree};
use crate::lint::shapes;
use crate::lint::view::PayloadView;

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
    what: "A result that doesn't match the schema of its method.",
    why: "SDKs validate results as they parse them: one wrong field makes the whole result unusable.",
    fix: "Compare the marked position with the result's schema in the session's revision.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let (Some(request), Some(revision)) = (view.request, view.revision) else { return };
    let Some(result) = view.envelope.result.and_then(tree) else { return };
    for misfit in shapes::result_misfits(revision, request.method, &result) {
        if !has_own_rule(request.method, &misfit) {
            let message = format!("result of `{}`: {}", request.method, misfit.message);
            report.at_with(&format!("/result{}", misfit.pointer), message, request.line, "the request");
        }
    }
}

/// These have a more specific rule of their own; reporting both would count one mistake twice.
fn has_own_rule(method: &str, misfit: &Misfit) -> bool {
    let fields = ["\"resultType\"", "\"ttlMs\"", "\"cacheScope\""];
    let is_field = misfit.keyword == "required" && fields.iter().any(|field| misfit.message.contains(field));
    let is_schema = method == "tools/list"
        && (misfit.pointer.contains("Schema") || misfit.message.starts_with("\"inputSchema\""));
    let is_whole = misfit.pointer.is_empty() && misfit.keyword == "type";
    is_field || is_schema || is_whole
}
