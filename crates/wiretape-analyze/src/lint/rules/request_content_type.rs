//! W011 `request-content-type`: A request that is answered with something other than JSON or a stream of events.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::ExchangeView;
use wiretape_trace::message::MessageKind;

/// The rule.
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
    what: "A request that is answered with something other than JSON or a stream of events.",
    why: "Clients look at `Content-Type` to know how to read the answer, and understand only these two.",
    fix: "Answer with `application/json` or `text/event-stream`.",
    check: Check::Exchange(check),
};

fn check(view: &ExchangeView<'_>, report: &mut Report<'_>) {
    if view.trace.http_sse || view.trace.imported {
        return;
    }
    let exchange = view.exchange;

    let is_request = exchange.sent.as_ref().is_some_and(|sent| sent.kind == MessageKind::Request);
    let is_good = exchange.status().is_some_and(|status| (200..300).contains(&status));
    let media_type = exchange.media_type();
    let is_known = matches!(media_type.as_deref(), Some("application/json" | "text/event-stream"));
    // HTTP+SSE accepts a request with 202 and answers elsewhere.
    if is_request && is_good && !is_known && exchange.status() != Some(202) && exchange.method() == "POST" {
        let shown = media_type.as_deref().unwrap_or("missing");
        report.at(
            "/response/headers/content-type",
            format!("a request is answered, and `Content-Type` is {shown}"),
        );
    }
}
