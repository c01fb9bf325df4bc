//! Secrets that span several lines of a stream: a private key that a server prints to stderr, a quoted value
//! with line breaks, a value in the lines after its name.
//!
//! A recorder that works line by line keeps a [`LineState`] for each stream; without it, only the first line
//! of a key would be recognised. A text that is available as a whole doesn't need this module.

use super::command_line::{self, OptionKind};
use super::keys::KeyRules;
use super::named::{self, quoted_value};
use super::rules;
use super::text::{is_pem_body, is_private, pem_label_end};
use memchr::memmem;

/// The secret that earlier lines have left open, if any. One for each stream of lines.
#[derive(Debug, Default, Clone)]
pub struct LineState {
    open: Option<OpenBlock>,
    /// How many more lines the open secret may span.
    lines: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenBlock {
    /// A PEM block; ends with its `END` line.
    Pem,
    /// The private part of a PuTTY key, with the number of lines left.
    Putty(usize),
    /// A quoted value, with its quote character and rule; ends at the closing quote.
    Quote(u8, &'static str),
    /// A block scalar of YAML (`password: |`); ends at a line that is indented no further than its name.
    Block(BlockScalar),
    /// An option whose argument is on the next line (`--password \\`).
    Argument(OptionKind),
}

/// The state of an open block scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockScalar {
    rule: &'static str,
    /// The indentation of its name, in bytes.
    indent: usize,
    /// Whether a private key in it has begun and not ended.
    in_key: bool,
}

/// The most lines of a block: a key of 16,384 bits has about two hundred. Limits what is redacted by mistake
/// if the end of a block is lost.
const MAX_LINES: usize = 512;

/// The most lines of a block scalar. Lists and texts are indented, too, so less is redacted by mistake than of a key.
const MAX_BLOCK: usize = 64;

/// The beginning of a line that belongs to a secret from an earlier line.
pub(super) struct Continuation {
    pub(super) rule: &'static str,
    /// Byte offset where it begins: after a logger's timestamp, if there is one.
    pub(super) start: usize,
    /// Byte offset where it ends in this line.
    pub(super) end: usize,
}

impl LineState {
    /// The part of a line that belongs to the open secret. Advances the state by one line. `is_on` says whether a rule is
    /// enabled.
    pub(super) fn continued(&mut self, line: &[u8], is_on: impl Fn(&str) -> bool) -> Option<Continuation> {
        let open = self.open?;
        self.lines = self.lines.saturating_sub(1);
        if self.lines == 0 {
            self.open = None;
        }
        match open {
            OpenBlock::Pem => self.continued_pem(line),
            OpenBlock::Putty(count) => {
                self.open = (count > 1).then_some(OpenBlock::Putty(count - 1));
                Some(Continuation {
                    rule: rules::PUTTY,
                    start: last_word(line),
                    end: line.trim_ascii_end().len(),
                })
            }
            OpenBlock::Quote(quote, rule) => {
                let end = memchr::memchr(quote, line);
                if end.is_some() {
                    self.open = None;
                }
                Some(Continuation { rule, start: 0, end: end.unwrap_or(line.trim_ascii_end().len()) })
            }
            OpenBlock::Block(block) => self.continued_block(line, block, is_on),
            OpenBlock::Argument(kind) => {
                self.open = None;
                let start = line.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                let (start, end) = command_line::argument(line, start)?;
                let (skip, rule) = kind.secret_in(&line[start..end])?;
                Some(Continuation { rule, start: start + skip, end })
            }
        }
        .filter(|continued| continued.start < continued.end)
    }

    fn continued_block(
        &mut self,
        line: &[u8],
        mut block: BlockScalar,
        is_on: impl Fn(&str) -> bool,
    ) -> Option<Continuation> {
        let start = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let end = line.trim_ascii_end().len();
        if start < end && start <= block.indent {
            self.open = None;
            return None;
        }
        let begins_key = opens_pem(line).is_some();
        let is_key = begins_key || block.in_key;
        if begins_key {
            // A key of 8,192 bits is longer than `MAX_BLOCK`.
            block.in_key = true;
            self.open = Some(OpenBlock::Block(block));
            self.lines = MAX_LINES;
        } else if block.in_key && closes_pem(line).is_some() {
            // Back to the block scalar: what follows the key belongs to the value, too.
            block.in_key = false;
            self.open = Some(OpenBlock::Block(block));
            self.lines = MAX_BLOCK;
        }
        // By the rule for keys, because the session's memory would learn each line as a secret by the block's rule, and
        // evict others for it.
        let rule = if is_key && is_on(rules::PEM) { rules::PEM } else { block.rule };
        Some(Continuation { rule, start, end })
    }

