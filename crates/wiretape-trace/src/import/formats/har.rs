//! HTTP archives (HAR 1.2), as the developer tools of browsers and many proxies save them: `log.entries`, each a request with
//! its response. A browser records everything that a page does, so most entries may have nothing to do with MCP.

use super::super::cut::{Shape, Unit};
use super::super::fields::Value;
use super::super::item::{Defect, Findings};
use super::exchange::{Event, Exchange, Headers, Keep, Side, number_of};
use super::{Format, Sample, value_of};
use crate::format::SseContext;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;

pub(super) static HAR: Format = Format {
    name: "har",
    aliases: &[],
    about: "HTTP archives of browsers and proxies",
    shape: Shape::Document(&[&["log", "entries"]]),
    transport: Some("http"),
    calls_only: false,
    many_sessions: true,
    recognize,
    read,
};

fn recognize(sample: &Sample<'_>) -> bool {
    // The first entry may be beyond the sample: the list of pages comes before it.
    begins_with_log(sample)
        && ["\"entries\"", "\"creator\"", "\"startedDateTime\""].iter().any(|name| sample.contains(name))
}

/// Whether the document is an object whose first member is `log`.
fn begins_with_log(sample: &Sample<'_>) -> bool {
    let without_space: Vec<u8> = sample
        .lines()
        .flat_map(|line| line.iter().copied())
        .filter(|byte| !byte.is_ascii_whitespace())
        // HAR requires `log` to be the only member of the document, so the first bytes decide, whatever their layout.
        .take(7)
        .collect();
    without_space == b"{\"log\":"
}

fn read<'u>(unit: &Unit<'u>, findings: &mut Findings<'u>) {
    let Some(value) = value_of(unit, findings) else { return };
    match unit.member {
        Some("log" | "log.entries") => {
            let expected = "an HTTP archive: `log.entries` must be an array";
            findings.flaw(unit.line, Defect::WrongDocument { expected });
        }
        Some(_) => {}
        None if value.get("request").is_some_and(Value::is_object) => {
            exchange(unit, value).add_items(Keep::OfSessions, findings);
        }
        None => findings.flaw(unit.line, Defect::Unexpected { expected: "an entry with a `request`" }),
    }
}

fn exchange<'u>(unit: &Unit<'u>, entry: Value<'u>) -> Exchange<'u> {
    let request = entry.get("request");
    let response = entry.get("response").filter(|response| response.is_object());
    let text = |value: Option<Value<'u>>, name| value?.get(name)?.string();
    // Browsers write the status 0 if there was no response.
    let status = response.and_then(|response| u16::try_from(response.get("status")?.integer()?).ok());
    Exchange {
        line: unit.line,
        x: number_of(unit),
        started_ms: entry.get("startedDateTime").and_then(Value::time_ms).filter(|_| !is_assumed(entry)),
        duration_ms: entry.get("time").and_then(Value::integer).filter(|ms| *ms >= 0),
        method: text(request, "method").unwrap_or_default(),
        target: text(request, "url").unwrap_or_default(),
        request: side(unit, request, "postData"),
        status: status.filter(|status| *status > 0),
        response: side(unit, response, "content"),
        events: entry.get("_eventSourceMessages").map(events).unwrap_or_default(),
        error: text(response, "_error")
            .or_else(|| text(Some(entry), "_error"))
            .filter(|error| !error.is_empty()),
    }
}

fn side<'u>(unit: &Unit<'u>, value: Option<Value<'u>>, body: &str) -> Side<'u> {
    let Some(value) = value else { return Side::default() };
    let text = value.at_path(&[body, "text"]);
    let body = value.get(body);
    Side {
        version: value.get("httpVersion").and_then(Value::string).map(version).unwrap_or_default(),
        headers: value.get("headers").map(Headers::of_list).unwrap_or_default(),
        media: body.and_then(|body| body.get("mimeType")?.string()),
        body: body.and_then(bytes),
        body_line: unit.line_at(text.map_or(0, |text| text.offset)),
    }
}

