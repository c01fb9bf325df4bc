//! The details of one call.

use super::calls::{call_row, nth_in_line, request_in};
use super::lines::message_row;
use super::{curl, text_of};
use crate::api::types::{
    CallDetail, CallRow, HeaderField, HttpView, LineKind, Meanwhile, MeanwhileKind, OperationView, Payload,
};
use crate::index::Index;
use crate::index::entry::CallEntry;
use crate::trace::OpenTrace;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use wiretape_trace::format::{HeaderValues, HttpContext, Record, parse_line};
use wiretape_trace::message::{Envelope, Id, MessageKind, payloads};

/// The limit of a payload in one response, in bytes.
const SHOWN: usize = 1024 * 1024;
/// The limit of the description of a message during a call, in characters.
const MEANWHILE: usize = 1000;
/// The limit of calls of an operation.
const OPERATION: usize = 500;

/// A call with its payloads, HTTP exchange and related messages.
pub(crate) fn detail(trace: &Arc<OpenTrace>, at: u32, number: u64) -> io::Result<Option<CallDetail>> {
    let Some(row) = call_row(trace, at, number)? else { return Ok(None) };
    let Some(request) = request(trace, number)? else { return Ok(None) };
    let response = match row.response_line {
        Some(line) => response(trace, &row, line)?,
        None => None,
    };
    let (meanwhile, more) = meanwhile(trace, &row)?;
    // Derived from the lines found above, so that a trace with many calls isn't scanned again.
    let nested = nested(trace, at, &meanwhile)?;
    let http = http(trace, &row)?;
    let curl = curl_of(trace, row.line, request.bytes())?;
    let calls = trace.index().calls() as u64;
    Ok(Some(CallDetail {
        request: request.view(),
        response: response.map(|response| response.view()),
        meanwhile,
        more,
        nested,
        operation: operation(trace, at, &row)?,
        findings: super::lint::on_lines(trace, at, |line| {
            line == row.line || Some(line) == row.response_line
        }),
        http,
        curl,
        previous: (number > 1).then(|| number - 1),
        next: (number < calls).then_some(number + 1),
        row,
    }))
}

/// A payload as a range of its line: one of a hundred megabytes is not copied.
pub(crate) struct LocatedPayload {
    line: u64,
    whole: Vec<u8>,
    place: Range<usize>,
}

impl LocatedPayload {
    fn new(line: u64, whole: Vec<u8>, find: impl FnOnce(&[u8]) -> Option<&[u8]>) -> Option<Self> {
        let raw = find(&whole)?;
        // `raw` is a slice of `whole`, so the difference of the addresses is its offset. A range survives
        // moving `whole`; a reference would not.
        let begin = raw.as_ptr().addr() - whole.as_ptr().addr();
        let place = begin..begin + raw.len();
        Some(LocatedPayload { line, whole, place })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.whole[self.place.clone()]
    }

    /// The bytes of the payload.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        self.whole.truncate(self.place.end);
        self.whole.drain(..self.place.start);
        self.whole
    }

    fn view(&self) -> Payload {
        let bytes = self.bytes();
        let end = bytes.len().min(SHOWN);
        let is_cut = end < bytes.len();
        let mut text = text_of(&bytes[..end]);
        // Cut in the middle of a character.
        if is_cut && text.ends_with('\u{fffd}') {
            text.pop();
        }
        Payload { line: self.line, text, bytes: bytes.len() as u64, is_cut }
    }
}

/// The request of a call.
pub(crate) fn request(trace: &OpenTrace, number: u64) -> io::Result<Option<LocatedPayload>> {
    let Some(line) = trace.index().call(number).map(|call| u64::from(call.request_line)) else {
        return Ok(None);
    };
    let Some((bytes, _)) = trace.line(line, u64::MAX)? else { return Ok(None) };
    let nth = nth_in_line(&trace.index(), number);
    Ok(LocatedPayload::new(line, bytes, |bytes| request_in(bytes, nth).map(|(raw, _)| raw)))
}

/// The response of a call; `None` if HTTP failed and there is no response.
pub(crate) fn response(trace: &OpenTrace, row: &CallRow, line: u64) -> io::Result<Option<LocatedPayload>> {
    let Some((bytes, _)) = trace.line(line, u64::MAX)? else { return Ok(None) };
    let index = response_index(trace, row.call, &bytes)?;
    Ok(LocatedPayload::new(line, bytes, |bytes| response_in(bytes, index.unwrap_or(0))))
}

/// The position among the payloads of a line of the one that answers a call; `None` if the line is not a batch.
pub(crate) fn response_index(trace: &OpenTrace, call: u64, line: &[u8]) -> io::Result<Option<usize>> {
    let Record::Message(message) = parse_line(line) else { return Ok(None) };
    if message.raw.trim_ascii_start().first() != Some(&b'[') {
        return Ok(None);
    }
    let request = request(trace, call)?;
    let id = request.as_ref().and_then(|request| Envelope::scan(request.bytes()).id);
    let payloads = payloads(message.raw);
    let envelopes: Vec<Envelope<'_>> = payloads.iter().map(|raw| Envelope::scan(raw)).collect();
    Ok(response_among(&envelopes, id.as_ref()))
}

