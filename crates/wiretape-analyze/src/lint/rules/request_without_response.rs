//! L013 `request-without-response`: A request still unanswered when the trace ended, at least five seconds later.

use crate::call::Outcome;
use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::UnansweredCall;
use wiretape_trace::format::{Ended, ExchangeProgress};
use wiretape_trace::protocol::method;

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
    what: "A request still unanswered when the trace ended, at least five seconds later.",
    why: "Every request must be answered, if necessary with an error. The sender waits until it times out.",
    fix: "Answer every request. If the work takes long, send progress; if it fails, send an error.",
    check: Check::Unanswered(check),
};

fn check(view: &UnansweredCall<'_>, report: &mut Report<'_>) {
    let (call, request) = (view.call, view.request);
    // `server-crashed` reports the requests in flight at a crash, once for all of them.
    if !view.trace.is_whole() || call.outcome != Outcome::Unanswered {
        return;
    }
    let waited = view.us.zip(request.us).map(|(end, begin)| end.saturating_sub(begin));
    // A closed stream or an error status is an outcome for the client, too.
    let is_settled = view.exchange.is_some_and(|exchange| {
        exchange.status().is_some_and(|status| status >= 400)
            || matches!(exchange.ended, Some(ExchangeProgress::Ended(ended)) if ended != Ended::Complete)
    });
    if waited >= Some(PATIENCE_US) && !is_settled && request.method != method::LISTEN {
        let message = format!("`{}` was never answered", request.method);
        report.before(request.line, call.request.seq, "/raw/method", message);
    }
}

/// Microseconds. A younger request may just have been in flight when the trace ended.
const PATIENCE_US: u64 = 5_000_000;
