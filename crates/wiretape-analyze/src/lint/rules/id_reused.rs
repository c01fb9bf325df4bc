//! M005 `id-reused`: A request with an id that its sender already used.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

pub(super) static RULE: Rule = Rule {
    code: "M005",
    name: "id-reused",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Requests",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#requests",
    },
    what: "A request with an id that its sender already used.",
    why: "The responses to the two requests can be confused. Up to 2025-11-25, an id may be used only once \
          per session; since 2026-07-28, only while no other request with it is in flight.",
    fix: "Use a counter or UUIDs. A retry is a new request and needs a new id.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(id) = view.envelope.id.clone().filter(|_| view.envelope.kind == MessageKind::Request) else {
        return;
    };
    if let Some(line) = view.displaced {
        let message = format!("the id {id} belongs to a request that is still in flight");
        return report.at_with("/id", message, line, "the other request");
    }
    // Without the id of a session, several clients may have sent what is in the trace.
    let is_one_client = !view.trace.http || view.session.id.is_some();
    let is_legacy = view.revision.is_some_and(|revision| !revision.is_stateless());
    if is_legacy && is_one_client && !view.trace.imported {
        let used = view.session.ids.get(&view.direction).is_some_and(|ids| ids.contains(&id));
        // `initialize` starts a new session, often with the id of the last one; `initialize-twice` reports
        // the rest.
        if used && view.method() != Some("initialize") {
            report.at("/id", format!("the id {id} was already used in this session"));
        }
    }
}
