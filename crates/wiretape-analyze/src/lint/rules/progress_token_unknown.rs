//! P002 `progress-token-unknown`: A progress notification with a token that no request gave.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "P002",
    name: "progress-token-unknown",
    family: Family::Progress,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Behavior requirements",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress#behavior-requirements",
    },
    what: "A progress notification with a token that no request gave.",
    why: "The receiver can't tell what makes progress, and drops it.",
    fix: "Send progress only if the request has a `_meta.progressToken`, and repeat it as it was written: `1` \
           and `\"1\"` are two tokens.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    if !view.is_notification("notifications/progress") {
        return;
    }
    let Some(token) = &view.envelope.progress_token else { return };
    let known = view.session.tokens.get(view.direction.reverse(), token);

    let is_sure =
        view.trace.is_whole() && (!view.trace.http || view.session.id.is_none() || view.session.has_begun());
    if known.is_none() && is_sure && !view.is_redelivered() {
        report.at("/params/progressToken", format!("no open request gave the token {token}"));
    }
}
