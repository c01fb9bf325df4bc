//! W013 `accept-header`: A POST whose `Accept` does not list both `application/json` and `text/event-stream`.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::ExchangeView;
use wiretape_trace::message::MessageKind;

pub(super) static RULE: Rule = Rule {
    code: "W013",
    name: "accept-header",
    family: Family::Transport,
    severity: Severity::Error,
    revisions: Revisions::since(Revision::V2025_03_26),
    section: Section {
        title: "Sending messages to the server",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server",
    },
    what: "A POST whose `Accept` does not list both `application/json` and `text/event-stream`.",
    why: "The server picks one of the two for each response. Strict servers reject the request with 406.",
    fix: "Send `Accept: application/json, text/event-stream`.",
    check: Check::Exchange(check),
};

fn check(view: &ExchangeView<'_>, report: &mut Report<'_>) {
    // HTTP+SSE (2024-11-05) has rules of its own, and an import may have lost headers.
    if view.trace.http_sse || view.trace.imported {
        return;
    }
    let exchange = view.exchange;

    let is_message = exchange.sent.is_some() && exchange.method() == "POST";
    let accept = exchange.request_header("accept").unwrap_or_default().to_ascii_lowercase();
    // A substring match: media types may have parameters and `q` values, and a wildcard covers both.
    let accepts = |kind: &str| accept.contains(kind) || accept.contains("*/*");
    // HTTP+SSE (2024-11-05) posts without `Accept` and gets 202; its answer comes on the GET stream.
    let is_legacy_sse = exchange.status() == Some(202) && !exchange.is_stream();
    let is_request = exchange.sent.as_ref().is_some_and(|sent| sent.kind == MessageKind::Request);
    let is_fine = accepts("application/json") && accepts("text/event-stream");
    if is_message && is_request && !is_fine && !is_legacy_sse && exchange.request.is_some() {
        report.at("/request/headers/accept", "`Accept` must list `application/json` and `text/event-stream`");
    }
}
