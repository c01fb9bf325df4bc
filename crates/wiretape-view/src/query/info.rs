//! Facts about traces as a whole.

use super::{Set, detail};
use crate::api::types::{Change, ServerFailure, TraceChange, TraceInfo, TraceSet};
use crate::trace::OpenTrace;
use std::io;
use wiretape_library::TraceState;
use wiretape_trace::message::Envelope;
use wiretape_trace::protocol::{Peer, handshake_version, method, request_version};

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
        failure: failure(&state, index.client_calls.crashed, index.last_stderr()),
        notices,
        lines: index.lines() as u64,
        messages: index.messages,
        calls: index.client_calls.calls,
        errors: index.client_calls.errors(),
        progress: trace.progress(),
    })
}

/// How the server failed, if it did.
pub(crate) fn failure(state: &TraceState, open_calls: u64, last_stderr: &[String]) -> Option<ServerFailure> {
    match state {
        TraceState::Ended(end) if end.is_failure() => {
            Some(ServerFailure { exit_code: end.exit_code, open_calls, last_stderr: last_stderr.to_vec() })
        }
        _ => None,
    }
}

/// The reading progress of the traces of a set.
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

/// The limit of calls that are searched for the handshake.
const SEARCHED: usize = 10_000;

/// The client, the server and their revision.
#[derive(Debug, Clone, Default)]
pub(crate) struct Introduction {
    pub(crate) client: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) revision: Option<String>,
}

impl Introduction {
    fn add_request(&mut self, payload: &[u8]) {
        let params = Envelope::scan(payload).params.unwrap_or_default();
        self.client = Peer::client(params).map(|peer| peer.to_string());
        // The requested revision, until the response has the one that the server chose.
        self.revision = request_version(params).or_else(|| handshake_version(params)).map(Into::into);
    }

    fn add_response(&mut self, payload: &[u8]) {
        let result = Envelope::scan(payload).result.unwrap_or_default();
        self.server = Peer::server(result).map(|peer| peer.to_string());
        self.revision = handshake_version(result).map(Into::into).or(self.revision.take());
    }
}

/// The names of client and server in the first call of a session that has them.
pub(crate) fn introduction(
    trace: &OpenTrace,
    is_meant: impl Fn(Option<&str>) -> bool,
) -> io::Result<Introduction> {
    let call = {
        // In a block, so that the index is not locked while lines are read.
        let index = trace.index();
        let mut calls = index.all_calls().take(SEARCHED);
        // A handshake names both sides. Without one, the first call may name the client in its `_meta`.
        let introduces = |method: Option<&str>| matches!(method, Some(method::INITIALIZE | method::DISCOVER));
        let of_session = |call: &crate::index::entry::CallEntry| is_meant(index.names.get(call.session));
        calls
            .find(|(_, call)| introduces(index.names.get(call.method)) && of_session(call))
            .or_else(|| index.all_calls().take(SEARCHED).find(|(_, call)| of_session(call)))
            .map(|(number, call)| (number, call.response_line()))
    };
    let mut introduction = Introduction::default();
    let Some((number, response_line)) = call else { return Ok(introduction) };
    if let Some(request) = detail::request(trace, number)? {
        introduction.add_request(request.bytes());
    }
    if let (Some(line), Some(row)) = (response_line, super::calls::call_row(trace, 0, number)?)
        && let Some(response) = detail::response(trace, &row, line)?
    {
        introduction.add_response(response.bytes());
    }
    Ok(introduction)
}
