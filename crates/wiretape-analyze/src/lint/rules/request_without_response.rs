//! L013 `request-without-response`: A request that nobody answered, for five seconds at least, until the trace ended.

use crate::call::Outcome;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::UnansweredCall;
use wiretape_trace::protocol::method;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "L013",
    name: "request-without-response",
    family: Family::Lifecycle,
    severity: Severity::Warning,
    revisions: Revisions::ALL,
    section: Section {
        title: "Requests and responses",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#responses",
    },
    what: "A request that nobody answered, for five seconds at least, until the trace ended.",
    why: "Every request is to be answered, with an error if need be. Whoever sent it waits until it gives up.",
    fix: "Answer every request. If the work takes long, send progress; if it can't be done, send an error.",
    check: Check::Unanswered(check),
};

fn check(view: &UnansweredCall<'_>, report: &mut Report<'_>) {
    let (call, asked) = (view.call, view.asked);
    // What was open when the server died is reported by its own rule, once.
    if !view.trace.is_whole() || call.outcome != Outcome::Unanswered {
        return;
    }
    let waited = view.us.zip(asked.us).map(|(end, begin)| end.saturating_sub(begin));
    // A stream that was closed, or a status that says no, is an answer too.
    let is_settled = view.exchange.is_some_and(|exchange| {
        exchange.status().is_some_and(|status| status >= 400)
            || exchange.ended.as_deref().is_some_and(|ended| ended != "complete" && ended != "open")
    });
    if waited >= Some(PATIENCE_US) && !is_settled && asked.method != method::LISTEN {
        let message = format!("`{}` was never answered", asked.method);
        report.before(asked.line, call.request.seq, "/raw/method", message);
    }
}

/// What is younger may have been under way when the trace ended.
const PATIENCE_US: u64 = 5_000_000;
