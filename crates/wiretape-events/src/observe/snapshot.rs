//! What servers offer, and how that changes.

use crate::event::{ChangeType, SchemaItem};
use crate::raw::Raw;
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hasher};
use wiretape_analyze::definitions::{Gathered, Gatherer, ListKind, Page, cursor};
use wiretape_analyze::fingerprint::fingerprint;
use wiretape_trace::message::Envelope;

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

/// What has happened to entries of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What.
    pub kind: ChangeType,
    /// To which.
    pub items: Vec<SchemaItem>,
}

/// The page of a list that a request and its answer are, if they are one.
pub(super) fn listing<'a>(method: &str, request: &[u8], answer: &'a [u8]) -> Option<Page<'a>> {
    let result = Envelope::scan(answer).result?;
    Page::of(method, || cursor(Envelope::scan(request).params?), result)
}

/// The newest list of each kind that each server gave.
#[derive(Debug, Default)]
pub struct Snapshots {
    known: HashMap<(String, String), Known>,
    /// Lists of which more pages are to come, by who reads them.
    gathering: Gatherer<(String, String, ListKind), Item>,
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

impl Snapshots {
    /// What is known from before.
    pub fn new(snapshots: Vec<Snapshot>) -> Self {
        let known = snapshots.into_iter().map(|snapshot| {
            let items = snapshot.items.into_iter().map(|item| (item.key, Item::of(item.definition.0)));
            ((snapshot.upstream, snapshot.mcp_method), Known { items: items.collect(), last: None })
        });
        Snapshots { known: known.collect(), gathering: Gatherer::default() }
    }

    /// A page has been read by `reader`. Once a list is whole, it is compared to the last one.
    pub fn observe(&mut self, upstream: &str, reader: &str, page: &Page<'_>) -> Vec<Change> {
        let looks = print(page.result);
        let place = (upstream.to_owned(), page.kind.method().to_owned());
        if page.is_whole() && self.known.get(&place).is_some_and(|known| known.last == Some(looks)) {
            return Vec::new();
        }
        let entries = page.entries.iter();
        let entries = entries.map(|entry| (entry.key.clone(), Item::of(Bytes::copy_from_slice(entry.raw))));
        let reader = (upstream.to_owned(), reader.to_owned(), page.kind);
        let Gathered::Whole(items) = self.gathering.page(reader, page, entries) else { return Vec::new() };
        let changes = match self.known.get(&place) {
            Some(known) => compare(&known.items, &items),
            None => vec![Change { kind: ChangeType::Initial, items: all(&items) }],
        };
        self.known.insert(place, Known { items, last: page.is_whole().then_some(looks) });
        changes
    }
}

impl Item {
    fn of(definition: Bytes) -> Self {
        let print = fingerprint(&definition);
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
