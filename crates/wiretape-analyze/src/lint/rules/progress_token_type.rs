//! M023 `progress-token-type`: A `progressToken` that is neither a string nor an integer.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

pub(super) static RULE: Rule = Rule {
    code: "M023",
    name: "progress-token-type",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Progress flow",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress#progress-flow",
    },
    what: "A `progressToken` that is neither a string nor an integer.",
    why: "Progress notifications repeat the token so that the receiver can look it up. Other types are not \
          found.",
    fix: "Use a string or an integer.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    if view.envelope.defects.contains(&Defect::ProgressTokenType) {
        let in_meta = view.param(&["_meta", "progressToken"]).is_some();
        let pointer = if in_meta { "/params/_meta/progressToken" } else { "/params/progressToken" };
        report.at(pointer, "`progressToken` is neither a string nor an integer");
    }
}
