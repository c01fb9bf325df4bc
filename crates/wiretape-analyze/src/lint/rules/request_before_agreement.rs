//! L003 `request-before-agreement`: A client request other than `ping` before `initialize` was answered.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

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
    what: "A client request other than `ping` before `initialize` was answered.",
    why: "The server may not be ready, and neither side knows the other's capabilities yet.",
    fix: "Wait for the result of `initialize`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let is_open = view.session.agreed.is_none();
    let Some(line) = view.session.initialize.filter(|_| is_open && view.is_from_client()) else { return };
    let is_other =
        view.envelope.kind == MessageKind::Request && !matches!(view.method(), Some("ping" | "initialize"));
    // Over HTTP the request may be another client's: before `initialize` is answered, there is no session id.
    if is_other && !view.trace.http {
        let message =
            format!("`{}` was sent before `initialize` was answered", view.method().unwrap_or_default());
        report.at_with("/method", message, line, "`initialize`");
    }
}
