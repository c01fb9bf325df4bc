//! N005 `cache-fields-missing`: A result of `server/discover`, a list method or `resources/read` without `ttlMs` and
//! `cacheScope`.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::value::Value;

pub(super) static RULE: Rule = Rule {
    code: "N005",
    name: "cache-fields-missing",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Caching",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#cacheable-results",
    },
    what: "A result of `server/discover`, a list method or `resources/read` without `ttlMs` and \
           `cacheScope`.",
    why: "Without them the client has to ask again every time, and an intermediate cache can't know what \
          is private.",
    fix: "Send `\"ttlMs\": 0` and `\"cacheScope\": \"private\"` unless you know better values.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(request) = view.request.filter(|request| is_cacheable(request.method)) else { return };
    let Some(result) =
        view.result().filter(|result| result.is_object() && support::server_is_stateless(view))
    else {
        return;
    };
    // `input_required` and extension results are not cacheable, and an absent type means `complete`.
    let is_complete = result.get("resultType").and_then(Value::string).is_none_or(|kind| kind == "complete");
    for field in ["ttlMs", "cacheScope"].into_iter().filter(|_| is_complete) {
        if result.get(field).is_none() {
            report.at("/result", format!("the result of `{}` has no `{field}`", request.method));
        }
    }
}

fn is_cacheable(method: &str) -> bool {
    matches!(
        method,
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
    )
}
