//! N010 `input-request-not-supported`: An input request that needs a capability the client didn't declare.

use crate::lint::locate;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::session::ClientFeature;
use crate::lint::view::PayloadView;
use wiretape_trace::value::Value;

pub(super) static RULE: Rule = Rule {
    code: "N010",
    name: "input-request-not-supported",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Multi round-trip requests",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow",
    },
    what: "An input request that needs a capability the client didn't declare.",
    why: "The client can't answer it, so the operation never completes.",
    fix: "Check the request's `clientCapabilities`. If the capability is missing, answer with error -32021.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(features) = view.request.and_then(|request| request.features.as_ref()) else { return };
    let Some(requests) = view.result().and_then(|result| result.get("inputRequests")) else { return };
    requests.members(|key, request| {
        let method = request.get("method").and_then(Value::string).unwrap_or_default();
        let Some(feature) = ClientFeature::of_method(&method) else { return };
        if !features.contains(&feature) {
            let message = format!(
                "`{method}` needs the client capability `{}`, which was not declared",
                feature.name()
            );
            report.at(&format!("/result/inputRequests/{}/method", locate::escape(&key.decode())), message);
        }
    });
}
