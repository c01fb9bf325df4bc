//! L005 `initialized-missing`: A client that sends requests without ever sending `notifications/initialized`.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::TraceEnd;

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
    what: "A client that sends requests without ever sending `notifications/initialized`.",
    why: "Until it arrives, a server may hold back its own requests, its notifications or all responses.",
    fix: "Send `notifications/initialized` as soon as the result of `initialize` arrives.",
    check: Check::End(check),
};

fn check(end: &TraceEnd<'_>, report: &mut Report<'_>) {
    // In a trace with missing lines, the message may just not have been recorded.
    if !end.trace.is_whole() {
        return;
    }
    for session in &end.sessions {
        let is_missing = session.agreed.is_some() && session.initialized.is_none();
        // Without a session id, HTTP requests can't be attributed to one client, so the notification may be
        // another client's.
        let is_one_client = !end.trace.http || session.id.is_some();
        if let (true, true, Some((line, seq))) = (is_missing, is_one_client, session.first_operation) {
            report.before(line, seq, "/raw/method", "`notifications/initialized` was never sent");
        }
    }
}
