//! W012 `get-content-type`: A GET of the endpoint that is answered with success, and not with a stream of events.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::ExchangeView;

/// The rule.
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
    what: "A GET of the endpoint that is answered with success, and not with a stream of events.",
    why: "The client opens the stream to hear from the server. A page or an empty answer looks like a stream \
           that ended, and it tries again and again.",
    fix: "Answer a GET with `text/event-stream`, or with 405 if there is no such stream.",
    check: Check::Exchange(check),
};

fn check(view: &ExchangeView<'_>, report: &mut Report<'_>) {
    if view.trace.http_sse || view.trace.imported {
        return;
    }
    let exchange = view.exchange;

    let wants_stream =
        exchange.request_header("accept").is_some_and(|accept| accept.contains("text/event-stream"));
    let is_good = exchange.status().is_some_and(|status| (200..300).contains(&status));
    if exchange.method() == "GET" && wants_stream && is_good && !exchange.is_stream() {
        report.at("/response", "a GET is answered with something other than a stream of events");
    }
}
