//! L014 `answer-after-cancel`: A response sent more than a second after its request was cancelled.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

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
    what: "A response sent more than a second after its request was cancelled.",
    why: "The sender has already discarded the request and drops the response. A response and a \
          cancellation may cross; a second later, the work was wasted.",
    fix: "Stop working when `notifications/cancelled` arrives, and don't send a response.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(id) = view.envelope.id.clone().filter(|_| view.envelope.kind == MessageKind::Response) else {
        return;
    };
    let Some(cancelled) = view.session.cancelled.get(&(view.direction.reverse(), id.into_owned())) else {
        return;
    };
    // Only the recorder's monotonic clock is precise enough to tell a race from a late answer.
    let late = view.stamp.us.zip(cancelled.us).map(|(now, then)| now.saturating_sub(then));
    if late > Some(1_000_000) {
        report.at_with("/id", "the request was already cancelled", cancelled.line, "the cancellation");
    }
}
