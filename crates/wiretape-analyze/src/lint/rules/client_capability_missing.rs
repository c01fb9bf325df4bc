//! L008 `client-capability-missing`: A server that asks the client for something that the client did not say it can do.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::session::ClientFeature;
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "L008",
    name: "client-capability-missing",
    family: Family::Lifecycle,
    severity: Severity::Error,
    revisions: Revisions::LEGACY,
    section: Section {
        title: "Capability negotiation",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#capability-negotiation",
    },
    what: "A server that asks the client for something that the client did not say it can do.",
    why: "The client refuses, or does not answer at all, and the call for which it was asked hangs.",
    fix: "Look at the capabilities of `initialize` before asking: `sampling`, `elicitation`, `roots`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(method) = view.method().filter(|_| view.envelope.kind == MessageKind::Request) else { return };
    let Some(feature) = ClientFeature::of_method(method).filter(|_| !view.is_from_client()) else { return };
    if let (Some(false), Some(line)) = (view.session.client_has(&[feature.name()]), view.session.initialize) {
        let message = format!(
            "`{method}` needs the client's capability `{}`, which it did not declare",
            feature.name()
        );
        report.at_with("/method", message, line, "the capabilities of the client");
    }
}
