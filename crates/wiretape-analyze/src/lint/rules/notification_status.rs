//! W010 `notification-status`: A notification or response that the server accepts with a status other than 202.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::ExchangeView;
use wiretape_trace::message::MessageKind;

pub(super) static RULE: Rule = Rule {
    code: "W010",
    name: "notification-status",
    family: Family::Transport,
    severity: Severity::Error,
    revisions: Revisions::between(Revision::V2025_03_26, Revision::V2025_11_25),
    section: Section {
        title: "Sending messages to the server",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server",
    },
    what: "A notification or response that the server accepts with a status other than 202.",
    why: "Clients expect a body with 200, and wait for it or fail to parse it.",
    fix: "Answer 202 without a body.",
    check: Check::Exchange(check),
};

fn check(view: &ExchangeView<'_>, report: &mut Report<'_>) {
    // HTTP+SSE (2024-11-05) has rules of its own, and an import may have lost headers.
    if view.trace.http_sse || view.trace.imported {
        return;
    }
    let exchange = view.exchange;

    let is_one_way = exchange
        .sent
        .as_ref()
        .is_some_and(|sent| matches!(sent.kind, MessageKind::Notification | MessageKind::Response));
    // An error status is a valid answer to a notification that the server rejects.
    let status = exchange.status().filter(|status| (200..300).contains(status) && *status != 202);
    if let Some(status) = status.filter(|_| is_one_way && exchange.method() == "POST") {
        report
            .at("/response/status", format!("a notification or response was answered with status {status}"));
    }
}
