//! Selecting and sorting the calls and lines of a set of traces.
//!
//! The page shows rows as it scrolls, so a selection is computed once and then read in pages. It holds eight bytes
//! per row, and the last few are cached with the versions of their traces: a filter on text reads whole files. The
//! common case, one trace without a filter, needs no list at all.

use super::Set;
use crate::api::types::LineKind;
use crate::index::Index;
use crate::index::entry::{CallEntry, LineEntry};
use crate::trace::OpenTrace;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use wiretape_analyze::call::Call;
use wiretape_analyze::filter::{Filter, Needle, Subject};
use wiretape_analyze::listing::CallLister;
use wiretape_analyze::text::TextFinder;
use wiretape_trace::format::Record;
use wiretape_trace::message::Direction;

/// A call or a line of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) trace: u32,
    pub(crate) number: u32,
}

/// A sorted selection of rows.
#[derive(Debug)]
pub(crate) enum Rows {
    /// All rows of a single trace, which need no list.
    All(u64),
    Listed(Vec<Row>),
}

impl Rows {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Rows::All(count) => *count,
            Rows::Listed(rows) => rows.len() as u64,
        }
    }

    pub(crate) fn page(&self, from: u64, limit: u64) -> Vec<Row> {
        let to = from.saturating_add(limit).min(self.len());
        (from..to).filter_map(|at| self.get(at)).collect()
    }

    fn get(&self, at: u64) -> Option<Row> {
        match self {
            Rows::All(_) => Some(Row { trace: 0, number: u32::try_from(at + 1).ok()? }),
            Rows::Listed(rows) => rows.get(usize::try_from(at).ok()?).copied(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Row> {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// The position of a row, or of the first one after it.
    pub(crate) fn position(&self, wanted: Row) -> u64 {
        match self {
            Rows::All(_) => u64::from(wanted.number.saturating_sub(1)),
            Rows::Listed(rows) => {
                let after = |row: &Row| row.trace == wanted.trace && row.number >= wanted.number;
                rows.iter().position(after).unwrap_or(0) as u64
            }
        }
    }
}

/// The sort key and direction of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sort {
    pub(crate) by: SortKey,
    pub(crate) is_descending: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SortKey {
    #[default]
    Time,
    Latency,
    Name,
    Status,
    Request,
    Response,
}

impl Sort {
    /// `latency`, or `-latency` for the longest first.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (name, is_descending) = match text.strip_prefix('-') {
            Some(name) => (name, true),
            None => (text, false),
        };
        let by = match name {
            "" | "time" => SortKey::Time,
            "latency" => SortKey::Latency,
            "name" => SortKey::Name,
            "status" => SortKey::Status,
            "request" => SortKey::Request,
            "response" => SortKey::Response,
            _ => return None,
        };
        Some(Sort { by, is_descending })
    }
}

/// The cache of selections, so that the next page costs nothing.
#[derive(Debug, Default)]
pub(crate) struct Selections {
    kept: Mutex<Vec<(SelectionKey, Arc<Rows>)>>,
}

/// The key of a selection: the query and the state of the traces.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SelectionKey {
    traces: Vec<(String, u64)>,
    filter: String,
    /// The order of calls; `None` for a selection of lines, which has only one order.
    sort: Option<Sort>,
}

/// The limit of cached selections.
const KEPT: usize = 8;

/// A filter as typed and as parsed.
pub(crate) struct TypedFilter {
    pub(crate) text: String,
    pub(crate) filter: Filter,
}

impl Selections {
    /// The calls of a set that match.
    pub(crate) fn calls(&self, set: &Set, filter: &TypedFilter, sort: Sort) -> io::Result<Arc<Rows>> {
        self.kept(set, filter, Some(sort), || select_calls(set, &filter.filter, sort))
    }

    /// The lines of a set that match: those of matching calls, and lines without a call that match themselves.
    pub(crate) fn lines(&self, set: &Set, filter: &TypedFilter) -> io::Result<Arc<Rows>> {
        self.kept(set, filter, None, || select_lines(set, &filter.filter))
    }

    fn kept(
        &self,
        set: &Set,
        filter: &TypedFilter,
        sort: Option<Sort>,
        select: impl FnOnce() -> io::Result<Rows>,
    ) -> io::Result<Arc<Rows>> {
        let traces = set.traces.iter().map(|trace| (trace.key.clone(), trace.version())).collect();
        let key = SelectionKey { traces, filter: filter.text.clone(), sort };
        let mut kept = self.kept.lock();
        if let Some(at) = kept.iter().position(|(other, _)| *other == key) {
            let found = kept.remove(at);
            let rows = Arc::clone(&found.1);
            kept.push(found);
            return Ok(rows);
        }
        // Not held while selecting, which may read the whole file. Two equal requests at the same time then
        // both select.
        drop(kept);
        let rows = Arc::new(select()?);
        let mut kept = self.kept.lock();
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((key, Arc::clone(&rows)));
        Ok(rows)
    }
}

