//! M021 `meta-key-form`: A `_meta` key that doesn't have the form `[prefix/]name`.

use crate::lint::locate;
use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::is_meta_key;

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
    what: "A `_meta` key that doesn't have the form `[prefix/]name`.",
    why: "The form keeps keys of different vendors apart. A malformed key can be rejected or mistaken for \
          another.",
    fix: "Use letters, digits, `-`, `_` and `.` in names, and dot-separated labels as the prefix: \
          `com.example/key`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some((pointer, meta)) = view.meta() else { return };
    meta.members(|key, _| {
        let key = key.decode();
        if !is_meta_key(&key) {
            let message = format!("the key {key:?} does not have the form `[prefix/]name`");
            report.at(&format!("{pointer}/{}", locate::escape(&key)), message);
        }
    });
}
