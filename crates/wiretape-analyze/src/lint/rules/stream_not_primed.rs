//! W017 `stream-not-primed`: An event stream that starts with a message instead of an event with an id and no data.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::MessageView;

pub(super) static RULE: Rule = Rule {
    code: "W017",
    name: "stream-not-primed",
    family: Family::Transport,
    severity: Severity::Info,
    revisions: Revisions::between(Revision::V2025_11_25, Revision::V2025_11_25),
    section: Section {
        title: "Sending messages to the server",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server",
    },
    what: "An event stream that starts with a message instead of an event with an id and no data.",
    why: "With that event, a client can resume the stream even if it breaks before the first message. A \
          server that doesn't support resuming doesn't need it.",
    fix: "If the server can resume streams, first send an event with an id and empty `data`.",
    check: Check::Message(check),
};

fn check(view: &MessageView<'_>, report: &mut Report<'_>) {
    let (Some(exchange), Some(http)) = (view.exchange, view.http) else { return };
    // Only servers that send event ids support resuming; the others need no priming event.
    let has_ids = http.sse.as_ref().is_some_and(|sse| sse.id.is_some());
    let is_first = exchange.events == 0 && exchange.is_stream() && !exchange.is_resumed();
    if is_first && has_ids && !view.trace.http_sse && exchange.method() == "POST" {
        report.in_line("/http/sse", "the stream starts with a message");
    }
}
