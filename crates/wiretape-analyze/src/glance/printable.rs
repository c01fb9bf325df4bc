//! Makes text from peers safe to print.

use std::borrow::Cow;

/// Marks where text was cut.
pub const ELLIPSIS: char = '…';

/// Makes every character visible that could move the cursor, change colors or the writing direction, or hide itself: a
/// server could otherwise forge the output of the terminal.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => clean.push('⏎'),
            '\t' => clean.push(' '),
            '\r' => {}
            // U+2400 to U+241F are symbols for the control characters.
            '\0'..='\x1f' => clean.extend(char::from_u32(0x2400 + u32::from(c))),
            '\x7f' => clean.push('␡'),
            _ if is_unprintable(c) => clean.extend(c.escape_unicode()),
            _ => clean.push(c),
        }
    }
    Cow::Owned(clean)
}

fn is_unprintable(c: char) -> bool {
    // Unicode's format characters, line separators and default-ignorable characters, except the joiner and the
    // variation selector that emoji need.
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{115f}' | '\u{1160}'
            | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0e}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_can_steer_who_shows_it() {
        let check = |text, expected| assert_eq!(printable(text), expected, "{text:?}");
        check("plain ünïcode 漢字", "plain ünïcode 漢字");
        check("\x1b[31mred\x1b]0;title\x07", "␛[31mred␛]0;title␇");
        check("two\r\nlines\tand a tab", "two⏎lines and a tab");
        check("\u{9b}31m \u{202e}evil \x7f", "\\u{9b}31m \\u{202e}evil ␡");
    }
}
