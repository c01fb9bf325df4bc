//! W011 `request-content-type`: A response to a request that is neither JSON nor an event stream.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::ExchangeView;
use wiretape_trace::message::MessageKind;

pub(super) static RULE: Rule = Rule {
    code: "W011",
    name: "request-content-type",
    family: Family::Transport,
    severity: Severity::Error,
    revisions: Revisions::since(Revision::V2025_03_26),
    section: Section {
        title: "Sending messages to the server",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server",
    },
    what: "A response to a request that is neither JSON nor an event stream.",
    why: "Clients pick a parser by `Content-Type` and only support these two.",
    fix: "Answer with `application/json` or `text/event-stream`.",
    check: Check::Exchange(check),
};

fn check(view: &ExchangeView<'_>, report: &mut Report<'_>) {
    // HTTP+SSE (2024-11-05) has rules of its own, and an import may have lost headers.
    if view.trace.http_sse || view.trace.imported {
        return;
    }
    let exchange = view.exchange;

    let is_request = exchange.sent.as_ref().is_some_and(|sent| sent.kind == MessageKind::Request);
    let is_good = exchange.status().is_some_and(|status| (200..300).contains(&status));
    let media_type = exchange.media_type();
    let is_known = matches!(media_type.as_deref(), Some("application/json" | "text/event-stream"));
    // HTTP+SSE (2024-11-05) accepts a request with 202 and answers on the event stream.
    if is_request && is_good && !is_known && exchange.status() != Some(202) && exchange.method() == "POST" {
        let shown = media_type.as_deref().unwrap_or("missing");
        report.at("/response/headers/content-type", format!("the `Content-Type` of the response is {shown}"));
    }
}
