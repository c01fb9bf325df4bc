//! M004 `id-type`: An `id` that is neither a string nor an integer.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

pub(super) static RULE: Rule = Rule {
    code: "M004",
    name: "id-type",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Requests",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#requests",
    },
    what: "An `id` that is neither a string nor an integer.",
    why: "Receivers compare ids, and many parse them as a string or a 64-bit integer. Fractions and \
          objects don't survive that.",
    fix: "Use a string or an integer.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for defect in &view.envelope.defects {
        if matches!(defect, Defect::IdType | Defect::IdFraction) {
            report.at("/id", defect.to_string());
        }
    }
}
