//! T011 `structured-content-without-text`: A result with `structuredContent` but no text.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::value::Value;

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
    what: "A result with `structuredContent` but no text.",
    why: "Clients that don't support structured content show nothing, and the model gets nothing.",
    fix: "Repeat the JSON as text in a `content` block.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(result) =
        view.result_of("tools/call").filter(|result| result.get("structuredContent").is_some())
    else {
        return;
    };
    // Any text counts: whether it says the same as the structured content can't be checked.
    let mut has_text = false;
    if let Some(content) = result.get("content") {
        content.elements(|block| {
            has_text |= block.get("type").and_then(Value::string).as_deref() == Some("text");
        });
    }
    if !has_text {
        report.at("/result/structuredContent", "`content` has no text version of `structuredContent`");
    }
}
