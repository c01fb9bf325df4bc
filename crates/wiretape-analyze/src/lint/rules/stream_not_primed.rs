//! W017 `stream-not-primed`: A stream of events that begins with a message, and not with an event that has an id and no data.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::MessageView;

/// The rule.
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
    what: "A stream of events that begins with a message, and not with an event that has an id and no data.",
    why: "With that event a client can take up the stream again though it breaks before the first message. A \
           server that does not resume streams needs none.",
    fix: "If the server resumes streams, send an event with an id and empty `data` first.",
    check: Check::Message(check),
};

fn check(view: &MessageView<'_>, report: &mut Report<'_>) {
    let (Some(exchange), Some(http)) = (view.exchange, view.http) else { return };
    let has_ids = http.sse.as_ref().is_some_and(|sse| sse.id.is_some());
    let is_first = exchange.events == 0 && exchange.is_stream() && !exchange.is_resumed();
    if is_first && has_ids && !view.trace.http_sse && exchange.method() == "POST" {
        report.in_line("/http/sse", "the stream begins with a message");
    }
}
