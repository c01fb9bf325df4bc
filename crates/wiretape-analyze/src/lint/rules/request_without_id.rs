//! M012 `request-without-id`: A request method sent without an `id`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::shapes;
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

pub(super) static RULE: Rule = Rule {
    code: "M012",
    name: "request-without-id",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Requests",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#requests",
    },
    what: "A request method sent without an `id`.",
    why: "Without an id it is a notification: the receiver doesn't answer, and the sender waits forever.",
    fix: "Give the request a string or integer id.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(method) = view.method().filter(|_| view.envelope.kind == MessageKind::Notification) else {
        return;
    };
    if shapes::is_request_method(method) {
        report.at("/method", format!("`{method}` is a request but has no `id`"));
    }
}
