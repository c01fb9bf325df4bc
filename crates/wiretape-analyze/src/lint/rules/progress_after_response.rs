//! P003 `progress-after-response`: A progress notification for a request that was already answered.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "P003",
    name: "progress-after-response",
    family: Family::Progress,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Implementation notes",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress#implementation-notes",
    },
    what: "A progress notification for a request that was already answered.",
    why: "The receiver has already discarded the token. Progress must stop when the request completes.",
    fix: "Send the last progress before the response, and stop the progress reporter when the work is done.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    if !view.is_notification("notifications/progress") {
        return;
    }
    let Some(token) = &view.envelope.progress_token else { return };
    let known = view.session.tokens.get(view.direction.reverse(), token);

    let Some((done, known)) = known.and_then(|known| Some((known.done?, known))) else { return };
    // Streams are read concurrently: a notification on another stream may have been sent earlier.
    let is_same_stream = known.exchange == view.exchange.map(|exchange| exchange.x);
    // A resumed stream repeats messages, as it should.
    if is_same_stream && !view.is_redelivered() {
        report.at_with("/params/progressToken", "the request was already answered", done, "the response");
    }
}
