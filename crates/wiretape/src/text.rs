//! Text from other programs, made safe for a terminal, and measured in its columns. Names, messages and paths in a
//! trace are under the control of clients and servers; an escape sequence in one of them could rewrite what the user
//! sees.

use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};
pub(crate) use wiretape_analyze::glance::{ELLIPSIS, printable};

/// A line of another program's output, without its color codes; other unprintable characters are made visible.
pub(crate) fn printable_output(text: &str) -> String {
    let plain = anstream::adapter::strip_str(text).to_string();
    printable(plain.trim_end_matches(['\r', '\n'])).into_owned()
}

/// Text of several lines: line breaks stay, other unprintable characters are made visible.
pub(crate) fn printable_lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// The width of a text in columns: 2 for wide characters (CJK, most emoji), 0 for combining ones.
pub(crate) fn width(text: &str) -> usize {
    // Nearly all cells of a table are printable ASCII, and the lookup of each character in a table is what `calls` of
    // tiny messages would spend most time on (`xtask bench --only analyze`).
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.len();
    }
    text.width()
}

/// The text, truncated to `columns`; a truncation is marked with an ellipsis.
pub(crate) fn truncate(text: &str, columns: usize) -> Cow<'_, str> {
    // No character is wider than its number of bytes, so a short text needs no measuring.
    if text.len() <= columns || width(text) <= columns {
        return Cow::Borrowed(text);
    }
    if columns == 0 {
        return Cow::Borrowed("");
    }
    let mut used = 0;
    let mut cut = String::new();
    for c in text.chars() {
        // `None` is a control character, which takes no column.
        used += c.width().unwrap_or(0);
        if used > columns - 1 {
            break;
        }
        cut.push(c);
    }
    cut.push(ELLIPSIS);
    Cow::Owned(cut)
}

/// Wraps a text between words, at `columns` columns.
pub(crate) fn wrap(words: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_words() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("supercalifragilistic x", 5), ["supercalifragilistic", "x"]);
    }

    #[test]
    fn colors_of_other_programs_are_taken_away() {
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
