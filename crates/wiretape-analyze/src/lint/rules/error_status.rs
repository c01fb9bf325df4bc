//! N022 `error-status`: A protocol error sent with the wrong HTTP status.

use super::support;
use crate::lint::exchange::Exchange;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "N022",
    name: "error-status",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Protocol version header",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#protocol-version-header",
    },
    what: "A protocol error sent with the wrong HTTP status.",
    why: "Gateways and clients check the status first: 400 for -32020, -32021 and -32022, 404 for an \
          unknown method.",
    fix: "Send the status that matches the code.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    // A stream has sent its 200 before the error occurs, so its status says nothing.
    let Some(status) = view.exchange.filter(|exchange| !exchange.is_stream()).and_then(Exchange::status)
    else {
        return;
    };
    let Some(code) = view.envelope.error_code.filter(|_| !view.is_from_client()) else { return };
    let wanted = match code {
        -32022..=-32020 => 400,
        -32601 => 404,
        _ => return,
    };
    // A server of an earlier revision that gets a stateless request may answer by its own rules.
    if status != wanted && support::server_is_stateless(view) {
        report.at("/error/code", format!("error {code} was sent with status {status}; it must be {wanted}"));
    }
}
