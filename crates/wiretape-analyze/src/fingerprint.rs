//! Hashes that are equal for JSON values with the same meaning.
//!
//! The order of members doesn't matter, nor how a string is escaped or a number is written: `1`, `1.0` and `10e-1` are
//! one number. Of members with the same name the last one counts, as in most parsers.
//!
//! A walk over the lexer's tokens with an explicit stack, instead of a parsed tree: a trace may hold a value nested a
//! million levels deep, and a diff fingerprints every payload of both traces. The walk enters a string that holds JSON once,
//! but no string inside that, so a value is read a constant number of times.

use crate::volatile::{Paths, Trail};
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher};
use wiretape_trace::json::{Lexeme, Lexer, SyntaxError, Token};

/// The fingerprint of a JSON value; for anything else, a hash of its bytes.
pub fn fingerprint(json: &[u8]) -> u64 {
    fingerprint_without(json, Paths::none(), &Trail::default())
}

/// The same without the values that `paths` ignores. `at` is the position of the value in its message.
pub fn fingerprint_without(json: &[u8], paths: &Paths, at: &Trail) -> u64 {
    print(json, paths, at, Texts::LookInto)
}

// 64 bits, and not a cryptographic hash: enough against accidents, not against a server that searches for collisions.
fn print(json: &[u8], paths: &Paths, at: &Trail, texts: Texts) -> u64 {
    let mut walk = Walk { lexer: Lexer::new(json), paths, texts, open: Vec::new() };
    walk.run(at).unwrap_or_else(|_| hash(ValueKind::NotJson, json))
}

/// Whether strings that hold JSON are compared as JSON. Only at the first level, so that the cost stays linear.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Texts {
    LookInto,
    Leave,
}

/// Combines two fingerprints into one.
pub(crate) fn combine(one: u64, other: u64) -> u64 {
    // `DefaultHasher::new` has fixed keys, so fingerprints of two traces are comparable. Its algorithm may change
    // with the standard library, so they are only comparable within one run.
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(one);
    hasher.write_u64(other);
    hasher.finish()
}

/// The hash of two byte strings. Their lengths are hashed, too, so that moving a byte from one to the other changes it.
pub(crate) fn in_order(parts: [&[u8]; 2]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for part in parts {
        hasher.write_usize(part.len());
        hasher.write(part);
    }
    hasher.finish()
}

/// The fingerprint of a text.
pub(crate) fn text(text: &str) -> u64 {
    hash(ValueKind::String, text.as_bytes())
}

#[derive(Clone, Copy)]
enum ValueKind {
    NotJson,
    Object,
    Array,
    String,
    Number,
    True,
    False,
    Null,
}

fn hash(kind: ValueKind, bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    // The kind keeps `"1"`, `1` and malformed `1` apart.
    hasher.write_u8(kind as u8);
    hasher.write(bytes);
    hasher.finish()
}

struct Walk<'a, 'p> {
    lexer: Lexer<'a>,
    paths: &'p Paths,
    texts: Texts,
    open: Vec<OpenContainer>,
}

/// An object or array whose end was not reached yet.
struct OpenContainer {
    trail: Trail,
    content: Content,
}

enum Content {
    Object { members: Vec<(u64, u64)>, name: u64, has_left_out: bool },
    Array { elements: DefaultHasher, index: usize },
}

