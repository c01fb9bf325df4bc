//! T006 `arguments-invalid`: A call whose arguments don't fit the tool's `inputSchema`.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

/// The rule.
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
    what: "A call whose arguments don't fit the tool's `inputSchema`.",
    why: "The server has to refuse it. Where it happens often, the model does not understand the tool.",
    fix: "Say more in the descriptions of the tool and its parameters, or check arguments in the client.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for misfit in support::argument_misfits(view) {
        let name = view.envelope.tool().unwrap_or_default();
        let message = format!("the arguments of `{name}`: {}", misfit.message);
        let pointer = if view.param(&["arguments"]).is_some() { "/params/arguments" } else { "/params" };
        report.at(&format!("{pointer}{}", misfit.pointer), message);
    }
}