/// The bytes of a body. Text may be in Base64, too: Chromium does that because of a single unusual character.
fn bytes(body: Value<'_>) -> Option<Cow<'_, [u8]>> {
    let text = body.get("text")?.string_bytes()?;
    let is_base64 =
        body.get("encoding").and_then(Value::string).is_some_and(|name| name.eq_ignore_ascii_case("base64"));
    if !is_base64 {
        return Some(text);
    }
    // Some recorders break Base64 into lines.
    let packed: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    Some(STANDARD.decode(packed).map_or(text, Cow::Owned))
}

/// An HTTP version as traces write it: `1.1` for `HTTP/1.1`, `2` for `h2` and `http/2.0`.
fn version(text: Cow<'_, str>) -> Cow<'_, str> {
    let lower = text.to_ascii_lowercase();
    // Chromium writes `h2`, Firefox `HTTP/2`, mitmproxy `HTTP/2.0`; traces have one spelling.
    let number = lower.strip_prefix("http/").or_else(|| lower.strip_prefix('h')).unwrap_or(&lower);
    let known = match number {
        "1.0" | "1.1" | "2" | "3" => number,
        "2.0" => "2",
        "3.0" => "3",
        _ => return text,
    };
    Cow::Owned(known.to_owned())
}

/// The events that some recorders write besides the body, because a stream that is still open has none.
fn events(list: Value<'_>) -> Vec<Event<'_>> {
    let mut events = Vec::new();
    list.elements(|event| {
        let Some(data) = event.get("data").and_then(Value::string_bytes) else { return };
        let text = |names: [&str; 2]| {
            let text = names.iter().find_map(|name| event.get(name)?.string());
            text.filter(|text| !text.is_empty()).map(Cow::into_owned)
        };
        events.push(Event {
            at_ms: event.get("time").and_then(milliseconds),
            context: SseContext {
                event: text(["eventName", "event"]),
                id: text(["eventId", "id"]),
                retry: None,
            },
            data,
            unterminated: false,
        });
    });
    events
}

/// A time in seconds, as browsers write it for events.
fn milliseconds(time: Value<'_>) -> Option<i64> {
    let seconds: f64 = std::str::from_utf8(time.raw).ok()?.parse().ok()?;
    // Some recorders count from the start of the browser, which is not a time of day.
    (1e9..1e11).contains(&seconds).then(|| (seconds * 1000.0).round() as i64)
}

/// Whether an entry's time is only there because HAR requires one; our own exports mark that.
fn is_assumed(entry: Value<'_>) -> bool {
    entry.get("comment").and_then(Value::string).as_deref() == Some("the time is assumed")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, check_imported, check_recognized, said};
    use super::*;

    const TIME: i64 = 1_767_225_600_000;

    /// Checks an entry, in a document of its own.
    #[track_caller]
    fn check_entry(request: &str, response: &str, rest: &str, expected: &[&str]) {
        let entry = format!(
            r#"{{"startedDateTime":"2026-01-01T00:00:00Z","time":2.7,"request":{{"httpVersion":"h2","url":"http://h/mcp",{request}}},"response":{{"httpVersion":"HTTP/1.1",{response}}}{rest}}}"#
        );
        check(&HAR, &format!(r#"{{"log":{{"version":"1.2","entries":[{entry}]}}}}"#), expected);
    }

    const PING: &str = r#""method":"POST","headers":[{"name":"Mcp-Session-Id","value":"s"},{"name":":path","value":"/mcp"}],
        "postData":{"text":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"}"#;
    const PING_ITEM: &str = r#"2 t=1767225600000 > {"jsonrpc":"2.0","id":1,"method":"ping"} @s {"request":{"method":"POST","target":"http://h/mcp","version":"2","headers":{"mcp-session-id":"s"}}}"#;

    #[test]
    fn bodies_are_messages() {
        let answer = format!(
            r#"2 t={} < {{"jsonrpc":"2.0","id":1,"result":{{}}}} @s {{"response":{{"status":200,"version":"1.1","headers":{{}}}}}}"#,
            TIME + 2
        );
        let plain = r#""status":200,"content":{"text":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}"#;
        check_entry(PING, plain, "", &[PING_ITEM, &answer]);
        let packed = r#""status":200,"content":{"encoding":"base64","text":"eyJqc29ucnBjIjoiMi4wIiwiaWQiOjEsInJlc3VsdCI6e319"}"#;
        check_entry(PING, packed, "", &[PING_ITEM, &answer]);
    }

    #[test]
    fn streams_have_several_events() {
        check_entry(
            PING,
            r#""status":200,"content":{"mimeType":"text/event-stream","text":": hi\n\nevent: endpoint\ndata: /m\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\ndata: x\n\ndata: {\"json"}"#,
            "",
            &[
                PING_ITEM,
                r#"2 t=1767225600002 <~ /m @s {"response":{"status":200,"version":"1.1","headers":{}},"sse":{"event":"endpoint"}}"#,
                r#"2 t=1767225600002 < {"jsonrpc":"2.0","id":1,"result":{}} @s {"sse":{}}"#,
                r#"2 t=1767225600002 <~ x @s {"sse":{}}"#,
                r#"2 t=1767225600002 <~ {"json @s {"sse":{}}"#,
                "2 EventNotAMessage",
                "2 CutOff",
            ],
        );
        let get = r#""method":"GET","headers":[]"#;
        check_entry(
            get,
            r#""status":200,"content":{"mimeType":"text/event-stream"}"#,
            r#","_eventSourceMessages":[{"time":1767225600.0705,"eventName":"message","eventId":"","data":"{\"jsonrpc\":\"2.0\",\"method\":\"a/b\"}"}]"#,
            &[
                r#"1 t=1767225600071 < {"jsonrpc":"2.0","method":"a/b"} {"request":{"method":"GET","target":"http://h/mcp","version":"2","headers":{}},"response":{"status":200,"version":"1.1","headers":{}},"sse":{"event":"message"}}"#,
            ],
        );
    }

    #[test]
    fn exchanges_without_messages_are_kept_if_they_may_matter() {
        let get = r#""method":"GET","headers":[]"#;
        let head = r#"{"request":{"method":"GET","target":"http://h/mcp","version":"2","headers":{}},"response":{"status""#;
        check_entry(get, r#""status":200,"content":{"text":"<html>"}"#, "", &[]);
        check_entry(get, r#""status":200,"content":{"text":"{\"result\":1,\"error\":null}"}"#, "", &[]);
        check_entry(
            get,
            r#""status":401,"headers":[{"name":"B","value":"1"},{"name":"a","value":"2"},{"name":"b","value":"3"}],"content":{"text":"no"}"#,
            "",
            &[&format!(
                r#"1 t=1767225600002 x {head}:401,"version":"1.1","headers":{{"a":"2","b":["1","3"]}}}},"responseBody":{{"bytes":2,"text":"no"}},"ended":"complete","durationUs":2000}}"#
            )],
        );
        // A stream of something else.
        check_entry(
            get,
            r#""status":200,"content":{"mimeType":"text/event-stream","text":"data: {\"choices\":[]}\n\n"}"#,
            "",
            &[&format!(
                r#"1 t=1767225600002 x {head}:200,"version":"1.1","headers":{{}}}},"ended":"open"}}"#
            )],
        );
        check_entry(
            PING,
            r#""status":0,"_error":"net::ERR_FAILED""#,
            "",
            &[
                PING_ITEM,
                r#"1 t=1767225600002 x @s {"ended":"unreachable","error":"net::ERR_FAILED","durationUs":2000}"#,
            ],
        );
    }

    #[test]
    fn other_documents_are_refused() {
        let expected = r#"1 WrongDocument { expected: "an HTTP archive: `log.entries` must be an array" }"#;
        check(&HAR, r#"{"log":{"entries":7}}"#, &[expected]);
        check(&HAR, r#"{"log":[]}"#, &[expected]);
        check(
            &HAR,
            r#"{"log":{"entries":[7]}}"#,
            &[r#"1 Unexpected { expected: "an entry with a `request`" }"#],
        );
    }

    #[test]
    fn the_fixture_is_recognized_and_read_in_full() {
        let fixture = include_bytes!("../../../../../fixtures/import/har.har");
        check_recognized(&HAR, fixture);
        check_imported(&HAR, fixture, 13);
        let found = said(&HAR, fixture);
        let exchanges = found.iter().filter(|line| line.split(' ').nth(2) == Some("x"));
        // The icon that isn't there, the 202, and the end of the session.
        assert_eq!((found.len(), exchanges.count()), (16, 3), "{}", found.join("\n"));
    }
}
