//! P006 `long-call-without-token`: A call of a tool that took more than 30 seconds and gave no progress token.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "P006",
    name: "long-call-without-token",
    family: Family::Progress,
    severity: Severity::Info,
    revisions: Revisions::ALL,
    section: Section {
        title: "Progress flow",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress#progress-flow",
    },
    what: "A call of a tool that took more than 30 seconds and gave no progress token.",
    why: "Without a token the server can't send progress. Many clients give up after a while without any, and \
           people think that it hangs.",
    fix: "Let the client send `_meta.progressToken` with calls that may take long, and the server send \
           progress.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(asked) = view.asked.filter(|asked| asked.method == "tools/call" && asked.token.is_none()) else {
        return;
    };
    let Some(took) = view.stamp.us.zip(asked.us).map(|(now, then)| now.saturating_sub(then)) else { return };
    if took > 30_000_000 {
        let name = asked.name.as_deref().unwrap_or_default();
        let message = format!("`{name}` took {} s, and no progress could be sent", took / 1_000_000);
        report.at_with("/id", message, asked.line, "the request");
    }
}
