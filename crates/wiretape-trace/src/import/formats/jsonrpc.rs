//! One JSON-RPC message per line, and nothing else. Some programs add a time to the members of a message.

use super::super::cut::{Shape, Unit};
use super::super::fields::Value;
use super::super::item::{Findings, Item, ItemContent};
use super::{Format, Sample};
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::sync::LazyLock;

pub(super) static JSONRPC: Format = Format {
    name: "jsonrpc",
    aliases: &[],
    about: "JSON-RPC messages, one per line",
    shape: Shape::Lines,
    transport: None,
    calls_only: false,
    many_sessions: false,
    recognize,
    read,
};

fn recognize(sample: &Sample<'_>) -> bool {
    // A first message that is longer than the sample can't be parsed here.
    let is_long = || sample.is_one_line() && sample.first() == Some(b'{') && sample.contains("\"jsonrpc\"");
    sample.objects().any(|object| object.get("jsonrpc").is_some())
        || is_long()
        || sample.lines().any(|line| line.starts_with(b"[{") && Value::parse(line).is_ok())
}

fn read<'u>(unit: &Unit<'u>, findings: &mut Findings<'u>) {
    let mut item = Item::new(unit.line, ItemContent::Message { from: None, raw: Cow::Borrowed(unit.bytes) });
    item.at_ms = time_of(unit.bytes);
    findings.items.push(item);
}

/// The time among a message's members. The message is parsed only if the name occurs in it.
pub(super) fn time_of(message: &[u8]) -> Option<i64> {
    static NAME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"timestamp"));
    NAME.find(message)?;
    let message = Value::parse(message).ok()?;
    message.get("timestamp_ms").or_else(|| message.get("timestamp"))?.time_ms()
}
