//! The envelope of transcripts over HTTP: a document with a `transport` and `entries`, each of which has a `request`, a
//! `response` or an `sse` event. The same envelope serves both transports.

use super::super::cut::{Shape, Unit};
use super::super::fields::Value;
use super::super::item::{Defect, Findings, Item, What};
use super::jsonrpc::time_of;
use super::{Format, Sample};
use crate::format::SseContext;
use crate::message::{Direction, Envelope, MessageKind};
use std::borrow::Cow;

const ENTRIES: Shape = Shape::Document(&[&["entries"]]);

pub(super) static STREAMABLE_HTTP: Format = Format {
    name: "streamable-http",
    aliases: &[],
    about: "transcripts of streamable HTTP in the canonical envelope",
    shape: ENTRIES,
    transport: Some("http"),
    calls_only: false,
    many_sessions: false,
    recognize: |sample| recognize(sample, "streamable-http"),
    read: |unit, findings| read(unit, findings, "streamable-http"),
};

pub(super) static HTTP_SSE: Format = Format {
    name: "http-sse",
    aliases: &["sse-legacy"],
    about: "transcripts of the older HTTP+SSE in the canonical envelope",
    shape: ENTRIES,
    transport: Some("http"),
    calls_only: false,
    many_sessions: false,
    recognize: |sample| recognize(sample, "http-sse"),
    read: |unit, findings| read(unit, findings, "http-sse"),
};

fn recognize(sample: &Sample<'_>, transport: &str) -> bool {
    let named = |separator: &str| sample.contains(&format!("\"transport\"{separator}\"{transport}\""));
    sample.first() == Some(b'{') && (named(":") || named(": ")) && sample.contains("\"entries\"")
}

fn read<'u>(unit: &Unit<'u>, findings: &mut Findings<'u>, transport: &'static str) {
    let value = match Value::parse(unit.bytes) {
        Ok(value) => value,
        Err(error) => {
            findings.flaw(unit.line_at(error.offset), Defect::NotJson(error));
            return;
        }
    };
    match unit.member {
        None => entry(unit, value, findings),
        Some("transport") if value.string().as_deref() != Some(transport) => {
            findings.flaw(unit.line, Defect::Transport { expected: transport });
        }
        Some("transport_context" | "headers") => {
            let mut item = Item::new(unit.line, What::Exchange);
            item.http = Some(Cow::Owned(context_json(unit.member == Some("headers"), value.raw, None)));
            findings.items.push(item);
        }
        Some("entries") => findings
            .flaw(unit.line, Defect::WrongDocument { expected: "an envelope: `entries` must be an array" }),
        Some(_) => {}
    }
}

/// The parts of an entry.
#[derive(Default)]
struct Entry<'a> {
    at_ms: Option<i64>,
    context: Option<Value<'a>>,
    headers: Option<Value<'a>>,
    request: Option<Value<'a>>,
    response: Option<Value<'a>>,
    sse: Option<Value<'a>>,
}

impl<'a> Entry<'a> {
    fn of(value: Value<'a>) -> Self {
        let mut entry = Entry::default();
        value.members(|name, value| match () {
            () if name.is("timestamp_ms") => entry.at_ms = value.time_ms(),
            () if name.is("transport_context") => entry.context = Some(value),
            () if name.is("headers") => entry.headers = Some(value),
            () if name.is("request") => entry.request = Some(value),
            () if name.is("response") => entry.response = Some(value),
            () if name.is("sse") => entry.sse = Some(value),
            () => {}
        });
        entry
    }

    /// The HTTP context of its line.
    fn http(&self, sse: Option<&SseContext>) -> Option<Cow<'static, [u8]>> {
        let json = match (self.context, self.headers, sse) {
            (Some(context), _, sse) => context_json(false, context.raw, sse),
            (None, Some(headers), sse) => context_json(true, headers.raw, sse),
            (None, None, Some(sse)) => context_json(false, b"", Some(sse)),
            (None, None, None) => return None,
        };
        Some(Cow::Owned(json))
    }

    fn session(&self) -> Option<Cow<'a, str>> {
        let headers = self.context.and_then(|context| context.get("headers")).or(self.headers)?;
        let mut session = None;
        headers.members(|name, value| {
            if name.unescaped().eq_ignore_ascii_case(b"mcp-session-id") {
                session = value.string();
            }
        });
        session
    }
}

fn entry<'u>(unit: &Unit<'u>, value: Value<'u>, findings: &mut Findings<'u>) {
    if !value.is_object() {
        findings.flaw(unit.line, Defect::EntryShape);
        return;
    }
    let entry = Entry::of(value);
    match (entry.request, entry.response, entry.sse) {
        (Some(request), None, None) => message(unit, &entry, request, Direction::ClientToServer, findings),
        (None, Some(response), None) => response_of(unit, &entry, response, findings),
        (None, None, Some(sse)) => event(unit, &entry, sse, findings),
        _ => findings.flaw(unit.line, Defect::EntryShape),
    }
}

