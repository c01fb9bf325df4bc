//! T008 `unknown-tool-called`: A call to a tool that the server didn't list.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

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
    what: "A call to a tool that the server didn't list.",
    why: "The model invented the name, or the client's list is out of date.",
    fix: "Reject such calls in the client. If the server's tools change, have it send \
          `notifications/tools/list_changed`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(name) = view.envelope.tool().filter(|_| view.is_request("tools/call")) else { return };
    let tools = &view.session.tools;
    // With a page missing, the tool may be on it; an import may have lost the list altogether.
    if tools.are_all_known() && tools.get(name).is_none() && !view.trace.imported {
        report.at("/params/name", format!("the server did not list a tool named {name:?}"));
    }
}
