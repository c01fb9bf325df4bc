//! Helpers for several checks.

use crate::lint::exchange::Exchange;
use crate::lint::locate;
use crate::lint::report::Report;
use crate::lint::revision::Revision;
use crate::lint::schema::{Misfit, tree};
use crate::lint::session::RequestFacts;
use crate::lint::shapes;
use crate::lint::tools::Tool;
use crate::lint::view::{ExchangeView, PayloadView};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use wiretape_trace::format::HttpContext;
use wiretape_trace::message::{Id, MessageKind};
use wiretape_trace::protocol::meta_key;
use wiretape_trace::redact;
use wiretape_trace::value::Value;

pub(crate) use crate::lint::linter::{id_of, number, subject_of};

/// The tool that a request calls, if it was listed.
pub(crate) fn called_tool<'a>(view: &PayloadView<'a>) -> Option<&'a Tool> {
    if !view.is_request("tools/call") {
        return None;
    }
    view.session.tools.get(view.envelope.tool()?)
}

/// The schema violations in the arguments of a call; pointers start at the arguments.
pub(crate) fn argument_misfits(view: &PayloadView<'_>) -> Vec<Misfit> {
    let Some(schema) = called_tool(view).and_then(|tool| tool.input.as_ref()) else { return Vec::new() };
    let arguments = match view.param(&["arguments"]) {
        Some(arguments) => tree(arguments.raw),
        None => Some(json!({})),
    };
    arguments.map(|arguments| schema.misfits(&arguments)).unwrap_or_default()
}

const META_PREFIX: &str = "io.modelcontextprotocol/";

/// Reports the schema violations in the params of a message.
pub(crate) fn report_params(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let (Some(method), Some(revision)) = (view.method(), view.revision) else { return };
    let Some(message) = tree(view.raw) else { return };
    for misfit in shapes::params_misfits(revision, method, &message) {
        if !has_own_rule(&misfit, revision) {
            let message = format!("params of `{method}`: {}", misfit.message);
            report.at(&misfit.pointer, message);
        }
    }
}

/// These have a more specific rule of their own; reporting both would count one mistake twice.
fn has_own_rule(misfit: &Misfit, revision: Revision) -> bool {
    let is_meta = misfit.message.contains("_meta") || misfit.message.contains(META_PREFIX);
    match misfit.keyword.as_str() {
        // `request-meta-missing` and `client-info-missing`; without `params` at all, there is nothing that could have
        // `_meta`.
        "required" => is_meta || (misfit.pointer.is_empty() && revision.is_stateless()),
        "type" => {
            matches!(misfit.pointer.as_str(), "/params" | "/params/_meta")
                || misfit.pointer.ends_with("/progressToken")
        }
        _ => false,
    }
}

/// Whether this is the id of an `initialize` in flight.
pub(crate) fn is_open_initialize(view: &PayloadView<'_>, id: &Id<'_>) -> bool {
    let ids = view.session.ids.get(&view.direction);
    view.session.initialize.is_some()
        && view.session.first_operation.is_none()
        && ids.is_some_and(|ids| ids.contains(id))
}

/// Whether a text contains a redaction marker.
pub(crate) fn is_redacted(text: &str) -> bool {
    redact::is_redacted(text.as_bytes())
}

/// Calls `visit` with each element of an array and its index.
pub(crate) fn each<'a>(array: Value<'a>, mut visit: impl FnMut(usize, Value<'a>)) {
    let mut at = 0;
    array.elements(|element| {
        visit(at, element);
        at += 1;
    });
}

/// The `tools/call` request that a result answers, and its tool.
pub(crate) fn answered_tool<'a>(view: &PayloadView<'a>) -> Option<(&'a RequestFacts<'a>, &'a Tool)> {
    let request = view.request.filter(|request| request.method == "tools/call")?;
    view.envelope.result?;
    Some((request, view.session.tools.get(request.name?)?))
}

