//! N017 `legacy-error-code`: An error code between -32019 and -32000, which new implementations should not use.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "N017",
    name: "legacy-error-code",
    family: Family::Stateless,
    severity: Severity::Warning,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Error codes",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes",
    },
    what: "An error code between -32019 and -32000, which new implementations should not use.",
    why: "These codes have no defined meaning, so the client can only show the message.",
    fix: "Use a defined code, or one outside -32768 to -32000.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    // -32002 is reported by `retired-error-code`.
    if let Some(code @ -32019..=-32000) = view.envelope.error_code
        && code != -32002
        && support::server_is_stateless(view)
    {
        report.at("/error/code", format!("{code} has no defined meaning"));
    }
}
