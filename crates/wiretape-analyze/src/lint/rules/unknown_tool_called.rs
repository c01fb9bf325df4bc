//! T008 `unknown-tool-called`: A call of a tool that the server did not list.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "T008",
    name: "unknown-tool-called",
    family: Family::Tools,
    severity: Severity::Warning,
    revisions: Revisions::ALL,
    section: Section {
        title: "Calling tools",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#calling-tools",
    },
    what: "A call of a tool that the server did not list.",
    why: "The model made the name up, or the client has a list that is no longer true.",
    fix: "Refuse such calls in the client. If the server's tools change, let it send \
           `notifications/tools/list_changed`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(name) = view.envelope.tool().filter(|_| view.is_request("tools/call")) else { return };
    let tools = &view.session.tools;
    if tools.are_all_known() && tools.get(name).is_none() && !view.trace.imported {
        report.at("/params/name", format!("the server listed no tool {name:?}"));
    }
}
