//! T003 `input-schema-not-an-object`: A tool whose `inputSchema` is missing, is not an object, or doesn't have type
//! `object`.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::value::Value;

pub(super) static RULE: Rule = Rule {
    code: "T003",
    name: "input-schema-not-an-object",
    family: Family::Tools,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Tool",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool",
    },
    what: "A tool whose `inputSchema` is missing, is not an object, or doesn't have type `object`.",
    why: "Arguments are an object, so the schema must say `\"type\": \"object\"`. One such tool makes some \
          clients drop the whole list.",
    fix: "Write `{\"type\": \"object\", …}`; for a tool without parameters, `{\"type\": \"object\", \
          \"additionalProperties\": false}`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(tools) = view.result_of("tools/list").and_then(|result| result.get("tools")) else { return };

    support::each(tools, |at, tool| {
        let name = tool.get("name").and_then(Value::string).unwrap_or_default();
        let place = format!("/result/tools/{at}");
        let Some(schema) = tool.get("inputSchema") else {
            return report.at(&place, format!("the tool {name:?} has no `inputSchema`"));
        };
        let place = format!("{place}/inputSchema");
        if !schema.is_object() {
            return report.at(&place, format!("the `inputSchema` of {name:?} is not an object"));
        }
        match schema.get("type").map(Value::string) {
            Some(Some(kind)) if kind == "object" => {}
            Some(_) => report.at(
                &format!("{place}/type"),
                format!("the `inputSchema` of {name:?} does not have type \"object\""),
            ),
            None => report
                .at(&place, format!("the `inputSchema` of {name:?} has no `type`; it must be \"object\"")),
        }
    });
}
