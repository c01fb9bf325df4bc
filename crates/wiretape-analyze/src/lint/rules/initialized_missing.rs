//! L005 `initialized-missing`: A client that never says `notifications/initialized` and goes on with requests.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::TraceEnd;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "L005",
    name: "initialized-missing",
    family: Family::Lifecycle,
    severity: Severity::Error,
    revisions: Revisions::LEGACY,
    section: Section {
        title: "Initialization",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization",
    },
    what: "A client that never says `notifications/initialized` and goes on with requests.",
    why: "A server may hold back until it comes: its own requests, notifications, or all answers.",
    fix: "Send `notifications/initialized` as soon as the result of `initialize` has come.",
    check: Check::End(check),
};

fn check(end: &TraceEnd<'_>, report: &mut Report<'_>) {
    if !end.trace.is_whole() {
        return;
    }
    for session in &end.sessions {
        let is_missing = session.agreed.is_some() && session.initialized.is_none();
        // Over HTTP without a session's id, whose notification it was can't be told.
        let is_one_client = !end.trace.http || session.id.is_some();
        if let (true, true, Some((line, seq))) = (is_missing, is_one_client, session.first_operation) {
            report.before(line, seq, "/raw/method", "the client goes on without `notifications/initialized`");
        }
    }
}
