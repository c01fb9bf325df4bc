//! W009 `session-id-form`: A session id with characters other than visible ASCII.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::ExchangeView;

pub(super) static RULE: Rule = Rule {
    code: "W009",
    name: "session-id-form",
    family: Family::Transport,
    severity: Severity::Error,
    revisions: Revisions::between(Revision::V2025_03_26, Revision::V2025_11_25),
    section: Section {
        title: "Session management",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management",
    },
    what: "A session id with characters other than visible ASCII.",
    why: "It is sent in a header. Bytes outside 0x21 to 0x7E are truncated, changed or rejected on the way.",
    fix: "Use a UUID, a token or a hash in visible ASCII.",
    check: Check::Exchange(check),
};

fn check(view: &ExchangeView<'_>, report: &mut Report<'_>) {
    let Some(id) = view.exchange.response_header("mcp-session-id") else { return };
    if id.is_empty() || !id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)) {
        report.at("/response/headers/mcp-session-id", "the session id is not visible ASCII");
    }
}