impl Walk<'_, '_> {
    fn run(&mut self, at: &Trail) -> Result<u64, SyntaxError> {
        let mut trail = at.clone();
        loop {
            let lexeme = self.next()?;
            let done = match lexeme.token {
                Token::BeginObject => {
                    let content = Content::Object { members: Vec::new(), name: 0, has_left_out: false };
                    self.open.push(OpenContainer { trail: std::mem::take(&mut trail), content });
                    None
                }
                Token::BeginArray => {
                    let content = Content::Array { elements: DefaultHasher::new(), index: 0 };
                    self.open.push(OpenContainer { trail: std::mem::take(&mut trail), content });
                    None
                }
                Token::EndObject | Token::EndArray => self.close(),
                Token::Key => {
                    trail = self.key(lexeme)?;
                    continue;
                }
                Token::String => Some(self.string(lexeme, &trail)),
                _ => Some(scalar(lexeme, self.lexer.input())),
            };
            if let Some(done) = done {
                let Some(open) = self.open.last_mut() else {
                    // Fails if anything follows the value; then the whole text is hashed as bytes.
                    self.lexer.next_token()?;
                    return Ok(done);
                };
                open.content.push(done);
            }
            if let Some(next) = self.element()? {
                trail = next;
            }
        }
    }

    /// Closes the innermost container. A member whose value is an object with only ignored members is ignored, too: an empty
    /// `_meta` means the same as none.
    fn close(&mut self) -> Option<u64> {
        let open = self.open.pop()?;
        let is_emptied = matches!(&open.content, Content::Object { members, has_left_out: true, .. } if members.is_empty());
        let is_member =
            matches!(self.open.last(), Some(OpenContainer { content: Content::Object { .. }, .. }));
        (!(is_emptied && is_member)).then(|| open.content.finish())
    }

    fn next(&mut self) -> Result<Lexeme, SyntaxError> {
        let offset = self.lexer.offset();
        self.lexer.next_token()?.ok_or(SyntaxError { offset, what: "it ends too early" })
    }

    fn string(&self, lexeme: Lexeme, at: &Trail) -> u64 {
        let text = lexeme.text(self.lexer.input()).unescaped();
        match self.paths.json_in(&text).filter(|_| self.texts == Texts::LookInto) {
            Some(json) => combine(ValueKind::String as u64, print(json, self.paths, at, Texts::Leave)),
            None => hash(ValueKind::String, &text),
        }
    }

    /// The position of a member's value. The value of an ignored member is skipped.
    fn key(&mut self, mut key: Lexeme) -> Result<Trail, SyntaxError> {
        let name = key.text(self.lexer.input());
        let Some(open) = self.open.last_mut() else { return Ok(Trail::default()) };
        let below = self.paths.member(&open.trail, &name.decode());
        if let Content::Object { name: current, has_left_out, .. } = &mut open.content {
            *current = hash(ValueKind::String, &name.unescaped());
            *has_left_out |= below.is_none();
        }
        if let Some(trail) = below {
            return Ok(trail);
        }
        key = self.next()?;
        self.lexer.finish_value(key)?;
        Ok(Trail::default())
    }

    /// The position of the next array element, if the innermost container is an array. Ignored elements are skipped.
    fn element(&mut self) -> Result<Option<Trail>, SyntaxError> {
        loop {
            let Some(OpenContainer { trail, content: Content::Array { index, .. } }) = self.open.last_mut()
            else {
                return Ok(None);
            };
            let at = *index;
            if let Some(next) = self.paths.element(trail, at) {
                return Ok(Some(next));
            }
            // A copy of the lexer, because only the token tells whether there is another element to skip.
            let mut ahead = self.lexer.clone();
            let first = ahead.next_token()?;
            let Some(first) = first.filter(|first| first.token != Token::EndArray) else { return Ok(None) };
            ahead.finish_value(first)?;
            *index += 1;
            self.lexer = ahead;
        }
    }
}

impl Content {
    fn push(&mut self, value: u64) {
        match self {
            Content::Object { members, name, .. } => members.push((*name, value)),
            Content::Array { elements, index } => {
                elements.write_u64(value);
                *index += 1;
            }
        }
    }

