//! L008 `client-capability-missing`: A server request that needs a capability the client didn't declare.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::session::ClientFeature;
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

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
    what: "A server request that needs a capability the client didn't declare.",
    why: "The client rejects the request or never answers, and the call that triggered it hangs.",
    fix: "Check the client's capabilities in `initialize` first: `sampling`, `elicitation`, `roots`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(method) = view.method().filter(|_| view.envelope.kind == MessageKind::Request) else { return };
    let Some(feature) = ClientFeature::of_method(method).filter(|_| !view.is_from_client()) else { return };
    if let (Some(false), Some(line)) = (view.session.client_has(&[feature.name()]), view.session.initialize) {
        let message =
            format!("`{method}` needs the client capability `{}`, which was not declared", feature.name());
        report.at_with("/method", message, line, "the client's capabilities");
    }
}
