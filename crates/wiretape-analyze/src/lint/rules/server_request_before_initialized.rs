//! L004 `server-request-before-initialized`: A server request other than `ping` before `notifications/initialized`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

pub(super) static RULE: Rule = Rule {
    code: "L004",
    name: "server-request-before-initialized",
    family: Family::Lifecycle,
    severity: Severity::Warning,
    revisions: Revisions::LEGACY,
    section: Section {
        title: "Initialization",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization",
    },
    what: "A server request other than `ping` before `notifications/initialized`.",
    why: "The client may not be ready; many reject or lose such requests.",
    fix: "Wait for `notifications/initialized`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    // In a trace with missing lines, the message may just not have been recorded.
    let is_open = view.session.initialized.is_none() && view.session.has_begun() && view.trace.is_whole();
    // Pings are allowed at any time (2024-11-05 to 2025-11-25, lifecycle).
    let is_request = view.envelope.kind == MessageKind::Request && view.method() != Some("ping");
    if is_open && is_request && !view.is_from_client() && !view.trace.http {
        let message =
            format!("`{}` was sent before `notifications/initialized`", view.method().unwrap_or_default());
        report.at("/method", message);
    }
}
