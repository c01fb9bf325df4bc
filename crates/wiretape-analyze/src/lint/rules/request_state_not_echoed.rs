//! N006 `request-state-not-echoed`: A retry whose `requestState` is missing or is not byte for byte what the server
//! sent.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;
use wiretape_trace::value::Value;

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
    what: "A retry whose `requestState` is missing or is not byte for byte what the server sent.",
    why: "The server keeps no state between the requests: `requestState` is all it has, and it rejects a \
          modified one.",
    fix: "Send `requestState` back unchanged. Don't parse or re-encode it.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let is_request = view.envelope.kind == MessageKind::Request && view.is_from_client();
    // In a trace with missing lines, the message may just not have been recorded.
    let Some(params) = view.params().filter(|_| is_request && view.trace.is_whole()) else { return };
    let states = &view.session.states;
    let name = params.get("name").or_else(|| params.get("uri")).and_then(Value::string);
    let subject = support::subject_of(view.method().unwrap_or_default(), name.as_deref());
    // The state may come from a result in another trace, so a result in this one must have asked for input.
    let Some(waiting) = states.waiting(&subject).filter(|waiting| waiting.has_state) else { return };
    let is_known = |state: &str| states.was_given(state) || states.is_full() || support::is_redacted(state);
    match params.get("requestState").and_then(Value::string) {
        Some(state) if !is_known(&state) => {
            let message = "not the `requestState` that the server sent";
            report.at_with("/params/requestState", message, waiting.line, "the result with the state");
        }
        None if params.get("inputResponses").is_some() => {
            report.at_with("/params", "`requestState` is missing", waiting.line, "the result with the state");
        }
        _ => {}
    }
}
