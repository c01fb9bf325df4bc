//! S003 `notification-shape`: A notification whose `params` don't match the schema of its method.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

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
    what: "A notification whose `params` don't match the schema of its method.",
    why: "Notifications have no response, so the sender never learns that one was dropped.",
    fix: "Compare the marked position with the notification's schema in the session's revision.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    if view.envelope.kind == MessageKind::Notification {
        support::report_params(view, report);
    }
}
