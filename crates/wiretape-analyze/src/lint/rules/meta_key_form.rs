//! M021 `meta-key-form`: A `_meta` key that is not of the form `[prefix/]name`.

use crate::lint::locate;
use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::is_meta_key;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "M021",
    name: "meta-key-form",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::since(Revision::V2025_06_18),
    section: Section {
        title: "_meta",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#meta",
    },
    what: "A `_meta` key that is not of the form `[prefix/]name`.",
    why: "The form is what keeps keys of different makers apart. A key that breaks it can be refused or be \
           taken for another.",
    fix: "Use letters, digits, `-`, `_` and `.` in names, and a prefix of dot-separated labels: \
           `com.example/key`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some((pointer, meta)) = view.meta() else { return };
    meta.members(|key, _| {
        let key = key.decode();
        if !is_meta_key(&key) {
            let message = format!("the key {key:?} is not of the form `[prefix/]name`");
            report.at(&format!("{pointer}/{}", locate::escape(&key)), message);
        }
    });
}
