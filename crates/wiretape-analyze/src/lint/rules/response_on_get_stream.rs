//! W018 `response-on-get-stream`: A response on a stream that was opened by a GET without `Last-Event-ID`.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

pub(super) static RULE: Rule = Rule {
    code: "W018",
    name: "response-on-get-stream",
    family: Family::Transport,
    severity: Severity::Error,
    revisions: Revisions::between(Revision::V2025_03_26, Revision::V2025_11_25),
    section: Section {
        title: "Listening for messages from the server",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server",
    },
    what: "A response on a stream that was opened by a GET without `Last-Event-ID`.",
    why: "The client waits for the response on the stream of its POST, which ends without one.",
    fix: "Send the response on the stream of its request.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(exchange) = view.exchange.filter(|exchange| exchange.method() == "GET") else { return };
    let is_response = view.envelope.kind == MessageKind::Response && !view.is_from_client();
    // A resumed stream may carry responses, and the one stream of HTTP+SSE carries all of them.
    if is_response && !exchange.is_resumed() && !view.trace.http_sse {
        report.at("", "response sent on the stream of a GET");
    }
}
