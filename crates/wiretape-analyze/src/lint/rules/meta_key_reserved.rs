//! M022 `meta-key-reserved`: A `_meta` key that the protocol doesn't define, under a prefix reserved for the
//! protocol.

use crate::lint::locate;
use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "M022",
    name: "meta-key-reserved",
    family: Family::Messages,
    severity: Severity::Warning,
    revisions: Revisions::since(Revision::V2025_06_18),
    section: Section {
        title: "_meta",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/basic#meta",
    },
    what: "A `_meta` key that the protocol doesn't define, under a prefix reserved for the protocol.",
    why: "A later revision may define it. In 2025-06-18 a prefix is reserved if `modelcontextprotocol` or \
          `mcp` is followed by another label or is the only one; since 2025-11-25, if it is the second \
          label. `io.modelcontextprotocol/` itself is exempt, because protocol extensions add keys there.",
    fix: "Use a domain you own, reversed, as the prefix: `com.example/key`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some((pointer, meta)) = view.meta() else { return };
    meta.members(|key, _| {
        let key = key.decode();
        let Some((prefix, _)) = key.split_once('/') else { return };
        // Protocol extensions may add keys there at any time, so an unknown one is not an error.
        if prefix != "io.modelcontextprotocol" && is_reserved(prefix, view.revision) {
            let message = format!("the prefix of {key:?} is reserved for the protocol");
            report.at(&format!("{pointer}/{}", locate::escape(&key)), message);
        }
    });
}

fn is_reserved(prefix: &str, revision: Option<Revision>) -> bool {
    let is_ours = |label: &str| matches!(label, "modelcontextprotocol" | "mcp");
    let labels: Vec<&str> = prefix.split('.').collect();
    // The specification changed the rule with 2025-11-25, from any label to the second one.
    if revision == Some(Revision::V2025_06_18) {
        let (last, before) = labels.split_last().unwrap_or((&"", &[]));
        return before.iter().any(|label| is_ours(label)) || (labels.len() == 1 && is_ours(last));
    }
    labels.get(1).is_some_and(|label| is_ours(label))
}
