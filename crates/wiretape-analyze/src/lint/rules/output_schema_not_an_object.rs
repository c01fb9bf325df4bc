//! T004 `output-schema-not-an-object`: A tool whose `outputSchema` doesn't have type `object`.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::value::Value;

pub(super) static RULE: Rule = Rule {
    code: "T004",
    name: "output-schema-not-an-object",
    family: Family::Tools,
    severity: Severity::Error,
    revisions: Revisions::between(Revision::V2025_06_18, Revision::V2025_11_25),
    section: Section {
        title: "Output schema",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#output-schema",
    },
    what: "A tool whose `outputSchema` doesn't have type `object`.",
    why: "Up to 2025-11-25 structured content is an object. Clients reject any other schema, and the list \
          that contains it.",
    fix: "Wrap the value: `{\"type\": \"object\", \"properties\": {\"result\": …}}`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(tools) = view.result_of("tools/list").and_then(|result| result.get("tools")) else { return };

    support::each(tools, |at, tool| {
        let Some(schema) = tool.get("outputSchema") else { return };
        let kind = schema.get("type").and_then(Value::string);
        if kind.as_deref() != Some("object") {
            let name = tool.get("name").and_then(Value::string).unwrap_or_default();
            let message = format!("the `outputSchema` of {name:?} does not have type \"object\"");
            let place = if kind.is_some() { "outputSchema/type" } else { "outputSchema" };
            report.at(&format!("/result/tools/{at}/{place}"), message);
        }
    });
}