/// The item of an entry.
fn item<'u>(
    unit: &Unit<'u>,
    entry: &Entry<'u>,
    at: usize,
    sse: Option<&SseContext>,
    what: What<'u>,
) -> Item<'u> {
    Item {
        at_ms: entry.at_ms,
        session: entry.session(),
        http: entry.http(sse),
        ..Item::new(unit.line_at(at), what)
    }
}

fn message<'u>(
    unit: &Unit<'u>,
    entry: &Entry<'u>,
    payload: Value<'u>,
    from: Direction,
    findings: &mut Findings<'u>,
) {
    let what = What::Message { from: Some(from), raw: Cow::Borrowed(payload.raw) };
    let mut item = item(unit, entry, payload.offset, None, what);
    item.at_ms = item.at_ms.or_else(|| time_of(payload.raw));
    findings.items.push(item);
}

/// A response may be something else than a message: a server that wants a login first answers with an error of OAuth's, or
/// with nothing.
fn response_of<'u>(unit: &Unit<'u>, entry: &Entry<'u>, response: Value<'u>, findings: &mut Findings<'u>) {
    let is_message = || Envelope::scan(response.raw).kind != MessageKind::NotJsonRpc;
    let is_refusal =
        || entry.context.or(entry.headers).is_some_and(|context| status(context).is_some_and(|s| s >= 400));
    if !response.is_null() && is_message() && !is_oauth_error(response) {
        message(unit, entry, response, Direction::ServerToClient, findings);
    } else if response.is_null() || is_refusal() {
        findings.items.push(item(unit, entry, response.offset, None, What::Exchange));
    } else {
        findings.flaw(unit.line_at(response.offset), Defect::NotAMessage);
    }
}

/// OAuth's errors have their name in `error`, where JSON-RPC's have an object.
fn is_oauth_error(response: Value<'_>) -> bool {
    response.get("jsonrpc").is_none() && response.get("error").is_some_and(|error| !error.is_object())
}

/// The status that a context gives, wherever such contexts give it.
fn status(context: Value<'_>) -> Option<i64> {
    let number = |value: Value<'_>| value.integer().or_else(|| value.string()?.trim().parse().ok());
    let own = ["status", "status_code", "http_status"].iter().find_map(|name| number(context.get(name)?));
    own.or_else(|| status(context.get("response")?))
}

fn event<'u>(unit: &Unit<'u>, entry: &Entry<'u>, sse: Value<'u>, findings: &mut Findings<'u>) {
    let Some(data) = sse.get("data").filter(|_| sse.is_object()) else {
        findings.flaw(unit.line_at(sse.offset), Defect::Unexpected { expected: "an event with `data`" });
        return;
    };
    let name = sse.get("event").and_then(Value::string);
    let context = SseContext {
        event: name.as_deref().map(str::to_owned),
        id: sse.get("id").and_then(Value::string).map(Cow::into_owned),
        retry: sse.get("retry").and_then(Value::integer).and_then(|retry| u64::try_from(retry).ok()),
    };
    let text = data.string_bytes();
    let payload = text.clone().unwrap_or(Cow::Borrowed(data.raw));
    let may_be_message = matches!(name.as_deref(), None | Some("message"));
    let what = if may_be_message && is_payload(&payload) {
        What::Message { from: Some(Direction::ServerToClient), raw: payload }
    } else {
        let is_empty = payload.trim_ascii().is_empty();
        if may_be_message && !is_empty {
            findings.flaw(unit.line_at(data.offset), Defect::EventNotAMessage);
        }
        What::Text { from: Direction::ServerToClient, text: payload }
    };
    findings.items.push(item(unit, entry, data.offset, Some(&context), what));
}

/// Whether an event's data carries a message.
fn is_payload(data: &[u8]) -> bool {
    crate::json::validate(data).is_ok() && Envelope::scan(data).kind != MessageKind::NotJsonRpc
}

/// `{"context":…,"sse":…}`, as a trace's line has it.
fn context_json(headers_alone: bool, context: &[u8], sse: Option<&SseContext>) -> Vec<u8> {
    let mut json = b"{".to_vec();
    if !context.is_empty() {
        json.extend_from_slice(b"\"context\":");
        if headers_alone {
            json.extend_from_slice(b"{\"headers\":");
        }
        json.extend_from_slice(context);
        if headers_alone {
            json.push(b'}');
        }
    }
    if let Some(sse) = sse {
        if json.len() > 1 {
            json.push(b',');
        }
        json.extend_from_slice(b"\"sse\":");
        serde_json::to_writer(&mut json, sse).expect("writing plain fields into memory can't fail");
    }
    json.push(b'}');
    json
}
