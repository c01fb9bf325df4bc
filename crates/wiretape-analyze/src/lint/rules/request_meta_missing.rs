//! N001 `request-meta-missing`: A request without the required `_meta` keys `io.modelcontextprotocol/protocolVersion`
//! and `io.modelcontextprotocol/clientCapabilities`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;
use wiretape_trace::protocol::meta_key;

pub(super) static RULE: Rule = Rule {
    code: "N001",
    name: "request-meta-missing",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "_meta",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic#meta",
    },
    what: "A request without the required `_meta` keys `io.modelcontextprotocol/protocolVersion` and \
           `io.modelcontextprotocol/clientCapabilities`.",
    why: "There is no session to take them from. A server must reject the request with -32602.",
    fix: "Send both with every request; capabilities may be `{}`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    if view.envelope.kind != MessageKind::Request || !view.is_from_client() || view.is_request("initialize") {
        return;
    }
    // The deepest part that exists, so that the excerpt shows where the key belongs.
    let pointer = match (view.params(), view.meta()) {
        (_, Some(_)) => "/params/_meta",
        (Some(_), None) => "/params",
        (None, None) => "",
    };
    for key in [meta_key::PROTOCOL_VERSION, meta_key::CLIENT_CAPABILITIES] {
        if view.param(&["_meta", key]).is_none() {
            report.at(pointer, format!("`_meta` has no `{key}`"));
        }
    }
}
