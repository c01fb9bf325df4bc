//! L017 `initialize-in-batch`: An `initialize` inside a batch.

use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;

pub(super) static RULE: Rule = Rule {
    code: "L017",
    name: "initialize-in-batch",
    family: Family::Lifecycle,
    severity: Severity::Error,
    revisions: Revisions::between(Revision::V2025_03_26, Revision::V2025_03_26),
    section: Section {
        title: "Initialization",
        url: "https://modelcontextprotocol.io/specification/2025-03-26/basic/lifecycle#initialization",
    },
    what: "An `initialize` inside a batch.",
    why: "The rest of the batch can't be interpreted before a revision is negotiated, and other revisions \
          don't support batches.",
    fix: "Send `initialize` on its own.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    if view.in_batch && view.is_request("initialize") {
        report.at("/method", "`initialize` is part of a batch");
    }
}
