//! P004 `progress-token-reused`: A request with the progress token of another request in flight.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

pub(super) static RULE: Rule = Rule {
    code: "P004",
    name: "progress-token-reused",
    family: Family::Progress,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Progress flow",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress#progress-flow",
    },
    what: "A request with the progress token of another request in flight.",
    why: "Progress of one request is shown for the other.",
    fix: "Give each request its own token, for example its id.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(token) =
        view.envelope.progress_token.as_ref().filter(|_| view.envelope.kind == MessageKind::Request)
    else {
        return;
    };
    // Without a session id, requests of several clients may share an HTTP trace.
    let is_one_client = !view.trace.http || view.session.id.is_some();
    let known = view.session.tokens.get(view.direction, token).filter(|known| known.done.is_none());
    if let Some(known) = known.filter(|_| is_one_client && !view.trace.imported) {
        let message = format!("the token {token} belongs to another request in flight");
        report.at_with("/params/_meta/progressToken", message, known.line, "the other request");
    }
}
