//! The token cost and the usage of a server's tools.

use crate::call::Outcome;
use crate::definitions::{Collector, ListKind};
use crate::reading::{Analysis, Closed, Seen};
use crate::tokens;
use std::collections::BTreeMap;
use wiretape_trace::message::Direction;

/// A tool: its definition and the totals of its calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tool {
    /// Its definition, if it was listed.
    pub definition: Option<Vec<u8>>,
    /// The tokens of the definition.
    pub definition_tokens: u64,
    /// The number of its calls.
    pub calls: u64,
    /// The number of calls that failed.
    pub errors: u64,
    /// The size of all results in bytes.
    pub result_bytes: u64,
    /// The tokens of all results.
    pub result_tokens: u64,
}

impl Tool {
    /// A listed tool without calls.
    pub fn defined(definition: Vec<u8>) -> Self {
        let definition_tokens = tokens::of_definition(&definition);
        Tool { definition: Some(definition), definition_tokens, ..Tool::default() }
    }
}

/// Collects the tools of one recording.
#[derive(Debug, Default)]
pub struct Toolbox {
    definitions: Collector,
    tools: BTreeMap<String, Tool>,
}

impl Toolbox {
    /// A toolbox before the first line.
    pub fn new() -> Self {
        Self::default()
    }

    /// The tools that were listed or called, by name.
    pub fn finish(mut self) -> BTreeMap<String, Tool> {
        let mut seen = self.definitions.finish();
        let earlier =
            std::mem::take(&mut seen.others).into_iter().filter(|(kind, ..)| *kind == ListKind::Tools);
        let earlier = earlier.map(|(_, name, definition)| (name, definition));
        let listed = seen.lists.remove(&ListKind::Tools).into_iter().flat_map(|list| list.entries);
        // Earlier versions first, so that the current one overwrites them; a tool that is no longer listed keeps its
        // last one.
        for (name, definition) in earlier.chain(listed) {
            let tool = self.tools.entry(name).or_default();
            tool.definition_tokens = tokens::of_definition(&definition.raw);
            tool.definition = Some(definition.raw);
        }
        self.tools
    }
}

impl Analysis for Toolbox {
    /// The cursor of a list request.
    type PerCall = <Collector as Analysis>::PerCall;

    fn seen(&mut self, seen: &Seen<'_, '_>, own: Option<&mut Self::PerCall>) {
        self.definitions.seen(seen, own);
    }

    fn closed(&mut self, closed: &Closed<'_, '_>, own: Self::PerCall) {
        self.definitions.closed(closed, own);
        let call = closed.call;
        let Some(name) = call.tool.as_ref().filter(|_| call.direction == Direction::ClientToServer) else {
            return;
        };
        let tool = self.tools.entry(name.to_string()).or_default();
        tool.called(call.outcome);
        if let Some(result) = closed.answer.and_then(|answer| answer.result) {
            tool.result_bytes += result.len() as u64;
            tool.result_tokens += tokens::of_result(result);
        }
    }
}

impl Tool {
    fn called(&mut self, outcome: Outcome) {
        self.calls += 1;
        self.errors += u64::from(outcome.is_error());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{message, read};

    #[test]
    fn tools_are_counted_whether_listed_or_called() {
        let list = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object"}},{"name":"idle","inputSchema":{"type":"object"}}]}}"#;
        let call = |id: u64, tool: &str| {
            message(
                "in",
                0,
                &format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}"}}}}"#
                ),
            )
        };
        let answer = |id: u64, more: &str| {
            let result = format!(r#"{{"content":[{{"type":"text","text":"Hello, world"}}]{more}}}"#);
            message("out", 1, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
        };
        let lines = [
            message("in", 0, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#),
            message("out", 1, list),
            call(2, "add"),
            answer(2, ""),
            call(3, "add"),
            answer(3, r#","isError":true"#),
            call(4, "secret"),
        ];
        let tools = read(Toolbox::new(), &lines).finish();
        let told: Vec<_> = tools
            .iter()
            .map(|(name, tool)| {
                (name.as_str(), tool.definition.is_some(), tool.calls, tool.errors, tool.result_tokens)
            })
            .collect();
        assert_eq!(told, [("add", true, 2, 1, 6), ("idle", true, 0, 0, 0), ("secret", false, 1, 0, 0)]);
        assert!(tools["add"].definition_tokens > 5);
    }
}
