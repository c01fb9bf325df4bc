//! W012 `get-content-type`: A GET on the endpoint that succeeds without returning an event stream.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::ExchangeView;

pub(super) static RULE: Rule = Rule {
    code: "W012",
    name: "get-content-type",
    family: Family::Transport,
    severity: Severity::Error,
    revisions: Revisions::between(Revision::V2025_03_26, Revision::V2025_11_25),
    section: Section {
        title: "Listening for messages from the server",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server",
    },
    what: "A GET on the endpoint that succeeds without returning an event stream.",
    why: "The client opens this stream to receive server messages. A page or an empty body looks like a \
          stream that ended, so the client reconnects again and again.",
    fix: "Answer a GET with `text/event-stream`, or with 405 if the server offers no such stream.",
    check: Check::Exchange(check),
};

fn check(view: &ExchangeView<'_>, report: &mut Report<'_>) {
    // HTTP+SSE (2024-11-05) has rules of its own, and an import may have lost headers.
    if view.trace.http_sse || view.trace.imported {
        return;
    }
    let exchange = view.exchange;

    // Browsers and health checks GET the endpoint, too; only a client that asks for a stream expects one.
    let wants_stream =
        exchange.request_header("accept").is_some_and(|accept| accept.contains("text/event-stream"));
    let is_good = exchange.status().is_some_and(|status| (200..300).contains(&status));
    if exchange.method() == "GET" && wants_stream && is_good && !exchange.is_stream() {
        report.at("/response", "the response to this GET is not an event stream");
    }
}
