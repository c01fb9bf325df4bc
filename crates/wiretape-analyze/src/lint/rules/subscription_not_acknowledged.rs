//! N013 `subscription-not-acknowledged`: A notification on a subscription before
//! `notifications/subscriptions/acknowledged`.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;
use wiretape_trace::protocol::meta_key;

pub(super) static RULE: Rule = Rule {
    code: "N013",
    name: "subscription-not-acknowledged",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Acknowledgment",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#acknowledgment",
    },
    what: "A notification on a subscription before `notifications/subscriptions/acknowledged`.",
    why: "The acknowledgement comes first and lists what the server will send. Without it, the client \
          doesn't know what it is subscribed to.",
    fix: "Send `notifications/subscriptions/acknowledged` first.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(method) = view.method().filter(|_| view.envelope.kind == MessageKind::Notification) else {
        return;
    };
    let Some(id) = view.param(&["_meta", meta_key::SUBSCRIPTION_ID]).and_then(support::id_of) else { return };
    let is_open = view.session.subscriptions.get(&id) == Some(&None);
    let is_other = !matches!(method, "notifications/subscriptions/acknowledged" | "notifications/cancelled");
    if is_open && is_other && !view.is_from_client() {
        report.at("/method", format!("`{method}` was sent before the subscription {id} was acknowledged"));
    }
}
