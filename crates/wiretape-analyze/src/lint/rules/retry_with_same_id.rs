//! N007 `retry-with-same-id`: A retry of a multi-round-trip request with the id of the original request.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

pub(super) static RULE: Rule = Rule {
    code: "N007",
    name: "retry-with-same-id",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Multi round-trip requests",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#client-requirements-basic-workflow",
    },
    what: "A retry of a multi-round-trip request with the id of the original request.",
    why: "They are independent requests. With the same id their responses can't be distinguished.",
    fix: "Give the retry a new id.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(id) = view.envelope.id.as_ref().filter(|_| view.envelope.kind == MessageKind::Request) else {
        return;
    };
    let Some(state) = view.param_text(&["requestState"]) else { return };
    if view.session.states.id_of_state(&state) == Some(&id.clone().into_owned()) {
        report.at("/id", format!("{id} is the id of the request that this one retries"));
    }
}
