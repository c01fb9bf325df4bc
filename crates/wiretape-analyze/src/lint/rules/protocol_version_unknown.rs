//! L006 `protocol-version-unknown`: A `protocolVersion` that is not a revision of the protocol.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "L006",
    name: "protocol-version-unknown",
    family: Family::Lifecycle,
    severity: Severity::Warning,
    revisions: Revisions::LEGACY.or_unknown(),
    section: Section {
        title: "Version negotiation",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#version-negotiation",
    },
    what: "A `protocolVersion` that is not a revision of the protocol.",
    why: "The other side can't support it: it answers with another version or ends the session.",
    fix: "Use the date of a revision, for example 2025-11-25.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let requested = view.param_text(&["protocolVersion"]).filter(|_| view.is_request("initialize"));
    let agreed = || view.result_of("initialize")?.get("protocolVersion")?.string();
    let pointer = if requested.is_some() { "/params/protocolVersion" } else { "/result/protocolVersion" };
    let Some(version) = requested.or_else(agreed) else { return };
    // A later date may be a revision released after this build.
    let newest = Revision::V2026_07_28.name();
    if Revision::parse(&version).is_none() && *version <= *newest {
        report.at(pointer, format!("{version:?} is not a known revision"));
    }
}
