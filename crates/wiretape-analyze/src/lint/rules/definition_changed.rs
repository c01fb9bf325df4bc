//! D006 `definition-changed`: A definition has changed so that nobody who calls it is hurt.

use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "D006",
    name: "definition-changed",
    family: Family::Drift,
    severity: Severity::Info,
    revisions: Revisions::ALL,
    section: Section {
        title: "Tools: security considerations",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#security-considerations",
    },
    what: "A definition has changed so that nobody who calls it is hurt.",
    why: "A new optional argument or a widened type is worth knowing of, and breaks nothing.",
    fix: "If it is meant to be so, pin it with a new baseline.",
    check: Check::Elsewhere,
};
