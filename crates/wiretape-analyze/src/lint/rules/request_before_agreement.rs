//! L003 `request-before-agreement`: A client that sends requests other than `ping` before `initialize` was answered.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "L003",
    name: "request-before-agreement",
    family: Family::Lifecycle,
    severity: Severity::Warning,
    revisions: Revisions::LEGACY.or_unknown(),
    section: Section {
        title: "Initialization",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization",
    },
    what: "A client that sends requests other than `ping` before `initialize` was answered.",
    why: "The server may not be ready, and neither side knows yet what the other can do.",
    fix: "Wait for the result of `initialize`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let is_open = view.session.agreed.is_none();
    let Some(line) = view.session.initialize.filter(|_| is_open && view.is_from_client()) else { return };
    let is_other =
        view.envelope.kind == MessageKind::Request && !matches!(view.method(), Some("ping" | "initialize"));
    // Over HTTP without a session's id, it may be another client's.
    if is_other && !view.trace.http {
        let message =
            format!("`{}` is sent before `initialize` was answered", view.method().unwrap_or_default());
        report.at_with("/method", message, line, "`initialize`");
    }
}
