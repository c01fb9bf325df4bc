//! What traces are, as a whole.

use super::{Set, detail};
use crate::api::types::{Change, TraceChange, TraceInfo, TraceSet};
use crate::trace::OpenTrace;
use std::io;
use wiretape_library::introduction::{Introduction, answered, asked};

/// The traces of a set, as far as they were read.
pub(crate) fn set_info(set: &Set) -> io::Result<TraceSet> {
    let traces: Vec<TraceInfo> =
        set.traces.iter().map(|trace| trace_info(trace)).collect::<io::Result<_>>()?;
    let from_us = traces.iter().map(|trace| trace.started_us).filter(|at| *at > 0).min().unwrap_or(0);
    let to_us = traces.iter().map(|trace| trace.last_us).max().unwrap_or(0);
    Ok(TraceSet { traces, from_us, to_us, is_report: false })
}

fn trace_info(trace: &OpenTrace) -> io::Result<TraceInfo> {
    let introduction = introduction(trace, |_| true)?;
    let (state, label, notices) = (trace.state(), trace.label(), trace.notices());
    let index = trace.index();
    let (started_us, last_us) = index.times().unwrap_or_default();
    let meta = index.meta.as_ref();
    Ok(TraceInfo {
        key: trace.key.clone(),
        label,
        file: trace.file.clone(),
        client: introduction.client,
        server: introduction.server,
        revision: introduction.revision,
        transport: meta.and_then(|meta| meta.transport.clone()),
        command: meta.map(|meta| meta.command.join(" ")).filter(|command| !command.is_empty()),
        started_us,
        last_us,
        state: state.kind(),
        state_text: state.describe(),
        notices,
        lines: index.lines() as u64,
        messages: index.messages,
        calls: index.calls() as u64,
        errors: index.errors,
        progress: trace.progress(),
    })
}

/// How far the traces of a set are.
pub(crate) fn change(set: &Set, home: u64) -> Change {
    let of = |trace: &OpenTrace| {
        let (lines, calls) = {
            let index = trace.index();
            (index.lines() as u64, index.calls() as u64)
        };
        TraceChange {
            lines,
            calls,
            version: trace.version(),
            progress: trace.progress(),
            lint: trace.lint.progress(trace),
            tokens: trace.tokens.progress(trace),
            state: trace.state().kind(),
        }
    };
    Change { home, traces: set.traces.iter().map(|trace| of(trace)).collect() }
}

/// How many calls are looked at before nobody is taken to have said who they are.
const LOOKED_AT: usize = 10_000;

/// What client and server say of themselves, in the first call that is meant and tells it.
pub(crate) fn introduction(
    trace: &OpenTrace,
    is_meant: impl Fn(Option<&str>) -> bool,
) -> io::Result<Introduction> {
    let call = {
        let index = trace.index();
        let mut calls = index.all_calls().take(LOOKED_AT);
        let is_introduction = |method: Option<&str>| matches!(method, Some("initialize" | "server/discover"));
        let of_session = |call: &crate::index::entry::CallEntry| is_meant(index.names.get(call.session));
        calls
            .find(|(_, call)| is_introduction(index.names.get(call.method)) && of_session(call))
            .or_else(|| index.all_calls().take(LOOKED_AT).find(|(_, call)| of_session(call)))
            .map(|(number, call)| (number, call.response_line()))
    };
    let Some((number, response_line)) = call else { return Ok(Introduction::default()) };
    let mut introduction =
        detail::request(trace, number)?.map(|found| asked(found.bytes())).unwrap_or_default();
    if let (Some(line), Some(row)) = (response_line, super::calls::call_row(trace, 0, number)?)
        && let Some(found) = detail::response(trace, &row, line)?
    {
        answered(found.bytes(), &mut introduction);
    }
    Ok(introduction)
}
