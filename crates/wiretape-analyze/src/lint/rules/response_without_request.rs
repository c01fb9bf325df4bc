//! L012 `response-without-request`: A response whose id matches no request in flight.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use crate::reading::Meaning;

pub(super) static RULE: Rule = Rule {
    code: "L012",
    name: "response-without-request",
    family: Family::Lifecycle,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Responses",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#responses",
    },
    what: "A response whose id matches no request in flight.",
    why: "The sender of the request keeps waiting. Most often the id was changed (`1` and `\"1\"` are \
          different ids) or the request was answered twice.",
    fix: "Copy the request's id unchanged, and answer once.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let is_orphan = view.meaning == Meaning::Orphan;
    // In a trace with missing lines, the message may just not have been recorded.
    if !is_orphan || !view.trace.is_whole() || view.is_redelivered() {
        return;
    }
    // An error about an unreadable request has no id to repeat (JSON-RPC 2.0, section 5).
    let Some(id) = &view.envelope.id else { return };
    // A session that began before the recording may have had requests in flight.
    if view.trace.http && view.session.id.is_some() && !view.session.has_begun() {
        return;
    }
    let was_asked = view.session.ids.get(&view.direction.reverse()).is_some_and(|ids| ids.contains(id));
    let message = match was_asked {
        true => format!("the request {id} was already answered"),
        false => format!("no request has the id {id}"),
    };
    report.at("/id", message);
}
