//! Exports of the MCP Inspector, and similar exports of others: an array of messages, or of entries that
//! contain a
//! message, or of HTTP exchanges. The array is the document, or a member of it.
//!
//! The Inspector's Protocol tab writes entries with `timestamp`, `origin` (`client` or `server`), `message`, and, beside a
//! request that was answered, `response` and `duration`. Its Network tab writes entries with `timestamp`, `method`, `url`,
//! `requestHeaders`, `requestBody`, `responseStatus`, `responseHeaders`, `responseBody`, `duration` and `error`.

use super::super::cut::{Shape, Unit};
use super::super::fields::Value;
use super::super::item::{Defect, Findings, Item, ItemContent};
use super::exchange::{Exchange, Headers, Keep, Side, is_message, number_of};
use super::jsonrpc::time_of;
use super::{Format, Sample, value_of};
use crate::message::{Direction, Envelope, MessageKind};
use std::borrow::Cow;

pub(super) static INSPECTOR: Format = Format {
    name: "inspector",
    aliases: &["mcp-inspector"],
    about: "exports of the MCP Inspector, or an array of messages",
    shape: Shape::Document(&[&[], &["events"], &["messages"], &["history"], &["requests"]]),
    transport: None,
    calls_only: false,
    many_sessions: false,
    recognize,
    read,
};

const ARRAYS: [&str; 4] = ["events", "messages", "history", "requests"];

fn recognize(sample: &Sample<'_>) -> bool {
    let is_entry = |value: Value<'_>| Entry::of(value).is_some();
    match sample.first() {
        Some(b'[') => {
            let mut lines = sample.lines();
            match lines.next().map(Value::parse) {
                // A batch on its own line, followed by other messages: this is `jsonrpc`.
                Some(Ok(_)) if lines.next().is_some() => false,
                Some(Ok(array)) => {
                    let (mut any, mut plain) = (false, true);
                    array.elements(|element| {
                        any |= is_entry(element);
                        plain &= !matches!(Entry::of(element), Some(Entry::Wrapper(_) | Entry::Network));
                    });
                    // A batch has messages of one side only, so both sides in one array are a list.
                    any && (!plain || has_both_sides(array))
                }
                _ => looks_like_entries(sample),
            }
        }
        Some(b'{') => {
            let mut objects = sample.objects();
            match objects.next() {
                Some(object) => {
                    let array =
                        ARRAYS.iter().find_map(|name| object.get(name).filter(|array| array.is_array()));
                    let mut any = false;
                    array.inspect(|array| array.elements(|element| any |= is_entry(element)));
                    any && objects.next().is_none()
                }
                None => {
                    let has_array = |name: &&str| sample.contains(&format!("\"{name}\""));
                    ARRAYS.iter().any(has_array) && looks_like_entries(sample)
                }
            }
        }
        _ => false,
    }
}

fn looks_like_entries(sample: &Sample<'_>) -> bool {
    sample.is_document()
        // The first entry may be longer than the sample, so only names can be looked for.
        && (sample.contains("\"jsonrpc\"")
            || (sample.contains("\"requestHeaders\"") && sample.contains("\"url\"")))
}

fn has_both_sides(array: Value<'_>) -> bool {
    let (mut asks, mut answers) = (false, false);
    array.elements(|element| match Envelope::scan(element.raw).kind {
        MessageKind::Request => asks = true,
        MessageKind::Response => answers = true,
        _ => {}
    });
    asks && answers
}

fn read<'u>(unit: &Unit<'u>, findings: &mut Findings<'u>) {
    let Some(value) = value_of(unit, findings) else { return };
    match unit.member {
        Some(name) if ARRAYS.contains(&name) => {
            findings.flaw(unit.line, Defect::Unexpected { expected: "an array of messages" });
        }
        Some(_) => {}
        None => match Entry::of(value) {
            Some(Entry::Plain) => plain(unit, value, findings),
            Some(Entry::Network) => network(unit, value).add_items(Keep::All, findings),
            Some(Entry::Wrapper(messages)) => wrapped(unit, value, messages, findings),
            None => findings.flaw(unit.line, Defect::NotAMessage),
        },
    }
}

/// The names of the member that contains an entry's message.
const MESSAGES: [&str; 5] = ["message", "request", "payload", "data", "notification"];

