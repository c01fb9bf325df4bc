//! D001 `definition-broken`: A definition has changed so that who calls it as before fails.

use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "D001",
    name: "definition-broken",
    family: Family::Drift,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Tools: security considerations",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#security-considerations",
    },
    what: "A definition has changed so that who calls it as before fails.",
    why: "A new required argument, a narrowed type or a removed value makes calls fail that were fine when the baseline was taken.",
    fix: "Adapt who calls it, or undo the change on the server; then pin it with a new baseline.",
    check: Check::Elsewhere,
};
