//! L001 `initialize-not-first`: A client whose first message is not `initialize`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

pub(super) static RULE: Rule = Rule {
    code: "L001",
    name: "initialize-not-first",
    family: Family::Lifecycle,
    severity: Severity::Error,
    revisions: Revisions::LEGACY.or_unknown(),
    section: Section {
        title: "Initialization",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization",
    },
    what: "A client whose first message is not `initialize`.",
    why: "Before `initialize`, neither the revision nor the capabilities are negotiated. Servers reject \
          such messages.",
    fix: "Send `initialize` first and wait for its result.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    // In a trace with missing lines, the message may just not have been recorded.
    let is_stdio = view.trace.is_whole() && !view.trace.http;
    let is_first = view.session.first_request.is_none() && view.session.initialize.is_none();
    let is_early = matches!(view.envelope.kind, MessageKind::Request | MessageKind::Notification)
        && !matches!(view.method(), Some("initialize" | "ping" | "server/discover"))
        && !view.session.stateless;
    if is_stdio && view.is_from_client() && is_first && is_early {
        let method = view.method().unwrap_or_default();
        report.at("/method", format!("`{method}` was sent before `initialize`"));
    }
}
