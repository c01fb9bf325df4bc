//! Rules that a user adds: regular expressions, and token formats made of a prefix, an alphabet and a length.
//!
//! They run over every string, after the built-in rules, because nothing is known about where their secrets occur. A
//! token format is not translated to a regular expression: a bounded repetition compiles to as many states as its
//! bound, and an expression can't say that the token ends where its alphabet ends.

use super::rules::{RuleError, Rules};
use memchr::memmem::Finder;
use regex::bytes::Regex;
use std::ops::Range;

/// The characters of a token after its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    /// `0-9`
    Digits,
    /// `a-z`, `A-Z`
    Letters,
    /// `0-9`, `a-f`, `A-F`
    Hex,
    /// Letters and digits.
    Alnum,
    /// Letters, digits and `_`.
    Word,
    /// `A-Z`, `2-7`
    Base32,
    /// Letters, digits, `+`, `/` and `=`.
    Base64,
    /// Letters, digits, `-` and `_`.
    Base64Url,
}

impl Alphabet {
    /// Every alphabet with its name in the configuration.
    pub const NAMED: [(&'static str, Alphabet); 8] = [
        ("digits", Alphabet::Digits),
        ("letters", Alphabet::Letters),
        ("hex", Alphabet::Hex),
        ("alnum", Alphabet::Alnum),
        ("word", Alphabet::Word),
        ("base32", Alphabet::Base32),
        ("base64", Alphabet::Base64),
        ("base64url", Alphabet::Base64Url),
    ];

    fn contains(self, byte: u8) -> bool {
        match self {
            Alphabet::Digits => byte.is_ascii_digit(),
            Alphabet::Letters => byte.is_ascii_alphabetic(),
            Alphabet::Hex => byte.is_ascii_hexdigit(),
            Alphabet::Alnum => byte.is_ascii_alphanumeric(),
            Alphabet::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Alphabet::Base32 => matches!(byte, b'A'..=b'Z' | b'2'..=b'7'),
            Alphabet::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Alphabet::Base64Url => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
        }
    }
}

/// A token format that a user adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomToken {
    /// The rule's name in markers.
    pub name: String,
    /// The text that every token begins with.
    pub prefix: String,
    /// The characters after the prefix.
    pub alphabet: Alphabet,
    /// The least number of characters after the prefix.
    pub min: usize,
    /// The greatest number of characters after the prefix; a longer run is not a token.
    pub max: usize,
}

impl CustomToken {
    /// The least length of a token with its prefix. Shorter ones would match ordinary words.
    pub const MIN_LENGTH: usize = 8;
}

/// A user's rule, ready for use.
#[derive(Debug)]
pub(super) struct CustomRule {
    pub(super) name: String,
    matcher: Matcher,
}

#[derive(Debug)]
enum Matcher {
    Regex(Regex),
    Token(Box<TokenMatcher>),
}

#[derive(Debug)]
struct TokenMatcher {
    prefix: Finder<'static>,
    alphabet: Alphabet,
    min: usize,
    max: usize,
}

impl Rules {
    /// The user's own rules, checked.
    pub(super) fn custom_rules(&self) -> Result<Vec<CustomRule>, RuleError> {
        let patterns = self.patterns.iter().map(|(name, pattern)| CustomRule::pattern(name, pattern));
        patterns.chain(self.tokens.iter().map(CustomRule::token)).collect()
    }
}

impl CustomRule {
    fn pattern(name: &str, pattern: &str) -> Result<Self, RuleError> {
        let name = checked_name(name)?;
        match Regex::new(pattern) {
            Ok(regex) if regex.is_match(b"") => Err(RuleError::EmptyPattern { name }),
            Ok(regex) => Ok(CustomRule { name, matcher: Matcher::Regex(regex) }),
            Err(source) => Err(RuleError::Pattern { name, source: Box::new(source) }),
        }
    }

    fn token(token: &CustomToken) -> Result<Self, RuleError> {
        let name = checked_name(&token.name)?;
        let &CustomToken { ref prefix, alphabet, min, max, .. } = token;
        if prefix.is_empty() || !prefix.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(RuleError::TokenPrefix { name });
        }
        if max < min {
            return Err(RuleError::TokenRange { name, min, max });
        }
        if min == 0 || prefix.len().saturating_add(min) < CustomToken::MIN_LENGTH {
            return Err(RuleError::ShortToken { name });
        }
        let prefix = Finder::new(prefix.as_bytes()).into_owned();
        let matcher = TokenMatcher { prefix, alphabet, min, max };
        Ok(CustomRule { name, matcher: Matcher::Token(Box::new(matcher)) })
    }

    /// Whether the rule finds anything in a text.
    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        match &self.matcher {
            Matcher::Regex(regex) => regex.is_match(text),
            Matcher::Token(token) => !token.find_all(text).is_empty(),
        }
    }

    /// Where the rule finds something: in order, not empty, without overlaps.
    pub(super) fn find_all(&self, text: &[u8]) -> Vec<Range<usize>> {
        match &self.matcher {
            Matcher::Regex(regex) => {
                regex.find_iter(text).map(|found| found.range()).filter(|range| !range.is_empty()).collect()
            }
            Matcher::Token(token) => token.find_all(text),
        }
    }
}

