//! D007 `baseline-not-compared`: A list that the baseline pins is not in the trace, or only a part of it.

use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "D007",
    name: "baseline-not-compared",
    family: Family::Drift,
    severity: Severity::Info,
    revisions: Revisions::ALL,
    section: Section {
        title: "Tools: security considerations",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#security-considerations",
    },
    what: "A list that the baseline pins is not in the trace, or only a part of it.",
    why: "Nothing can be said of what was not listed: that there is no finding does not mean that there is no change.",
    fix: "Record a session in which the client asks for all lists to their ends.",
    check: Check::Elsewhere,
};
