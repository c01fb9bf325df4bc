//! M024 `duplicate-key`: A key that occurs twice in the same object of the envelope, `params`, `result` or `_meta`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

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
    what: "A key that occurs twice in the same object of the envelope, `params`, `result` or `_meta`.",
    why: "Some parsers use the first value, some the last, and some reject the message: the value that was \
          checked may not be the value that is used.",
    fix: "Write each key once.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for defect in &view.envelope.defects {
        if matches!(defect, Defect::DuplicateKey(_)) {
            report.at("", defect.to_string());
        }
    }
}
