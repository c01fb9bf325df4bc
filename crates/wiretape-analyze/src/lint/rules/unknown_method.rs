//! S005 `unknown-method`: A method that the session's revision doesn't define.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::shapes;
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "S005",
    name: "unknown-method",
    family: Family::Shapes,
    severity: Severity::Info,
    revisions: Revisions::ALL,
    section: Section {
        title: "Schema reference",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/schema",
    },
    what: "A method that the session's revision doesn't define.",
    why: "It may be an extension. If it is a typo or from another revision, it is rejected or ignored.",
    fix: "Unless it is an extension that both sides support, use a method of the session's revision.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let (Some(method), Some(revision)) = (view.method(), view.revision) else { return };
    // `removed-method` reports those, with the revision that had them.
    let is_removed = revision.is_stateless() && !shapes::revisions_with(method).is_empty();
    if !is_removed && !shapes::has_method(revision, method) {
        let elsewhere: Vec<&str> = shapes::revisions_with(method).into_iter().map(Revision::name).collect();
        let hint = if elsewhere.is_empty() {
            String::new()
        } else {
            format!("; defined in {}", elsewhere.join(", "))
        };
        report.at("/method", format!("`{method}` is not a method of {revision}{hint}"));
    }
}
