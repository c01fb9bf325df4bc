//! M020 `meta-not-an-object`: A `_meta` that is not an object.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

pub(super) static RULE: Rule = Rule {
    code: "M020",
    name: "meta-not-an-object",
    family: Family::Messages,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "_meta",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#meta",
    },
    what: "A `_meta` that is not an object.",
    why: "It holds keys of the protocol and of extensions. Receivers that look up a key fail on anything \
          else.",
    fix: "Send an object or omit `_meta`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    if view.envelope.defects.contains(&Defect::MetaType)
        && let Some((pointer, _)) = view.meta()
    {
        report.at(pointer, "`_meta` is not an object");
    }
}