    fn finish(self) -> u64 {
        match self {
            Content::Array { elements, .. } => combine(ValueKind::Array as u64, elements.finish()),
            Content::Object { mut members, .. } => {
                // Sorted by the hash of the name, which makes the order of members irrelevant. The sort is stable, so the
                // last of several equal names stays last.
                members.sort_by_key(|(name, _)| *name);
                let mut hasher = DefaultHasher::new();
                for (at, (name, value)) in members.iter().enumerate() {
                    if members.get(at + 1).is_none_or(|(next, _)| next != name) {
                        hasher.write_u64(*name);
                        hasher.write_u64(*value);
                    }
                }
                combine(ValueKind::Object as u64, hasher.finish())
            }
        }
    }
}

fn scalar(lexeme: Lexeme, input: &[u8]) -> u64 {
    match lexeme.token {
        Token::True => hash(ValueKind::True, b""),
        Token::False => hash(ValueKind::False, b""),
        Token::Null => hash(ValueKind::Null, b""),
        _ => number(lexeme.bytes(input)),
    }
}

fn number(written: &[u8]) -> u64 {
    let Some(decimal) = Decimal::read(written) else { return hash(ValueKind::Number, written) };
    let mut hasher = DefaultHasher::new();
    hasher.write_u8(ValueKind::Number as u8);
    hasher.write_u8(u8::from(decimal.negative));
    hasher.write_i64(decimal.exponent);
    hasher.write(&decimal.digits);
    hasher.finish()
}

/// An exact decimal: its digits without leading and trailing zeros, and the power of ten of the last digit. A float would
/// make 2^53 and 2^53 + 1 equal.
#[derive(Debug, PartialEq, Eq)]
struct Decimal<'a> {
    negative: bool,
    digits: Cow<'a, [u8]>,
    exponent: i64,
}

impl<'a> Decimal<'a> {
    /// `None` if the exponent doesn't fit into 64 bits.
    fn read(written: &'a [u8]) -> Option<Self> {
        let (negative, unsigned) = match written.strip_prefix(b"-") {
            Some(rest) => (true, rest),
            None => (false, written),
        };
        let (mantissa, exponent) = match unsigned.iter().position(|byte| matches!(byte, b'e' | b'E')) {
            Some(at) => {
                (&unsigned[..at], std::str::from_utf8(&unsigned[at + 1..]).ok()?.parse::<i64>().ok()?)
            }
            None => (unsigned, 0),
        };
        let (digits, fraction) = match mantissa.iter().position(|byte| *byte == b'.') {
            Some(at) => {
                let digits = [&mantissa[..at], &mantissa[at + 1..]].concat();
                (Cow::Owned(digits), mantissa.len() - at - 1)
            }
            None => (Cow::Borrowed(mantissa), 0),
        };
        Self::trimmed(negative, digits, exponent.checked_sub(i64::try_from(fraction).ok()?)?)
    }

