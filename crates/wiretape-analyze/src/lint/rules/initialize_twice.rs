//! L002 `initialize-twice`: A second `initialize` in one session.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "L002",
    name: "initialize-twice",
    family: Family::Lifecycle,
    severity: Severity::Error,
    revisions: Revisions::LEGACY,
    section: Section {
        title: "Initialization",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization",
    },
    what: "A second `initialize` in one session.",
    why: "A session is initialized once, at its start. What a server does with a second `initialize` is \
          undefined.",
    fix: "Start a new session: a new process or, over HTTP, a request without `Mcp-Session-Id`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    // Without a session id, requests of several clients may share an HTTP trace.
    let is_one_client = !view.trace.http || view.session.id.is_some();
    if let (true, true, Some(line)) = (view.is_request("initialize"), is_one_client, view.session.agreed) {
        report.at_with(
            "/method",
            "the session is already initialized",
            line,
            "the result of the first `initialize`",
        );
    }
}
