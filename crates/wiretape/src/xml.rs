//! Text in XML, for reports that other programs read.

/// Text as it may stand in XML 1.0; what may not stand there at all is replaced.
pub(crate) fn escape(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => clean.push_str("&amp;"),
            '<' => clean.push_str("&lt;"),
            '>' => clean.push_str("&gt;"),
            '"' => clean.push_str("&quot;"),
            '\'' => clean.push_str("&apos;"),
            '\n' | '\t' => clean.push(c),
            '\0'..='\x1f' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
                clean.push(char::REPLACEMENT_CHARACTER);
            }
            _ => clean.push(c),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_can_stand_in_xml() {
        assert_eq!(escape("<a b=\"c\">&'\u{1b}[0m\n"), "&lt;a b=&quot;c&quot;&gt;&amp;&apos;\u{fffd}[0m\n");
    }
}