    fn trimmed(negative: bool, digits: Cow<'a, [u8]>, exponent: i64) -> Option<Self> {
        let is_digit = |digit: &u8| *digit != b'0';
        let Some(first) = digits.iter().position(is_digit) else {
            // Zero has no digits and no sign: `-0`, `0.0` and `0e5` are one number.
            return Some(Decimal { negative: false, digits: Cow::Borrowed(b""), exponent: 0 });
        };
        let end = digits.iter().rposition(is_digit).map_or(digits.len(), |last| last + 1);
        let exponent = exponent.checked_add(i64::try_from(digits.len() - end).ok()?)?;
        let digits = match digits {
            Cow::Borrowed(digits) => Cow::Borrowed(&digits[first..end]),
            Cow::Owned(digits) => Cow::Owned(digits[first..end].to_vec()),
        };
        Some(Decimal { negative, digits, exponent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volatile::{Part, Volatile};
    use proptest::prelude::*;

    fn check_same(one: &str, other: &str) {
        assert_eq!(fingerprint(one.as_bytes()), fingerprint(other.as_bytes()), "{one} {other}");
    }

    fn check_other(one: &str, other: &str) {
        assert_ne!(fingerprint(one.as_bytes()), fingerprint(other.as_bytes()), "{one} {other}");
    }

    #[test]
    fn what_means_the_same_is_the_same() {
        check_same(r#"{"a":1,"b":[true,null]}"#, r#" { "b" : [true, null], "\u0061": 1.0 } "#);
        check_same(r#"{"a":1,"a":2}"#, r#"{"a":2}"#);
        check_same("100", "1e2");
        check_same("0.10", "1E-1");
        check_same("-0.0", "0");
        check_same("12345678901234567890", "12345678901234567890.0");
    }

    #[test]
    fn what_means_something_else_is_not() {
        for (one, other) in [
            ("1", "\"1\""),
            ("1", "-1"),
            ("12345678901234567890", "12345678901234567891"),
            ("0.1", "0.10000000000000001"),
            ("[]", "{}"),
            ("[[1],2]", "[1,[2]]"),
            ("[1,2]", "[2,1]"),
            ("[[]]", "[]"),
            (r#"{"a":{"b":1}}"#, r#"{"b":{"a":1}}"#),
            ("null", "false"),
            ("1e99999999999999999999", "1e99999999999999999998"),
            ("{", "["),
        ] {
            check_other(one, other);
        }
    }

    #[test]
    fn what_is_left_out_does_not_count() {
        let check = |pattern: &str, one: &str, other: &str| {
            let mut volatile = Volatile::nothing();
            volatile.add(&pattern.parse().unwrap());
            let paths = volatile.of(Part::Result);
            let print = |json: &str| fingerprint_without(json.as_bytes(), paths, &paths.start());
            assert_eq!(print(one), print(other), "{pattern} {one} {other}");
            assert_ne!(print(one), print("7"));
        };
        check("/a", r#"{"a":1,"b":2}"#, r#"{"b":2}"#);
        check("/a", r#"{"b":2,"a":{"x":[1]}}"#, r#"{"a":[],"b":2}"#);
        check("/**/t", r#"[{"t":1,"u":[{"t":3}]}]"#, r#"[{"u":[{}],"t":{}}]"#);
        check("/*/t", r#"[{"t":1},{"t":2}]"#, r#"[{},{}]"#);
        check("/0", "[1,2]", "[[3],2]");
        check("/*", "[1,2]", "[]");
    }

    #[test]
    fn texts_that_are_json_are_looked_into_by_default() {
        let volatile = Volatile::defaults();
        let paths = volatile.of(Part::Result);
        let print = |json: &str| fingerprint_without(json.as_bytes(), paths, &paths.start());
        let one = r#"{"text":"{\"a\":1,\"timestamp\":5}"}"#;
        assert_eq!(print(one), print(r#"{"text":"{ \"timestamp\":6, \"a\":1.0 }"}"#));
        assert_ne!(print(one), print(r#"{"text":"{\"a\":2}"}"#));
        assert_ne!(print(one), print(r#"{"text":{"a":1}}"#));
        check_other(one, r#"{"text":"{ \"timestamp\":6, \"a\":1.0 }"}"#);
        assert_ne!(print(r#""{1""#), print(r#""{2""#));
    }

    #[test]
    fn depth_and_length_cost_nothing_but_bytes() {
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        check_other(&deep, &("[".repeat(200_001) + &"]".repeat(200_001)));
        let open = "{\"a\":".repeat(20_000);
        check_other(&open, &deep);
    }

    proptest! {
        #[test]
        fn any_bytes_have_one(json in proptest::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(fingerprint(&json), fingerprint(&json));
        }

        #[test]
        fn white_space_counts_for_nothing(json in r#"[\[\]{}:,"a0-9.\-e]{0,20}"#) {
            if let Ok(value) = serde_json::from_str::<serde_json::Value>(&json) {
                let pretty = serde_json::to_string_pretty(&value).unwrap();
                if !json.contains(['e', '.']) && json.len() < 15 {
                    prop_assert_eq!(fingerprint(json.as_bytes()), fingerprint(pretty.as_bytes()));
                }
            }
        }
    }
}
