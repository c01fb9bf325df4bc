//! Collects the definitions in a trace.

use super::{
    Definition, Definitions, Extent, Gatherer, INTRODUCTIONS, ListKind, ListState, Listing, Page, ServerFact,
    Spot, cursor,
};
use crate::reading::{Analysis, Closed, Meaning, Seen};
use std::collections::BTreeMap;
use wiretape_trace::message::Direction;
use wiretape_trace::value::Value;

/// Collects the definitions that a server sends in a trace.
///
/// Of several lists of a kind, the last complete one counts; if none is complete, the pages that were seen. It keeps only the
/// definitions and the cursors of pending requests.
///
/// ```
/// use wiretape_analyze::definitions::{Collector, ListKind};
/// use wiretape_analyze::reading::{Reading, RecordingState};
/// use wiretape_trace::format::TraceReader;
///
/// let trace = br#"{"dir":"in","raw":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}
/// {"dir":"out","raw":{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add"}]}}}
/// "#;
/// let mut reading = Reading::new(Collector::new());
/// let mut reader = TraceReader::new(&trace[..]);
/// while let Some(line) = reader.next_line().unwrap() {
///     reading.observe(&line);
/// }
/// let definitions = reading.finish(RecordingState::Over).finish();
/// assert!(definitions.lists[&ListKind::Tools].entries.contains_key("add"));
/// ```
#[derive(Debug, Default)]
pub struct Collector {
    definitions: Definitions,
    gathering: Gatherer<(String, ListKind), Definition>,
}

/// Replaced definitions kept, for a server that returns different ones each time.
const MAX_OTHERS: usize = 1000;

impl Collector {
    /// A collector before the first line.
    pub fn new() -> Self {
        Self::default()
    }

    /// The definitions so far, without lists that have pages to come.
    pub fn so_far(&self) -> &Definitions {
        &self.definitions
    }

    /// The definitions, with lists whose last page is missing as partial.
    pub fn finish(mut self) -> Definitions {
        // Sorted, because the order of a hash map would change from run to run, and with it which partial entry wins.
        let unfinished: BTreeMap<(String, ListKind), BTreeMap<String, Definition>> =
            std::mem::take(&mut self.gathering).unfinished().collect();
        for ((_, kind), entries) in unfinished {
            self.record_partial(kind, entries);
        }
        self.definitions
    }

    fn record_server(&mut self, line: u64, result: &[u8]) {
        let Ok(result) = Value::parse(result) else { return };
        for fact in ServerFact::ALL {
            match result.get(fact.member()) {
                Some(value) => {
                    let spot = Spot { line, pointer: format!("/result/{}", fact.member()) };
                    self.definitions
                        .server
                        .insert(fact, Definition { raw: value.raw.to_vec(), spot: Some(spot) });
                }
                // An answer describes the server completely: what it omits is gone, even if an earlier handshake had
                // it.
                None => drop(self.definitions.server.remove(&fact)),
            }
        }
    }

    fn record_page(&mut self, line: u64, session: &str, page: &Page<'_>) {
        let kind = page.kind;
        let entries = page.entries.iter().map(|entry| {
            let pointer = format!("/result/{}/{}", kind.member(), entry.index);
            let spot = Some(Spot { line, pointer });
            (entry.key.clone(), Definition { raw: entry.raw.to_vec(), spot })
        });
        let entries: Vec<(String, Definition)> = entries.collect();
        self.keep_duplicates(kind, &entries);
        match self.gathering.page((session.to_owned(), kind), page, entries) {
            ListState::Whole(entries) => {
                self.keep_earlier(kind, &entries);
                let listing = Listing { entries, extent: Extent::Whole, line: Some(line) };
                self.definitions.lists.insert(kind, listing);
            }
            ListState::Alone(entries) => self.record_partial(kind, entries),
            ListState::Incomplete => {}
        }
    }

    /// Keeps definitions whose name occurs again in the same list with other content: a client may use either.
    fn keep_duplicates(&mut self, kind: ListKind, entries: &[(String, Definition)]) {
        let last: BTreeMap<&str, &Definition> =
            entries.iter().map(|(name, definition)| (name.as_str(), definition)).collect();
        for (name, definition) in entries {
            if last.get(name.as_str()).is_some_and(|last| last.raw != definition.raw) {
                self.keep_other(kind, name, definition.clone());
            }
        }
    }

    /// Keeps definitions of the previous list that differ or are missing now.
    fn keep_earlier(&mut self, kind: ListKind, now: &BTreeMap<String, Definition>) {
        let Some(earlier) = self.definitions.lists.get(&kind) else { return };
        let is_other = |(name, definition): &(&String, &Definition)| {
            now.get(*name).is_none_or(|now| now.raw != definition.raw)
        };
        let others: Vec<(String, Definition)> =
            earlier.entries.iter().filter(is_other).map(|(name, one)| (name.clone(), one.clone())).collect();
        others.into_iter().for_each(|(name, definition)| self.keep_other(kind, &name, definition));
    }

    fn keep_other(&mut self, kind: ListKind, name: &str, definition: Definition) {
        let others = &mut self.definitions.others;
        // Linear, but over at most MAX_OTHERS entries, and only for definitions that changed.
        let is_known = others.iter().any(|(_, known, other)| known == name && other.raw == definition.raw);
        if others.len() < MAX_OTHERS && !is_known {
            others.push((kind, name.to_owned(), definition));
        }
    }

