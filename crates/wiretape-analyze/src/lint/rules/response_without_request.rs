//! L012 `response-without-request`: A response with an id for which no request is open.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use crate::reading::Meaning;

/// The rule.
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
    what: "A response with an id for which no request is open.",
    why: "Whoever waits for the right one waits for ever. Most often the id was changed on the way (`1` and \
           `\"1\"` are two ids), or the request was answered twice.",
    fix: "Copy the id of the request as it was written, and answer once.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let is_orphan = view.meaning == Meaning::Orphan;
    if !is_orphan || !view.trace.is_whole() || view.is_redelivered() {
        return;
    }
    // An error about something that could not be read has no id to repeat.
    let Some(id) = &view.envelope.id else { return };
    // A session that began before the recording may have open requests.
    if view.trace.http && view.session.id.is_some() && !view.session.has_begun() {
        return;
    }
    let was_asked = view.session.ids.get(&view.direction.reverse()).is_some_and(|ids| ids.contains(id));
    let message = match was_asked {
        true => format!("the request {id} was answered before"),
        false => format!("nobody asked with the id {id}"),
    };
    report.at("/id", message);
}
