//! The baseline file.
//!
//! It is JSON: `wiretapeBaseline` is the version, `server` has the facts that the server states about itself, and `tools`,
//! `prompts`, `resources` and `resourceTemplates` have the entries of the lists by name or URI. `incomplete` names the lists
//! of which not every page was seen. Members are sorted, and there are no times or paths, so that the same definitions
//! give the same bytes and version control shows exactly what changed.

use crate::definitions::{Definition, Definitions, Extent, ListKind, Listing, ServerFact};
use crate::json_diff::{elements, members};
use std::collections::BTreeMap;
use wiretape_trace::json::{SyntaxError, compact};
use wiretape_trace::value::Value;

/// The version of the file format.
pub const VERSION: i64 = 1;

/// The member that identifies the file and holds its version.
const MARK: &str = "wiretapeBaseline";
const SERVER: &str = "server";
const INCOMPLETE: &str = "incomplete";

/// Levels that are sorted and indented; deeper ones are written on one line, unsorted. Writing recurses per level.
const MAX_DEPTH: usize = 64;

/// The definitions of a server at the time it was trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// The definitions as they were when they were pinned.
    pub definitions: Definitions,
}

/// Why a file can't be used as a baseline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    /// The content is not JSON.
    #[error("not JSON")]
    NotJson(#[source] SyntaxError),
    /// It is JSON, but not a baseline.
    #[error("not a baseline file: `{MARK}` is missing")]
    NotABaseline,
    /// It was written by a later version of wiretape.
    #[error("its version {0} is newer than this program supports: upgrade wiretape to read it")]
    Newer(i64),
}

impl Baseline {
    /// Parses the content of a baseline file.
    pub fn parse(file: &[u8]) -> Result<Self, BaselineError> {
        let document = Value::parse(file).map_err(BaselineError::NotJson)?;
        match document.get(MARK).and_then(Value::integer) {
            None => return Err(BaselineError::NotABaseline),
            // Only newer files are rejected: an older version must stay readable for as long as someone has it
            // pinned.
            Some(version) if version > VERSION => return Err(BaselineError::Newer(version)),
            Some(_) => {}
        }
        let incomplete: Vec<_> =
            document.get(INCOMPLETE).map(elements).into_iter().flatten().filter_map(Value::string).collect();
        let mut definitions = Definitions::default();
        for fact in ServerFact::ALL {
            if let Some(value) = document.at_path(&[SERVER, fact.member()]) {
                definitions.server.insert(fact, definition(value));
            }
        }
        for kind in ListKind::ALL {
            if let Some(list) = document.get(kind.member()).filter(|list| list.is_object()) {
                let is_partial = incomplete.iter().any(|name| name == kind.member());
                let extent = if is_partial { Extent::Partial } else { Extent::Whole };
                let entries =
                    members(list).into_iter().map(|(name, value)| (name, definition(value))).collect();
                definitions.lists.insert(kind, Listing { entries, extent, line: None });
            }
        }
        Ok(Baseline { definitions })
    }

    /// The content of the file, deterministic for equal definitions.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut document: BTreeMap<String, Node<'_>> = BTreeMap::new();
        let server = self.definitions.server.iter();
        let server = server.map(|(fact, definition)| (fact.member().to_owned(), Node::of(definition)));
        document.insert(SERVER.to_owned(), Node::Object(server.collect()));
        let mut incomplete = Vec::new();
        for (kind, listing) in &self.definitions.lists {
            let entries = listing.entries.iter().map(|(name, entry)| (name.clone(), Node::of(entry)));
            document.insert(kind.member().to_owned(), Node::Object(entries.collect()));
            if listing.extent == Extent::Partial {
                incomplete.push(Node::Text(kind.member()));
            }
        }
        if !incomplete.is_empty() {
            document.insert(INCOMPLETE.to_owned(), Node::Array(incomplete));
        }
        let mut out = format!("{{\n  \"{MARK}\": {VERSION}").into_bytes();
        for (name, node) in &document {
            out.extend_from_slice(b",\n  ");
            write_text(name, &mut out);
            out.extend_from_slice(b": ");
            write(node, 1, &mut out);
        }
        out.extend_from_slice(b"\n}\n");
        out
    }
}

fn definition(value: Value<'_>) -> Definition {
    Definition { raw: value.raw.to_vec(), spot: None }
}

