//! N024 `server-cancels-request`: A server that sends `notifications/cancelled` for anything other than a
//! subscription.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "N024",
    name: "server-cancels-request",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Cancellation",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation#behavior-requirements",
    },
    what: "A server that sends `notifications/cancelled` for anything other than a subscription.",
    why: "Servers may only end subscriptions this way. The client keeps waiting for the response.",
    fix: "Answer the request with an error.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    if !view.is_notification("notifications/cancelled") || view.is_from_client() {
        return;
    }
    let Some(id) = view.param(&["requestId"]).and_then(support::id_of) else { return };
    // In a trace with missing lines, the message may just not have been recorded.
    if view.trace.is_whole() && !view.session.subscriptions.contains_key(&id) {
        report.at("/params/requestId", format!("{id} is not an open subscription"));
    }
}
