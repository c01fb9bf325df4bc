//! Rows of the page's list of calls, read from the index and the trace.

use super::Set;
use super::select::{Row, Rows};
use crate::api::types::{CallPage, CallRow, Dir};
use crate::index::Index;
use crate::trace::OpenTrace;
use std::io;
use wiretape_analyze::call::Outcome;
use wiretape_analyze::glance;
use wiretape_trace::format::{Record, parse_line};
use wiretape_trace::message::{Envelope, Id, MessageKind, payloads};

/// The number of bytes of a request that are read for its short description.
const GLANCE: u64 = 64 * 1024;
/// The limit of the description in characters.
pub(crate) const ABOUT: usize = 160;

/// A page of calls.
pub(crate) fn page(set: &Set, rows: &Rows, from: u64, limit: u64) -> io::Result<CallPage> {
    let all = set.traces.iter().map(|trace| trace.index().calls() as u64).sum();
    let rows_of_page = rows.page(from, limit).into_iter().filter_map(|row| of_row(set, row).transpose());
    Ok(CallPage { total: rows.len(), all, from, rows: rows_of_page.collect::<io::Result<_>>()? })
}

fn of_row(set: &Set, row: Row) -> io::Result<Option<CallRow>> {
    match set.traces.get(row.trace as usize) {
        Some(trace) => call_row(trace, row.trace, u64::from(row.number)),
        None => Ok(None),
    }
}

/// The row of a call, with a short description of its request.
pub(crate) fn call_row(trace: &OpenTrace, at: u32, number: u64) -> io::Result<Option<CallRow>> {
    let Some(mut row) = bare_row(trace, at, number) else { return Ok(None) };
    // Only the beginning: a summary needs a few hundred characters, and a request may have megabytes.
    if let Some((line, _)) = trace.line(row.line, GLANCE)? {
        let nth = nth_in_line(&trace.index(), number);
        if let Some((raw, envelope)) = request_in(&line, nth) {
            row.id = envelope.id.as_ref().map(Id::text).map(str::to_owned);
            row.about = glance::describe(raw, &envelope, &row.method, ABOUT);
        }
    }
    Ok(Some(row))
}

/// The row of a call from the index alone.
fn bare_row(trace: &OpenTrace, at: u32, number: u64) -> Option<CallRow> {
    // Before the index is locked, which must not be held while taking another lock.
    let is_live = trace.is_live();
    let index = trace.index();
    let call = index.call(number)?;
    let name = |id| index.names.get(id).map(str::to_owned);
    Some(CallRow {
        trace: at,
        call: number,
        line: u64::from(call.request_line),
        response_line: call.response_line(),
        at_us: call.at_us,
        direction: Dir::from(call.direction),
        id: None,
        session: name(call.session),
        method: name(call.method).unwrap_or_default(),
        tool: name(call.tool),
        status: call.outcome.name().to_owned(),
        is_error: call.outcome.is_error(),
        is_open: is_live && call.outcome == Outcome::Pending,
        code: call.code(),
        latency_us: call.duration_us(),
        person_us: call.person_us,
        client_us: call.client_us,
        request_bytes: u64::from(call.request_bytes),
        response_bytes: call.response_bytes(),
        progress: u64::from(call.progress),
        nested: u64::from(call.nested),
        parent: call.parent(),
        operation: call.operation(),
        about: String::new(),
    })
}

/// The position of a call's request among the requests of its line, from 0; a batch has several.
pub(crate) fn nth_in_line(index: &Index, number: u64) -> usize {
    let Some(line) = index.call(number).map(|call| call.request_line) else { return 0 };
    let before = (1..number).rev();
    before.take_while(|other| index.call(*other).is_some_and(|call| call.request_line == line)).count()
}

/// The n-th request on a line, from 0. A truncated line is parsed as far as possible.
pub(crate) fn request_in(line: &[u8], nth: usize) -> Option<(&[u8], Envelope<'_>)> {
    let is_request = |envelope: &Envelope<'_>| envelope.kind == MessageKind::Request;
    match parse_line(line) {
        Record::Message(message) => payload_where(message.raw, nth, is_request),
        // The line was truncated: its payload starts at `raw`, and its beginning is enough for a description.
        Record::Damaged(_) => {
            let raw = cut_payload(line)?;
            Some((raw, Envelope::scan(raw)))
        }
        _ => None,
    }
}

/// The n-th matching payload, from 0.
pub(crate) fn payload_where<'a>(
    raw: &'a [u8],
    nth: usize,
    is_meant: impl Fn(&Envelope<'_>) -> bool,
) -> Option<(&'a [u8], Envelope<'a>)> {
    let scanned = payloads(raw).into_iter().map(|raw| (raw, Envelope::scan(raw)));
    scanned.filter(|(_, envelope)| is_meant(envelope)).nth(nth)
}

/// The payload of a truncated line.
fn cut_payload(line: &[u8]) -> Option<&[u8]> {
    const RAW: &[u8] = b"\"raw\":";
    let at = line.windows(RAW.len()).position(|window| window == RAW)?;
    Some(&line[at + RAW.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    #[test]
    fn the_requests_of_a_batch_are_told_apart() {
        let line = br#"{"dir":"in","raw":[{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]}"#;
        let method =
            |nth| request_in(line, nth).and_then(|(_, envelope)| envelope.method.map(Cow::into_owned));
        assert_eq!((method(0).as_deref(), method(1).as_deref(), method(2)), (Some("a"), Some("b"), None));
    }

    #[test]
    fn a_request_that_is_cut_off_says_what_it_can() {
        let line = br#"{"dir":"in","raw":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":"xxxx"#;
        let (raw, envelope) = request_in(line, 0).unwrap();
        assert!(raw.starts_with(b"{\"jsonrpc\""));
        assert_eq!(envelope.id.as_ref().map(Id::text), Some("1"));
    }
}
