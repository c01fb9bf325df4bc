//! N014 `subscription-id-missing`: A subscription notification without `io.modelcontextprotocol/subscriptionId` in
//! its `_meta`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;
use wiretape_trace::protocol::meta_key;

pub(super) static RULE: Rule = Rule {
    code: "N014",
    name: "subscription-id-missing",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Receiving notifications",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#receiving-notifications",
    },
    what: "A subscription notification without `io.modelcontextprotocol/subscriptionId` in its `_meta`.",
    why: "A client may have several subscriptions and can't know which one the notification belongs to.",
    fix: "Send the id of the `subscriptions/listen` request with every notification on its stream.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(method) = view.method().filter(|_| view.envelope.kind == MessageKind::Notification) else {
        return;
    };
    // Other notifications, such as progress, belong to a request and need no subscription.
    let is_change = method.ends_with("/list_changed")
        || matches!(method, "notifications/resources/updated" | "notifications/subscriptions/acknowledged");
    let has_id = view.param(&["_meta", meta_key::SUBSCRIPTION_ID]).is_some();
    if is_change && !has_id && !view.is_from_client() {
        report.at("/method", format!("`{method}` has no subscription id"));
    }
}
