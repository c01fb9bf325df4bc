//! D005 `description-changed`: Text that steers the model and has changed since the baseline.

use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};

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
    what: "Text that steers the model and has changed since the baseline.",
    why: "Descriptions, titles and instructions steer the model. A server that was harmless when it was \
          trusted can change them later.",
    fix: "Compare both versions; if the new one is harmless, pin it with a new baseline.",
    check: Check::Elsewhere,
};