/// The kinds of elements.
enum Entry<'u> {
    /// A message, or a batch of them.
    Plain,
    /// An HTTP exchange of the Network tab.
    Network,
    /// An object that contains a message, its answer, or both.
    Wrapper([Option<Value<'u>>; 2]),
}

impl<'u> Entry<'u> {
    fn of(value: Value<'u>) -> Option<Self> {
        // Checked first: with its HTTP method and its id, an exchange looks like a request.
        if value.get("url").is_some_and(|url| url.string().is_some())
            && ["requestHeaders", "requestBody", "responseStatus"]
                .iter()
                .any(|name| value.get(name).is_some())
        {
            return Some(Entry::Network);
        }
        let inner =
            |names: &[&str]| names.iter().find_map(|name| value.get(name).filter(|v| payload(*v).is_some()));
        let messages = [inner(&MESSAGES), inner(&["response"])];
        if messages.iter().any(Option::is_some) {
            return Some(Entry::Wrapper(messages));
        }
        (Envelope::scan(value.raw).kind != MessageKind::NotJsonRpc).then_some(Entry::Plain)
    }
}

/// The message in a value, either directly or encoded as a string.
fn payload(value: Value<'_>) -> Option<Cow<'_, [u8]>> {
    // Some programs log the line as they received it, as a string.
    let payload = value.string_bytes().unwrap_or(Cow::Borrowed(value.raw));
    is_message(&payload).then_some(payload)
}

fn plain<'u>(unit: &Unit<'u>, value: Value<'u>, findings: &mut Findings<'u>) {
    let raw = Cow::Borrowed(value.raw);
    let mut item = Item::new(unit.line_at(value.offset), ItemContent::Message { from: sender(value), raw });
    item.at_ms = time_of(value.raw);
    findings.items.push(item);
}

fn wrapped<'u>(
    unit: &Unit<'u>,
    entry: Value<'u>,
    [message, response]: [Option<Value<'u>>; 2],
    findings: &mut Findings<'u>,
) {
    let at_ms = ["timestamp", "timestamp_ms", "time"].iter().find_map(|name| entry.get(name)?.time_ms());
    // Only the Protocol tab has a duration; other entries have one message, whose time is that of the entry.
    let duration = entry.get("duration").and_then(Value::integer).unwrap_or(0);
    let from = sender(entry);
    let mut push = |value: Value<'u>, from, at_ms| {
        let Some(raw) = payload(value) else { return };
        let what = ItemContent::Message { from, raw };
        findings.items.push(Item { at_ms, ..Item::new(unit.line_at(value.offset), what) });
    };
    // An entry whose message can't be parsed still has one, so `response` is the answer to it.
    let broken = message.is_none().then(|| MESSAGES.iter().find_map(|name| entry.get(name))).flatten();
    if let Some(message) = message {
        push(message, from, at_ms);
    }
    if let Some(response) = response {
        let from = if message.is_some() || broken.is_some() { from.map(Direction::reverse) } else { from };
        push(response, from, at_ms.map(|at| at.saturating_add(duration)));
    }
    if let Some(broken) = broken {
        findings.flaw(unit.line_at(broken.offset), Defect::NotAMessage);
    }
}

/// The sender of an entry's message. The Inspector's own `direction` is the kind of message, and is ignored.
fn sender(entry: Value<'_>) -> Option<Direction> {
    ["origin", "direction", "sender", "from"].iter().find_map(|name| {
        match entry.get(name)?.string()?.to_ascii_lowercase().as_str() {
            "client" | "outgoing" | "outbound" | "sent" | "send" | "client-to-server"
            | "client_to_server" => Some(Direction::ClientToServer),
            "server" | "incoming" | "inbound" | "received" | "receive" | "server-to-client"
            | "server_to_client" => Some(Direction::ServerToClient),
            _ => None,
        }
    })
}

