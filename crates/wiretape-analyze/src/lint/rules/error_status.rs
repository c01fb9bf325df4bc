//! N022 `error-status`: An error of the protocol that comes with the wrong HTTP status.

use super::support;
use crate::lint::exchange::Exchange;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

/// The rule.
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
    what: "An error of the protocol that comes with the wrong HTTP status.",
    why: "Gateways and clients look at the status first: 400 for -32020, -32021 and -32022, 404 for a method \
           that does not exist.",
    fix: "Send the status that belongs to the code.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
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
    if status != wanted && support::server_is_stateless(view) {
        report.at(
            "/error/code",
            format!("the error {code} comes with the status {status}; it must be {wanted}"),
        );
    }
}
