//! M010 `method-name`: A method name that doesn't have the form `category/operation`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

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
    what: "A method name that doesn't have the form `category/operation`.",
    why: "All MCP methods except `initialize` and `ping` have this form. Anything else is most often a typo.",
    fix: "Name your own methods `category/operation`, with a category of your own.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for defect in &view.envelope.defects {
        if matches!(defect, Defect::MethodName) {
            report.at(
                "/method",
                format!(
                    "`{}` does not have the form `category/operation`",
                    view.method().unwrap_or_default()
                ),
            );
        }
    }
}