/// A value to write.
enum Node<'a> {
    Object(BTreeMap<String, Node<'a>>),
    Array(Vec<Node<'a>>),
    Text(&'a str),
    Value(Value<'a>),
}

impl<'a> Node<'a> {
    fn of(definition: &'a Definition) -> Self {
        match Value::parse(&definition.raw) {
            Ok(value) => Node::Value(value),
            // Definitions come from parsed messages, so they always parse; the string keeps the file valid.
            Err(_) => Node::Text(""),
        }
    }

    /// Opens one level of a value, with sorted members.
    fn opened(value: Value<'a>) -> Self {
        if value.is_object() {
            Node::Object(members(value).into_iter().map(|(name, value)| (name, Node::Value(value))).collect())
        } else if value.is_array() {
            Node::Array(elements(value).into_iter().map(Node::Value).collect())
        } else {
            Node::Value(value)
        }
    }
}

fn write(node: &Node<'_>, depth: usize, out: &mut Vec<u8>) {
    match node {
        Node::Object(members) => {
            let members = members.iter().map(|(name, node)| (Some(name.as_str()), node));
            write_container((b'{', b'}'), members, depth, out);
        }
        Node::Array(elements) => {
            write_container((b'[', b']'), elements.iter().map(|node| (None, node)), depth, out);
        }
        Node::Text(text) => write_text(text, out),
        // The nesting comes from a server; unbounded recursion would let it overflow our stack.
        Node::Value(value) if depth >= MAX_DEPTH => out.extend(compact(value.raw)),
        Node::Value(value) if value.is_object() || value.is_array() => {
            write(&Node::opened(*value), depth, out);
        }
        Node::Value(value) => match value.string() {
            // Decoded and encoded again, so that two spellings of a string (`\u00e9`, `é`) give the same bytes.
            // Numbers stay as they were sent: parsing them could round.
            Some(text) => write_text(&text, out),
            None => out.extend_from_slice(value.raw),
        },
    }
}

fn write_container<'n>(
    (open, close): (u8, u8),
    items: impl Iterator<Item = (Option<&'n str>, &'n Node<'n>)>,
    depth: usize,
    out: &mut Vec<u8>,
) {
    out.push(open);
    let mut is_empty = true;
    for (name, node) in items {
        if !is_empty {
            out.push(b',');
        }
        is_empty = false;
        new_line(depth + 1, out);
        if let Some(name) = name {
            write_text(name, out);
            out.extend_from_slice(b": ");
        }
        write(node, depth + 1, out);
    }
    if !is_empty {
        new_line(depth, out);
    }
    out.push(close);
}

fn new_line(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', 2 * depth));
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    out.extend(serde_json::to_vec(text).expect("serializing a string to memory can't fail"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline(server: &str, tools: &[(&str, &str)], extent: Extent) -> Baseline {
        let definition = |raw: &str| Definition { raw: raw.as_bytes().to_vec(), spot: None };
        let mut definitions = Definitions::default();
        definitions.server.insert(ServerFact::Capabilities, definition(server));
        let entries = tools.iter().map(|(name, raw)| ((*name).to_owned(), definition(raw))).collect();
        definitions.lists.insert(ListKind::Tools, Listing { entries, extent, line: None });
        Baseline { definitions }
    }

    #[test]
    fn the_same_definitions_give_the_same_bytes() {
        let one = baseline(
            "{}",
            &[("b", r#"{"name":"b","x":[1.0, {}]}"#), ("a", r#"{"name":"\u0061"}"#)],
            Extent::Whole,
        );
        let other = baseline(
            "{ }",
            &[("a", r#"{"name":"a"}"#), ("b", r#"{"x":[1.0,{}],"name":"b"}"#)],
            Extent::Whole,
        );
        assert_eq!(one.to_bytes(), other.to_bytes());
        let expected = r#"{
  "wiretapeBaseline": 1,
  "server": {
    "capabilities": {}
  },
  "tools": {
    "a": {
      "name": "a"
    },
    "b": {
      "name": "b",
      "x": [
        1.0,
        {}
      ]
    }
  }
}
"#;
        assert_eq!(String::from_utf8(one.to_bytes()).unwrap(), expected);
    }

    #[test]
    fn what_is_written_is_read() {
        for extent in [Extent::Whole, Extent::Partial] {
            let written = baseline(r#"{"tools":{}}"#, &[("a/b", r#"{"name":"a/b"}"#)], extent).to_bytes();
            let read = Baseline::parse(&written).unwrap();
            assert_eq!(read.definitions.lists[&ListKind::Tools].extent, extent);
            assert_eq!(read.to_bytes(), written);
        }
    }

    #[test]
    fn deep_definitions_are_written() {
        let deep = "[".repeat(20_000) + &"]".repeat(20_000);
        let written = baseline(&deep, &[], Extent::Whole).to_bytes();
        assert_eq!(Baseline::parse(&written).unwrap().to_bytes(), written);
    }

    #[test]
    fn other_files_are_refused() {
        let check = |file: &str, expected: &str| {
            assert!(Baseline::parse(file.as_bytes()).unwrap_err().to_string().contains(expected), "{file}");
        };
        check("{", "not JSON");
        check("{}", "not a baseline");
        check("[]", "not a baseline");
        check(r#"{"wiretapeBaseline":2}"#, "upgrade");
    }
}
