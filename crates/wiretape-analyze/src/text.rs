//! Finding text in payloads, as it reads when unescaped.

use regex::bytes::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::ops::Range;
use wiretape_trace::json::{Lexeme, Lexer, Token};

/// Looks for a text.
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
    /// Whether it looks for words, which stand in the JSON as they are unless something is escaped.
    is_literal: bool,
}

/// Where a text was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found<'a> {
    /// The string, number or name that it stands in, unescaped.
    pub text: Cow<'a, str>,
    /// Where in it.
    pub range: Range<usize>,
}

impl TextFinder {
    /// Looks for these very words, in upper or lower case.
    pub fn literal(words: &str) -> Self {
        let pattern =
            RegexBuilder::new(&regex::escape(words)).case_insensitive(true).size_limit(1 << 26).build();
        let pattern = pattern.expect("words without a meaning of their own are a pattern");
        TextFinder { pattern, is_literal: true }
    }

    /// Looks for these very words, in the case they are in.
    pub fn exact(words: &str) -> Self {
        let pattern = RegexBuilder::new(&regex::escape(words)).size_limit(1 << 26).build();
        let pattern = pattern.expect("words without a meaning of their own are a pattern");
        TextFinder { pattern, is_literal: true }
    }

    /// Looks for what a regular expression says.
    pub fn pattern(pattern: &str) -> Result<Self, regex::Error> {
        Ok(TextFinder { pattern: Regex::new(pattern)?, is_literal: false })
    }

    /// Whether it is in some JSON.
    pub fn is_in(&self, json: &[u8]) -> bool {
        self.find(json).is_some()
    }

    /// The first place in some JSON.
    pub fn find<'a>(&self, json: &'a [u8]) -> Option<Found<'a>> {
        // Most payloads are done with at once.
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

    fn find_in_token<'a>(&self, json: &'a [u8], lexeme: Lexeme) -> Option<Found<'a>> {
        let text = match lexeme.token {
            Token::String | Token::Key => lexeme.text(json).decode(),
            Token::Number => String::from_utf8_lossy(lexeme.bytes(json)),
            _ => return None,
        };
        let found = self.pattern.find(text.as_bytes())?.range();
        // A pattern may match bytes; a text is cut between characters only.
        let range = text.floor_char_boundary(found.start)..text.ceil_char_boundary(found.end);
        Some(Found { text, range })
    }

    /// The first place in a text that is no JSON.
    pub fn find_plain<'a>(&self, text: &'a str) -> Option<Found<'a>> {
        let found = self.pattern.find(text.as_bytes())?.range();
        let range = text.floor_char_boundary(found.start)..text.ceil_char_boundary(found.end);
        Some(Found { text: Cow::Borrowed(text), range })
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
        // The letter of an escape is no text.
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
