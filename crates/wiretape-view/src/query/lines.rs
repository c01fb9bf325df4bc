//! The lines of traces, as short descriptions and raw.

use super::calls::{ABOUT, cut_payload, id_of, payload_where};
use super::select::{Row, Rows};
use super::{Set, text_of};
use crate::api::types::{LineKind, MessagePage, MessageRow, RawLine, RawPage};
use crate::index::entry::LineEntry;
use crate::trace::OpenTrace;
use std::io;
use wiretape_analyze::glance::{self, printable};
use wiretape_trace::format::{Record, parse_line};
use wiretape_trace::message::payloads;

/// The number of bytes of a line that are read for its description.
const GLANCE: u64 = 64 * 1024;
/// The limit of a raw line in one response, in bytes.
const SHOWN: u64 = 16 * 1024;

/// A page of lines with short descriptions.
pub(crate) fn page(set: &Set, rows: &Rows, from: u64, limit: u64) -> io::Result<MessagePage> {
    let all = set.traces.iter().map(|trace| trace.index().lines() as u64).sum();
    let rows_of_page = rows.page(from, limit).into_iter().filter_map(|row| of_row(set, row).transpose());
    Ok(MessagePage { total: rows.len(), all, from, rows: rows_of_page.collect::<io::Result<_>>()? })
}

fn of_row(set: &Set, row: Row) -> io::Result<Option<MessageRow>> {
    match set.traces.get(row.trace as usize) {
        Some(trace) => message_row(trace, row.trace, u64::from(row.number)),
        None => Ok(None),
    }
}

/// A line, in a few words.
pub(crate) fn message_row(trace: &OpenTrace, at: u32, number: u64) -> io::Result<Option<MessageRow>> {
    let Some((bytes, length)) = trace.line(number, GLANCE)? else { return Ok(None) };
    let is_cut = (bytes.len() as u64) < length;
    let cut_id = if is_cut { id_of_cut(trace, number, &bytes)? } else { None };
    // Locked after the file was read: reading under the lock would hold up the indexer.
    let index = trace.index();
    let Some(entry) = index.line(number) else { return Ok(None) };
    let call = index.call(u64::from(entry.call));
    let name = |id| index.names.get(id).map(str::to_owned);
    let is_answer = call.is_some_and(|call| call.response_line() == Some(number));
    let method = name(entry.method());
    let record = parse_line(&bytes);
    let raw = match &record {
        Record::Message(message) => Some(message.raw),
        _ => None,
    };
    Ok(Some(MessageRow {
        trace: at,
        line: number,
        at_us: entry.at_us,
        direction: entry.dir(),
        kind: entry.kind(),
        id: raw.and_then(id_of).or(cut_id),
        tool: call.and_then(|call| name(call.tool)),
        call: (entry.call != 0).then_some(u64::from(entry.call)),
        status: call.filter(|_| is_answer).map(|call| call.outcome.name().to_owned()),
        is_error: call.is_some_and(|call| is_answer && call.outcome.is_error()),
        bytes: length,
        about: if is_cut { about_cut(&bytes) } else { about(&record, &bytes, method.as_deref()) },
        method,
    }))
}

/// The id of the message on a line of which only `bytes` were read.
fn id_of_cut(trace: &OpenTrace, number: u64, bytes: &[u8]) -> io::Result<Option<String>> {
    let kind = trace.index().line(number).map(LineEntry::kind);
    // No other kind has an id, and reading 100 MB to find none is slow.
    if !matches!(kind, Some(LineKind::Request | LineKind::Response)) {
        return Ok(None);
    }
    if let Some(id) = cut_payload(bytes).and_then(id_of) {
        return Ok(Some(id));
    }
    // The TypeScript and Python SDKs write `id` last.
    let Some((line, _)) = trace.line(number, u64::MAX)? else { return Ok(None) };
    let Record::Message(message) = parse_line(&line) else { return Ok(None) };
    Ok(id_of(message.raw))
}

/// The short description of a line.
fn about(record: &Record<'_>, bytes: &[u8], method: Option<&str>) -> String {
    match record {
        Record::Meta(meta) => printable(&format!("{} {}", meta.label, meta.command.join(" "))).into_owned(),
        Record::Message(message) => about_message(message.raw, method),
        Record::Text(text) if text.http.is_some() => {
            printable(&format!("{} {}", glance::event_name(text), cut(&text.text))).into_owned()
        }
        Record::Text(text) | Record::Stderr(text) => printable(cut(text.text.trim_end())).into_owned(),
        Record::Http(exchange) => printable(&glance::describe_exchange(exchange).text).into_owned(),
        Record::Gap(gap) => printable(&format!("{} lines lost here: {}", gap.lost, gap.reason)).into_owned(),
        Record::Rotated { next, .. } => printable(&format!("continues in {next}")).into_owned(),
        Record::End(end) => printable(&glance::describe_end(end)).into_owned(),
        Record::Unknown { type_name, .. } => {
            let name = type_name.as_deref().unwrap_or("unknown");
            let said = glance::json::compact_members(bytes, &["t", "type", "seq", "us"], ABOUT);
            printable(&format!("{name} {said}")).into_owned()
        }
        Record::Damaged(error) => {
            printable(&format!("byte {}: {} in {}", error.offset, error.what, cut(&text_of(bytes))))
                .into_owned()
        }
    }
}

fn about_message(raw: &[u8], method: Option<&str>) -> String {
    let parts = payloads(raw);
    match payload_where(raw, 0, |_| true) {
        Some((payload, envelope)) if parts.len() == 1 => {
            glance::describe(payload, &envelope, method.unwrap_or_default(), ABOUT)
        }
        _ => format!("batch of {} messages: {}", parts.len(), glance::json::compact(raw, ABOUT)),
    }
}

/// The description of a line that is too long to parse: its beginning.
fn about_cut(bytes: &[u8]) -> String {
    printable(cut(&text_of(&bytes[..bytes.len().min(4 * ABOUT)]))).into_owned()
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(ABOUT)]
}

/// Raw lines of a file, including an incomplete last one; `from` counts from 0.
pub(crate) fn raw_page(trace: &OpenTrace, from: u64, limit: u64) -> io::Result<RawPage> {
    let total = trace.index().lines() as u64;
    let mut lines = Vec::new();
    for number in from + 1..=from.saturating_add(limit).min(total) {
        let Some((bytes, length)) = trace.line(number, SHOWN)? else { continue };
        let is_cut = (bytes.len() as u64) < length;
        lines.push(RawLine { line: number, text: text_of(&bytes), bytes: length, is_cut });
    }
    let torn = trace.torn();
    if let Some(torn) = torn.clone().filter(|_| from.saturating_add(limit) > total && from <= total) {
        let length = torn.end - torn.start;
        let text = text_of(&trace.source.read_span(torn, SHOWN)?);
        lines.push(RawLine { line: total + 1, text, bytes: length, is_cut: length > SHOWN });
    }
    Ok(RawPage { total: total + u64::from(torn.is_some()), lines })
}
