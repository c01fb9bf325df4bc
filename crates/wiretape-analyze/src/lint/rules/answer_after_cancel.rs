//! L014 `answer-after-cancel`: A response that comes more than a second after its request was cancelled.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "L014",
    name: "answer-after-cancel",
    family: Family::Lifecycle,
    severity: Severity::Warning,
    revisions: Revisions::LEGACY,
    section: Section {
        title: "Cancellation",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#behavior-requirements",
    },
    what: "A response that comes more than a second after its request was cancelled.",
    why: "Who cancelled has forgotten the request and drops the response. That the two cross each other is \
           normal; a second later the work went on in vain.",
    fix: "Stop working on `notifications/cancelled`, and send no response.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(id) = view.envelope.id.clone().filter(|_| view.envelope.kind == MessageKind::Response) else {
        return;
    };
    let Some(cancelled) = view.session.cancelled.get(&(view.direction.reverse(), id.into_owned())) else {
        return;
    };
    let late = view.stamp.us.zip(cancelled.us).map(|(now, then)| now.saturating_sub(then));
    if late > Some(1_000_000) {
        report.at_with("/id", "the request was cancelled before", cancelled.line, "the cancellation");
    }
}
