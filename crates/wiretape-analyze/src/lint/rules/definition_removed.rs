//! D002 `definition-removed`: Something that the baseline pins is gone.

use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};

/// The rule.
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
    what: "Something that the baseline pins is gone.",
    why: "Whoever calls it gets an error, and a model that was told of it in its instructions looks for it in vain.",
    fix: "Stop calling it, or bring it back on the server; then pin it with a new baseline.",
    check: Check::Elsewhere,
};
