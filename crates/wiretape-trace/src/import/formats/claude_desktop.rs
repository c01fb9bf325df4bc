//! The logs that Claude Desktop writes for MCP servers: `mcp-server-<name>.log` of one, and `mcp.log` of all,
//! in which level
//! and name are swapped.
//!
//! ```text
//! 2026-03-04T09:15:00.040Z [weather] [info] Message from client: {"jsonrpc":"2.0",…} { metadata: undefined }
//! 2026-03-04T09:15:00.080Z [info] [weather] Message from server: {"jsonrpc":"2.0",…}
//! a line of the server's standard error
//! ```
//!
//! A long message is truncated: `…[{"type":"te...[52653 chars truncated]...}}`. The rest is JSON only if the
//! cut is within one
//! string.

use super::super::cut::{Shape, Unit};
use super::super::item::{Defect, Findings, Item, ItemContent};
use super::{Format, Sample};
use crate::json::Lexer;
use crate::message::Direction;
use std::borrow::Cow;

pub(super) static CLAUDE_DESKTOP: Format = Format {
    name: "claude-desktop",
    aliases: &["claude"],
    about: "Claude Desktop's logs of MCP servers",
    shape: Shape::Lines,
    transport: None,
    calls_only: false,
    many_sessions: true,
    recognize,
    read,
};

const MESSAGES: [(&[u8], Direction); 2] = [
    (b"Message from client:", Direction::ClientToServer),
    (b"Message from server:", Direction::ServerToClient),
];

/// What the program appends to each of its own entries.
const METADATA: &[u8] = b"{ metadata: undefined }";

fn recognize(sample: &Sample<'_>) -> bool {
    const OTHERS: [&[u8]; 3] =
        [b"Initializing server...", b"Using MCP server command: ", b"Server started and connected"];
    let begins = MESSAGES.iter().map(|(mark, _)| *mark).chain(OTHERS).collect::<Vec<_>>();
    sample.lines().filter_map(Entry::of).any(|entry| begins.iter().any(|mark| entry.text.starts_with(mark)))
}

fn read<'u>(unit: &Unit<'u>, findings: &mut Findings<'u>) {
    let Some(entry) = Entry::of(unit.bytes) else {
        if !is_metadata(unit.bytes) {
            findings
                .items
                .push(Item::new(unit.line, ItemContent::Stderr { text: Cow::Borrowed(unit.bytes) }));
        }
        return;
    };
    let message = MESSAGES.iter().find_map(|(mark, from)| Some((entry.text.strip_prefix(*mark)?, *from)));
    let Some((text, from)) = message else { return };
    let (what, shortened) = payload(text.trim_ascii(), from);
    if shortened {
        findings.flaw(unit.line, Defect::Shortened);
    }
    let server = entry.server.map(String::from_utf8_lossy);
    findings.items.push(Item { at_ms: entry.at_ms, server, ..Item::new(unit.line, what) });
}

/// The message of an entry, and whether the program truncated it.
fn payload(text: &[u8], from: Direction) -> (ItemContent<'_>, bool) {
    if let Some(end) = end_of_value(text) {
        let raw = &text[..end];
        return (ItemContent::Message { from: Some(from), raw: Cow::Borrowed(raw) }, has_mark(raw));
    }
    let text = text.strip_suffix(METADATA).unwrap_or(text).trim_ascii_end();
    // Text that is not JSON any more was truncated, even if an older version marked that differently.
    if memchr::memmem::find(text, b"truncated]").is_some() {
        (ItemContent::Text { from, text: Cow::Borrowed(text) }, true)
    } else {
        (ItemContent::Message { from: Some(from), raw: Cow::Borrowed(text) }, false)
    }
}

/// The end of the JSON value at the beginning of `text`.
fn end_of_value(text: &[u8]) -> Option<usize> {
    let mut lexer = Lexer::new(text);
    let first = lexer.next_token().ok()??;
    lexer.finish_value(first).ok()
}

/// Whether the program truncated the text: `...[52653 chars truncated]...`. Tools that shorten their output
/// often use the same words, but on a line of their own.
fn has_mark(text: &[u8]) -> bool {
    const END: &[u8] = b" chars truncated]...";
    memchr::memmem::find_iter(text, END).any(|at| {
        let digits = text[..at].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let Some(before) = text[..at - digits].strip_suffix(b"...[") else { return false };
        let has_own_line = before.ends_with(br"\n") && text[at + END.len()..].starts_with(br"\n");
        digits > 0 && !has_own_line
    })
}

/// An entry that the program wrote, as opposed to a line of standard error.
struct Entry<'u> {
    at_ms: Option<i64>,
    /// The server's name, in a log of several.
    server: Option<&'u [u8]>,
    text: &'u [u8],
}

impl<'u> Entry<'u> {
    fn of(line: &'u [u8]) -> Option<Self> {
        let (time, rest) = line.split_at(memchr::memchr(b' ', line)?);
        let at_ms = crate::format::parse_time(std::str::from_utf8(time).ok()?)?;
        let (first, rest) = bracketed(rest)?;
        let (second, text) = bracketed(rest)?;
        // In the log of one server, lines of standard error have no server name. If the program's entries had
        // one, there would be two traces of one server.
        let server = match (is_level(first), is_level(second)) {
            (true, _) => Some(second),
            (false, true) => None,
            (false, false) => return None,
        };
        Some(Entry { at_ms: Some(at_ms), server, text: text.trim_ascii_start() })
    }
}

