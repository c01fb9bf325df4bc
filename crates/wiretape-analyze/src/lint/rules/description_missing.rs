//! T012 `description-missing`: A tool without a description.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::value::Value;

pub(super) static RULE: Rule = Rule {
    code: "T012",
    name: "description-missing",
    family: Family::Tools,
    severity: Severity::Info,
    revisions: Revisions::ALL,
    section: Section {
        title: "Tool",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool",
    },
    what: "A tool without a description.",
    why: "Models choose tools by their descriptions. Without one, the model has only the name.",
    fix: "Describe in a sentence or two what the tool does and when to use it.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(tools) = view.result_of("tools/list").and_then(|result| result.get("tools")) else { return };

    support::each(tools, |at, tool| {
        let description = tool.get("description").and_then(Value::string).unwrap_or_default();
        if description.trim().is_empty() {
            let name = tool.get("name").and_then(Value::string).unwrap_or_default();
            report.at(&format!("/result/tools/{at}"), format!("the tool {name:?} has no description"));
        }
    });
}
