//! L016 `cancel-unknown-request`: A `notifications/cancelled` for a request that its sender never sent.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::session::IdSet;
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "L016",
    name: "cancel-unknown-request",
    family: Family::Lifecycle,
    severity: Severity::Warning,
    revisions: Revisions::ALL,
    section: Section {
        title: "Cancellation",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#behavior-requirements",
    },
    what: "A `notifications/cancelled` for a request that its sender never sent.",
    why: "The receiver ignores it, and the request it was meant for keeps running.",
    fix: "Repeat the request's id exactly as sent: `1` and `\"1\"` are different ids.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    // In a trace with missing lines, the message may just not have been recorded.
    if !view.is_notification("notifications/cancelled") || !view.trace.is_whole() {
        return;
    }
    // Without a session id, requests of several clients may share an HTTP trace.
    let is_one_client = !view.trace.http || (view.session.id.is_some() && view.session.has_begun());
    let Some(id) = view.param(&["requestId"]).and_then(support::id_of).filter(|_| is_one_client) else {
        return;
    };
    let was_sent = |ids: &IdSet| ids.contains(&id);
    // `initialize-cancelled` reports that case.
    let is_initialize = view.session.initialize.is_some() && view.session.agreed.is_none();
    // A server may cancel the client's subscription, which the client asked for.
    let both = view.session.ids.values().any(was_sent);
    if !both && !is_initialize {
        report.at("/params/requestId", format!("no request has the id {id}"));
    }
}