fn bracketed(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b" [")?;
    let end = memchr::memchr(b']', text)?;
    Some((&text[..end], &text[end + 1..]))
}

fn is_level(text: &[u8]) -> bool {
    matches!(text, b"error" | b"warn" | b"warning" | b"info" | b"verbose" | b"debug" | b"silly")
}

/// Whether a line is part of an entry's metadata, which the program writes as JavaScript over several lines.
/// Only its form distinguishes it from standard error.
fn is_metadata(line: &[u8]) -> bool {
    const NAMES: [&[u8]; 7] =
        [b"metadata: ", b"args: [", b"paths: [", b"context: '", b"stack: ", b"[length]: ", b"error: {"];
    let is_bracket = |byte: &u8| matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b' ');
    let without_format = line.strip_suffix(b" %o").unwrap_or(line);
    let is_quoted = || {
        let inner = line.strip_suffix(b",").or_else(|| line.strip_suffix(b" +")).unwrap_or(line);
        let quote = inner.first().copied().filter(|byte| matches!(byte, b'\'' | b'`' | b'"'));
        inner.len() > 1 && quote.is_some() && inner.last().copied() == quote
    };
    without_format.iter().all(is_bracket) || NAMES.iter().any(|name| line.starts_with(name)) || is_quoted()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, check_imported, check_recognized, said};
    use super::*;

    #[test]
    fn messages_are_told_from_the_program_s_own_words() {
        check(
            &CLAUDE_DESKTOP,
            "2026-01-01T00:00:00.000Z [a] [info] Initializing server... { metadata: undefined }\n\
             2026-01-01T00:00:00.001Z [a] [info] Message from client: {\"id\":1,\"s\":\"} { metadata: undefined }\"} { metadata: undefined }\n\
             2026-01-01T00:00:00.002Z [a b] [info] Message from server: {\"id\":1}\n\
             2026-01-01T00:00:00.003Z [info] [c] Message from server: {}\n\
             2026-01-01T00:00:00.004Z [a] [info] Message from server: {\"x { metadata: undefined }\n\
             2026-01-01T00:00:00.005Z [a] [error] Server disconnected. { metadata: { context: 'connection' } }\n",
            &[
                "2 t=1767225600001 > {\"id\":1,\"s\":\"} { metadata: undefined }\"}",
                "3 t=1767225600002 < {\"id\":1}",
                "4 t=1767225600003 < {} #c",
                "5 t=1767225600004 < {\"x",
            ],
        );
    }

    #[test]
    fn shortened_messages_are_noted() {
        check(
            &CLAUDE_DESKTOP,
            "2026-01-01T00:00:00.000Z [a] [info] Message from server: {\"id\":1,\"result\":{\"a\":[...[52653 chars truncated]...}]}} { metadata: undefined }\n\
             2026-01-01T00:00:00.000Z [a] [info] Message from server: {\"id\":1,\"result\":\"a...[9 chars truncated]...b\"}\n\
             2026-01-01T00:00:00.000Z [a] [info] Message from server: {\"id\":1,\"result\":\"[truncated] ...[x chars truncated]...\"}\n\
             2026-01-01T00:00:00.000Z [a] [info] Message from server: {\"id\":1,\"result\":\"a\\n...[9 chars truncated]...\\nb\"}\n",
            &[
                "1 t=1767225600000 <~ {\"id\":1,\"result\":{\"a\":[...[52653 chars truncated]...}]}}",
                "2 t=1767225600000 < {\"id\":1,\"result\":\"a...[9 chars truncated]...b\"}",
                "3 t=1767225600000 < {\"id\":1,\"result\":\"[truncated] ...[x chars truncated]...\"}",
                "4 t=1767225600000 < {\"id\":1,\"result\":\"a\\n...[9 chars truncated]...\\nb\"}",
                "1 Shortened",
                "2 Shortened",
            ],
        );
    }

    #[test]
    fn standard_error_is_told_from_metadata() {
        check(
            &CLAUDE_DESKTOP,
            "  metadata: {\n    args: [ '-y', [length]: 1 ],\n    paths: [\n      '/usr/bin',\n      [length]: 7\n    ]\n  }\n} %o\n\
             2026-01-01T00:00:00.001Z  INFO server: starting\n\
             2026-01-01 00:00:00 [info] [a] hello\n\
             Traceback (most recent call last):\n\
             {\"level\":\"warn\"}\n\
             stack: 'x\\n' +\n'    at y'\n",
            &[
                "9 ! 2026-01-01T00:00:00.001Z  INFO server: starting",
                "10 ! 2026-01-01 00:00:00 [info] [a] hello",
                "11 ! Traceback (most recent call last):",
                "12 ! {\"level\":\"warn\"}",
            ],
        );
    }

    #[test]
    fn the_fixture_is_recognized_and_read_in_full() {
        let fixture = include_bytes!("../../../../../fixtures/import/claude-desktop.log");
        check_recognized(&CLAUDE_DESKTOP, fixture);
        check_imported(&CLAUDE_DESKTOP, fixture, 11);
        let found = said(&CLAUDE_DESKTOP, fixture);
        let stderr = found.iter().filter(|line| line.contains(" ! "));
        // Twelve messages, one of them as text, and two flaws.
        assert_eq!((found.len(), stderr.count()), (16, 2), "{}", found.join("\n"));
    }
}