/// Whether a request itself names a stateless revision (since 2026-07-28).
pub(crate) fn names_stateless(view: &PayloadView<'_>) -> bool {
    let own =
        view.param_text(&["_meta", meta_key::PROTOCOL_VERSION]).and_then(|version| Revision::parse(&version));
    own.is_some_and(Revision::is_stateless) || view.exchange.is_none() && view.session.stateless
}

/// The POST of a stateless request, if its headers were recorded.
pub(crate) fn stateless_post<'v>(view: &PayloadView<'v>) -> Option<&'v Exchange> {
    let is_stateless_request = view.envelope.kind == MessageKind::Request
        && view.is_from_client()
        && names_stateless(view)
        && !view.trace.http_sse
        && !view.trace.imported;
    view.exchange
        .filter(|exchange| is_stateless_request && exchange.request.is_some() && exchange.method() == "POST")
}

/// Whether a header has this value, plain or encoded (2026-07-28, streamable HTTP, header encoding).
pub(crate) fn header_says(header: &str, value: &str) -> bool {
    let encoded = header.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match encoded {
        Some(encoded) => STANDARD.decode(encoded).is_ok_and(|bytes| bytes == value.as_bytes()),
        // The same secret may be redacted in one of the two places only, so the two can't be compared.
        None => header == value || is_redacted(header) || is_redacted(value),
    }
}

/// The pointer to a request header in a line; empty if the line doesn't have the request's head.
pub(crate) fn header_pointer(http: &HttpContext, name: &str) -> String {
    match http.request {
        Some(_) => format!("/request/headers/{name}"),
        None => String::new(),
    }
}

/// Whether the body of an error response mentions a word.
pub(crate) fn answer_mentions(view: &ExchangeView<'_>, word: &str) -> bool {
    let text = view.http.response_body.as_ref().and_then(|body| body.text.as_deref());
    text.is_some_and(|text| text.to_ascii_lowercase().contains(word))
}

/// Whether a byte is allowed in a header name (`token`, RFC 9110, section 5.6.2).
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Calls `visit` with each part of a schema that has an `x-mcp-header`: its pointer, the part, and whether it is reached through
/// `properties` alone.
pub(crate) fn annotations(schema: &Json, visit: &mut impl FnMut(&str, &Json, bool)) {
    let mut open = vec![(String::new(), schema, true, false)];
    while let Some((pointer, part, is_reachable, is_properties)) = open.pop() {
        let Json::Object(members) = part else {
            for (at, item) in part.as_array().into_iter().flatten().enumerate() {
                open.push((format!("{pointer}/{at}"), item, false, false));
            }
            continue;
        };
        if !is_properties && members.contains_key("x-mcp-header") {
            visit(&pointer, part, is_reachable);
        }
        // Reversed, because the stack pops the last one first: findings are in the order of the schema.
        for (name, inner) in members.iter().rev() {
            let leads_on = is_reachable && (is_properties || name == "properties");
            let is_map = !is_properties && name == "properties";
            open.push((format!("{pointer}/{}", locate::escape(name)), inner, leads_on, is_map));
        }
    }
}

/// Whether the server has shown that it supports a stateless revision. A client may probe an older server with stateless
/// requests; that server need not follow the new rules.
pub(crate) fn server_is_stateless(view: &PayloadView<'_>) -> bool {
    view.session.server_is_stateless || speaks_stateless(view)
}

/// Whether a response shows that its server supports a stateless revision.
pub(crate) fn speaks_stateless(view: &PayloadView<'_>) -> bool {
    if view.is_from_client() || !view.revision.is_some_and(Revision::is_stateless) {
        return false;
    }
    let is_discovered = view.request.is_some_and(|request| request.method == "server/discover")
        && view.envelope.result.is_some();
    let is_agreed = view.session.revision.is_some_and(Revision::is_stateless);
    let has_type = view.result().is_some_and(|result| result.get("resultType").is_some());
    is_discovered || is_agreed || has_type || matches!(view.envelope.error_code, Some(-32022..=-32020))
}
