//! Statistics of tools and methods: counts, errors, durations, tokens.

use super::timeline::bucket;
use super::{Set, text_of};
use crate::api::types::{Dir, LineKind, Progress, ToolRow, ToolsReport};
use crate::index::entry::CallEntry;
use crate::trace::OpenTrace;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use wiretape_analyze::definitions::{Collector, Definitions, ListKind};
use wiretape_analyze::latency::Latencies;
use wiretape_analyze::reading::Reading;
use wiretape_analyze::stats::CallCounts;
use wiretape_analyze::tokens;
use wiretape_trace::format::{Line, parse_line};
use wiretape_trace::message::Direction;

/// The upper bounds of a histogram's buckets, in microseconds.
const BUCKETS_US: [u64; 15] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    5_000_000, 30_000_000,
];
/// The number of intervals of a sparkline.
const SPARKS: usize = 40;

/// The key of a tool's or method's statistics: trace, direction, method and tool.
type StatsKey = (u32, Direction, String, Option<String>);

/// The calls of one tool or method.
struct CallStats {
    counts: CallCounts,
    latencies: Latencies,
    histogram: Vec<u32>,
    sparkline: Vec<u32>,
    request_bytes: u64,
    response_bytes: u64,
}

impl Default for CallStats {
    fn default() -> Self {
        CallStats {
            counts: CallCounts::default(),
            latencies: Latencies::default(),
            histogram: vec![0; BUCKETS_US.len() + 1],
            sparkline: vec![0; SPARKS],
            request_bytes: 0,
            response_bytes: 0,
        }
    }
}

impl CallStats {
    fn add(&mut self, call: &CallEntry, spark: usize) {
        self.counts.add(call.outcome);
        self.sparkline[spark] += 1;
        self.request_bytes += u64::from(call.request_bytes);
        self.response_bytes += call.response_bytes().unwrap_or(0);
        if let Some(us) = call.latency_us() {
            self.latencies.add(us);
            self.histogram[BUCKETS_US.partition_point(|bound| *bound < us)] += 1;
        }
    }
}

/// The tools of a set, and its other methods.
pub(crate) fn tools(set: &Set) -> io::Result<ToolsReport> {
    let seen = gather(set);
    let all: u64 = seen.values().map(|seen| seen.counts.calls).sum();
    let (mut tools, mut methods) = (Vec::new(), Vec::new());
    for (called, seen) in &seen {
        let row = row(called, seen, all);
        if called.3.is_some() { tools.push(row) } else { methods.push(row) }
    }
    let mut progress = Progress { is_complete: true, ..Progress::default() };
    for (at, trace) in (0..).zip(&set.traces) {
        add_definitions(&mut tools, at, &definitions(trace)?);
        add_tokens(&mut tools, at, trace, &mut progress);
    }
    tools.sort_by_key(|row| std::cmp::Reverse((row.calls, row.definition_tokens)));
    methods.sort_by_key(|row: &ToolRow| std::cmp::Reverse(row.calls));
    Ok(ToolsReport {
        tools,
        methods,
        encoding: tokens::ENCODING.to_owned(),
        tokens: progress,
        buckets_us: BUCKETS_US.to_vec(),
    })
}

fn gather(set: &Set) -> BTreeMap<StatsKey, CallStats> {
    let indexes = set.indexes();
    let times: Vec<(i64, i64)> = indexes.iter().filter_map(|index| index.times()).collect();
    let from = times.iter().map(|(first, _)| *first).min().unwrap_or(0);
    let to = times.iter().map(|(_, last)| *last).max().unwrap_or(0);
    let mut seen: BTreeMap<StatsKey, CallStats> = BTreeMap::new();
    for (at, index) in (0..).zip(&indexes) {
        // Grouped by name numbers first: copying a name for each call would cost an allocation each.
        let mut by_id: BTreeMap<_, CallStats> = BTreeMap::new();
        for (_, call) in index.all_calls() {
            let id = (call.direction == Direction::ServerToClient, call.method, call.tool);
            by_id.entry(id).or_default().add(call, bucket(from, to, SPARKS, call.at_us));
        }
        for ((is_of_server, method, tool), calls) in by_id {
            let direction = if is_of_server { Direction::ServerToClient } else { Direction::ClientToServer };
            let name = |id| index.names.get(id).map(str::to_owned);
            seen.insert((at, direction, name(method).unwrap_or_default(), name(tool)), calls);
        }
    }
    seen
}

fn row(called: &StatsKey, seen: &CallStats, all: u64) -> ToolRow {
    let (trace, direction, method, tool) = called;
    let latencies = &seen.latencies;
    ToolRow {
        trace: *trace,
        name: tool.clone().unwrap_or_else(|| method.clone()),
        direction: Dir::from(*direction),
        calls: seen.counts.calls,
        share: seen.counts.calls as f64 / (all.max(1) as f64),
        errors: seen.counts.errors(),
        unanswered: seen.counts.without_answer(),
        mean_us: latencies.mean(),
        p50_us: latencies.percentile(50),
        p95_us: latencies.percentile(95),
        p99_us: latencies.percentile(99),
        max_us: latencies.max(),
        histogram: seen.histogram.clone(),
        sparkline: seen.sparkline.clone(),
        request_bytes: seen.request_bytes,
        response_bytes: seen.response_bytes,
        definition_tokens: None,
        result_tokens: None,
        definition: None,
    }
}

/// The server's definitions, found by reading only the lines that contain them.
fn definitions(trace: &OpenTrace) -> io::Result<Definitions> {
    // In a block, so that the index is not locked while lines are read.
    let lines: Vec<u64> = {
        let index = trace.index();
        let lists = ListKind::Tools.method();
        let wanted = index.names.find(lists);
        let may_list = |kind| matches!(kind, LineKind::Request | LineKind::Response | LineKind::Batch);
        let lines =
            index.all_lines().filter(|(_, line)| may_list(line.kind()) && Some(line.method()) == wanted);
        lines.map(|(number, _)| number).collect()
    };
    let mut reading = Reading::new(Collector::new());
    for number in lines {
        if let Some((bytes, _)) = trace.line(number, u64::MAX)? {
            let record = parse_line(&bytes);
            reading.observe(&Line { number, offset: 0, bytes: &bytes, record });
        }
    }
    Ok(reading.finish(trace.recording_state()).finish())
}

fn add_definitions(tools: &mut Vec<ToolRow>, at: u32, definitions: &Definitions) {
    let Some(listing) = definitions.lists.get(&ListKind::Tools) else { return };
    for (name, definition) in &listing.entries {
        let known =
            tools.iter().position(|row| row.trace == at && row.name == *name && row.direction == Dir::In);
        let known = known.unwrap_or_else(|| {
            let called = (at, Direction::ClientToServer, String::new(), Some(name.clone()));
            tools.push(row(&called, &CallStats::default(), 0));
            tools.len() - 1
        });
        tools[known].definition_tokens = Some(tokens::of_definition(&definition.raw));
        tools[known].definition = Some(text_of(&definition.raw));
    }
}

fn add_tokens(tools: &mut [ToolRow], at: u32, trace: &Arc<OpenTrace>, progress: &mut Progress) {
    let (of_trace, counted) = trace.tools();
    progress.done += of_trace.done;
    progress.total += of_trace.total;
    progress.is_complete &= of_trace.is_complete;
    let Some(counted) = counted else { return };
    for row in tools.iter_mut().filter(|row| row.trace == at && row.direction == Dir::In) {
        row.result_tokens = counted.get(&row.name).map(|tool| tool.result_tokens);
    }
}
