//! D003 `definition-renamed`: Something that the baseline pins goes by another name.

use crate::lint::revision::Revisions;
use crate::lint::rule::{Check, Family, Rule, Section, Severity};

/// The rule.
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
    what: "Something that the baseline pins goes by another name.",
    why: "Calls by the old name fail. A new name must not make a changed tool look like one that nobody has looked at before.",
    fix: "Call it by its new name, or bring the old one back on the server; then pin it with a new baseline.",
    check: Check::Elsewhere,
};
