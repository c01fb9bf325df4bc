//! Lists the calls of a trace in the order of their requests.
//!
//! A call is complete only with its answer, so completed calls wait for older ones. A call that stays pending while
//! [`HELD`] others complete loses its place and is listed when it ends. So memory is bounded by the pending calls and
//! [`HELD`], whatever the length of the trace.

use crate::call::Call;
use crate::filter::{Filter, Subject};
use crate::operation::Operation;
use crate::reading::{Analysis, Closed, LineView, Reading, RecordingState, Seen};
use crate::text::TextFinder;
use std::collections::BTreeMap;
use wiretape_trace::format::{Line, Record};

/// Completed calls that wait for an older one.
pub const HELD: usize = 4096;

/// Lists the calls of one recording that match a filter.
#[derive(Debug)]
pub struct CallLister {
    reading: Reading<Listing>,
}

impl CallLister {
    /// A lister before the first line.
    pub fn new(filter: Filter) -> Self {
        let finders = filter.needles().map(|needle| TextFinder::literal(&needle.text)).collect();
        let listing = Listing {
            filter,
            finders,
            label: None,
            order: InOrder::default(),
            due: Vec::new(),
            operations: Vec::new(),
        };
        CallLister { reading: Reading::new(listing) }
    }

    /// Observes the next line; `each` receives the calls that can be listed now.
    pub fn observe(&mut self, line: &Line<'_>, mut each: impl FnMut(Call)) {
        self.reading.observe_with(line, |listing| listing.due.drain(..).for_each(&mut each));
        self.reading.analysis_mut().due.drain(..).for_each(each);
    }

    /// Ends the listing: `each` receives the remaining calls. Returns the operations.
    pub fn finish(self, state: RecordingState, mut each: impl FnMut(Call)) -> Vec<Operation> {
        // After each call: all of them at once doubled the memory of a pending call (`limits` in the tests of `wiretape`).
        let drain = |listing: &mut Listing| listing.due.drain(..).for_each(&mut each);
        let mut listing = self.reading.finish_with(state, drain);
        listing.order.flush(&mut listing.due);
        listing.due.into_iter().for_each(each);
        listing.operations
    }
}

#[derive(Debug)]
struct Listing {
    filter: Filter,
    finders: Vec<TextFinder>,
    label: Option<String>,
    order: InOrder,
    due: Vec<Call>,
    operations: Vec<Operation>,
}

impl Listing {
    /// The needles that a payload contains, as bits.
    fn texts_in(&self, raw: &[u8]) -> u64 {
        // Bits instead of a set: this is kept for every pending call. A filter with more than 64 texts is not a real
        // one.
        let bits = self.finders.iter().take(64).enumerate();
        bits.filter(|(_, finder)| finder.is_in(raw)).fold(0, |found, (bit, _)| found | 1 << bit)
    }

    fn matches(&self, call: &Call, found: u64) -> bool {
        if self.filter.is_empty() {
            return true;
        }
        let subject = Subject::of_call(call, self.label.as_deref());
        let needles: Vec<_> = self.filter.needles().collect();
        self.filter.matches(&subject, |wanted| {
            needles
                .iter()
                .position(|needle| *needle == wanted)
                .is_some_and(|bit| found & (1 << bit.min(63)) != 0)
        })
    }
}

impl Analysis for Listing {
    /// The needles found in the call so far, as bits.
    type PerCall = u64;

    fn begin_line(&mut self, line: &LineView<'_, '_>) {
        if let Record::Meta(meta) = &line.line.record {
            self.label = Some(meta.label.clone());
        }
    }

    fn seen(&mut self, seen: &Seen<'_, '_>, own: Option<&mut u64>) {
        if let Some(found) = own.filter(|_| !self.finders.is_empty()) {
            *found |= self.texts_in(seen.raw);
        }
    }

    fn closed(&mut self, closed: &Closed<'_, '_>, found: u64) {
        let call = self.matches(closed.call, found).then(|| closed.call.clone());
        self.order.push(closed.call.number, call, &mut self.due);
    }

    fn operation_closed(&mut self, operation: &Operation) {
        self.operations.push(operation.clone());
    }
}

/// Sorts calls by number.
#[derive(Debug)]
struct InOrder {
    next: u64,
    /// Completed calls that wait for an older one; `None` if they don't match the filter.
    waiting: BTreeMap<u64, Option<Call>>,
}

impl Default for InOrder {
    fn default() -> Self {
        InOrder { next: 1, waiting: BTreeMap::new() }
    }
}

impl InOrder {
    fn push(&mut self, number: u64, call: Option<Call>, due: &mut Vec<Call>) {
        if number < self.next {
            // It lost its place: too many later calls completed first.
            due.extend(call);
            return;
        }
        // The common case, calls one after another, without touching the map.
        if number == self.next && self.waiting.is_empty() {
            due.extend(call);
            self.next += 1;
            return;
        }
        self.waiting.insert(number, call);
        while let Some(call) = self.waiting.remove(&self.next) {
            due.extend(call);
            self.next += 1;
        }
        if self.waiting.len() > HELD {
            self.flush(due);
        }
    }

    fn flush(&mut self, due: &mut Vec<Call>) {
        for (number, call) in std::mem::take(&mut self.waiting) {
            self.next = number + 1;
            due.extend(call);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{for_each_line, message};

    fn listed(filter: &str, lines: &[String]) -> Vec<u64> {
        let mut lister = CallLister::new(Filter::parse(filter).unwrap());
        let mut numbers = Vec::new();
        for_each_line(lines, |line| lister.observe(line, |call| numbers.push(call.number)));
        lister.finish(RecordingState::Over, |call| numbers.push(call.number));
        numbers
    }

    fn ask(id: u64, method: &str) -> String {
        message(
            "in",
            id,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"q":"a{id}"}}}}"#),
        )
    }

    fn answer(id: u64) -> String {
        message("out", id + 100, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"r":"b{id}"}}}}"#))
    }

    #[test]
    fn calls_come_in_the_order_of_their_requests() {
        let lines = [ask(1, "x/a"), ask(2, "x/b"), answer(2), ask(3, "x/c"), answer(1)];
        assert_eq!(listed("", &lines), [1, 2, 3]);
        assert_eq!(listed("-method:x/a", &lines), [2, 3]);
        assert_eq!(listed("status:unanswered", &lines), [3]);
    }

    #[test]
    fn text_is_looked_for_on_both_sides() {
        let lines = [ask(1, "x/a"), answer(1), ask(2, "x/b"), answer(2)];
        assert_eq!(listed("text:a1", &lines), [1]);
        assert_eq!(listed("text:B2", &lines), [2]);
        assert_eq!(listed("text:a1,b2", &lines), [1, 2]);
        assert_eq!(listed("text:a1 text:b2", &lines), Vec::<u64>::new());
        assert_eq!(listed("-text:a1", &lines), [2]);
    }

    #[test]
    fn one_that_stays_open_holds_up_no_others_for_long() {
        let mut lines = vec![ask(1, "x/slow")];
        for id in 2..HELD as u64 + 10 {
            lines.extend([ask(id, "x/quick"), answer(id)]);
        }
        lines.push(answer(1));
        let numbers = listed("", &lines);
        assert_eq!(numbers.last(), Some(&1));
        assert_eq!(numbers.len(), HELD + 9);
        assert!(numbers[..HELD].is_sorted());
    }
}
