//! Text that others wrote, made fit for a terminal.

use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};
pub(crate) use wiretape_analyze::glance::{ELLIPSIS, printable};

/// A line of a program's own output: its colours are taken away, what else is unprintable is made visible.
pub(crate) fn printable_output(text: &str) -> String {
    let plain = anstream::adapter::strip_str(text).to_string();
    printable(plain.trim_end_matches(['\r', '\n'])).into_owned()
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
    fn colours_of_other_programs_are_taken_away() {
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
