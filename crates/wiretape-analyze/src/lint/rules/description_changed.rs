//! D005 `description-changed`: Words that a model follows have changed since the baseline.

use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "D005",
    name: "description-changed",
    family: Family::Drift,
    severity: Severity::Warning,
    revisions: Revisions::ALL,
    section: Section {
        title: "Tools: security considerations",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#security-considerations",
    },
    what: "Words that a model follows have changed since the baseline.",
    why: "Descriptions, titles and instructions steer the model. A server that was harmless when it was trusted can change them later.",
    fix: "Read both; if they are harmless, pin them with a new baseline.",
    check: Check::Elsewhere,
};
