//! Calls: the interpretation of arbitrary traces.

use wiretape_analyze::call::Call;
use wiretape_analyze::definitions::Collector;
use wiretape_analyze::drift;
use wiretape_analyze::filter::Filter;
use wiretape_analyze::listing::CallLister;
use wiretape_analyze::reading::{Analysis, Closed, Meaning, Reading, RecordingState, Seen};
use wiretape_analyze::stats::ToolStats;
use wiretape_trace::format::{Line, TraceReader};

/// Every request ends exactly once, in every analysis, and the result is deterministic. The first line is
/// also parsed as a filter.
pub fn calls(data: &[u8]) {
    let listed = list(data, &Filter::default());
    assert_eq!(listed, list(data, &Filter::default()), "calls depend on something else than the trace");
    let mut reading = Reading::new((Requests::default(), (ToolStats::new(), Collector::new())));
    each_line(data, |line| reading.observe(line));
    let (requests, (stats, definitions)) = reading.finish(RecordingState::Over);
    assert_eq!(listed.len() as u64, requests.seen, "a request ended twice, or never");
    assert_eq!(requests.closed, requests.seen, "a request ended twice, or never");
    // The statistics count calls on their own; they have to agree with the list.
    let counted = stats.totals().counts.calls + stats.server_requests().counts.calls;
    assert_eq!(counted, listed.len() as u64, "two ways to count calls");
    let definitions = definitions.finish();
    assert!(drift::compare(&definitions, &definitions).changes.is_empty(), "something differs from itself");
    let first = String::from_utf8_lossy(data.split(|byte| *byte == b'\n').next().unwrap_or_default());
    match Filter::parse(&first) {
        Ok(filter) => assert!(list(data, &filter).len() <= listed.len(), "a filter adds calls"),
        Err(error) => assert!(first.get(error.span).is_some(), "a mistake outside the filter"),
    }
}

fn list(data: &[u8], filter: &Filter) -> Vec<Call> {
    let mut lister = CallLister::new(filter.clone());
    let mut calls = Vec::new();
    each_line(data, |line| lister.observe(line, |call| calls.push(call)));
    lister.finish(RecordingState::Over, |call| calls.push(call));
    calls
}

#[derive(Default)]
struct Requests {
    seen: u64,
    closed: u64,
}

impl Analysis for Requests {
    type PerCall = ();

    fn seen(&mut self, seen: &Seen<'_, '_>, _: Option<&mut ()>) {
        self.seen += u64::from(matches!(seen.meaning, Meaning::Request { .. }));
    }

    fn closed(&mut self, _: &Closed<'_, '_>, (): ()) {
        self.closed += 1;
    }
}

fn each_line(data: &[u8], mut each: impl FnMut(&Line<'_>)) {
    let mut reader = TraceReader::new(data);
    while let Some(line) = reader.next_line().expect("reading from a slice never fails") {
        each(&line);
    }
}
