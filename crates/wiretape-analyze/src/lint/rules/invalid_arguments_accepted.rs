//! T007 `invalid-arguments-accepted`: A server that returns a result although the arguments don't match the tool's
//! `inputSchema`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "T007",
    name: "invalid-arguments-accepted",
    family: Family::Tools,
    severity: Severity::Warning,
    revisions: Revisions::ALL,
    section: Section {
        title: "Security considerations",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#security-considerations",
    },
    what: "A server that returns a result although the arguments don't match the tool's `inputSchema`.",
    why: "Servers must validate all tool inputs. Here, values that the schema excludes reach the tool.",
    fix: "Validate arguments against the schema before the tool runs, or correct the schema.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(request) = view.request.filter(|request| request.method == "tools/call") else { return };
    let is_good = view.envelope.result.is_some() && !view.envelope.is_error;
    if let Some(misfit) = request.misfit.as_ref().filter(|_| is_good) {
        let name = request.name.unwrap_or_default();
        let message = format!("the server accepted invalid arguments of `{name}`: {misfit}");
        report.at_with("/result", message, request.line, "the call");
    }
}
