//! P001 `progress-not-increasing`: A progress notification whose `progress` is not greater than the previous one.

use super::support::number;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "P001",
    name: "progress-not-increasing",
    family: Family::Progress,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Progress flow",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress#progress-flow",
    },
    what: "A progress notification whose `progress` is not greater than the previous one.",
    why: "Clients show a progress bar, and some reset their timeout only on progress. It must increase \
          even if the total is unknown.",
    fix: "Increase the value with each notification, and send none while nothing happens.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    if !view.is_notification("notifications/progress") {
        return;
    }
    let Some(token) = &view.envelope.progress_token else { return };
    let known = view.session.tokens.get(view.direction.reverse(), token);

    let Some((last, now)) =
        known.and_then(|known| known.progress).zip(view.param(&["progress"]).and_then(number))
    else {
        return;
    };
    // A resumed stream repeats messages, as it should.
    if now <= last && !view.is_redelivered() {
        report.at("/params/progress", format!("progress is {now} after {last}"));
    }
}
