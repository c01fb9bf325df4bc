//! N016 `undefined-error-code`: An error code between -32099 and -32020 that the protocol does not define.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "N016",
    name: "undefined-error-code",
    family: Family::Stateless,
    severity: Severity::Error,
    revisions: Revisions::STATELESS,
    section: Section {
        title: "Error codes",
        url: "https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes",
    },
    what: "An error code between -32099 and -32020 that the protocol does not define.",
    why: "The range is reserved for the specification. A later revision may define the code.",
    fix: "Use -32020, -32021 or -32022 as defined, or a code outside -32768 to -32000.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    if let Some(code @ -32099..=-32020) = view.envelope.error_code
        // -32042 is reported by `retired-error-code`.
        && !matches!(code, -32022..=-32020 | -32042)
        && support::server_is_stateless(view)
    {
        report.at("/error/code", format!("{code} is reserved but not defined"));
    }
}