/// The response with this id. Imported calls may be paired by the text of ids, or by other means than ids.
fn response_among(envelopes: &[Envelope<'_>], id: Option<&Id<'_>>) -> Option<usize> {
    let position = |is_meant: &dyn Fn(Option<&Id<'_>>) -> bool| {
        let is_response = |envelope: &&Envelope<'_>| envelope.kind == MessageKind::Response;
        envelopes.iter().position(|envelope| is_response(&envelope) && is_meant(envelope.id.as_ref()))
    };
    position(&|other| id.zip(other).is_some_and(|(id, other)| id.is_same(other)))
        .or_else(|| position(&|other| other.map(Id::text) == id.map(Id::text)))
        .or_else(|| position(&|_| true))
}

fn response_in(line: &[u8], index: usize) -> Option<&[u8]> {
    let Record::Message(message) = parse_line(line) else { return None };
    let raw = payloads(message.raw).into_iter().nth(index)?;
    (Envelope::scan(raw).kind == MessageKind::Response).then_some(raw)
}

/// The messages during a call.
pub(crate) fn meanwhile(trace: &OpenTrace, row: &CallRow) -> io::Result<(Vec<Meanwhile>, u64)> {
    let found = lines_meanwhile(&trace.index(), row);
    describe_lines(trace, row, found)
}

/// The messages during a call, for a caller that needs them for many calls of a trace.
pub(crate) fn meanwhile_by(
    companions: &Companions,
    trace: &OpenTrace,
    row: &CallRow,
) -> io::Result<(Vec<Meanwhile>, u64)> {
    let found = companions.lines(&trace.index(), row);
    describe_lines(trace, row, found)
}

fn describe_lines(
    trace: &OpenTrace,
    row: &CallRow,
    (lines, more): (Vec<(u64, MeanwhileKind)>, u64),
) -> io::Result<(Vec<Meanwhile>, u64)> {
    let mut entries = Vec::new();
    for (line, kind) in lines {
        let Some(message) = message_row(trace, row.trace, line)? else { continue };
        let after_us = u64::try_from(message.at_us.saturating_sub(row.at_us)).ok();
        let call = message.call.filter(|_| matches!(kind, MeanwhileKind::Request | MeanwhileKind::Answer));
        let about = match (kind, &message.method) {
            (MeanwhileKind::Request | MeanwhileKind::Answer, Some(method)) => {
                format!("{method} {}", message.about)
            }
            _ => message.about,
        };
        entries.push(Meanwhile { line, after_us, kind, call, about });
    }
    Ok((entries, more))
}

fn lines_meanwhile(index: &Index, row: &CallRow) -> (Vec<(u64, MeanwhileKind)>, u64) {
    let last = row.response_line.unwrap_or(index.lines() as u64);
    let (mut lines, mut more) = (Vec::new(), 0);
    for number in row.line + 1..=last {
        let Some(kind) = kind_meanwhile(index, row, number) else { continue };
        if lines.len() < MEANWHILE { lines.push((number, kind)) } else { more += 1 }
    }
    (lines, more)
}

/// The lines that may concern a call while it is open, found once for all calls. A call without an answer is open until the
/// end of the trace, so that a search through the lines for each would take time with the square of their number.
#[derive(Debug, Default)]
pub(crate) struct Companions {
    /// Lines of standard error, which concern every call that is open.
    stderr: Vec<u64>,
    /// Lines that concern one call.
    of_calls: HashMap<u64, Vec<u64>>,
}

impl Companions {
    pub(crate) fn of(index: &Index) -> Self {
        let mut companions = Companions::default();
        for (number, line) in index.all_lines() {
            let of = u64::from(line.call);
            let call = match line.kind() {
                LineKind::Stderr => {
                    companions.stderr.push(number);
                    continue;
                }
                LineKind::Notification => Some(of),
                LineKind::Request | LineKind::Response => index.call(of).and_then(CallEntry::parent),
                _ => None,
            };
            if let Some(call) = call.filter(|call| *call != 0) {
                companions.of_calls.entry(call).or_default().push(number);
            }
        }
        companions
    }

    /// The same as [`lines_meanwhile`].
    fn lines(&self, index: &Index, row: &CallRow) -> (Vec<(u64, MeanwhileKind)>, u64) {
        let last = row.response_line.unwrap_or(index.lines() as u64);
        let within = |lines: &[u64]| {
            let from = lines.partition_point(|line| *line <= row.line);
            from..lines.partition_point(|line| *line <= last).max(from)
        };
        let own = self.of_calls.get(&row.call).map_or(&[][..], Vec::as_slice);
        let (own, stderr) = (&own[within(own)], &self.stderr[within(&self.stderr)]);
        let first = |lines: &[u64]| lines[..lines.len().min(MEANWHILE)].to_vec();
        let mut lines = [first(own), first(stderr)].concat();
        lines.sort_unstable();
        lines.truncate(MEANWHILE);
        let more = (own.len() + stderr.len() - lines.len()) as u64;
        (lines.into_iter().filter_map(|line| Some((line, kind_meanwhile(index, row, line)?))).collect(), more)
    }
}

/// The relation of a line to an open call.
fn kind_meanwhile(index: &Index, row: &CallRow, number: u64) -> Option<MeanwhileKind> {
    let line = index.line(number)?;
    let of = u64::from(line.call);
    match line.kind() {
        LineKind::Stderr => Some(MeanwhileKind::Stderr),
        LineKind::Notification if of == row.call => {
            let is_cancelled = index.names.get(line.method()) == Some("notifications/cancelled");
            Some(if is_cancelled { MeanwhileKind::Cancellation } else { MeanwhileKind::Progress })
        }
        LineKind::Request | LineKind::Response
            if index.call(of).and_then(CallEntry::parent) == Some(row.call) =>
        {
            let is_request = line.kind() == LineKind::Request;
            Some(if is_request { MeanwhileKind::Request } else { MeanwhileKind::Answer })
        }
        _ => None,
    }
}

fn nested(trace: &OpenTrace, at: u32, meanwhile: &[Meanwhile]) -> io::Result<Vec<CallRow>> {
    let requests = meanwhile.iter().filter(|item| item.kind == MeanwhileKind::Request);
    requests
        .filter_map(|item| item.call)
        .filter_map(|number| call_row(trace, at, number).transpose())
        .collect()
}

fn operation(trace: &OpenTrace, at: u32, row: &CallRow) -> io::Result<Option<OperationView>> {
    let Some(first) = row.operation else { return Ok(None) };
    let numbers: Vec<u64> = {
        let index = trace.index();
        let belongs = |(number, call): (u64, &CallEntry)| {
            (number == first || call.operation() == Some(first)).then_some(number)
        };
        index.all_calls().filter_map(belongs).take(OPERATION).collect()
    };
    let rows = numbers.into_iter().filter_map(|number| call_row(trace, at, number).transpose());
    Ok(Some(OperationView { first, calls: rows.collect::<io::Result<_>>()? }))
}

fn context_of(trace: &OpenTrace, line: u64) -> io::Result<Option<HttpContext>> {
    let Some((bytes, _)) = trace.line(line, u64::MAX)? else { return Ok(None) };
    Ok(match parse_line(&bytes) {
        Record::Message(message) => message.http.map(HttpContext::parse),
        Record::Http(exchange) => Some(HttpContext::parse(exchange.http)),
        _ => None,
    })
}

/// The HTTP exchange of a call.
pub(crate) fn http(trace: &OpenTrace, row: &CallRow) -> io::Result<Option<HttpView>> {
    let Some(asked) = context_of(trace, row.line)? else { return Ok(None) };
    let answered = match row.response_line {
        Some(line) => context_of(trace, line)?,
        None => None,
    };
    let request = asked.request.as_ref();
    let response = answered.and_then(|context| context.response);
    Ok(Some(HttpView {
        method: request.map(|request| request.method.clone()),
        url: request.map(curl::url),
        status: response.as_ref().map(|response| response.status),
        request_headers: request.map(|request| fields(&request.headers)).unwrap_or_default(),
        response_headers: response.map(|response| fields(&response.headers)).unwrap_or_default(),
    }))
}

fn fields(headers: &std::collections::BTreeMap<String, HeaderValues>) -> Vec<HeaderField> {
    let pairs =
        headers.iter().flat_map(|(name, values)| curl::values_of(values).map(move |value| (name, value)));
    pairs.map(|(name, value)| HeaderField { name: name.clone(), value: value.to_owned() }).collect()
}

/// The request as a curl command, if it went over HTTP.
pub(crate) fn curl_of(trace: &OpenTrace, line: u64, body: &[u8]) -> io::Result<Option<String>> {
    let request = context_of(trace, line)?.and_then(|context| context.request);
    Ok(request.map(|request| curl::command(&request, body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_in_a_batch_is_found_by_the_value_of_its_id() {
        let batch = [r#"{"id":"1","result":{}}"#, r#"{"id":2.0,"result":{}}"#, r#"{"id":1,"result":{}}"#];
        let envelopes: Vec<_> = batch.iter().map(|raw| Envelope::scan(raw.as_bytes())).collect();
        let find = |id: Id<'static>| response_among(&envelopes, Some(&id));
        assert_eq!(find(Id::Number("1".into())), Some(2));
        assert_eq!(find(Id::String("1".into())), Some(0));
        assert_eq!(find(Id::Number("2".into())), Some(1));
        // Imported calls.
        assert_eq!(find(Id::String("2.0".into())), Some(1));
        assert_eq!(find(Id::Number("9".into())), Some(0));
    }
}