fn select_calls(set: &Set, filter: &Filter, sort: Sort) -> io::Result<Rows> {
    // The common case: opening a trace needs no list of a million rows.
    if let ([trace], true, true) = (set.traces.as_slice(), filter.is_empty(), sort == Sort::default()) {
        return Ok(Rows::All(trace.index().calls() as u64));
    }
    let mut rows = Vec::new();
    for (at, trace) in (0..).zip(&set.traces) {
        let passing = passing_calls(trace, filter)?;
        rows.push(passing.into_iter().map(|number| Row { trace: at, number }).collect());
    }
    let time = |index: &Index, row: Row| call_of(index, row).map_or(0, |call| call.at_us);
    let mut rows = merge(set, rows, time);
    sort_calls(set, &mut rows, sort);
    Ok(Rows::Listed(rows))
}

fn select_lines(set: &Set, filter: &Filter) -> io::Result<Rows> {
    if let ([trace], true) = (set.traces.as_slice(), filter.is_empty()) {
        return Ok(Rows::All(trace.index().lines() as u64));
    }
    let mut rows = Vec::new();
    for (at, trace) in (0..).zip(&set.traces) {
        let passing = passing_lines(trace, filter)?;
        rows.push(passing.into_iter().map(|number| Row { trace: at, number }).collect());
    }
    let time = |index: &Index, row: Row| index.line(u64::from(row.number)).map_or(0, |line| line.at_us);
    Ok(Rows::Listed(merge(set, rows, time)))
}

fn call_of(index: &Index, row: Row) -> Option<&CallEntry> {
    index.call(u64::from(row.number))
}

/// Merges the rows of several traces by time; the order within each trace is kept.
fn merge(set: &Set, mut rows: Vec<Vec<Row>>, time: impl Fn(&Index, Row) -> i64) -> Vec<Row> {
    if rows.len() == 1 {
        return rows.remove(0);
    }
    let indexes = set.indexes();
    let mut merged: Vec<(i64, Row)> =
        rows.into_iter().flatten().map(|row| (time(&indexes[row.trace as usize], row), row)).collect();
    // A stable sort keeps the order of each trace where times are equal.
    merged.sort_by_key(|(at, _)| *at);
    merged.into_iter().map(|(_, row)| row).collect()
}

fn sort_calls(set: &Set, rows: &mut [Row], sort: Sort) {
    let indexes = set.indexes();
    let call = |row: &Row| call_of(&indexes[row.trace as usize], *row);
    let number = |row: &Row| -> Option<u64> {
        let call = call(row)?;
        match sort.by {
            SortKey::Latency => call.duration_us(),
            SortKey::Request => Some(u64::from(call.request_bytes)),
            SortKey::Response => call.response_bytes(),
            _ => None,
        }
    };
    let name = |row: &Row| -> String {
        let Some(entry) = call(row) else { return String::new() };
        let names = &indexes[row.trace as usize].names;
        match sort.by {
            SortKey::Status => entry.outcome.name().to_owned(),
            _ => format!("{} {}", names.get(entry.tool).unwrap_or(""), names.get(entry.method).unwrap_or("")),
        }
    };
    match sort.by {
        SortKey::Time => {}
        SortKey::Name | SortKey::Status => rows.sort_by_cached_key(name),
        SortKey::Latency | SortKey::Request | SortKey::Response => rows.sort_by_key(number),
    }
    if sort.is_descending {
        rows.reverse();
    }
}

/// The numbers of matching calls in order.
fn passing_calls(trace: &OpenTrace, filter: &Filter) -> io::Result<Vec<u32>> {
    // Everything else that a filter can ask for is in the index.
    if filter.asks_for_ids() || filter.needles().next().is_some() {
        return listed_calls(trace, filter);
    }
    let label = trace.label();
    let index = trace.index();
    let passes = |(number, call): (u64, &CallEntry)| -> Option<u32> {
        let passes = filter.matches(&index.subject(call, &label), |_| false);
        u32::try_from(number).ok().filter(|_| passes)
    };
    Ok(index.all_calls().filter_map(passes).collect())
}

/// The same by reading the trace again, since ids and texts are only in the file.
fn listed_calls(trace: &OpenTrace, filter: &Filter) -> io::Result<Vec<u32>> {
    let mut lister = CallLister::new(filter.clone());
    let mut numbers = Vec::new();
    let mut each = |call: Call| numbers.extend(u32::try_from(call.number).ok());
    trace.scan(&AtomicU64::new(0), |line| lister.observe(line, &mut each))?;
    lister.finish(trace.recording_state(), &mut each);
    numbers.sort_unstable();
    Ok(numbers)
}

