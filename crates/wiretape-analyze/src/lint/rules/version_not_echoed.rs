//! L007 `version-not-echoed`: A server that answers `initialize` with another version than the one that was asked for.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "L007",
    name: "version-not-echoed",
    family: Family::Lifecycle,
    severity: Severity::Info,
    revisions: Revisions::LEGACY,
    section: Section {
        title: "Version negotiation",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#version-negotiation",
    },
    what: "A server that answers `initialize` with another version than the one that was asked for.",
    why: "It does so if it does not support that version. If it does, it must answer with the same one. The \
           session then lacks what the newer revision has.",
    fix: "If the server supports the version that was asked for, answer with it. If not, this is right, and \
           the client decides.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(asked) = view.asked.and_then(|asked| asked.initialize.as_ref()?.version.as_deref()) else {
        return;
    };
    let Some(agreed) =
        view.result_of("initialize").and_then(|result| result.get("protocolVersion")?.string())
    else {
        return;
    };
    if *agreed != *asked {
        report.at(
            "/result/protocolVersion",
            format!("the client asked for {asked}, the server answers with {agreed}"),
        );
    }
}
