//! M010 `method-name`: A method that is not named `category/operation`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "M010",
    name: "method-name",
    family: Family::Messages,
    severity: Severity::Info,
    revisions: Revisions::ALL,
    section: Section {
        title: "Messages",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#messages",
    },
    what: "A method that is not named `category/operation`.",
    why: "All methods of the protocol are, but for `initialize` and `ping`. Another form is most often a \
           typing error.",
    fix: "Name methods of your own `category/operation`, with a category that is yours.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for defect in &view.envelope.defects {
        if matches!(defect, Defect::MethodName) {
            report.at(
                "/method",
                format!("`{}` is not of the form `category/operation`", view.method().unwrap_or_default()),
            );
        }
    }
}
