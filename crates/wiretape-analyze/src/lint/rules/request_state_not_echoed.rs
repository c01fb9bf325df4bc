//! N006 `request-state-not-echoed`: A retry whose `requestState` is not, byte for byte, what the server gave; or which has none though the server gave one.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;
use wiretape_trace::value::Value;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "N006",
    name: "request-state-not-echoed",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Multi round-trip requests",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#client-requirements-basic-workflow",
    },
    what: "A retry whose `requestState` is not, byte for byte, what the server gave; or which has none though \
           the server gave one.",
    why: "The server keeps nothing in between: the state is all it has, and it refuses what was changed.",
    fix: "Send `requestState` back as it came. Don't parse it, and don't write it anew.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let is_request = view.envelope.kind == MessageKind::Request && view.is_from_client();
    let Some(params) = view.params().filter(|_| is_request && view.trace.is_whole()) else { return };
    let states = &view.session.states;
    let name = params.get("name").or_else(|| params.get("uri")).and_then(Value::string);
    let subject = support::subject_of(view.method().unwrap_or_default(), name.as_deref());
    // What another trace has can't be known: there must have been a question in this one.
    let Some(waiting) = states.waiting(&subject).filter(|waiting| waiting.has_state) else { return };
    let is_known = |state: &str| states.was_given(state) || states.forgets() || support::is_redacted(state);
    match params.get("requestState").and_then(Value::string) {
        Some(state) if !is_known(&state) => {
            let message = "this is not the state that the server gave";
            report.at_with("/params/requestState", message, waiting.line, "the result that gave one");
        }
        None if params.get("inputResponses").is_some() => {
            report.at_with("/params", "`requestState` is missing", waiting.line, "the result that gave it");
        }
        _ => {}
    }
}
