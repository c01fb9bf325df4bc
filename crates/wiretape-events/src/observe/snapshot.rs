//! What servers offer, and how that changes.

use crate::event::{ChangeType, SchemaItem};
use crate::raw::Raw;
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hasher};
use wiretape_trace::message::Envelope;
use wiretape_trace::value::Value;

/// More lists are not gathered at a time.
const MAX_GATHERING: usize = 1000;
/// Deeper than this nobody looks.
const MAX_DEPTH: usize = 128;

/// What a server offered when it was last seen.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The server.
    pub upstream: String,
    /// Which list it is.
    pub mcp_method: String,
    /// Its entries.
    pub items: Vec<SchemaItem>,
}

/// A page of a list.
#[derive(Debug, Clone)]
pub struct Listed<'a> {
    /// Which list it is.
    pub method: &'static str,
    entries: Vec<(String, &'a [u8])>,
    cursor: Option<String>,
    next: Option<String>,
    result: &'a [u8],
}

/// What has happened to entries of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What.
    pub kind: ChangeType,
    /// To which.
    pub items: Vec<SchemaItem>,
}

/// A method, what its list is called, and what entries go by.
const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("resources/list", "resources", "uri"),
    ("resources/templates/list", "resourceTemplates", "uriTemplate"),
    ("prompts/list", "prompts", "name"),
];

/// The page of a list that a request and its answer are, if they are one.
pub(super) fn listing<'a>(method: &str, request: &[u8], answer: &'a [u8]) -> Option<Listed<'a>> {
    let result = Envelope::scan(answer).result?;
    Listed::of(method, || cursor(Envelope::scan(request).params?), result)
}

/// Where in a list a request begins to read, by its parameters; at the beginning if there is nothing.
pub(crate) fn cursor(params: &[u8]) -> Option<String> {
    Value::parse(params).ok()?.get("cursor").and_then(text)
}

fn text(value: Value<'_>) -> Option<String> {
    value.string().map(std::borrow::Cow::into_owned)
}

impl<'a> Listed<'a> {
    /// The page of a list that is the result of a method, if it is one.
    pub fn of(method: &str, cursor: impl FnOnce() -> Option<String>, result: &'a [u8]) -> Option<Self> {
        let (method, list, key) = LISTS.into_iter().find(|(name, ..)| *name == method)?;
        let value = Value::parse(result).ok()?;
        let mut entries = Vec::new();
        value.get(list)?.elements(|entry| {
            if let Some(key) = entry.get(key).and_then(text) {
                entries.push((key, entry.raw));
            }
        });
        Some(Listed {
            method,
            entries,
            cursor: cursor(),
            next: value.get("nextCursor").and_then(text),
            result,
        })
    }
}

/// The newest list of each kind that each server gave.
#[derive(Debug, Default)]
pub struct Snapshots {
    known: HashMap<(String, String), Known>,
    /// Lists of which more pages are to come, by who reads them.
    gathering: HashMap<(String, String, &'static str), Gathering>,
}

#[derive(Debug, Default)]
struct Known {
    items: BTreeMap<String, Item>,
    /// What the last list of one page looked like: most are the same again.
    last: Option<u64>,
}

#[derive(Debug)]
struct Item {
    definition: Raw,
    /// The same for all that mean the same, however their members are ordered.
    print: u64,
}

#[derive(Debug)]
struct Gathering {
    items: BTreeMap<String, Item>,
    next: String,
}

impl Snapshots {
    /// What is known from before.
    pub fn new(snapshots: Vec<Snapshot>) -> Self {
        let known = snapshots.into_iter().map(|snapshot| {
            let items = snapshot.items.into_iter().map(|item| (item.key, Item::of(item.definition.0)));
            ((snapshot.upstream, snapshot.mcp_method), Known { items: items.collect(), last: None })
        });
        Snapshots { known: known.collect(), gathering: HashMap::new() }
    }

    /// A page has been read by `reader`. Once a list is whole, it is compared to the last one.
    pub fn observe(&mut self, upstream: &str, reader: &str, listed: &Listed<'_>) -> Vec<Change> {
        let looks = print(listed.result);
        let is_whole = listed.cursor.is_none() && listed.next.is_none();
        let place = (upstream.to_owned(), listed.method.to_owned());
        if is_whole && self.known.get(&place).is_some_and(|known| known.last == Some(looks)) {
            return Vec::new();
        }
        let Some(items) = self.gather(upstream, reader, listed) else { return Vec::new() };
        let changes = match self.known.get(&place) {
            Some(known) => compare(&known.items, &items),
            None => vec![Change { kind: ChangeType::Initial, items: all(&items) }],
        };
        self.known.insert(place, Known { items, last: is_whole.then_some(looks) });
        changes
    }

