//! L015 `initialize-cancelled`: A client that cancels `initialize`.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "L015",
    name: "initialize-cancelled",
    family: Family::Lifecycle,
    severity: Severity::Error,
    revisions: Revisions::LEGACY.or_unknown(),
    section: Section {
        title: "Cancellation",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#behavior-requirements",
    },
    what: "A client that cancels `initialize`.",
    why: "There is no session to return to, and the specification doesn't define what happens next.",
    fix: "Close the connection instead.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    if !view.is_notification("notifications/cancelled") || !view.is_from_client() {
        return;
    }
    let Some(id) = view.param(&["requestId"]).and_then(support::id_of) else { return };
    if view.session.agreed.is_none() && support::is_open_initialize(view, &id) {
        report.at("/params/requestId", "`initialize` can't be cancelled");
    }
}
