//! The log that VS Code writes for each MCP server, as its output channel shows it. Messages are there if the
//! log's level is
//! `Trace` or `Debug`; early versions wrote them always, under other marks.
//!
//! ```text
//! 2026-03-04 09:15:00.021 [debug] [editor -> server] {"jsonrpc":"2.0",…}
//! 2026-03-04 09:15:00.060 [warning] [server stderr] listening
//! 2026-03-04 09:15:00.062 [warning] Failed to parse message: "loading\n"
//! 2025-03-23 16:38:00.970 [info] [Client Says] {"jsonrpc":"2.0",…}
//! ```

use super::super::cut::{Shape, Unit};
use super::super::fields::Value;
use super::super::item::{Findings, Item, ItemContent};
use super::{Format, Sample};
use crate::message::Direction;
use std::borrow::Cow;

pub(super) static VSCODE: Format = Format {
    name: "vscode",
    aliases: &["vs-code"],
    about: "VS Code's log of an MCP server",
    shape: Shape::Lines,
    transport: None,
    calls_only: false,
    many_sessions: true,
    recognize,
    read,
};

const MARKS: [(&[u8], Direction); 4] = [
    (b"[editor -> server] ", Direction::ClientToServer),
    (b"[server -> editor] ", Direction::ServerToClient),
    (b"[Client Says] ", Direction::ClientToServer),
    (b"[Server Says] ", Direction::ServerToClient),
];

const STDERR: &[u8] = b"[server stderr] ";

/// The mark of a line on the server's standard output that is not a message.
const NOT_PARSED: &[u8] = b"Failed to parse message: ";

fn recognize(sample: &Sample<'_>) -> bool {
    sample.lines().filter_map(entry).any(|(_, text)| {
        let begins = |mark: &[u8]| text.starts_with(mark);
        MARKS.iter().any(|(mark, _)| begins(mark)) || begins(STDERR) || begins(b"Connection state: ")
    })
}

fn read<'u>(unit: &Unit<'u>, findings: &mut Findings<'u>) {
    let Some((at_ms, text)) = entry(unit.bytes) else { return };
    if let Some(what) = wire_content(text) {
        findings.items.push(Item { at_ms, ..Item::new(unit.line, what) });
    }
}

/// The content of an entry that is about the wire. Most entries are about VS Code itself.
fn wire_content(text: &[u8]) -> Option<ItemContent<'_>> {
    if let Some((raw, from)) = MARKS.iter().find_map(|(mark, from)| Some((text.strip_prefix(*mark)?, *from)))
    {
        return Some(ItemContent::Message { from: Some(from), raw: Cow::Borrowed(raw) });
    }
    // For an empty line, the space after the mark is missing.
    if let Some(text) = text.strip_prefix(STDERR.trim_ascii_end()) {
        return Some(ItemContent::Stderr { text: Cow::Borrowed(text.strip_prefix(b" ").unwrap_or(text)) });
    }
    let text = Value::parse(text.strip_prefix(NOT_PARSED)?).ok()?.string_bytes()?;
    let text = match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_ascii_end()),
        Cow::Owned(text) => Cow::Owned(text.trim_ascii_end().to_vec()),
    };
    // Empty lines between messages are harmless, and usual in streams.
    (!text.is_empty()).then_some(ItemContent::Text { from: Direction::ServerToClient, text })
}

/// The time of an entry, and the text after its level.
fn entry(line: &[u8]) -> Option<(Option<i64>, &[u8])> {
    const TIME: usize = "2026-03-04 09:15:00.021".len();
    let (time, rest) = line.split_at_checked(TIME)?;
    let rest = rest.strip_prefix(b" [")?;
    let (level, text) = rest.split_at(memchr::memchr(b']', rest)?);
    let is_level = matches!(level, b"trace" | b"debug" | b"info" | b"warning" | b"error");
    let is_time = time.iter().zip(b"0000-00-00 00:00:00.000").all(|(byte, model)| match model {
        b'0' => byte.is_ascii_digit(),
        _ => byte == model,
    });
    (is_level && is_time).then(|| (time_ms(time), text[1..].trim_ascii_start()))
}

/// The log has local times in an unknown time zone, so they are read as UTC: durations and order are right.
fn time_ms(time: &[u8]) -> Option<i64> {
    let time = std::str::from_utf8(time).ok()?;
    crate::format::parse_time(&format!("{}T{}Z", time.get(..10)?, time.get(11..)?))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, check_imported, check_recognized, said};
    use super::*;

    #[test]
    fn messages_stand_behind_their_marks() {
        check(
            &VSCODE,
            "2026-01-01 00:00:00.000 [info] Starting server weather\n\
             2026-01-01 00:00:00.001 [trace] [editor -> server] {\"id\":1}\r\n\
             2026-01-01 00:00:00.002 [debug] [server -> editor] [{}]\n\
             2026-01-01 00:00:00.003 [info] [Client Says] {\"a\n\
             2026-01-01 00:00:00.004 [info] [Server Says] {}\n\
             2026-01-01 00:00:00.005 [info] weather: [editor -> server] {}\n\
             a line of a longer entry\n",
            &[
                "2 t=1767225600001 > {\"id\":1}",
                "3 t=1767225600002 < [{}]",
                "4 t=1767225600003 > {\"a",
                "5 t=1767225600004 < {}",
            ],
        );
    }

    #[test]
    fn what_else_the_server_wrote_is_kept() {
        check(
            &VSCODE,
            "2026-01-01 00:00:00.000 [warning] [server stderr]   at main (x.js:1)\n\
             2026-01-01 00:00:00.000 [warning] [server stderr]\n\
             2026-01-01 00:00:00.000 [warning] Failed to parse message: \"Gr\\u00fc\\u00dfe\\n\"\n\
             2026-01-01 00:00:00.000 [warning] Failed to parse message: \"\"\n\
             2026-01-01 00:00:00.000 [warning] Failed to parse message: none\n",
            &["1 t=1767225600000 !   at main (x.js:1)", "2 t=1767225600000 ! ", "3 t=1767225600000 <~ Grüße"],
        );
    }

    #[test]
    fn the_fixture_is_recognized_and_read_in_full() {
        let fixture = include_bytes!("../../../../../fixtures/import/vscode.log");
        check_recognized(&VSCODE, fixture);
        check_imported(&VSCODE, fixture, 15);
        let found = said(&VSCODE, fixture);
        let messages = found.iter().filter(|line| line.contains("\"jsonrpc\""));
        assert_eq!((found.len(), messages.count()), (18, 15), "{}", found.join("\n"));
    }
}
