//! P006 `long-call-without-token`: A tool call that took more than 30 seconds and had no progress token.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

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
    what: "A tool call that took more than 30 seconds and had no progress token.",
    why: "Without a token the server can't send progress. Many clients time out without it, and users \
          think the call hangs.",
    fix: "Have the client send `_meta.progressToken` with calls that may take long, and the server report \
          progress.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(request) =
        view.request.filter(|request| request.method == "tools/call" && request.token.is_none())
    else {
        return;
    };
    let Some(took) = view.stamp.us.zip(request.us).map(|(now, then)| now.saturating_sub(then)) else {
        return;
    };
    if took > 30_000_000 {
        let name = request.name.unwrap_or_default();
        let message = format!("`{name}` took {} s without a progress token", took / 1_000_000);
        report.at_with("/id", message, request.line, "the request");
    }
}
