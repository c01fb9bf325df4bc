//! D002 `definition-removed`: A definition in the baseline that the server no longer lists.

use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};

pub(super) static RULE: Rule = Rule {
    code: "D002",
    name: "definition-removed",
    family: Family::Drift,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Tools: security considerations",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#security-considerations",
    },
    what: "A definition in the baseline that the server no longer lists.",
    why: "Calls to it fail, and instructions that mention it mislead the model.",
    fix: "Stop calling it or restore it on the server; then pin a new baseline.",
    check: Check::Elsewhere,
};
