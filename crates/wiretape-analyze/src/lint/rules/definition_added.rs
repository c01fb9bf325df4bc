//! D004 `definition-added`: Something is offered that the baseline does not pin.

use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};

/// The rule.
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
    what: "Something is offered that the baseline does not pin.",
    why: "Nobody has looked at it yet. A server that can add tools after it was trusted can add one that does harm.",
    fix: "Look at what it does; if it may be there, pin it with a new baseline.",
    check: Check::Elsewhere,
};
