//! T002 `tool-name-duplicate`: Two tools with the same name in one list.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use std::collections::BTreeSet;
use wiretape_trace::value::Value;

pub(super) static RULE: Rule = Rule {
    code: "T002",
    name: "tool-name-duplicate",
    family: Family::Tools,
    severity: Severity::Warning,
    revisions: Revisions::ALL,
    section: Section {
        title: "Tool names",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names",
    },
    what: "Two tools with the same name in one list.",
    why: "A call only names the tool, so it is ambiguous which one is meant.",
    fix: "Give each tool of a server a unique name.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(tools) = view.result_of("tools/list").and_then(|result| result.get("tools")) else { return };

    let mut seen = BTreeSet::new();
    support::each(tools, |at, tool| {
        let Some(name) = tool.get("name").and_then(Value::string) else { return };
        let is_later_page = view.request.is_some_and(|request| request.cursor.is_some());
        let is_known = is_later_page && view.session.tools.is_on_earlier_page(&name);
        // A little more than the longest valid name, so that a name that is too long can be recognized.
        let shown: String = name.chars().take(140).collect();
        if !seen.insert(name.into_owned()) || is_known {
            report.at(&format!("/result/tools/{at}/name"), format!("another tool is also named {shown:?}"));
        }
    });
}
