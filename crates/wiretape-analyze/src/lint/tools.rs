//! The tools that a session has listed, with compiled schemas.

use super::schema::{Schema, is_redacted, tree};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use wiretape_trace::value::Value;

/// A tool, as it was last listed.
#[derive(Debug)]
pub struct Tool {
    /// The line of the listing.
    pub line: u64,
    /// The compiled `inputSchema`; `None` if it is missing, invalid or redacted.
    pub input: Option<Schema>,
    /// The compiled `outputSchema`; `None` if it is missing, invalid or redacted.
    pub output: Option<Schema>,
    /// Whether it has an `outputSchema`, even one that doesn't compile.
    pub has_output: bool,
    /// Arguments that clients repeat as headers (`x-mcp-header`, since 2026-07-28): the path to each, and the header's name.
    pub headers: Vec<(Vec<String>, String)>,
}

/// The tools of a session.
#[derive(Debug, Default)]
pub struct Tools {
    known: BTreeMap<String, Tool>,
    /// The names on earlier pages of a listing whose last page was not seen yet.
    page_names: BTreeSet<String>,
    /// Whether all pages of a listing were seen, without a `list_changed` notification since.
    complete: bool,
}

impl Tools {
    /// Tools kept per session. Bounds the memory that a hostile server can take.
    const MOST: usize = 20_000;

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.known.get(name)
    }

    /// Whether every tool of the server is known, so that an unknown name is an error.
    pub fn are_all_known(&self) -> bool {
        self.complete
    }

    /// Whether an earlier page of the same listing has this name.
    pub fn is_on_earlier_page(&self, name: &str) -> bool {
        self.page_names.contains(name)
    }

    pub(crate) fn changed(&mut self) {
        self.complete = false;
    }

    /// Adds a page of a `tools/list` result.
    pub(crate) fn list(&mut self, line: u64, result: Value<'_>, is_first: bool) {
        if is_first {
            self.page_names.clear();
        }
        // `null` is not a cursor, but some servers send it instead of omitting the member.
        let is_last = result.get("nextCursor").is_none_or(Value::is_null);
        let Some(tools) = result.get("tools") else { return };
        tools.elements(|tool| {
            let Some(name) = tool.get("name").and_then(Value::string) else { return };
            // A known tool is replaced even at the limit, so that calls are never checked against an outdated schema.
            if self.known.len() < Self::MOST || self.known.contains_key(&*name) {
                self.page_names.insert(name.clone().into_owned());
                self.known.insert(name.into_owned(), read(line, tool));
            }
        });
        self.complete = is_last && self.known.len() < Self::MOST;
        if is_last {
            self.page_names.clear();
        }
    }
}

fn read(line: u64, tool: Value<'_>) -> Tool {
    let schema =
        |name| tool.get(name).and_then(|value| tree(value.raw)).filter(|schema| !is_redacted(schema));
    let (input, output) = (schema("inputSchema"), schema("outputSchema"));
    Tool {
        line,
        has_output: tool.get("outputSchema").is_some_and(Value::is_object),
        headers: input.as_ref().map(annotated).unwrap_or_default(),
        input: input.as_ref().and_then(Schema::compile),
        output: output.as_ref().and_then(Schema::compile),
    }
}

/// The properties with an `x-mcp-header`, by their paths.
fn annotated(schema: &Json) -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    let mut open = vec![(Vec::new(), schema)];
    while let Some((path, schema)) = open.pop() {
        for (name, property) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
            let inner: Vec<String> = path.iter().chain([name]).cloned().collect();
            if let Some(header) = property.get("x-mcp-header").and_then(Json::as_str) {
                found.push((inner.clone(), header.to_owned()));
            }
            open.push((inner, property));
        }
    }
    // By path, because the stack yields nested properties after their siblings, in reverse.
    found.sort();
    found
}
