//! L009 `server-capability-missing`: A client request that needs a capability the server didn't declare.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::message::MessageKind;

pub(super) static RULE: Rule = Rule {
    code: "L009",
    name: "server-capability-missing",
    family: Family::Lifecycle,
    severity: Severity::Error,
    revisions: Revisions::since(Revision::V2025_06_18).except(Revision::V2026_07_28),
    section: Section {
        title: "Operation",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#operation",
    },
    what: "A client request that needs a capability the server didn't declare.",
    why: "Only negotiated capabilities may be used. At best, the server answers with \"method not found\".",
    fix: "Check the server's capabilities in the result of `initialize` first.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(method) = view.method().filter(|_| view.envelope.kind == MessageKind::Request) else { return };
    let Some(path) = needed(method).filter(|_| view.is_from_client()) else { return };
    if let (Some(false), Some(line)) = (view.session.server_has(path), view.session.agreed) {
        let message =
            format!("`{method}` needs the server capability `{}`, which was not declared", path.join("."));
        report.at_with("/method", message, line, "the server's capabilities");
    }
}

fn needed(method: &str) -> Option<&'static [&'static str]> {
    Some(match method {
        "tools/list" | "tools/call" => &["tools"],
        "prompts/list" | "prompts/get" => &["prompts"],
        "resources/list" | "resources/read" | "resources/templates/list" => &["resources"],
        "resources/subscribe" | "resources/unsubscribe" => &["resources", "subscribe"],
        "logging/setLevel" => &["logging"],
        "completion/complete" => &["completions"],
        "tasks/list" => &["tasks", "list"],
        "tasks/cancel" => &["tasks", "cancel"],
        _ => return None,
    })
}