    /// All entries of a list, once its last page is there.
    fn gather(
        &mut self,
        upstream: &str,
        reader: &str,
        listed: &Listed<'_>,
    ) -> Option<BTreeMap<String, Item>> {
        let page =
            listed.entries.iter().map(|(key, raw)| (key.clone(), Item::of(Bytes::copy_from_slice(raw))));
        let place = (upstream.to_owned(), reader.to_owned(), listed.method);
        let begun = self.gathering.remove(&place);
        let mut items = match (&listed.cursor, begun) {
            (None, _) => BTreeMap::new(),
            (Some(cursor), Some(begun)) if *cursor == begun.next => begun.items,
            // A page of a list whose beginning was not seen.
            (Some(_), _) => return None,
        };
        items.extend(page);
        let Some(next) = &listed.next else { return Some(items) };
        if self.gathering.len() < MAX_GATHERING {
            self.gathering.insert(place, Gathering { items, next: next.clone() });
        }
        None
    }
}

impl Item {
    fn of(definition: Bytes) -> Self {
        let print = canonical_print(&definition);
        Item { definition: Raw(definition), print }
    }
}

fn all(items: &BTreeMap<String, Item>) -> Vec<SchemaItem> {
    items.iter().map(schema_item).collect()
}

fn schema_item((key, item): (&String, &Item)) -> SchemaItem {
    SchemaItem { key: key.clone(), definition: item.definition.clone() }
}

fn compare(old: &BTreeMap<String, Item>, new: &BTreeMap<String, Item>) -> Vec<Change> {
    let added = new.iter().filter(|(key, _)| !old.contains_key(*key)).map(schema_item).collect();
    let has_changed = |key: &str, item: &Item| old.get(key).is_some_and(|before| before.print != item.print);
    let modified = new.iter().filter(|(key, item)| has_changed(key, item)).map(schema_item).collect();
    let removed = old.iter().filter(|(key, _)| !new.contains_key(*key)).map(schema_item).collect();
    let changes =
        [(ChangeType::Added, added), (ChangeType::Modified, modified), (ChangeType::Removed, removed)];
    changes
        .into_iter()
        .filter(|(_, items): &(_, Vec<_>)| !items.is_empty())
        .map(|(kind, items)| Change { kind, items })
        .collect()
}

fn print(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

fn canonical_print(json: &[u8]) -> u64 {
    let mut canonical = Vec::with_capacity(json.len());
    match Value::parse(json) {
        Ok(value) => write_canonical(value, 0, &mut canonical),
        Err(_) => canonical.extend_from_slice(json),
    }
    print(&canonical)
}

fn write_canonical(value: Value<'_>, depth: usize, out: &mut Vec<u8>) {
    if depth > MAX_DEPTH {
        out.extend_from_slice(value.raw);
    } else if value.is_object() {
        let mut members = Vec::new();
        value.members(|name, value| members.push((name.decode().into_owned(), value)));
        members.sort_by(|(a, _), (b, _)| a.cmp(b));
        out.push(b'{');
        for (name, value) in members {
            write_text(&name, out);
            write_canonical(value, depth + 1, out);
        }
        out.push(b'}');
    } else if value.is_array() {
        out.push(b'[');
        value.elements(|element| {
            write_canonical(element, depth + 1, out);
            out.push(b',');
        });
        out.push(b']');
    } else if let Some(text) = value.string() {
        write_text(&text, out);
    } else {
        out.extend_from_slice(value.raw);
    }
}

/// With its length before it, no text can look like something else.
fn write_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&text.len().to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observe(snapshots: &mut Snapshots, params: &str, result: &str) -> Vec<(&'static str, Vec<String>)> {
        let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{params}}}"#);
        let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        let listed = listing("tools/list", request.as_bytes(), answer.as_bytes()).unwrap();
        let changes = snapshots.observe("http://localhost", "s", &listed);
        changes
            .into_iter()
            .map(|change| (change.kind.name(), change.items.into_iter().map(|item| item.key).collect()))
            .collect()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_is_new_changed_and_gone_is_told() {
        let mut snapshots = Snapshots::default();
        let first = r#"{"tools":[{"name":"a","description":"A"},{"name":"b"}]}"#;
        assert_eq!(observe(&mut snapshots, "{}", first), [("initial", names(&["a", "b"]))]);
        assert_eq!(observe(&mut snapshots, "{}", first), []);
        let second = r#"{"tools":[{"name":"a","description":"other"},{"name":"c"}]}"#;
        assert_eq!(
            observe(&mut snapshots, "{}", second),
            [("added", names(&["c"])), ("modified", names(&["a"])), ("removed", names(&["b"]))]
        );
    }

    #[test]
    fn order_and_escapes_change_nothing() {
        let mut snapshots = Snapshots::default();
        let first = r#"{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"x":{},"y":{}}}},{"name":"b"}]}"#;
        observe(&mut snapshots, "{}", first);
        let same = r#"{ "tools": [{"name":"b"},{"inputSchema":{"properties":{"y":{ },"\u0078":{}},"type":"object"},"name":"a"}]}"#;
        assert_eq!(observe(&mut snapshots, "{}", same), []);
        let other = r#"{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"x":{},"z":{}}}},{"name":"b"}]}"#;
        assert_eq!(observe(&mut snapshots, "{}", other), [("modified", names(&["a"]))]);
    }

    #[test]
    fn pages_make_one_list() {
        let mut snapshots = Snapshots::default();
        let first = r#"{"tools":[{"name":"a"}],"nextCursor":"2"}"#;
        let second = r#"{"tools":[{"name":"b"}]}"#;
        assert_eq!(observe(&mut snapshots, "{}", first), []);
        assert_eq!(observe(&mut snapshots, r#"{"cursor":"2"}"#, second), [("initial", names(&["a", "b"]))]);
        assert_eq!(observe(&mut snapshots, r#"{"cursor":"2"}"#, second), [], "a page alone says nothing");
        assert_eq!(observe(&mut snapshots, "{}", first), []);
        assert_eq!(observe(&mut snapshots, r#"{"cursor":"2"}"#, second), []);
    }

    #[test]
    fn what_was_known_before_is_compared_to() {
        let item =
            |json: &str| SchemaItem { key: "a".to_owned(), definition: Raw::from(json.as_bytes().to_vec()) };
        let snapshot = Snapshot {
            upstream: "http://localhost".to_owned(),
            mcp_method: "tools/list".to_owned(),
            items: vec![item(r#"{"description":"A","name":"a"}"#)],
        };
        let mut snapshots = Snapshots::new(vec![snapshot]);
        let same = r#"{"tools":[{"name":"a","description":"A"}]}"#;
        assert_eq!(observe(&mut snapshots, "{}", same), []);
    }
}
