//! D001 `definition-broken`: A definition that changed in a way that breaks existing callers.

use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};

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
    what: "A definition that changed in a way that breaks existing callers.",
    why: "A new required argument, a narrowed type or a removed value makes calls fail that worked when \
          the baseline was written.",
    fix: "Update the callers or revert the change on the server; then pin it with a new baseline.",
    check: Check::Elsewhere,
};
