//! L011 `log-not-declared`: A server that sends `notifications/message` without declaring the `logging` capability.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "L011",
    name: "log-not-declared",
    family: Family::Lifecycle,
    severity: Severity::Error,
    revisions: Revisions::LEGACY,
    section: Section {
        title: "Logging capabilities",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging#capabilities",
    },
    what: "A server that sends `notifications/message` without declaring the `logging` capability.",
    why: "Servers that send log messages must declare it. A client that relies on the declaration shows no \
          log and can't set the level.",
    fix: "Declare `logging` in the capabilities, or log to standard error instead.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    if view.is_notification("notifications/message") && view.session.server_has(&["logging"]) == Some(false) {
        report.at("/method", "log message sent without declaring the `logging` capability");
    }
}
