//! Recordings of mcporter. Each line is a message to which the recorder has added a member `_meta` with the direction, the
//! name of the server and the time. There are several servers in one file. Lines whose direction is `lifecycle` are the
//! recorder's own; one of them marks the start of a connection.

use super::super::cut::{Shape, Unit};
use super::super::fields::Value;
use super::super::item::{Findings, Item, ItemContent};
use super::{Format, Sample, value_of};
use crate::message::Direction;
use std::borrow::Cow;

pub(super) static MCPORTER: Format = Format {
    name: "mcporter",
    aliases: &[],
    about: "recordings of mcporter",
    shape: Shape::Lines,
    transport: None,
    calls_only: false,
    many_sessions: false,
    recognize,
    read,
};

fn recognize(sample: &Sample<'_>) -> bool {
    sample.objects().any(|object| {
        let meta = |name| object.at_path(&["_meta", name]).and_then(Value::string);
        let is_direction = matches!(meta("dir").as_deref(), Some("send" | "recv" | "lifecycle"));
        is_direction && meta("server").is_some() && object.get("jsonrpc").is_some()
    })
}

fn read<'u>(unit: &Unit<'u>, findings: &mut Findings<'u>) {
    let Some(value) = value_of(unit, findings) else { return };
    let (raw, meta) = without_meta(value);
    let of_meta = |name| meta.and_then(|meta| meta.get(name));
    let what = match of_meta("dir").and_then(Value::string).as_deref() {
        Some("send") => ItemContent::Message { from: Some(Direction::ClientToServer), raw },
        Some("recv") => ItemContent::Message { from: Some(Direction::ServerToClient), raw },
        Some("lifecycle") => {
            let method = value.get("method").and_then(Value::string);
            if method.as_deref() != Some("$transport/start") {
                return;
            }
            ItemContent::FreshIds
        }
        _ => ItemContent::Message { from: None, raw },
    };
    findings.items.push(Item {
        at_ms: of_meta("ts").and_then(Value::time_ms),
        server: of_meta("server").and_then(Value::string),
        ..Item::new(unit.line, what)
    });
}

/// The message as it was before the recorder added its `_meta`, and that `_meta`.
fn without_meta(message: Value<'_>) -> (Cow<'_, [u8]>, Option<Value<'_>>) {
    let mut found = None;
    let mut before = None;
    message.members(|name, value| {
        let end = value.offset - message.offset + value.raw.len();
        if name.is("_meta") && value.is_object() {
            found = Some((before, end, value));
        }
        before = Some(end);
    });
    let Some((before, end, meta)) = found else { return (Cow::Borrowed(message.raw), None) };
    let (head, mut tail) = match before {
        // Remove the comma before it, too.
        Some(before) => (&message.raw[..before], &message.raw[end..]),
        None => (&message.raw[..1], &message.raw[end..]),
    };
    if before.is_none() {
        tail = tail.trim_ascii_start();
        tail = tail.strip_prefix(b",").unwrap_or(tail);
    }
    (Cow::Owned([head, tail].concat()), Some(meta))
}

#[cfg(test)]
mod tests {
    use super::super::testing::told;
    use super::*;

    fn check(input: &str, expected: &[&str]) {
        let told = told(&MCPORTER, input, |item| {
            let what = match &item.what {
                ItemContent::Message { from, raw } => format!("{from:?} {}", String::from_utf8_lossy(raw)),
                other => format!("{other:?}"),
            };
            format!("{:?} {:?} {what}", item.server.as_deref(), item.at_ms)
        });
        assert_eq!(told, expected);
    }

    #[test]
    fn the_recorders_own_member_is_cut_out_and_nothing_else() {
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}},"_meta":{"dir":"send","server":"linear","ts":"2026-05-16T12:00:00.250Z"}}"#,
            &[
                r#"Some("linear") Some(1778932800250) Some(ClientToServer) {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}}}"#,
            ],
        );
        check(
            r#"{"jsonrpc":"2.0", "id":1 , "_meta" : {"dir":"recv","server":"x"} , "result":{}}"#,
            &[r#"Some("x") None Some(ServerToClient) {"jsonrpc":"2.0", "id":1 , "result":{}}"#],
        );
        check(
            r#"{"_meta":{"dir":"recv","server":"x"}, "jsonrpc":"2.0","method":"a"}"#,
            &[r#"Some("x") None Some(ServerToClient) { "jsonrpc":"2.0","method":"a"}"#],
        );
        check(r#"{"jsonrpc":"2.0","method":"a"}"#, &[r#"None None None {"jsonrpc":"2.0","method":"a"}"#]);
    }

    #[test]
    fn the_recorders_own_lines_are_no_messages() {
        check(
            r#"{"jsonrpc":"2.0","method":"$transport/start","_meta":{"dir":"lifecycle","server":"x","ts":"1970-01-01T00:00:01.000Z"}}"#,
            &[r#"Some("x") Some(1000) FreshIds"#],
        );
        check(
            r#"{"jsonrpc":"2.0","method":"$transport/close","_meta":{"dir":"lifecycle","server":"x"}}"#,
            &[],
        );
        check(r#"{"jsonrpc":"2.0","#, &["line 1: not JSON at byte 17: it ends too early"]);
    }

    #[test]
    fn it_is_told_from_plain_messages() {
        let fixture = include_bytes!("../../../../../fixtures/import/mcporter.jsonl");
        assert_eq!(super::super::detect(fixture).unwrap().name, "mcporter");
        let plain = br#"{"jsonrpc":"2.0","id":1,"method":"ping","_meta":{"dir":"elsewhere"}}"#;
        assert_eq!(super::super::detect(plain).unwrap().name, "jsonrpc");
    }
}
