//! Text that others wrote, made fit for a terminal.

use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// What stands where text was cut off.
pub(crate) const ELLIPSIS: char = '…';

/// The text with everything made visible that could move the cursor, change colours, reverse the writing, or that is
/// not seen at all.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => clean.push('⏎'),
            '\t' => clean.push(' '),
            '\r' => {}
            // U+2400 and on are pictures of the control characters.
            '\0'..='\x1f' => clean.extend(char::from_u32(0x2400 + u32::from(c))),
            '\x7f' => clean.push('␡'),
            _ if is_unprintable(c) => clean.extend(c.escape_unicode()),
            _ => clean.push(c),
        }
    }
    Cow::Owned(clean)
}

/// A line of a program's own output: its colours are taken away, what else is unprintable is made visible.
pub(crate) fn printable_output(text: &str) -> String {
    let plain = anstream::adapter::strip_str(text).to_string();
    printable(plain.trim_end_matches(['\r', '\n'])).into_owned()
}

fn is_unprintable(c: char) -> bool {
    // What Unicode calls format characters, separators of lines, and characters to be ignored by default; but for the
    // joiner and the selector of emoji, which make pictures of their neighbours.
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{115f}' | '\u{1160}'
            | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0e}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The text, cut to so many columns; a cut is marked.
pub(crate) fn truncate(text: &str, columns: usize) -> Cow<'_, str> {
    // No character is wider than its bytes are many, so a short text needs no measuring.
    if text.len() <= columns || text.width() <= columns {
        return Cow::Borrowed(text);
    }
    if columns == 0 {
        return Cow::Borrowed("");
    }
    let mut used = 0;
    let mut cut = String::new();
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns - 1 {
            break;
        }
        cut.push(c);
    }
    cut.push(ELLIPSIS);
    Cow::Owned(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_can_steer_the_terminal() {
        let check = |text, expected| assert_eq!(printable(text), expected, "{text:?}");
        check("plain ünïcode 漢字", "plain ünïcode 漢字");
        check("\x1b[31mred\x1b]0;title\x07", "␛[31mred␛]0;title␇");
        check("two\r\nlines\tand a tab", "two⏎lines and a tab");
        check("\u{9b}31m \u{202e}evil \x7f", "\\u{9b}31m \\u{202e}evil ␡");
        assert_eq!(printable_output("\x1b[32mINFO\x1b[0m ready\r\n"), "INFO ready");
    }

    #[test]
    fn cuts_are_by_columns() {
        let check = |text, columns, expected| assert_eq!(truncate(text, columns), expected);
        check("hello", 5, "hello");
        check("hello", 4, "hel…");
        check("hello", 1, "…");
        check("hello", 0, "");
        check("漢字漢字", 8, "漢字漢字");
        check("漢字漢字", 7, "漢字漢…");
        check("漢字漢字", 6, "漢字…");
        check("e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}e\u{301}");
    }
}
