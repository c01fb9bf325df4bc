//! M011 `notification-with-id`: A notification that has an `id`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

pub(super) static RULE: Rule = Rule {
    code: "M011",
    name: "notification-with-id",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Notifications",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#notifications",
    },
    what: "A notification that has an `id`.",
    why: "With an id it is a request that the receiver must answer, but the sender doesn't expect a \
          response.",
    fix: "Remove `id` from notifications.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for defect in &view.envelope.defects {
        if matches!(defect, Defect::NotificationWithId) {
            report.at(
                "/id",
                format!("`{}` is a notification but has an `id`", view.method().unwrap_or_default()),
            );
        }
    }
}
