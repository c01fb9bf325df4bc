//! L010 `notification-not-declared`: A `list_changed` or `updated` notification whose capability the sender didn't
//! declare.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

pub(super) static RULE: Rule = Rule {
    code: "L010",
    name: "notification-not-declared",
    family: Family::Lifecycle,
    severity: Severity::Warning,
    revisions: Revisions::LEGACY,
    section: Section {
        title: "Capability negotiation",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#capability-negotiation",
    },
    what: "A `list_changed` or `updated` notification whose capability the sender didn't declare.",
    why: "The receiver may have concluded from the capabilities that lists don't change, and keeps its \
          cached copy.",
    fix: "Declare `listChanged`, or `subscribe` for resources, in the capabilities.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(method) = view.method().filter(|_| view.envelope.kind == MessageKind::Notification) else {
        return;
    };
    let Some(path) = needed(method) else { return };
    let declared =
        if view.is_from_client() { view.session.client_has(path) } else { view.session.server_has(path) };
    // `None` means that `initialize` is not in the trace: then nothing is known about capabilities.
    if declared == Some(false) {
        report.at("/method", format!("`{method}` was sent, but `{}` was not declared", path.join(".")));
    }
}

fn needed(method: &str) -> Option<&'static [&'static str]> {
    Some(match method {
        "notifications/tools/list_changed" => &["tools", "listChanged"],
        "notifications/prompts/list_changed" => &["prompts", "listChanged"],
        "notifications/resources/list_changed" => &["resources", "listChanged"],
        "notifications/resources/updated" => &["resources", "subscribe"],
        "notifications/roots/list_changed" => &["roots", "listChanged"],
        _ => return None,
    })
}
