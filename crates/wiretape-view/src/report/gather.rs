//! Collects the contents of a report from its traces.

use crate::api::types::{CallRow, Report, ReportDetail};
use crate::query::calls::nth_in_line;
use crate::query::detail::Companions;
use crate::query::select::{Selections, Sort, TypedFilter};
use crate::query::{Set, calls, detail, info, lines, lint, sessions, tools};
use crate::trace::OpenTrace;
use std::io;
use std::thread;
use std::time::Duration;
use wiretape_analyze::filter::Filter;
use wiretape_trace::format::{Record, parse_line};
use wiretape_trace::message::{Envelope, MessageKind, payloads};

pub(super) fn gather(set: &Set, redacted: u64, now_ms: i64) -> io::Result<Report> {
    let everything = TypedFilter { text: String::new(), filter: Filter::default() };
    let selections = Selections::default();
    let all_calls = selections.calls(set, &everything, Sort::default())?;
    let all_lines = selections.lines(set, &everything)?;
    wait_for_jobs(set);
    let mut traces = info::set_info(set)?;
    traces.is_report = true;
    let calls = calls::page(set, &all_calls, 0, all_calls.len())?.rows;
    Ok(Report {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        created_ms: now_ms,
        redacted,
        set: traces,
        messages: lines::page(set, &all_lines, 0, all_lines.len())?.rows,
        details: details(set, &calls)?,
        calls,
        tools: tools::tools(set)?,
        sessions: sessions::sessions(set)?,
        lint: lint::lint(set),
    })
}

/// Waits for the background jobs: a report needs their final results.
fn wait_for_jobs(set: &Set) {
    for trace in &set.traces {
        while !(trace.findings().0.is_complete && trace.tools().0.is_complete) {
            // Polled: a report is made once, and the jobs have no way to wake a waiting thread.
            thread::sleep(Duration::from_millis(2));
        }
    }
}

fn details(set: &Set, rows: &[CallRow]) -> io::Result<Vec<ReportDetail>> {
    let companions: Vec<Companions> = set.traces.iter().map(|trace| Companions::of(&trace.index())).collect();
    let of_row = |row: &CallRow| {
        let at = row.trace as usize;
        detail_of(&set.traces[at], &companions[at], row)
    };
    rows.iter().map(of_row).collect()
}

fn detail_of(trace: &OpenTrace, companions: &Companions, row: &CallRow) -> io::Result<ReportDetail> {
    let (meanwhile, more) = detail::meanwhile_by(companions, trace, row)?;
    let http = detail::http(trace, row)?;
    let curl = match &http {
        Some(_) => {
            let body =
                detail::request(trace, row.call)?.map(detail::LocatedPayload::into_bytes).unwrap_or_default();
            detail::curl_of(trace, row.line, &body)?
        }
        None => None,
    };
    let nth = nth_in_line(&trace.index(), row.call);
    let is_request = |envelope: &Envelope<'_>| envelope.kind == MessageKind::Request;
    Ok(ReportDetail {
        trace: row.trace,
        call: row.call,
        request_index: place_in_batch(trace, row.line, nth, is_request)?,
        response_index: match row.response_line {
            Some(line) => response_index(trace, row.call, line)?,
            None => None,
        },
        meanwhile,
        more,
        http,
        curl,
    })
}

fn response_index(trace: &OpenTrace, call: u64, line: u64) -> io::Result<Option<u32>> {
    let Some((bytes, _)) = trace.line(line, u64::MAX)? else { return Ok(None) };
    let index = detail::response_index(trace, call, &bytes)?;
    Ok(index.and_then(|index| u32::try_from(index).ok()))
}

/// The position in a batch of the n-th matching message; `None` if the line is not a batch.
fn place_in_batch(
    trace: &OpenTrace,
    line: u64,
    nth: usize,
    is_meant: impl Fn(&Envelope<'_>) -> bool,
) -> io::Result<Option<u32>> {
    let Some((bytes, _)) = trace.line(line, u64::MAX)? else { return Ok(None) };
    let Record::Message(message) = parse_line(&bytes) else { return Ok(None) };
    if message.raw.trim_ascii_start().first() != Some(&b'[') {
        return Ok(None);
    }
    let payloads = payloads(message.raw).into_iter().enumerate();
    let found = payloads.filter(|(_, raw)| is_meant(&Envelope::scan(raw))).nth(nth);
    Ok(found.and_then(|(at, _)| u32::try_from(at).ok()))
}
