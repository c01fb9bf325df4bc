//! Joins the pages of lists.

use super::page::Page;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Lists with pages to come, at a time. Bounds the memory.
const MAX_LISTS: usize = 1000;
/// Entries of one list: a server that returns pages forever is not followed.
const MAX_ENTRIES: usize = 100_000;

/// Lists with pages to come, by reader: a session may read several lists at once.
#[derive(Debug)]
pub struct Gatherer<K, T> {
    partial: HashMap<K, PartialList<T>>,
}

#[derive(Debug)]
struct PartialList<T> {
    entries: BTreeMap<String, T>,
    next: String,
}

/// The state of a list after a page.
#[derive(Debug, PartialEq, Eq)]
pub enum ListState<T> {
    /// The page was the last one: all entries of the list.
    Whole(BTreeMap<String, T>),
    /// More pages are to come.
    Incomplete,
    /// The pages before it are unknown: the entries of this page alone.
    Alone(BTreeMap<String, T>),
}

impl<K, T> Default for Gatherer<K, T> {
    fn default() -> Self {
        Gatherer { partial: HashMap::new() }
    }
}

impl<K: Eq + Hash, T> Gatherer<K, T> {
    /// Adds the next page of a reader's list.
    pub fn page(
        &mut self,
        reader: K,
        page: &Page<'_>,
        entries: impl IntoIterator<Item = (String, T)>,
    ) -> ListState<T> {
        let partial = self.partial.remove(&reader);
        let mut gathered = match (&page.cursor, partial) {
            // A request without a cursor starts over, and the pages before it are dropped.
            (None, _) => BTreeMap::new(),
            (Some(cursor), Some(partial)) if *cursor == partial.next => partial.entries,
            // The cursor doesn't continue the pages we have: another client's, or pages are missing.
            (Some(_), _) => return ListState::Alone(entries.into_iter().collect()),
        };
        gathered.extend(entries);
        let Some(next) = &page.next else { return ListState::Whole(gathered) };
        // At the bounds, the pages so far are returned as partial: a truncated list is better than none.
        if self.partial.len() < MAX_LISTS && gathered.len() < MAX_ENTRIES {
            self.partial.insert(reader, PartialList { entries: gathered, next: next.clone() });
            return ListState::Incomplete;
        }
        ListState::Alone(gathered)
    }

    /// The lists whose last page was not seen, with the entries so far.
    pub fn unfinished(self) -> impl Iterator<Item = (K, BTreeMap<String, T>)> {
        self.partial.into_iter().map(|(reader, partial)| (reader, partial.entries))
    }
}
