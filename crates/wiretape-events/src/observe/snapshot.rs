//! The last known lists of each server, and how new ones differ from them.

use crate::event::{ChangeType, SchemaItem};
use crate::raw::Raw;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hasher};
use wiretape_analyze::definitions::{Gatherer, ListKind, ListState, Page, cursor};
use wiretape_analyze::fingerprint::fingerprint;
use wiretape_trace::message::Envelope;

/// The last known list of a server, for example from the store.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The server's URL, without a path.
    pub upstream: String,
    /// The method that lists it, such as `tools/list`.
    pub mcp_method: String,
    /// All entries of the list.
    pub items: Vec<SchemaItem>,
}

/// Entries of a list that changed in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// How the entries changed since the last complete list.
    pub kind: ChangeType,
    /// The entries; for `Removed`, in their last form.
    pub items: Vec<SchemaItem>,
}

/// The page of a list that a request and its answer make up; `None` for anything else.
pub(super) fn listing<'a>(method: &str, request: &[u8], answer: &'a [u8]) -> Option<Page<'a>> {
    let result = Envelope::scan(answer).result?;
    Page::of(method, || cursor(Envelope::scan(request).params?), result)
}

/// The newest list of each kind from each server.
#[derive(Debug, Default)]
pub struct Snapshots {
    known: HashMap<(String, String), KnownList>,
    /// Lists with more pages to come. Keyed by session too, because two clients may page through a list at
    /// the same time.
    gathering: Gatherer<(String, String, ListKind), Item>,
}

#[derive(Debug, Default)]
struct KnownList {
    items: BTreeMap<String, Item>,
    /// A hash of the last list of a single page, byte for byte. Most lists are unchanged, and are recognized
    /// without parsing.
    last: Option<u64>,
}

#[derive(Debug)]
struct Item {
    definition: Raw,
    /// The fingerprint: equal for definitions that mean the same, whatever the order of their members.
    print: u64,
}

impl Snapshots {
    /// Starts with known lists, which are compared with the next ones.
    pub fn new(snapshots: Vec<Snapshot>) -> Self {
        let known = snapshots.into_iter().map(|snapshot| {
            let items = snapshot.items.into_iter().map(|item| (item.key, Item::of(item.definition)));
            ((snapshot.upstream, snapshot.mcp_method), KnownList { items: items.collect(), last: None })
        });
        Snapshots { known: known.collect(), gathering: Gatherer::default() }
    }

    /// Adds a page that `reader` (a session) received. When the list is complete, returns how it differs from
    /// the last one.
    pub fn observe(&mut self, upstream: &str, reader: &str, page: &Page<'_>) -> Vec<Change> {
        let looks = print(page.result);
        let place = (upstream.to_owned(), page.kind.method().to_owned());
        if page.is_whole() && self.known.get(&place).is_some_and(|known| known.last == Some(looks)) {
            return Vec::new();
        }
        let entries = page.entries.iter();
        let entries = entries.map(|entry| (entry.key.clone(), Item::of(entry.raw.to_vec().into())));
        let reader = (upstream.to_owned(), reader.to_owned(), page.kind);
        let ListState::Whole(items) = self.gathering.page(reader, page, entries) else { return Vec::new() };
        let changes = match self.known.get(&place) {
            Some(known) => compare(&known.items, &items),
            // The first list is reported as a whole, so that receivers have something to apply later changes
            // to.
            None => vec![Change { kind: ChangeType::Initial, items: all(&items) }],
        };
        self.known.insert(place, KnownList { items, last: page.is_whole().then_some(looks) });
        changes
    }
}

impl Item {
    fn of(definition: Raw) -> Self {
        let print = fingerprint(definition.as_bytes());
        Item { definition, print }
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
