//! W010 `notification-status`: A notification or response that a server accepts with another status than 202.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::ExchangeView;
use wiretape_trace::message::MessageKind;

/// The rule.
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
    what: "A notification or response that a server accepts with another status than 202.",
    why: "Clients take 200 for an answer with a body, and wait for it or fail to parse it.",
    fix: "Answer 202 with no body.",
    check: Check::Exchange(check),
};

fn check(view: &ExchangeView<'_>, report: &mut Report<'_>) {
    if view.trace.http_sse || view.trace.imported {
        return;
    }
    let exchange = view.exchange;

    let is_one_way = exchange
        .sent
        .as_ref()
        .is_some_and(|sent| matches!(sent.kind, MessageKind::Notification | MessageKind::Response));
    let status = exchange.status().filter(|status| (200..300).contains(status) && *status != 202);
    if let Some(status) = status.filter(|_| is_one_way && exchange.method() == "POST") {
        report.at("/response/status", format!("a notification or response is answered with {status}"));
    }
}
