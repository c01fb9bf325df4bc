//! D006 `definition-changed`: A definition that changed without breaking existing callers.

use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};

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
    what: "A definition that changed without breaking existing callers.",
    why: "A new optional argument or a wider type is worth knowing about and breaks nothing.",
    fix: "If the change is intended, pin it with a new baseline.",
    check: Check::Elsewhere,
};
