//! Pages of lists, put together.

use super::page::Page;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// More lists are not gathered at a time.
const MAX_LISTS: usize = 1000;
/// More entries of a list are not gathered: a server that hands out pages for ever is not followed for ever.
const MAX_ENTRIES: usize = 100_000;

/// Lists of which more pages are to come, by who reads them.
#[derive(Debug)]
pub struct Gatherer<K, T> {
    begun: HashMap<K, Begun<T>>,
}

#[derive(Debug)]
struct Begun<T> {
    entries: BTreeMap<String, T>,
    next: String,
}

/// What a page makes of the list that it belongs to.
#[derive(Debug, PartialEq, Eq)]
pub enum Gathered<T> {
    /// It was the last one: these are all entries.
    Whole(BTreeMap<String, T>),
    /// More pages are to come.
    Begun,
    /// The pages before it were not seen: these are its entries.
    Alone(BTreeMap<String, T>),
}

impl<K, T> Default for Gatherer<K, T> {
    fn default() -> Self {
        Gatherer { begun: HashMap::new() }
    }
}

impl<K: Eq + Hash, T> Gatherer<K, T> {
    /// Takes the next page of a reader's list, with its entries.
    pub fn page(
        &mut self,
        reader: K,
        page: &Page<'_>,
        entries: impl IntoIterator<Item = (String, T)>,
    ) -> Gathered<T> {
        let begun = self.begun.remove(&reader);
        let mut gathered = match (&page.cursor, begun) {
            (None, _) => BTreeMap::new(),
            (Some(cursor), Some(begun)) if *cursor == begun.next => begun.entries,
            (Some(_), _) => return Gathered::Alone(entries.into_iter().collect()),
        };
        gathered.extend(entries);
        let Some(next) = &page.next else { return Gathered::Whole(gathered) };
        if self.begun.len() < MAX_LISTS && gathered.len() < MAX_ENTRIES {
            self.begun.insert(reader, Begun { entries: gathered, next: next.clone() });
            return Gathered::Begun;
        }
        Gathered::Alone(gathered)
    }

    /// The lists whose last page was not seen, with what was seen of them.
    pub fn unfinished(self) -> impl Iterator<Item = (K, BTreeMap<String, T>)> {
        self.begun.into_iter().map(|(reader, begun)| (reader, begun.entries))
    }
}
