//! N012 `server-request`: A request from the server to the client.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

pub(super) static RULE: Rule = Rule {
    code: "N012",
    name: "server-request",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Receiving messages",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages",
    },
    what: "A request from the server to the client.",
    why: "This revision has no server requests: a server asks for client input in its result.",
    fix: "Answer with `\"resultType\": \"input_required\"` and put the request into `inputRequests`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    if view.envelope.kind == MessageKind::Request && !view.is_from_client() {
        report.at("/method", format!("the server sent the request `{}`", view.method().unwrap_or_default()));
    }
}
