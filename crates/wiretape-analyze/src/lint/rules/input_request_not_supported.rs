//! N010 `input-request-not-supported`: An input request that the client did not say it can fulfil.

use crate::lint::locate;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::session::ClientFeature;
use crate::lint::view::PayloadView;
use wiretape_trace::value::Value;

/// The rule.
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
    what: "An input request that the client did not say it can fulfil.",
    why: "The client can't answer it, and the operation comes to no end.",
    fix: "Look at `clientCapabilities` of the request. If what is needed is missing, answer with -32021.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(features) = view.asked.and_then(|asked| asked.features.as_ref()) else { return };
    let Some(requests) = view.result().and_then(|result| result.get("inputRequests")) else { return };
    requests.members(|key, request| {
        let method = request.get("method").and_then(Value::string).unwrap_or_default();
        let Some(feature) = ClientFeature::of_method(&method) else { return };
        if !features.contains(&feature) {
            let message =
                format!("`{method}` is asked for, and the client did not declare `{}`", feature.name());
            report.at(&format!("/result/inputRequests/{}/method", locate::escape(&key.decode())), message);
        }
    });
}
