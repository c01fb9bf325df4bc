//! T006 `arguments-invalid`: A call whose arguments don't match the tool's `inputSchema`.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "T006",
    name: "arguments-invalid",
    family: Family::Tools,
    severity: Severity::Info,
    revisions: Revisions::ALL,
    section: Section {
        title: "Calling tools",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#calling-tools",
    },
    what: "A call whose arguments don't match the tool's `inputSchema`.",
    why: "The server has to reject it. If this happens often, the model doesn't understand the tool.",
    fix: "Improve the descriptions of the tool and its parameters, or validate arguments in the client.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for misfit in support::argument_misfits(view) {
        let name = view.envelope.tool().unwrap_or_default();
        let message = format!("arguments of `{name}`: {}", misfit.message);
        // Missing arguments are checked as `{}`; then only `params` exists to point at.
        let pointer = if view.param(&["arguments"]).is_some() { "/params/arguments" } else { "/params" };
        report.at(&format!("{pointer}{}", misfit.pointer), message);
    }
}
