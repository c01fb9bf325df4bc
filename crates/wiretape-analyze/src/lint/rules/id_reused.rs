//! M005 `id-reused`: A request with an id that its sender has used before.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

/// The rule.
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
    what: "A request with an id that its sender has used before.",
    why: "The response to one can be taken for the response to the other. Up to 2025-11-25 an id may be used \
           once in a session; since 2026-07-28 it must only not be that of a request that is still open.",
    fix: "Count up, or use UUIDs. A retry is a new request and needs a new id.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(id) = view.envelope.id.clone().filter(|_| view.envelope.kind == MessageKind::Request) else {
        return;
    };
    if let Some(line) = view.displaced {
        let message = format!("the id {id} is that of a request that has no response yet");
        return report.at_with("/id", message, line, "the other request");
    }
    // Without the id of a session, several clients may have sent what is in the trace.
    let is_one_client = !view.trace.http || view.session.id.is_some();
    let is_legacy = view.revision.is_some_and(|revision| !revision.is_stateless());
    if is_legacy && is_one_client && !view.trace.imported {
        let used = view.session.ids.get(&view.direction).is_some_and(|ids| ids.contains(&id));
        if used && view.method() != Some("initialize") {
            report.at("/id", format!("the id {id} was used before in this session"));
        }
    }
}
