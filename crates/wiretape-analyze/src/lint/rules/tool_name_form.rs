//! T001 `tool-name-form`: A tool name that is not 1 to 128 letters, digits, `_`, `-` and `.`.

use super::support;
use crate::lint::report::Report;
use crate::lint::revision::{Revision, Revisions};
use crate::lint::rule::{Check, Family, Rule, Section, Severity};
use crate::lint::view::PayloadView;
use wiretape_trace::value::Value;

pub(super) static RULE: Rule = Rule {
    code: "T001",
    name: "tool-name-form",
    family: Family::Tools,
    severity: Severity::Warning,
    revisions: Revisions::since(Revision::V2025_11_25),
    section: Section {
        title: "Tool names",
        url: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names",
    },
    what: "A tool name that is not 1 to 128 letters, digits, `_`, `-` and `.`.",
    why: "Clients pass names on to models, whose rules are as strict. For one invalid name, some clients \
          drop the tool and some the whole list.",
    fix: "Rename the tool; put the display name into `title`.",
    check: Check::Payload(check),
};

fn check(view: &PayloadView<'_>, report: &mut Report<'_>) {
    let Some(tools) = view.result_of("tools/list").and_then(|result| result.get("tools")) else { return };

    support::each(tools, |at, tool| {
        let Some(name) = tool.get("name").and_then(Value::string) else { return };
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        if !(1..=128).contains(&name.len()) || !name.bytes().all(is_allowed) {
            let shown: String = name.chars().take(140).collect();
            report.at(&format!("/result/tools/{at}/name"), format!("{shown:?} is not a valid tool name"));
        }
    });
}
