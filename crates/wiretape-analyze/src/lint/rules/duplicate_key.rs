//! M024 `duplicate-key`: A name that stands twice in one object of the envelope, of `params`, of `result` or of `_meta`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "M024",
    name: "duplicate-key",
    family: Family::Messages,
    severity: Severity::Warning,
    revisions: Revisions::ALL,
    section: Section {
        title: "Objects of RFC 8259",
        url: "https://www.rfc-editor.org/rfc/rfc8259#section-4",
    },
    what: "A name that stands twice in one object of the envelope, of `params`, of `result` or of `_meta`.",
    why: "Some parsers take the first value, some the last, some refuse: what is checked may not be what is \
           done.",
    fix: "Write each name once.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for defect in &view.envelope.defects {
        if matches!(defect, Defect::DuplicateKey(_)) {
            report.at("", defect.to_string());
        }
    }
}
