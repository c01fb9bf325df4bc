//! T011 `structured-content-without-text`: A result with `structuredContent` and no text.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::value::Value;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "T011",
    name: "structured-content-without-text",
    family: Family::Tools,
    severity: Severity::Warning,
    revisions: Revisions::since(Revision::V2025_06_18),
    section: Section {
        title: "Structured content",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#structured-content",
    },
    what: "A result with `structuredContent` and no text.",
    why: "Clients that don't know structured content show nothing, and models get nothing.",
    fix: "Put the same JSON, as text, into a block of `content`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(result) =
        view.result_of("tools/call").filter(|result| result.get("structuredContent").is_some())
    else {
        return;
    };
    let mut has_text = false;
    if let Some(content) = result.get("content") {
        content.elements(|block| {
            has_text |= block.get("type").and_then(Value::string).as_deref() == Some("text");
        });
    }
    if !has_text {
        report.at("/result/structuredContent", "the same as text is missing in `content`");
    }
}
