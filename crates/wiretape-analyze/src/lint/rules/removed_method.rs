//! N011 `removed-method`: A method that 2026-07-28 removed.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::shapes;
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "N011",
    name: "removed-method",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Changes in 2026-07-28",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/changelog",
    },
    what: "A method that 2026-07-28 removed.",
    why: "Sessions, `ping`, `logging/setLevel`, resource subscriptions and tasks are no longer part of the \
          core. The receiver answers with \"method not found\".",
    fix: "Use the replacements: `server/discover`, `subscriptions/listen`, `_meta` in each request.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(method) = view.method() else { return };
    let is_gone =
        !shapes::has_method(Revision::V2026_07_28, method) && !shapes::revisions_with(method).is_empty();
    // Tasks moved to an extension that kept the method names.
    if is_gone && !method.contains("tasks/") && support::names_stateless(view) {
        report.at("/method", format!("2026-07-28 has no `{method}`"));
    }
}
