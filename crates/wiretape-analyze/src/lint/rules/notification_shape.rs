//! S003 `notification-shape`: A notification whose `params` don't fit the schema of its method.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "S003",
    name: "notification-shape",
    family: Family::Shapes,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Schema reference",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/schema",
    },
    what: "A notification whose `params` don't fit the schema of its method.",
    why: "Nobody answers a notification, so nobody says that it was dropped.",
    fix: "Compare the place that is marked with the schema of the notification in the session's revision.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    if view.envelope.kind == MessageKind::Notification {
        support::report_params(view, report);
    }
}
