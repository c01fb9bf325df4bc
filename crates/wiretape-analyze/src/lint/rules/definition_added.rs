//! D004 `definition-added`: A definition that is not in the baseline.

use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};

pub(super) static RULE: Rule = Rule {
    code: "D004",
    name: "definition-added",
    family: Family::Drift,
    severity: Severity::Warning,
    revisions: Revisions::ALL,
    section: Section {
        title: "Tools: security considerations",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#security-considerations",
    },
    what: "A definition that is not in the baseline.",
    why: "It hasn't been reviewed. A server that can add tools after it was trusted can add a harmful one.",
    fix: "Review it; if you accept it, pin it with a new baseline.",
    check: Check::Elsewhere,
};
