//! N015 `retired-error-code`: Error code -32002 or -32042, which only earlier revisions define.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "N015",
    name: "retired-error-code",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Error codes",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes",
    },
    what: "Error code -32002 or -32042, which only earlier revisions define.",
    why: "Both remain reserved, and 2026-07-28 servers must not send them.",
    fix: "For a missing resource, send -32602. To ask the user for input, answer with `input_required`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    if let Some(code @ (-32002 | -32042)) = view.envelope.error_code
        && support::server_is_stateless(view)
    {
        report.at("/error/code", format!("{code} is only defined in earlier revisions"));
    }
}
