//! L007 `version-not-echoed`: A server that answers `initialize` with a version other than the requested one.

use crate::lint::report::Report;
use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

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
    what: "A server that answers `initialize` with a version other than the requested one.",
    why: "A server does so if it doesn't support the requested version; if it does, it must answer with \
          the same one. The session lacks the features of the newer revision.",
    fix: "If the server supports the requested version, answer with it. If not, this is correct, and the \
          client decides.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(requested) = view.request.and_then(|request| request.initialize.as_ref()?.version.as_deref())
    else {
        return;
    };
    let Some(agreed) =
        view.result_of("initialize").and_then(|result| result.get("protocolVersion")?.string())
    else {
        return;
    };
    if *agreed != *requested {
        report.at(
            "/result/protocolVersion",
            format!("the client requested {requested}, the server answered {agreed}"),
        );
    }
}
