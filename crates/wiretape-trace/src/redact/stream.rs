//! Secrets that go on from line to line: a private key that a server prints to stderr, a quoted value with line breaks.
//!
//! A recorder that works line by line keeps a [`LineState`] for each stream, so that the second line of a key is known to
//! be one.

use super::named::quoted_value;
use super::rules;
use super::text::{is_pem_body, is_private, pem_label_end};
use memchr::memmem;

/// What the lines before the next one have left open. One for each stream of lines.
#[derive(Debug, Default, Clone)]
pub struct LineState {
    open: Option<Open>,
    /// How many lines what is open may still have.
    lines: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    /// A PEM block: to its `END`.
    Pem,
    /// How many private lines of a PuTTY key are left.
    Putty(usize),
    /// A quoted value of this rule: to its closing quote.
    Quote(u8, &'static str),
}

/// The longest block: a key of 16,384 bits has some two hundred lines.
const MAX_LINES: usize = 512;

/// What a line begins with that belongs to something open.
pub(super) struct Continued {
    pub(super) rule: &'static str,
    /// Where it begins: behind the time stamp that a logger put before it.
    pub(super) start: usize,
    /// Where it ends in this line.
    pub(super) end: usize,
}

impl LineState {
    /// The part of a line that belongs to what is open.
    pub(super) fn continued(&mut self, line: &[u8]) -> Option<Continued> {
        let open = self.open?;
        self.lines = self.lines.saturating_sub(1);
        if self.lines == 0 {
            self.open = None;
        }
        match open {
            Open::Pem => self.continued_pem(line),
            Open::Putty(count) => {
                self.open = (count > 1).then_some(Open::Putty(count - 1));
                Some(Continued {
                    rule: rules::PUTTY,
                    start: last_word(line),
                    end: line.trim_ascii_end().len(),
                })
            }
            Open::Quote(quote, rule) => {
                let end = memchr::memchr(quote, line);
                if end.is_some() {
                    self.open = None;
                }
                Some(Continued { rule, start: 0, end: end.unwrap_or(line.trim_ascii_end().len()) })
            }
        }
        .filter(|continued| continued.start < continued.end)
    }

    fn continued_pem(&mut self, line: &[u8]) -> Option<Continued> {
        if let Some(end) = memmem::find(line, b"END ")
            .filter(|&at| line[..at].ends_with(b"----") || line[..at].ends_with(b"---- "))
        {
            self.open = None;
            let dashes = line[..end].iter().rev().take_while(|byte| matches!(byte, b'-' | b' ')).count();
            let start = end - dashes + line[end - dashes..].iter().take_while(|byte| **byte == b' ').count();
            let end = pem_label_end(line, end + 4).unwrap_or_else(|end| end);
            return Some(Continued { rule: rules::PEM, start, end });
        }
        let start = last_word(line);
        let body = line[start..].trim_ascii_end();
        // A line that can't be of a key ends the block: its end was lost.
        if !body.iter().all(|&byte| is_pem_body(byte)) {
            self.open = None;
            return None;
        }
        Some(Continued { rule: rules::PEM, start, end: start + body.len() })
    }

    /// Looks at a whole line for what it leaves open.
    pub(super) fn note(&mut self, line: &[u8], quote: Option<(u8, &'static str)>) {
        let opened = opens_pem(line)
            .or_else(|| opens_putty(line))
            .or(quote.map(|(quote, rule)| Open::Quote(quote, rule)));
        if opened.is_some() {
            self.open = opened;
            self.lines = MAX_LINES;
        }
    }
}

/// Where the last word of a line begins: before it stand time stamps and the like.
fn last_word(line: &[u8]) -> usize {
    let line = line.trim_ascii_end();
    let start =
        line.iter().rposition(|byte| matches!(byte, b' ' | b'\t' | b'|' | b']')).map_or(0, |at| at + 1);
    // Headers of a block (`DEK-Info: …`) go as a whole.
    let colon = memchr::memchr(b':', line).unwrap_or(0);
    let is_header = colon > 0 && line[..colon].iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'-');
    if is_header { 0 } else { start }
}

fn opens_pem(line: &[u8]) -> Option<Open> {
    let begin = memmem::rfind(line, b"BEGIN ")
        .filter(|&at| line[..at].ends_with(b"----") || line[..at].ends_with(b"---- "))?;
    let label_end = pem_label_end(line, begin + 6).ok()?;
    let is_closed = memmem::find(&line[label_end..], b"----END ").is_some()
        || memmem::find(&line[label_end..], b"---- END ").is_some();
    (is_private(&line[begin + 6..label_end]) && !is_closed).then_some(Open::Pem)
}

fn opens_putty(line: &[u8]) -> Option<Open> {
    let at = memmem::find(line, b"Private-Lines: ")?;
    let count: usize = std::str::from_utf8(&line[at + 15..]).ok()?.trim().parse().ok()?;
    (count > 0).then_some(Open::Putty(count.min(MAX_LINES)))
}

/// The quote of a value that is open where the line ends.
pub(super) fn open_quote(line: &[u8], value: usize) -> Option<u8> {
    let quote = *line.get(value.checked_sub(1)?)?;
    let is_open = matches!(quote, b'"' | b'\'' | b'`')
        && quoted_value(line, value - 1).flatten().is_some_and(|(_, end)| end == line.len());
    is_open.then_some(quote)
}
