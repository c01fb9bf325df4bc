//! P002 `progress-token-unknown`: A progress notification with a token from no known request.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

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
    what: "A progress notification with a token from no known request.",
    why: "The receiver can't match it to a request and drops it.",
    fix: "Send progress only if the request has a `_meta.progressToken`, and repeat it exactly: `1` and \
          `\"1\"` are different tokens.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    if !view.is_notification("notifications/progress") {
        return;
    }
    let Some(token) = &view.envelope.progress_token else { return };
    let known = view.session.tokens.get(view.direction.reverse(), token);

    // In a recording that starts or ends in the middle, the request may just not be in the trace.
    let is_sure =
        view.trace.is_whole() && (!view.trace.http || view.session.id.is_none() || view.session.has_begun());
    // A resumed stream repeats messages, as it should.
    if known.is_none() && is_sure && !view.is_redelivered() {
        report.at("/params/progressToken", format!("no request in flight has the token {token}"));
    }
}
