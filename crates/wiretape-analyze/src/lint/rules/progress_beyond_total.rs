//! P005 `progress-beyond-total`: A progress notification whose `progress` is greater than its `total`.

use super::support::number;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "P005",
    name: "progress-beyond-total",
    family: Family::Progress,
    severity: Severity::Info,
    revisions: Revisions::ALL,
    section: Section {
        title: "Progress flow",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress#progress-flow",
    },
    what: "A progress notification whose `progress` is greater than its `total`.",
    why: "Clients show it as more than 100 %.",
    fix: "Send a `total` that is never less than `progress`, or omit it.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    if !view.is_notification("notifications/progress") {
        return;
    }
    let number_at = |name| view.param(&[name]).and_then(number);
    if let Some((progress, total)) =
        number_at("progress").zip(number_at("total")).filter(|(progress, total)| progress > total)
    {
        report.at("/params/progress", format!("progress is {progress} of {total}"));
    }
}
