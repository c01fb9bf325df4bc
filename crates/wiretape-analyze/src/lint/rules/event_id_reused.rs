//! W016 `event-id-reused`: An event id that an earlier event of the session already had.

use crate::lint::exchange::Exchange;
use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::MessageView;

pub(super) static RULE: Rule = Rule {
    code: "W016",
    name: "event-id-reused",
    family: Family::Transport,
    severity: Severity::Error,
    revisions: Revisions::between(Revision::V2025_03_26, Revision::V2025_11_25),
    section: Section {
        title: "Resumability and redelivery",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery",
    },
    what: "An event id that an earlier event of the session already had.",
    why: "A client resumes a broken stream with `Last-Event-ID`. If two events share an id, it loses \
          messages or receives them twice.",
    fix: "Make event ids unique across all streams of a session.",
    check: Check::Message(check),
};

fn check(view: &MessageView<'_>, report: &mut Report<'_>) {
    let Some(id) = view.http.and_then(|http| http.sse.as_ref()).and_then(|sse| sse.id.as_deref()) else {
        return;
    };
    // A resumed stream repeats events with their ids, as it should.
    let is_resumed = view.exchange.is_some_and(Exchange::is_resumed);
    if view.session.id.is_some() && !id.is_empty() && !is_resumed && view.session.event_ids.contains(id) {
        report.in_line("/http/sse/id", format!("the event id {id:?} was already used in this session"));
    }
}