impl TokenMatcher {
    fn find_all(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        // The end of the run of the alphabet that was scanned last. Without it, a text made of nothing but prefixes
        // would be scanned to its end from each of them.
        let mut run_end = 0;
        let mut from = 0;
        let length = self.prefix.needle().len();
        while let Some(at) = self.prefix.find(&text[from..]) {
            let start = from + at;
            let body = start + length;
            if run_end < body {
                let run = text[body..].iter().position(|&byte| !self.alphabet.contains(byte));
                run_end = run.map_or(text.len(), |run| body + run);
            }
            from = start + 1;
            if self.starts_token(text, start) && (self.min..=self.max).contains(&(run_end - body)) {
                found.push(start..run_end);
                from = run_end;
            }
        }
        found
    }

    /// Whether a token may begin here. As with the built-in formats, a prefix of four characters is distinctive enough
    /// to be found at the end of a word (`nullacme_…`); a shorter one must begin a word (`sk-` is in `task-`).
    fn starts_token(&self, text: &[u8], start: usize) -> bool {
        let begins_word = !text[..start].last().is_some_and(u8::is_ascii_alphanumeric);
        begins_word || self.prefix.needle().len() >= 4
    }
}

fn checked_name(name: &str) -> Result<String, RuleError> {
    let name = name.to_owned();
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        return Err(RuleError::RuleName { name });
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(prefix: &str, alphabet: Alphabet, min: usize, max: usize) -> CustomToken {
        CustomToken { name: "acme".to_owned(), prefix: prefix.to_owned(), alphabet, min, max }
    }

    fn found<'t>(token: &CustomToken, text: &'t str) -> Vec<&'t str> {
        let rule = CustomRule::token(token).unwrap();
        rule.find_all(text.as_bytes()).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn a_token_has_its_prefix_its_alphabet_and_its_length() {
        let hex = token("acme_", Alphabet::Hex, 8, 8);
        for (text, expected) in [
            ("acme_0123abCD", vec!["acme_0123abCD"]),
            ("a=acme_0123abcd, b=acme_00000000.", vec!["acme_0123abcd", "acme_00000000"]),
            ("nullacme_0123abcd", vec!["acme_0123abcd"]),
            ("acme_acme_0123abcd", vec!["acme_0123abcd"]),
            ("acme_0123abc", vec![]),
            ("acme_0123abcde", vec![]),
            ("acme_0123abcg", vec![]),
            ("ACME_0123abcd", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(found(&hex, text), expected, "{text}");
        }
        let range = token("ac-", Alphabet::Base64Url, 6, 9);
        for (text, expected) in [
            ("ac-abc_-1", vec!["ac-abc_-1"]),
            ("ac-abcdefghi ac-abcdefghij", vec!["ac-abcdefghi"]),
            ("mac-abcdef", vec![]),
            ("\"ac-abcdef\"", vec!["ac-abcdef"]),
        ] {
            assert_eq!(found(&range, text), expected, "{text}");
        }
    }

    #[test]
    fn each_alphabet_has_its_characters_and_ends_at_others() {
        for (name, characters, other) in [
            ("digits", "0123456789", 'a'),
            ("letters", "azAZxyXY", '0'),
            ("hex", "09afAF12", 'g'),
            ("alnum", "09azAZxy", '_'),
            ("word", "09azAZ_x", '-'),
            ("base32", "AZ27BCDE", '1'),
            ("base64", "az09AZ+/=", '-'),
            ("base64url", "az09AZ-_", '+'),
        ] {
            let (_, alphabet) = Alphabet::NAMED.into_iter().find(|(known, _)| *known == name).unwrap();
            let text = format!("acme:{characters}{other}");
            let length = characters.len();
            assert_eq!(
                found(&token("acme:", alphabet, length, length), &text),
                [&text[..5 + length]],
                "{name}"
            );
        }
    }

    #[test]
    fn formats_that_would_match_too_much_or_nothing_are_errors() {
        let error = |token| CustomRule::token(&token).unwrap_err().to_string();
        assert!(error(token("", Alphabet::Hex, 32, 32)).contains("prefix"));
        assert!(error(token("ac me", Alphabet::Hex, 32, 32)).contains("prefix"));
        assert!(error(token("acme_", Alphabet::Hex, 2, 32)).contains("at least 8"));
        assert!(error(token("acme_acme_", Alphabet::Hex, 0, 32)).contains("at least 8"));
        assert!(error(token("acme_", Alphabet::Hex, 9, 8)).contains("(9) is greater than the maximum (8)"));
    }

    #[test]
    fn a_text_of_prefixes_takes_linear_time() {
        let text = "aaaa".repeat(1 << 20);
        assert_eq!(found(&token("aaaa", Alphabet::Alnum, 8, 16), &text).len(), 1, "the last ones of the run");
    }
}