    /// Adds pages of an incomplete list, which count only if no complete list was seen.
    fn record_partial(&mut self, kind: ListKind, entries: BTreeMap<String, Definition>) {
        let line = entries.values().filter_map(|entry| entry.spot.as_ref()).map(|spot| spot.line).max();
        let listing = self.definitions.lists.entry(kind).or_insert_with(|| Listing {
            entries: BTreeMap::new(),
            extent: Extent::Partial,
            line,
        });
        if listing.extent == Extent::Partial {
            listing.entries.extend(entries);
            listing.line = listing.line.max(line);
        }
    }
}

impl Analysis for Collector {
    /// The cursor of a list request.
    type PerCall = Option<Box<str>>;

    fn seen(&mut self, seen: &Seen<'_, '_>, own: Option<&mut Self::PerCall>) {
        let Some(start) = own.filter(|_| matches!(seen.meaning, Meaning::Request { .. })) else { return };
        let is_list = seen.envelope.method.as_deref().and_then(ListKind::of_method).is_some();
        // Only list requests are parsed: this runs for every request of a trace.
        *start = seen.envelope.params.filter(|_| is_list).and_then(cursor).map(String::into_boxed_str);
    }

    fn closed(&mut self, closed: &Closed<'_, '_>, start: Self::PerCall) {
        let call = closed.call;
        let result = closed.answer.and_then(|answer| answer.result);
        let Some(result) = result.filter(|_| call.direction == Direction::ClientToServer) else { return };
        let line = closed.line.map_or(0, |view| view.line.number);
        if INTRODUCTIONS.contains(&&*call.method) {
            self.record_server(line, result);
        } else if let Some(page) = Page::of(&call.method, || start.map(String::from), result) {
            // Pages are joined per session: clients that share a trace page through the same list independently.
            self.record_page(line, call.session.as_deref().unwrap_or_default(), &page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::message;

    fn read(lines: &[String]) -> Definitions {
        crate::testing::read(Collector::new(), lines).finish()
    }

    fn ask(id: u32, params: &str) -> String {
        message("in", 0, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{params}}}"#))
    }

    fn answer(id: u32, result: &str) -> String {
        message("out", 0, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
    }

    fn tools(definitions: &Definitions) -> (Vec<&str>, Extent) {
        let listing = &definitions.lists[&ListKind::Tools];
        (listing.entries.keys().map(String::as_str).collect(), listing.extent)
    }

    #[test]
    fn pages_make_one_list() {
        let definitions = read(&[
            ask(1, "{}"),
            answer(1, r#"{"tools":[{"name":"a"},{},{"name":"b"}],"nextCursor":"2"}"#),
            ask(2, r#"{"cursor":"2"}"#),
            answer(2, r#"{"tools":[{"name":"c"}]}"#),
        ]);
        assert_eq!(tools(&definitions), (vec!["a", "b", "c"], Extent::Whole));
        let spot = definitions.lists[&ListKind::Tools].entries["b"].spot.clone().unwrap();
        assert_eq!(spot, Spot { line: 2, pointer: "/result/tools/2".to_owned() });
    }

    #[test]
    fn a_list_that_was_read_partly_is_told() {
        let first = answer(1, r#"{"tools":[{"name":"a"}],"nextCursor":"2"}"#);
        assert_eq!(tools(&read(&[ask(1, "{}"), first.clone()])), (vec!["a"], Extent::Partial));
        let last = [ask(1, r#"{"cursor":"9"}"#), answer(1, r#"{"tools":[{"name":"z"}]}"#)];
        assert_eq!(tools(&read(&last)), (vec!["z"], Extent::Partial));
        let whole =
            [ask(1, "{}"), answer(1, r#"{"tools":[{"name":"a"},{"name":"b"}]}"#), ask(1, "{}"), first];
        assert_eq!(tools(&read(&whole)), (vec!["a", "b"], Extent::Whole));
    }

    #[test]
    fn the_last_whole_list_counts() {
        let definitions = read(&[
            ask(1, "{}"),
            answer(1, r#"{"tools":[{"name":"a"}]}"#),
            ask(2, "{}"),
            answer(2, r#"{"tools":[{"name":"b"}]}"#),
        ]);
        assert_eq!(tools(&definitions), (vec!["b"], Extent::Whole));
    }

    #[test]
    fn servers_say_what_they_are() {
        let definitions = read(&[
            message("in", 0, r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#),
            answer(0, r#"{"capabilities":{"tools":{}},"serverInfo":{"name":"s"},"protocolVersion":"x"}"#),
        ]);
        let facts: Vec<&str> = definitions.server.keys().map(|fact| fact.member()).collect();
        assert_eq!(facts, ["capabilities", "serverInfo"]);
    }

    #[test]
    fn failures_and_strange_results_define_nothing() {
        let error = message("out", 0, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#);
        assert!(read(&[ask(1, "{}"), error]).is_empty());
        assert!(read(&[ask(1, "[]"), answer(1, r#"{"tools":7}"#)]).is_empty());
        assert!(read(&[ask(1, "{}"), answer(1, "3")]).is_empty());
    }
}