fn passing_lines(trace: &OpenTrace, filter: &Filter) -> io::Result<Vec<u32>> {
    if filter.is_empty() {
        return Ok((1..=u32::try_from(trace.index().lines()).unwrap_or(u32::MAX)).collect());
    }
    let calls = passing_calls(trace, filter)?;
    let texts = Texts::find(trace, filter)?;
    let label = trace.label();
    let index = trace.index();
    let batches = lines_of_calls(&index, &calls);
    let passes = |(number, line): (u64, &LineEntry)| -> Option<u32> {
        let number = u32::try_from(number).ok()?;
        let is_meant = match (line.kind(), line.call) {
            (LineKind::Batch, _) => batches.contains(&number),
            (_, 0) => {
                filter.matches(&line_subject(&index, *line, &label), |needle| texts.of_line(number, needle))
            }
            (_, call) => calls.binary_search(&call).is_ok(),
        };
        is_meant.then_some(number)
    };
    Ok(index.all_lines().filter_map(passes).collect())
}

/// The lines of these calls, if there are batches: the entry of such a line names only one of its calls.
fn lines_of_calls(index: &Index, calls: &[u32]) -> HashSet<u32> {
    if !index.all_lines().any(|(_, line)| line.kind() == LineKind::Batch) {
        return HashSet::new();
    }
    let lines = calls.iter().filter_map(|number| index.call(u64::from(*number)));
    lines
        .flat_map(|call| {
            [Some(call.request_line), call.response_line().and_then(|line| u32::try_from(line).ok())]
        })
        .flatten()
        .collect()
}

/// The subject of a filter for a line without a call. One that is not a message can only match by its text.
fn line_subject<'a>(index: &'a Index, line: LineEntry, label: &'a str) -> Subject<'a> {
    use LineKind::{Batch, Notification, Odd, Request, Response, Stderr, Text};
    let is_message = matches!(line.kind(), Request | Response | Notification | Batch | Odd);
    let has_text = is_message || matches!(line.kind(), Stderr | Text);
    Subject {
        method: index.names.get(line.method()),
        direction: match line.dir() {
            crate::api::types::Dir::In => Some(Direction::ClientToServer),
            crate::api::types::Dir::Out => Some(Direction::ServerToClient),
            crate::api::types::Dir::Unknown => None,
        },
        server: has_text.then_some(label),
        ..Subject::default()
    }
}

/// The lines without a call that contain the texts of a filter: a bit for each text.
#[derive(Default)]
struct Texts<'f> {
    needles: Vec<&'f Needle>,
    lines: HashMap<u32, u64>,
}

impl<'f> Texts<'f> {
    /// Reads the trace if the filter has texts.
    fn find(trace: &OpenTrace, filter: &'f Filter) -> io::Result<Self> {
        // One bit per text; beyond 64, texts match no line without a call.
        let needles: Vec<&Needle> = filter.needles().take(64).collect();
        let mut texts = Texts { needles, ..Texts::default() };
        if texts.needles.is_empty() {
            return Ok(texts);
        }
        let finders: Vec<TextFinder> =
            texts.needles.iter().map(|needle| TextFinder::literal(&needle.text)).collect();
        trace.scan(&AtomicU64::new(0), |line| {
            // The texts of calls were already checked by `passing_calls`.
            let is_alone = trace.index().line(line.number).is_some_and(|entry| entry.call == 0);
            let found = if is_alone { bits(&finders, &line.record) } else { 0 };
            if let (1.., Ok(number)) = (found, u32::try_from(line.number)) {
                texts.lines.insert(number, found);
            }
        })?;
        Ok(texts)
    }

    fn of_line(&self, number: u32, needle: &Needle) -> bool {
        let bit = self.needles.iter().position(|other| *other == needle);
        bit.zip(self.lines.get(&number)).is_some_and(|(bit, found)| found & (1 << bit) != 0)
    }
}

fn bits(finders: &[TextFinder], record: &Record<'_>) -> u64 {
    let is_in = |finder: &TextFinder| match record {
        Record::Message(message) => finder.is_in(message.raw),
        Record::Text(text) | Record::Stderr(text) => {
            // As JSON, because the finder expects JSON text, as in messages.
            serde_json::to_vec(&text.text).is_ok_and(|json| finder.is_in(&json))
        }
        _ => false,
    };
    let bits = finders.iter().enumerate().filter(|(_, finder)| is_in(finder));
    bits.fold(0, |found, (bit, _)| found | 1 << bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_are_understood() {
        assert_eq!(Sort::parse(""), Some(Sort::default()));
        assert_eq!(Sort::parse("-latency"), Some(Sort { by: SortKey::Latency, is_descending: true }));
        assert_eq!(Sort::parse("size"), None);
    }

    #[test]
    fn rows_come_in_pages() {
        let row = |number| Row { trace: 0, number };
        let all = Rows::All(3);
        assert_eq!(all.page(1, 10), [row(2), row(3)]);
        assert_eq!((all.position(row(3)), all.page(9, 1).len()), (2, 0));
        let some = Rows::Listed(vec![row(2), row(5)]);
        assert_eq!((some.page(0, 1), some.position(row(3))), (vec![row(2)], 1));
    }
}
