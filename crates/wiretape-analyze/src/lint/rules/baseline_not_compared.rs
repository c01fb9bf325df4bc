//! D007 `baseline-not-compared`: A list in the baseline that is missing from the trace or only partly in it.

use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};

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
    what: "A list in the baseline that is missing from the trace or only partly in it.",
    why: "Definitions that were not listed can't be compared: no finding doesn't mean no change.",
    fix: "Record a session in which the client reads every page of every list.",
    check: Check::Elsewhere,
};
