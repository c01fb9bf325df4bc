//! Recordings of mcp-rec: each line has a time in seconds, a direction and the message. A line on the wire that was not JSON
//! is written as `{"_raw":…,"_unparsed":true}`. Recordings are appended to an existing file, so several
//! sessions may follow each other.

use super::super::cut::{Shape, Unit};
use super::super::fields::Value;
use super::super::item::{Defect, Findings, Item, ItemContent};
use super::{Format, Sample, value_of};
use crate::message::{Direction, Envelope, MessageKind};
use std::borrow::Cow;

pub(super) static MCP_REC: Format = Format {
    name: "mcp-rec",
    aliases: &[],
    about: "recordings of mcp-rec",
    shape: Shape::Lines,
    transport: Some("stdio"),
    calls_only: false,
    many_sessions: false,
    recognize,
    read,
};

fn recognize(sample: &Sample<'_>) -> bool {
    sample.objects().any(|object| {
        direction(object).is_some() && object.get("msg").is_some() && seconds(object.get("ts")).is_some()
    })
}

fn direction(line: Value<'_>) -> Option<Direction> {
    match line.get("dir")?.string()?.as_ref() {
        "client->server" => Some(Direction::ClientToServer),
        "server->client" => Some(Direction::ServerToClient),
        _ => None,
    }
}

/// A number of seconds, in milliseconds.
fn seconds(number: Option<Value<'_>>) -> Option<i64> {
    let number = number.filter(|number| number.integer().is_some())?;
    let seconds: f64 = std::str::from_utf8(number.raw).ok()?.parse().ok()?;
    Some((seconds * 1000.0).round() as i64)
}

fn read<'u>(unit: &Unit<'u>, findings: &mut Findings<'u>) {
    let Some(line) = value_of(unit, findings) else { return };
    let (Some(from), Some(payload)) = (direction(line), line.get("msg")) else {
        findings.flaw(unit.line, Defect::Unexpected { expected: "an object with `dir` and `msg`" });
        return;
    };
    let at_ms = seconds(line.get("ts"));
    let mut push = |what| findings.items.push(Item { at_ms, ..Item::new(unit.line, what) });
    let envelope = Envelope::scan(payload.raw);
    if envelope.method.as_deref() == Some("initialize") {
        // Recordings are appended to the same file, and each session starts its ids over.
        push(ItemContent::FreshIds);
    }
    let unparsed = payload.get("_raw").filter(|_| payload.get("_unparsed").is_some());
    push(match unparsed.and_then(Value::string_bytes) {
        Some(text) => ItemContent::Text { from, text },
        None if envelope.kind == MessageKind::NotJsonRpc => {
            ItemContent::Text { from, text: Cow::Borrowed(payload.raw) }
        }
        None => ItemContent::Message { from: Some(from), raw: Cow::Borrowed(payload.raw) },
    });
}

#[cfg(test)]
mod tests {
    use super::super::testing::told;
    use super::*;

    fn check(input: &str, expected: &[&str]) {
        let told = told(&MCP_REC, input, |item| {
            let what = match &item.what {
                ItemContent::Message { from, raw } => format!("{from:?} {}", String::from_utf8_lossy(raw)),
                ItemContent::Text { from, text } => {
                    format!("{from:?} text {}", String::from_utf8_lossy(text))
                }
                other => format!("{other:?}"),
            };
            format!("{:?} {what}", item.at_ms)
        });
        assert_eq!(told, expected);
    }

    #[test]
    fn messages_are_taken_as_they_stand() {
        check(
            r#"{"ts": 1750000001.2345, "dir": "client->server", "msg": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}}"#,
            &[
                r#"Some(1750000001235) Some(ClientToServer) {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#,
            ],
        );
        check(
            r#"{"ts": 1750000001, "dir": "server->client", "msg": [{"jsonrpc": "2.0", "id": 1, "result": {}}]}"#,
            &[r#"Some(1750000001000) Some(ServerToClient) [{"jsonrpc": "2.0", "id": 1, "result": {}}]"#],
        );
    }

    #[test]
    fn another_session_in_the_file_may_use_the_ids_again() {
        check(
            r#"{"ts": 1.5, "dir": "client->server", "msg": {"jsonrpc": "2.0", "id": 0, "method": "initialize"}}"#,
            &[
                "Some(1500) FreshIds",
                r#"Some(1500) Some(ClientToServer) {"jsonrpc": "2.0", "id": 0, "method": "initialize"}"#,
            ],
        );
    }

    #[test]
    fn what_was_no_message_is_text() {
        check(
            r#"{"ts": 2.0, "dir": "server->client", "msg": {"_raw": "Listening\u2026 \"a\"", "_unparsed": true}}"#,
            &[r#"Some(2000) ServerToClient text Listening… "a""#],
        );
        check(
            r#"{"ts": 2.0, "dir": "server->client", "msg": {"level": "info"}}"#,
            &[r#"Some(2000) ServerToClient text {"level": "info"}"#],
        );
        check(r#"{"ts": 2.0, "dir": "up", "msg": {}}"#, &["line 1: expected an object with `dir` and `msg`"]);
    }

    #[test]
    fn it_is_recognized() {
        let fixture = include_bytes!("../../../../../fixtures/import/mcp-rec.jsonl");
        assert_eq!(super::super::detect(fixture).unwrap().name, "mcp-rec");
        let other = br#"{"ts":"2026-01-01T00:00:00Z","dir":"client->server","msg":{}}"#;
        assert!(super::super::detect(other).is_none());
    }
}
