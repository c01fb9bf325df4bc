//! D003 `definition-renamed`: A definition that is listed under a different name than in the baseline.

use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};

pub(super) static RULE: Rule = Rule {
    code: "D003",
    name: "definition-renamed",
    family: Family::Drift,
    severity: Severity::Error,
    revisions: Revisions::ALL,
    section: Section {
        title: "Tools: security considerations",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#security-considerations",
    },
    what: "A definition that is listed under a different name than in the baseline.",
    why: "Calls with the old name fail. A changed tool must not pass for a new one just because it was \
          renamed.",
    fix: "Call it by its new name or restore the old one on the server; then pin a new baseline.",
    check: Check::Elsewhere,
};
