//! Records as JSON, one object per line. The schema is in `docs/json-output.md`.

use super::item::{Item, is_batch};
use crate::json::ObjectWriter;
use wiretape_analyze::call::Outcome;
use wiretape_trace::format::{DirectionField, Line, OtherText, Record, Stamp};
use wiretape_trace::message::{Direction, MessageKind};

/// A record as a JSON object, with its payload verbatim.
pub(super) fn object(line: &Line<'_>, items: &[Item<'_>]) -> Vec<u8> {
    let mut object = ObjectWriter::new();
    object.number("line", Some(line.number));
    match &line.record {
        Record::Message(message) => {
            stamp(&mut object, "message", &message.stamp);
            direction(&mut object, &message.dir);
            if is_batch(message) {
                object.string("kind", Some("batch"));
                object.array("elements", items.iter().map(element));
            } else if let Some(item) = items.first() {
                payload(&mut object, item);
            }
            session(&mut object, message.session.as_deref());
            if let Some(http) = message.http {
                object.raw("http", http);
            }
            object.raw("raw", message.raw);
            return object.finish();
        }
        Record::Text(other) => other_text(&mut object, "text", other),
        Record::Stderr(other) => other_text(&mut object, "stderr", other),
        Record::Http(exchange) => {
            stamp(&mut object, "http", &exchange.stamp);
            session(&mut object, exchange.session.as_deref());
        }
        Record::Meta(_) => plain(&mut object, "meta"),
        Record::Gap(_) => plain(&mut object, "gap"),
        Record::Rotated { .. } => plain(&mut object, "rotated"),
        Record::End(_) => plain(&mut object, "end"),
        Record::Unknown { type_name, stamp: at } => {
            stamp(&mut object, "unknown", at);
            object.string("typeName", type_name.as_deref());
        }
        Record::Damaged(error) => {
            object.string("type", Some("damaged"));
            object.string("error", Some(&error.to_string()));
            object.string("text", Some(&String::from_utf8_lossy(line.bytes)));
            return object.finish();
        }
    }
    object.raw("record", line.bytes);
    object.finish()
}

fn session(object: &mut ObjectWriter, session: Option<&str>) {
    if session.is_some() {
        object.string("session", session);
    }
}

fn plain(object: &mut ObjectWriter, type_name: &str) {
    object.string("type", Some(type_name));
}

fn other_text(object: &mut ObjectWriter, type_name: &str, other: &OtherText<'_>) {
    stamp(object, type_name, &other.stamp);
    if other.dir != DirectionField::Missing {
        direction(object, &other.dir);
    }
    object.string("text", Some(&other.text));
}

fn stamp(object: &mut ObjectWriter, type_name: &str, stamp: &Stamp<'_>) {
    object.string("type", Some(type_name));
    object.string("t", stamp.t.as_deref());
    object.number("seq", stamp.seq);
    object.number("us", stamp.us);
}

fn direction(object: &mut ObjectWriter, dir: &DirectionField<'_>) {
    let dir = match dir {
        DirectionField::Known(Direction::ClientToServer) => Some("in"),
        DirectionField::Known(Direction::ServerToClient) => Some("out"),
        DirectionField::Other(dir) => Some(&**dir),
        DirectionField::Missing => None,
    };
    object.string("dir", dir);
}

fn element(item: &Item<'_>) -> Vec<u8> {
    let mut object = ObjectWriter::new();
    payload(&mut object, item);
    object.finish()
}

fn payload(object: &mut ObjectWriter, item: &Item<'_>) {
    let kind = match item.envelope.kind {
        MessageKind::Request => "request",
        MessageKind::Notification => "notification",
        MessageKind::Response => "response",
        MessageKind::Batch => "batch",
        MessageKind::NotJsonRpc => "other",
    };
    object.string("kind", Some(kind));
    if matches!(item.envelope.kind, MessageKind::Request | MessageKind::Response) {
        object.id("id", item.id());
    }
    if !matches!(item.envelope.kind, MessageKind::Batch | MessageKind::NotJsonRpc) {
        object.string("method", item.method());
        object.string("tool", item.tool());
    }
    response(object, item);
    if let Some(call) = item.displaced()
        && call.id.is_some()
    {
        object.number("abandons", Some(call.request.line));
    }
    if !item.envelope.defects.is_empty() {
        let defects = item.envelope.defects.iter().map(|defect| quoted(&defect.to_string()));
        object.array("defects", defects);
    }
}

fn response(object: &mut ObjectWriter, item: &Item<'_>) {
    let Some(outcome) = item.outcome() else { return };
    let answered = item.answered();
    object.number("answers", answered.map(|call| call.request.line));
    object.number("latencyUs", answered.and_then(|call| call.duration_us));
    object.string("outcome", Some(outcome.name()));
    if outcome == Outcome::ProtocolError {
        object.number("errorCode", item.envelope.error_code);
    }
}

fn quoted(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).expect("serializing a string into memory can't fail")
}
