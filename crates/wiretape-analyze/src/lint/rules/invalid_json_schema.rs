//! T005 `invalid-json-schema`: A tool's schema that is not valid JSON Schema in its dialect (2020-12 by default).

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::schema::{schema_misfit, tree};
use crate::lint::view::PayloadView;
use wiretape_trace::value::Value;

pub(super) static RULE: Rule = Rule {
    code: "T005",
    name: "invalid-json-schema",
    family: Family::Tools,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Schema validation",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic#schema-validation",
    },
    what: "A tool's schema that is not valid JSON Schema in its dialect (2020-12 by default).",
    why: "Clients compile schemas when they list tools. A schema that doesn't compile costs the tool, or \
          the whole list.",
    fix: "Correct the marked position, or name the intended dialect in `$schema`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(tools) = view.result_of("tools/list").and_then(|result| result.get("tools")) else { return };

    support::each(tools, |at, tool| {
        let name = tool.get("name").and_then(Value::string).unwrap_or_default();
        for member in ["inputSchema", "outputSchema"] {
            // Schemas that are not objects are reported by `input-schema-not-an-object` and its counterpart for
            // outputs.
            let Some(schema) =
                tool.get(member).filter(|schema| schema.is_object()).and_then(|schema| tree(schema.raw))
            else {
                continue;
            };
            if let Some(misfit) = schema_misfit(&schema) {
                let message =
                    format!("the `{member}` of {name:?} is not a valid JSON Schema: {}", misfit.message);
                report.at(&format!("/result/tools/{at}/{member}{}", misfit.pointer), message);
            }
        }
    });
}
