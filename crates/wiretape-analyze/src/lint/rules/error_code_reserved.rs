//! M017 `error-code-reserved`: An error code between -32768 and -32100 that JSON-RPC reserves but does not define.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::Defect;

pub(super) static RULE: Rule = Rule {
    code: "M017",
    name: "error-code-reserved",
    family: Family::Messages,
    severity: Severity::Warning,
    revisions: Revisions::ALL,
    section: Section {
        title: "Error codes",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes",
    },
    what: "An error code between -32768 and -32100 that JSON-RPC reserves but does not define.",
    why: "A later version may define it, and clients would then misread the error.",
    fix: "Use a code that JSON-RPC or MCP defines, or one outside -32768 to -32000.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    for defect in &view.envelope.defects {
        if matches!(defect, Defect::ErrorCodeReserved(_)) {
            report.at("/error/code", format!("{defect}, and JSON-RPC does not define it"));
        }
    }
}
