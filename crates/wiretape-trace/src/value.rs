//! JSON values in place: members by name and elements in order, as slices of the input.
//!
//! For code that needs a few members of a document, such as the import formats. Nothing is allocated or
//! copied, but every access scans the value again: read the members of a large object in one pass with
//! [`Value::members`].

use crate::json::{Lexeme, Lexer, SyntaxError, Text, Token};
use std::borrow::Cow;

/// A JSON value, as a slice of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value<'a> {
    /// The kind of its first token.
    token: Token,
    /// The value's bytes, as written.
    pub raw: &'a [u8],
    /// Byte offset in the value that it was taken from.
    pub offset: usize,
    escaped: bool,
}

impl<'a> Value<'a> {
    /// Parses `input`, which must be one JSON value.
    pub fn parse(input: &'a [u8]) -> Result<Self, SyntaxError> {
        let mut lexer = Lexer::new(input);
        let first = lexer.next_token()?.ok_or(SyntaxError { offset: 0, what: "it ends too early" })?;
        let end = lexer.finish_value(first)?;
        lexer.next_token()?;
        Ok(Self::at(input, first, end))
    }

    fn at(input: &'a [u8], first: Lexeme, end: usize) -> Self {
        Value {
            token: first.token,
            raw: &input[first.start..end],
            offset: first.start,
            escaped: first.escaped,
        }
    }

    /// Whether it is an object.
    pub fn is_object(self) -> bool {
        self.token == Token::BeginObject
    }

    /// Whether it is an array.
    pub fn is_array(self) -> bool {
        self.token == Token::BeginArray
    }

    /// Whether it is null.
    pub fn is_null(self) -> bool {
        self.token == Token::Null
    }

    /// Whether it is a number.
    pub fn is_number(self) -> bool {
        self.token == Token::Number
    }

    /// The unescaped string, if the value is one.
    pub fn string(self) -> Option<Cow<'a, str>> {
        (self.token == Token::String).then(|| self.text().decode())
    }

    /// The unescaped bytes of the string, if the value is one.
    pub fn string_bytes(self) -> Option<Cow<'a, [u8]>> {
        (self.token == Token::String).then(|| self.text().unescaped())
    }

    fn text(self) -> Text<'a> {
        Text { raw: &self.raw[1..self.raw.len() - 1], escaped: self.escaped }
    }

    /// The number, if the value is one; a fraction is truncated.
    pub fn integer(self) -> Option<i64> {
        let text = (self.token == Token::Number).then(|| std::str::from_utf8(self.raw).ok()).flatten()?;
        // Some programs write times with a fraction.
        text.parse().ok().or_else(|| text.parse::<f64>().ok().filter(|n| n.abs() < 9e15).map(|n| n as i64))
    }

    /// A time: milliseconds since 1970, as a number or in ISO 8601.
    pub fn time_ms(self) -> Option<i64> {
        // The last millisecond of the year 9999; later times can't be formatted.
        const LAST_MS: i64 = 253_402_300_799_999;
        let ms = match self.token {
            Token::Number => self.integer(),
            Token::String => {
                let text = self.string()?;
                crate::format::parse_time(&text).or_else(|| text.trim().parse().ok())
            }
            _ => None,
        };
        ms.filter(|ms| (-LAST_MS..=LAST_MS).contains(ms))
    }

    /// The member of this name; the last one, if there are several. Scans the whole object.
    pub fn get(self, name: &str) -> Option<Value<'a>> {
        let mut found = None;
        self.members(|key, value| {
            if key.is(name) {
                found = Some(value);
            }
        });
        found
    }

    /// The value at the end of a path of names.
    pub fn at_path(self, path: &[&str]) -> Option<Value<'a>> {
        path.iter().try_fold(self, |value, name| value.get(name))
    }

    /// Calls `each` for every member of an object, in order.
    pub fn members(self, mut each: impl FnMut(Text<'a>, Value<'a>)) {
        if !self.is_object() {
            return;
        }
        // Can't fail: the value was parsed before.
        let _ = (|| -> Result<(), SyntaxError> {
            let mut lexer = Lexer::new(self.raw);
            lexer.next_token()?;
            while let Some(key) = lexer.next_token()?.filter(|lexeme| lexeme.token == Token::Key) {
                let Some(first) = lexer.next_token()? else { break };
                let end = lexer.finish_value(first)?;
                each(key.text(self.raw), self.inner(first, end));
            }
            Ok(())
        })();
    }

    /// Calls `each` for every element of an array, in order.
    pub fn elements(self, mut each: impl FnMut(Value<'a>)) {
        if !self.is_array() {
            return;
        }
        // Can't fail: the value was parsed before.
        let _ = (|| -> Result<(), SyntaxError> {
            let mut lexer = Lexer::new(self.raw);
            lexer.next_token()?;
            while let Some(first) = lexer.next_token()?.filter(|lexeme| lexeme.token != Token::EndArray) {
                let end = lexer.finish_value(first)?;
                each(self.inner(first, end));
            }
            Ok(())
        })();
    }

    fn inner(self, first: Lexeme, end: usize) -> Value<'a> {
        let value = Value::at(self.raw, first, end);
        Value { offset: self.offset + value.offset, ..value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_where_they_stand() {
        let input = br#" {"a":{"b\u0063":[1,"x\ny",null]},"t":1.5e3,"a":7} "#;
        let value = Value::parse(input).unwrap();
        let mut names = Vec::new();
        value.members(|name, value| names.push((name.decode().into_owned(), value.offset)));
        assert_eq!(names, [("a".to_owned(), 6), ("t".to_owned(), 38), ("a".to_owned(), 48)]);
        assert_eq!(value.get("a").unwrap().integer(), Some(7));
        assert_eq!(value.get("t").unwrap().time_ms(), Some(1500));
        let inner = Value::parse(br#"{"a":{"b\u0063":[1,"x\ny",null]}}"#).unwrap();
        let array = inner.at_path(&["a", "bc"]).unwrap();
        let mut elements = Vec::new();
        array.elements(|element| elements.push(element));
        assert_eq!(elements[1].string().unwrap(), "x\ny");
        assert_eq!(elements[1].offset, 19);
        assert!(elements[2].is_null() && inner.at_path(&["a", "x"]).is_none());
        assert!(Value::parse(b"{} {}").is_err());
    }
}
