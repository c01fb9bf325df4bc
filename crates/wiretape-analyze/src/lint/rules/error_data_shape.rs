//! S004 `error-data-shape`: An error with a code defined by MCP whose `data` doesn't match that code.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::schema::tree;
use crate::lint::shapes;
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "S004",
    name: "error-data-shape",
    family: Family::Shapes,
    severity: Severity::Error,
    revisions: Revisions::since(Revision::V2025_11_25),
    section: Section {
        title: "Schema reference",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/schema",
    },
    what: "An error with a code defined by MCP whose `data` doesn't match that code.",
    why: "The client acts on `data`: it opens the URL, declares the capability or picks another version.",
    fix: "Send the `data` that the schema defines for this code.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let (Some(code), Some(revision)) = (view.envelope.error_code, view.revision) else { return };
    let Some(response) = tree(view.raw) else { return };
    for misfit in shapes::error_misfits(revision, code, &response) {
        report.at(&misfit.pointer, format!("error {code}: {}", misfit.message));
    }
}