fn network<'u>(unit: &Unit<'u>, entry: Value<'u>) -> Exchange<'u> {
    let text = |name| entry.get(name).and_then(Value::string);
    let side = |headers, body| Side {
        headers: entry.get(headers).map(Headers::of_object).unwrap_or_default(),
        body: entry.get(body).and_then(Value::string_bytes),
        body_line: unit.line_at(entry.get(body).map_or(0, |body| body.offset)),
        ..Side::default()
    };
    Exchange {
        line: unit.line,
        x: number_of(unit),
        started_ms: entry.get("timestamp").and_then(Value::time_ms),
        duration_ms: entry.get("duration").and_then(Value::integer),
        method: text("method").unwrap_or_default(),
        target: text("url").unwrap_or_default(),
        request: side("requestHeaders", "requestBody"),
        status: entry.get("responseStatus").and_then(Value::integer).and_then(|s| u16::try_from(s).ok()),
        response: side("responseHeaders", "responseBody"),
        events: Vec::new(),
        error: text("error"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, check_imported, check_recognized, said};
    use super::*;

    const TIME: i64 = 1_767_225_600_000;

    #[test]
    fn messages_stand_alone_or_in_entries() {
        check(
            &INSPECTOR,
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},
                {"timestamp":"2026-01-01T00:00:00Z","direction":"incoming","message":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"},
                {"receivedAt":1},
                7]"#,
            &[
                r#"1 ? {"jsonrpc":"2.0","id":1,"method":"ping"}"#,
                &format!(r#"2 t={TIME} < {{"jsonrpc":"2.0","id":1,"result":{{}}}}"#),
                "3 NotAMessage",
                "4 NotAMessage",
            ],
        );
        check(
            &INSPECTOR,
            r#"{"version":1,"events":[{"jsonrpc":"2.0","method":"notifications/initialized"}]}"#,
            &[r#"1 ? {"jsonrpc":"2.0","method":"notifications/initialized"}"#],
        );
        check(
            &INSPECTOR,
            r#"{"events":7,"messages":[]}"#,
            &[r#"1 Unexpected { expected: "an array of messages" }"#],
        );
    }

    #[test]
    fn a_request_has_its_response_with_it() {
        let entry = r#"[{"id":"a","timestamp":"2026-01-01T00:00:00.000Z","direction":"request","origin":"server",
            "message":{"jsonrpc":"2.0","id":0,"method":"roots/list"},
            "response":{"jsonrpc":"2.0","id":0,"result":{"roots":[]}},"duration":12}]"#;
        check(
            &INSPECTOR,
            entry,
            &[
                &format!(r#"2 t={TIME} < {{"jsonrpc":"2.0","id":0,"method":"roots/list"}}"#),
                &format!(r#"3 t={} > {{"jsonrpc":"2.0","id":0,"result":{{"roots":[]}}}}"#, TIME + 12),
            ],
        );
    }

    #[test]
    fn network_entries_are_exchanges() {
        check(
            &INSPECTOR,
            r#"[{"id":"1-a","timestamp":"2026-01-01T00:00:00Z","method":"POST","url":"http://h/mcp","requestHeaders":{"Accept":"a"},
 "requestBody":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}","responseStatus":200,
 "responseHeaders":{"content-type":"text/event-stream","mcp-session-id":"s"},
 "responseBody":"id: 7\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n","duration":5,"category":"transport"},
{"id":"1-b","timestamp":"2026-01-01T00:00:01Z","method":"GET","url":"http://h/mcp","requestHeaders":{},"error":"fetch failed","duration":3}]"#,
            &[
                &format!(
                    r#"2 t={TIME} > {{"jsonrpc":"2.0","id":1,"method":"ping"}} @s {{"request":{{"method":"POST","target":"http://h/mcp","version":"","headers":{{"accept":"a"}}}}}}"#
                ),
                &format!(
                    r#"4 t={} < {{"jsonrpc":"2.0","id":1,"result":{{}}}} @s {{"response":{{"status":200,"version":"","headers":{{"content-type":"text/event-stream","mcp-session-id":"s"}}}},"sse":{{"id":"7"}}}}"#,
                    TIME + 5
                ),
                &format!(
                    r#"5 t={} x {{"request":{{"method":"GET","target":"http://h/mcp","version":"","headers":{{}}}},"ended":"unreachable","error":"fetch failed","durationUs":3000}}"#,
                    TIME + 1003
                ),
            ],
        );
    }

    #[test]
    fn the_fixtures_are_read_in_full() {
        let protocol = include_bytes!("../../../../../fixtures/import/inspector.json");
        check_imported(&INSPECTOR, protocol, 18);
        assert_eq!(said(&INSPECTOR, protocol).len(), 18);
        let network = include_bytes!("../../../../../fixtures/import/inspector-network.json");
        check_imported(&INSPECTOR, network, 15);
        let found = said(&INSPECTOR, network);
        let exchanges = found.iter().filter(|line| line.split(' ').nth(2) == Some("x"));
        // The refusal, the metadata, the 202, the stream, and the one that failed.
        assert_eq!((found.len(), exchanges.count()), (20, 5), "{}", found.join("\n"));
    }

    #[test]
    fn it_is_recognized() {
        let fixture = include_bytes!("../../../../../fixtures/import/inspector.json");
        check_recognized(&INSPECTOR, fixture);
        check_recognized(&INSPECTOR, include_bytes!("../../../../../fixtures/import/inspector-network.json"));
        check_recognized(&INSPECTOR, br#"{"events":[{"jsonrpc":"2.0","id":1,"method":"ping"}]}"#);
        check_recognized(&INSPECTOR, b"{\n  \"events\": [\n    {\"jsonrpc\": \"2.0\",\n");
        let one_line = br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"result":{}}]"#;
        check_recognized(&INSPECTOR, one_line);
        check_recognized(&super::super::jsonrpc::JSONRPC, &[one_line, &one_line[..], b""].join(&b'\n'));
    }
}
