//! L018 `server-crashed`: A server that exited with an error or was killed, and was not told to stop.

use crate::glance::describe_end;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::TraceEnd;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "L018",
    name: "server-crashed",
    family: Family::Lifecycle,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Shutdown",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#shutdown",
    },
    what: "A server that exited with an error or was killed, and was not told to stop.",
    why: "Every call that is open is lost, and the client has no server until it starts another. A shutdown in good order \
          begins with the end of the server's input, or with a signal that the client sends; then the server exits with 0.",
    fix: "Read the last lines of standard error: most often they name an unhandled exception. Catch it and answer the \
          request with an error. A server that stops because its input has ended exits with 0.",
    check: Check::End(check),
};

fn check(view: &TraceEnd<'_>, report: &mut Report<'_>) {
    let Some((line, end)) = view.end.filter(|(_, end)| end.is_failure()) else { return };
    let said = view.last_stderr.map(|text| format!("; the last line of standard error: {text}"));
    let message = format!("the server crashed: {}{}", describe_end(end), said.unwrap_or_default());
    report.before(line, end.stamp.seq, "/exitCode", message);
}