    fn continued_pem(&mut self, line: &[u8]) -> Option<Continuation> {
        if let Some(end) = closes_pem(line) {
            self.open = None;
            let dashes = line[..end].iter().rev().take_while(|byte| matches!(byte, b'-' | b' ')).count();
            let start = end - dashes + line[end - dashes..].iter().take_while(|byte| **byte == b' ').count();
            let end = pem_label_end(line, end + 4).unwrap_or_else(|end| end);
            return Some(Continuation { rule: rules::PEM, start, end });
        }
        let start = last_word(line);
        let body = line[start..].trim_ascii_end();
        // A line that can't be part of a key ends the block: its `END` line was lost, and redacting on would
        // hide the log.
        if !body.iter().all(|&byte| is_pem_body(byte)) {
            self.open = None;
            return None;
        }
        Some(Continuation { rule: rules::PEM, start, end: start + body.len() })
    }

    /// Records what a line leaves open. `quote` is the unclosed quoted value, if the caller found one; `value` searches for a
    /// name whose value follows, unless the line belongs to one itself.
    pub(super) fn update(
        &mut self,
        line: &[u8],
        quote: Option<(u8, &'static str)>,
        value: impl FnOnce() -> Option<OpenBlock>,
    ) {
        let opened = opens_pem(line)
            .or_else(|| opens_putty(line))
            .or(quote.map(|(quote, rule)| OpenBlock::Quote(quote, rule)))
            .or_else(|| if self.open.is_none() { value() } else { None });
        if opened.is_some() {
            self.open = opened;
            self.lines = if matches!(opened, Some(OpenBlock::Block(..))) { MAX_BLOCK } else { MAX_LINES };
        }
    }
}

/// What a line opens that ends with the name of a secret: a block scalar, or an option whose argument is on the next line.
pub(super) fn opens_value(line: &[u8], keys: &KeyRules) -> Option<OpenBlock> {
    let line = line.trim_ascii_end();
    match line.last()? {
        b'\\' => {
            let command = line[..line.len() - 1].trim_ascii_end();
            let start = command.iter().rposition(u8::is_ascii_whitespace).map_or(0, |at| at + 1);
            let option = command[start..].strip_prefix(b"-")?;
            let option = option.strip_prefix(b"-").unwrap_or(option);
            let kind = if option.len() > 1 { command_line::option_kind(option, keys) } else { None };
            kind.map(OpenBlock::Argument)
        }
        b'|' | b'>' | b'-' | b'+' | b'0'..=b'9' => {
            let (rule, indent) = named::open_block(line, keys)?;
            Some(OpenBlock::Block(BlockScalar { rule, indent, in_key: false }))
        }
        _ => None,
    }
}

/// Where the last word of a line begins: timestamps and log levels come before it.
fn last_word(line: &[u8]) -> usize {
    let line = line.trim_ascii_end();
    let start =
        line.iter().rposition(|byte| matches!(byte, b' ' | b'\t' | b'|' | b']')).map_or(0, |at| at + 1);
    // Headers of an encrypted PEM block (`DEK-Info: …`) are redacted as a whole: they have several words.
    let colon = memchr::memchr(b':', line).unwrap_or(0);
    let is_header = colon > 0 && line[..colon].iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'-');
    if is_header { 0 } else { start }
}

fn opens_pem(line: &[u8]) -> Option<OpenBlock> {
    let begin = memmem::rfind(line, b"BEGIN ")
        .filter(|&at| line[..at].ends_with(b"----") || line[..at].ends_with(b"---- "))?;
    let label_end = pem_label_end(line, begin + 6).ok()?;
    let is_closed = memmem::find(&line[label_end..], b"----END ").is_some()
        || memmem::find(&line[label_end..], b"---- END ").is_some();
    (is_private(&line[begin + 6..label_end]) && !is_closed).then_some(OpenBlock::Pem)
}

/// The offset of `END` in the last line of a PEM block.
fn closes_pem(line: &[u8]) -> Option<usize> {
    memmem::find(line, b"END ").filter(|&at| line[..at].ends_with(b"----") || line[..at].ends_with(b"---- "))
}

fn opens_putty(line: &[u8]) -> Option<OpenBlock> {
    let at = memmem::find(line, b"Private-Lines: ")?;
    let count: usize = std::str::from_utf8(&line[at + 15..]).ok()?.trim().parse().ok()?;
    (count > 0).then_some(OpenBlock::Putty(count.min(MAX_LINES)))
}

/// The quote character before the value at `value`, if the value is not closed by the end of the line.
pub(super) fn open_quote(line: &[u8], value: usize) -> Option<u8> {
    let quote = *line.get(value.checked_sub(1)?)?;
    let is_open = matches!(quote, b'"' | b'\'' | b'`')
        && quoted_value(line, value - 1).flatten().is_some_and(|(_, end)| end == line.len());
    is_open.then_some(quote)
}
