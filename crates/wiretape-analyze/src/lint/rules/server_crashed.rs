//! L018 `server-crashed`: A server that exited with an error or was killed, without being asked to stop.

use crate::glance::describe_end;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::TraceEnd;

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
    what: "A server that exited with an error or was killed, without being asked to stop.",
    why: "All calls in flight are lost, and the client has no server until it starts another. A clean \
          shutdown begins with the end of the server's input or a signal from the client, and the server \
          exits with 0.",
    fix: "Read the last lines of standard error: most often they name an unhandled exception. Catch it and \
          answer the request with an error. Exit with 0 when the input ends.",
    check: Check::End(check),
};

fn check(view: &TraceEnd<'_>, report: &mut Report<'_>) {
    // `is_failure` knows which exits were requested: a stopped server has not crashed.
    let Some((line, end)) = view.end.filter(|(_, end)| end.is_failure()) else { return };
    let stderr = view.last_stderr.map(|text| format!("; last line of standard error: {text}"));
    let message = format!("the server crashed: {}{}", describe_end(end), stderr.unwrap_or_default());
    report.before(line, end.stamp.seq, "/exitCode", message);
}
