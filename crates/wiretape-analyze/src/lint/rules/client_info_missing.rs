//! N002 `client-info-missing`: A request whose `_meta` has no `io.modelcontextprotocol/clientInfo`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;
use wiretape_trace::protocol::meta_key;

pub(super) static RULE: Rule = Rule {
    code: "N002",
    name: "client-info-missing",
    family: Family::Stateless,
    severity: Severity::Warning,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "_meta",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic#meta",
    },
    what: "A request whose `_meta` has no `io.modelcontextprotocol/clientInfo`.",
    why: "The server can't log which client sent the request. Clients should send it unless configured not \
          to.",
    fix: "Send the client's name and version with every request.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let is_request = view.envelope.kind == MessageKind::Request && view.is_from_client();
    // Without the revision, `request-meta-missing` already reports the request.
    let has_version = view.param(&["_meta", meta_key::PROTOCOL_VERSION]).is_some();
    if is_request && has_version && view.param(&["_meta", "io.modelcontextprotocol/clientInfo"]).is_none() {
        report.at("/params/_meta", "`_meta` has no `io.modelcontextprotocol/clientInfo`");
    }
}
