//! What calls are, in any trace.

use wiretape_analyze::call::{Call, CallTracker, Observed};
use wiretape_analyze::definitions::DefinitionsReader;
use wiretape_analyze::drift;
use wiretape_analyze::filter::Filter;
use wiretape_analyze::listing::CallLister;
use wiretape_analyze::stats::ToolStats;
use wiretape_trace::format::{Record, TraceReader};

/// Every request ends once, whoever looks, and the same is said every time. The first line is a filter, too.
pub fn calls(data: &[u8]) {
    let listed = list(data, &Filter::default());
    assert_eq!(listed, list(data, &Filter::default()), "calls depend on something else than the trace");
    assert_eq!(listed.len() as u64, requests(data), "a request ended twice, or never");
    let mut stats = ToolStats::new();
    let mut definitions = DefinitionsReader::new();
    each_record(data, |line, record| {
        stats.observe(line, record);
        definitions.observe(line, record);
    });
    stats.end_recording();
    assert_eq!(stats.totals().counts.calls, listed.len() as u64, "two ways to count calls");
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
    each_record(data, |line, record| lister.observe(line, record, |listed| calls.push(listed.call)));
    lister.finish(|listed| calls.push(listed.call));
    calls
}

fn requests(data: &[u8]) -> u64 {
    let mut tracker = CallTracker::new();
    let mut requests = 0;
    each_record(data, |line, record| {
        tracker.observe_record(line, record, |_, _, observed| {
            requests += u64::from(matches!(observed, Observed::Request { .. }));
        });
    });
    requests
}

fn each_record(data: &[u8], mut each: impl FnMut(u64, &Record<'_>)) {
    let mut reader = TraceReader::new(data);
    while let Some(line) = reader.next_line().expect("bytes in memory can be read") {
        each(line.number, &line.record);
    }
}
