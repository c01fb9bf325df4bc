//! Searches payloads for text, unescaped.

use regex::bytes::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::ops::Range;
use wiretape_trace::json::{Lexeme, Lexer, Token};

/// Searches for a text or a pattern.
///
/// ```
/// use wiretape_analyze::text::TextFinder;
///
/// let finder = TextFinder::literal("say \"hi\"");
/// assert!(finder.is_in(br#"{"text":"Say \"Hi\" to all"}"#));
/// ```
#[derive(Debug, Clone)]
pub struct TextFinder {
    pattern: Regex,
    /// Whether it is a literal, which a payload without escapes contains verbatim.
    is_literal: bool,
}

/// A match of a search, in the value that contains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMatch<'a> {
    /// The string, number or key that contains it, unescaped.
    pub text: Cow<'a, str>,
    /// The byte range of the match in `text`.
    pub range: Range<usize>,
}

impl TextFinder {
    /// Searches for a literal, ignoring case.
    pub fn literal(words: &str) -> Self {
        let pattern =
            RegexBuilder::new(&regex::escape(words)).case_insensitive(true).size_limit(1 << 26).build();
        let pattern =
            pattern.expect("an escaped literal is a valid pattern, far below the size limit of 64 MB");
        TextFinder { pattern, is_literal: true }
    }

    /// Searches for a literal, case-sensitive.
    pub fn exact(words: &str) -> Self {
        let pattern = RegexBuilder::new(&regex::escape(words)).size_limit(1 << 26).build();
        let pattern =
            pattern.expect("an escaped literal is a valid pattern, far below the size limit of 64 MB");
        TextFinder { pattern, is_literal: true }
    }

    /// Searches for a regular expression.
    pub fn pattern(pattern: &str) -> Result<Self, regex::Error> {
        Ok(TextFinder { pattern: Regex::new(pattern)?, is_literal: false })
    }

    /// Whether a JSON payload contains it.
    pub fn is_in(&self, json: &[u8]) -> bool {
        self.find(json).is_some()
    }

    /// The first match in a JSON payload.
    pub fn find<'a>(&self, json: &'a [u8]) -> Option<TextMatch<'a>> {
        // Without a backslash the raw bytes contain a literal or not; that rejects most payloads without lexing.
        if self.is_literal && memchr::memchr(b'\\', json).is_none() && !self.pattern.is_match(json) {
            return None;
        }
        let mut lexer = Lexer::new(json);
        while let Ok(Some(lexeme)) = lexer.next_token() {
            if let Some(found) = self.find_in_token(json, lexeme) {
                return Some(found);
            }
        }
        None
    }

    fn find_in_token<'a>(&self, json: &'a [u8], lexeme: Lexeme) -> Option<TextMatch<'a>> {
        let text = match lexeme.token {
            Token::String | Token::Key => lexeme.text(json).decode(),
            Token::Number => String::from_utf8_lossy(lexeme.bytes(json)),
            _ => return None,
        };
        let found = self.pattern.find(text.as_bytes())?.range();
        // A pattern may match within a character; the range must lie on character boundaries.
        let range = text.floor_char_boundary(found.start)..text.ceil_char_boundary(found.end);
        Some(TextMatch { text, range })
    }

    /// The first match in plain text.
    pub fn find_plain<'a>(&self, text: &'a str) -> Option<TextMatch<'a>> {
        let found = self.pattern.find(text.as_bytes())?.range();
        let range = text.floor_char_boundary(found.start)..text.ceil_char_boundary(found.end);
        Some(TextMatch { text: Cow::Borrowed(text), range })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(finder: &TextFinder, json: &str, expected: Option<&str>) {
        let found = finder.find(json.as_bytes());
        assert_eq!(found.as_ref().map(|found| &found.text[found.range.clone()]), expected, "{json}");
    }

    #[test]
    fn text_is_found_as_it_reads() {
        let quota = TextFinder::literal("über quota");
        check(&quota, r#"{"a":"Über Quota!"}"#, Some("Über Quota"));
        check(&quota, r#"{"a":"\u00dcber Quota!"}"#, Some("Über Quota"));
        check(&quota, r#"{"über quota":1}"#, Some("über quota"));
        check(&quota, r#"{"a":"quota"}"#, None);
        check(&TextFinder::exact("Quota"), r#"["quota","Quota"]"#, Some("Quota"));
        check(&TextFinder::literal("42"), "[1,4242]", Some("42"));
        // The letter of an escape sequence is not text.
        check(&TextFinder::literal("nul"), r#"["\nul"]"#, None);
        check(&TextFinder::literal("a*"), r#"["aaa","a*"]"#, Some("a*"));
        check(&TextFinder::pattern("q.*a$").unwrap(), r#"["quota"]"#, Some("quota"));
    }

    #[test]
    fn what_is_broken_is_searched_up_to_there() {
        check(&TextFinder::literal("b"), r#"["b", oh"#, Some("b"));
        check(&TextFinder::literal("c"), r#"["b", oh "c"]"#, None);
    }
}
