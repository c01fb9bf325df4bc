//! The calls of a trace, one after the other, as they are listed.
//!
//! Calls come in the order of their requests. One that stays open while thousands of others end would hold these back, so
//! that it comes when it ends: memory is bounded by the open calls, and by [`HELD`].

use crate::call::{Call, CallTracker, Observed};
use crate::filter::{Filter, Subject};
use crate::operation::{Operation, OperationTracker};
use crate::text::TextFinder;
use std::collections::{BTreeMap, HashMap};
use wiretape_trace::format::{Record, Stamp};

/// How many calls that have ended wait for an older one.
pub const HELD: usize = 4096;

/// A call, and the operation that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedCall {
    /// The call.
    pub call: Call,
    /// The number of the first call of its operation.
    pub operation: Option<u64>,
}

/// Lists the calls of one recording that pass a filter.
#[derive(Debug)]
pub struct CallLister {
    tracker: CallTracker,
    operations: OperationTracker,
    filter: Filter,
    finders: Vec<TextFinder>,
    /// Which of the texts were found in a call that is open: a bit for each.
    found: HashMap<u64, u64>,
    label: Option<String>,
    order: InOrder,
}

impl CallLister {
    /// At the beginning of a recording.
    pub fn new(filter: Filter) -> Self {
        let finders = filter.needles().map(|needle| TextFinder::literal(&needle.text)).collect();
        CallLister {
            tracker: CallTracker::new(),
            operations: OperationTracker::new(),
            filter,
            finders,
            found: HashMap::new(),
            label: None,
            order: InOrder::default(),
        }
    }

    /// Takes the next record; `each` is told of the calls that are due.
    pub fn observe(&mut self, line: u64, record: &Record<'_>, mut each: impl FnMut(ListedCall)) {
        if let Record::Meta(meta) = record {
            self.label = Some(meta.label.clone());
        }
        let mut seen = Vec::new();
        let failed = self.tracker.observe_record(line, record, |raw, envelope, observed| {
            seen.push((raw, envelope, observed));
        });
        if let Record::Message(message) = record {
            for (raw, envelope, observed) in seen {
                let operation = self.operations.observe(&self.tracker, &message.stamp, &envelope, &observed);
                self.payload(raw, observed, operation, &mut each);
            }
        }
        for call in failed {
            self.close(call, None, &mut each);
        }
    }

    fn payload(
        &mut self,
        raw: &[u8],
        observed: Observed,
        operation: Option<u64>,
        each: &mut impl FnMut(ListedCall),
    ) {
        let about = match &observed {
            Observed::Request { number, .. } => Some(*number),
            Observed::Answer(call) => Some(call.number),
            Observed::Progress { of } | Observed::Cancellation { of } => *of,
            _ => None,
        };
        if let Some(number) = about.filter(|_| !self.finders.is_empty()) {
            *self.found.entry(number).or_default() |= self.texts_in(raw);
        }
        if let Some(call) = observed.into_closed() {
            self.close(call, operation, each);
        }
    }

    fn texts_in(&self, raw: &[u8]) -> u64 {
        let bits = self.finders.iter().take(64).enumerate();
        bits.filter(|(_, finder)| finder.is_in(raw)).fold(0, |found, (bit, _)| found | 1 << bit)
    }

    fn close(&mut self, call: Call, operation: Option<u64>, each: &mut impl FnMut(ListedCall)) {
        let found = self.found.remove(&call.number).unwrap_or_default();
        let operation = operation.or_else(|| self.operations.of(call.number));
        let number = call.number;
        let listed = self.passes(&call, found).then_some(ListedCall { call, operation });
        self.order.push(number, listed, each);
    }

    fn passes(&self, call: &Call, found: u64) -> bool {
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

    /// The operations that came to an end since the last time.
    pub fn take_operations(&mut self) -> Vec<Operation> {
        self.operations.take_ended()
    }

    /// The recording has ended: tells of the calls that are open, and returns the operations that are.
    pub fn finish(mut self, mut each: impl FnMut(ListedCall)) -> Vec<Operation> {
        for call in std::mem::take(&mut self.tracker).finish() {
            self.close(call, None, &mut each);
        }
        self.order.flush(&mut each);
        self.operations.finish()
    }
}

/// Puts calls in the order of their numbers.
#[derive(Debug)]
struct InOrder {
    next: u64,
    /// Those that wait for an older one; `None` if nobody wants to see them.
    waiting: BTreeMap<u64, Option<ListedCall>>,
}

impl Default for InOrder {
    fn default() -> Self {
        InOrder { next: 1, waiting: BTreeMap::new() }
    }
}

impl InOrder {
    fn push(&mut self, number: u64, call: Option<ListedCall>, each: &mut impl FnMut(ListedCall)) {
        if number < self.next {
            // Others went before it, for it took too long.
            call.into_iter().for_each(each);
            return;
        }
        self.waiting.insert(number, call);
        while let Some(call) = self.waiting.remove(&self.next) {
            call.into_iter().for_each(&mut *each);
            self.next += 1;
        }
        if self.waiting.len() > HELD {
            self.flush(each);
        }
    }

    fn flush(&mut self, each: &mut impl FnMut(ListedCall)) {
        for (number, call) in std::mem::take(&mut self.waiting) {
            self.next = number + 1;
            call.into_iter().for_each(&mut *each);
        }
    }
}

/// When something of a record was seen, if it says so.
pub fn stamp_of<'a, 'r>(record: &'r Record<'a>) -> Option<&'r Stamp<'a>> {
    match record {
        Record::Message(message) => Some(&message.stamp),
        Record::Text(text) | Record::Stderr(text) => Some(&text.stamp),
        Record::Http(exchange) => Some(&exchange.stamp),
        Record::Unknown { stamp, .. } => Some(stamp),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{for_each_record, message};

    fn listed(filter: &str, lines: &[String]) -> Vec<u64> {
        let mut lister = CallLister::new(Filter::parse(filter).unwrap());
        let mut numbers = Vec::new();
        for_each_record(lines, |line, record| {
            lister.observe(line, record, |listed| numbers.push(listed.call.number));
        });
        lister.finish(|listed| numbers.push(listed.call.number));
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
