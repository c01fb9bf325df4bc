//! JSON at the level of its tokens: looked into, shown and written without changing a digit of it.

use crate::output::{Paint, Styles};
use crate::text;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::{self, Write};
use wiretape_trace::json::{Lexeme, Lexer, Token};
use wiretape_trace::message::Id;

/// The value of an object's member; the last one if there are several.
pub(crate) fn member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut found = None;
    for_each_member(object, |key, value| {
        if key.text(object).is(name) {
            found = Some(value);
        }
    });
    found
}

/// The names of an object's members, in order.
pub(crate) fn keys(object: &[u8]) -> Vec<String> {
    let mut keys = Vec::new();
    for_each_member(object, |key, _| keys.push(key.text(object).decode().into_owned()));
    keys
}

fn for_each_member<'a>(object: &'a [u8], mut each: impl FnMut(Lexeme, &'a [u8])) {
    let mut lexer = Lexer::new(object);
    if !matches!(lexer.next_token(), Ok(Some(Lexeme { token: Token::BeginObject, .. }))) {
        return;
    }
    while let Ok(Some(key)) = lexer.next_token() {
        if key.token != Token::Key {
            return;
        }
        let Ok(Some(value)) = lexer.next_token() else { return };
        let Ok(end) = lexer.finish_value(value) else { return };
        each(key, &object[value.start..end]);
    }
}

/// The elements of an array; nothing if it is none.
pub(crate) fn elements(array: &[u8]) -> Vec<&[u8]> {
    if array.trim_ascii_start().first() == Some(&b'[') {
        wiretape_trace::message::payloads(array)
    } else {
        Vec::new()
    }
}

/// The text of a string; `None` if it is none.
pub(crate) fn string(value: &[u8]) -> Option<Cow<'_, str>> {
    match Lexer::new(value).next_token() {
        Ok(Some(lexeme)) if lexeme.token == Token::String => Some(lexeme.text(value).decode()),
        _ => None,
    }
}

/// A member that is a string.
pub(crate) fn string_member<'a>(object: &'a [u8], name: &str) -> Option<Cow<'a, str>> {
    member(object, name).and_then(string)
}

/// A value on one line, about `budget` bytes of it at most.
pub(crate) fn compact(value: &[u8], budget: usize) -> String {
    let mut out = String::new();
    let mut lexer = Lexer::new(value);
    let mut previous = None;
    while let Ok(Some(lexeme)) = lexer.next_token() {
        match (previous, lexeme.token) {
            (None | Some(Token::BeginObject | Token::BeginArray), _)
            | (_, Token::EndObject | Token::EndArray) => {}
            (Some(Token::Key), _) => out.push(' '),
            _ => out.push_str(", "),
        }
        let bytes = lexeme.bytes(value);
        let room = budget.saturating_sub(out.len());
        out.push_str(&text::printable(&String::from_utf8_lossy(&bytes[..bytes.len().min(room)])));
        if bytes.len() > room {
            out.push(text::ELLIPSIS);
            return out;
        }
        if lexeme.token == Token::Key {
            out.push(':');
        }
        previous = Some(lexeme.token);
    }
    out
}

/// An object's members on one line, but for some, about `budget` bytes of each at most.
pub(crate) fn compact_members(object: &[u8], without: &[&str], budget: usize) -> String {
    let mut members = Vec::new();
    for_each_member(object, |key, value| {
        if !without.iter().any(|name| key.text(object).is(name)) {
            let name = String::from_utf8_lossy(key.text(object).raw);
            members.push(format!("{}: {}", text::printable(&name), compact(value, budget)));
        }
    });
    members.join(", ")
}

/// Writes a value over several lines, each after `indent` spaces, its tokens as they are.
pub(crate) fn write_pretty(
    sink: &mut impl Write,
    value: &[u8],
    indent: usize,
    styles: &Styles,
) -> io::Result<()> {
    /// Deeper levels are not indented further: a line would be mostly spaces.
    const DEEPEST: usize = 40;
    let mut lexer = Lexer::new(value);
    let mut previous = None;
    while let Ok(Some(lexeme)) = lexer.next_token() {
        let opens = matches!(lexeme.token, Token::BeginObject | Token::BeginArray);
        let closes = matches!(lexeme.token, Token::EndObject | Token::EndArray);
        let level = lexer.depth() - usize::from(opens);
        let new_line = match previous {
            None | Some(Token::Key) => false,
            Some(Token::BeginObject | Token::BeginArray) => !closes,
            Some(_) if closes => true,
            Some(_) => {
                write!(sink, ",")?;
                true
            }
        };
        if new_line {
            writeln!(sink)?;
        }
        if new_line || previous.is_none() {
            write!(sink, "{:1$}", "", indent + 2 * level.min(DEEPEST))?;
        }
        let shown = String::from_utf8_lossy(lexeme.bytes(value));
        write!(sink, "{}", paint_of(lexeme.token, styles).paint(text::printable(&shown)))?;
        if lexeme.token == Token::Key {
            write!(sink, ": ")?;
        }
        previous = Some(lexeme.token);
    }
    writeln!(sink)
}

fn paint_of(token: Token, styles: &Styles) -> Paint {
    match token {
        Token::Key => styles.name,
        Token::String => styles.good,
        Token::Null => styles.dim,
        _ => styles.plain,
    }
}

/// A request's id as it stood, with every digit.
pub(crate) fn raw_id(id: &Id<'_>) -> Option<Box<RawValue>> {
    let json = match id {
        Id::Number(digits) => digits.to_string(),
        Id::String(text) => serde_json::to_string(text).ok()?,
    };
    RawValue::from_string(json).ok()
}

/// Writes one JSON object, member by member, with values that may be copied as they are.
#[derive(Debug)]
pub(crate) struct ObjectWriter {
    out: Vec<u8>,
}

impl ObjectWriter {
    /// An empty object.
    pub(crate) fn new() -> Self {
        ObjectWriter { out: b"{".to_vec() }
    }

    /// A member that is a number, or null.
    pub(crate) fn number(&mut self, name: &str, value: Option<impl Into<i128>>) -> &mut Self {
        match value {
            Some(value) => self.raw(name, value.into().to_string().as_bytes()),
            None => self.raw(name, b"null"),
        }
    }

    /// A member that is a string, or null.
    pub(crate) fn string(&mut self, name: &str, value: Option<&str>) -> &mut Self {
        let value = serde_json::to_vec(&value).expect("a string always serializes");
        self.raw(name, &value)
    }

    /// A member that is a request's id, or null.
    pub(crate) fn id(&mut self, name: &str, id: Option<&Id<'_>>) -> &mut Self {
        match id {
            Some(Id::Number(digits)) => self.raw(name, digits.as_bytes()),
            Some(Id::String(text)) => self.string(name, Some(text)),
            None => self.raw(name, b"null"),
        }
    }

    /// A member whose value is JSON already. Bytes that are not UTF-8 become U+FFFD.
    pub(crate) fn raw(&mut self, name: &str, json: &[u8]) -> &mut Self {
        if self.out.len() > 1 {
            self.out.push(b',');
        }
        self.out.extend_from_slice(&serde_json::to_vec(name).expect("a string always serializes"));
        self.out.push(b':');
        self.out.extend_from_slice(String::from_utf8_lossy(json).as_bytes());
        self
    }

    /// A member that is an array of values that are JSON already.
    pub(crate) fn array(&mut self, name: &str, values: impl IntoIterator<Item = Vec<u8>>) -> &mut Self {
        let values: Vec<Vec<u8>> = values.into_iter().collect();
        let array = [b"[", &values.join(&b","[..])[..], b"]"].concat();
        self.raw(name, &array)
    }

    /// The object's bytes.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.out.push(b'}');
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found() {
        let object = br#" {"a": {"b": [1, "x\n"]}, "c":1.0, "c": 2.50 }"#;
        assert_eq!(member(object, "c"), Some(&b"2.50"[..]));
        assert_eq!(member(object, "b"), None);
        assert_eq!(keys(object), ["a", "c", "c"]);
        let list = member(member(object, "a").unwrap(), "b").unwrap();
        assert_eq!(elements(list), [&b"1"[..], br#""x\n""#]);
        assert_eq!(string(elements(list)[1]).as_deref(), Some("x\n"));
        assert_eq!((member(b"[]", "a"), elements(b"{}").len(), string(b"1")), (None, 0, None));
    }

    #[test]
    fn one_line_keeps_every_digit() {
        let check = |value: &str, budget, expected| assert_eq!(compact(value.as_bytes(), budget), expected);
        check(
            r#"{ "a":[1.0,12345678901234567890,{}],"b":"x\ny" }"#,
            200,
            r#"{"a": [1.0, 12345678901234567890, {}], "b": "x\ny"}"#,
        );
        check("[]", 10, "[]");
        check(r#""abcdefgh""#, 4, "\"abc…");
        check(r#"["ab","cdefgh"]"#, 8, r#"["ab", "…"#);
        check("{broken", 10, "{");
    }

    #[test]
    fn many_lines_keep_every_digit() {
        let mut out = Vec::new();
        let value = br#"{"a":[1.0,12345678901234567890,{},[]],"b":{"c":null}}"#;
        write_pretty(&mut out, value, 2, &Styles::plain()).unwrap();
        let expected = "  {
    \"a\": [
      1.0,
      12345678901234567890,
      {},
      []
    ],
    \"b\": {
      \"c\": null
    }
  }
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn deep_values_stay_small() {
        let deep = [b"[".repeat(20_000), b"]".repeat(20_000)].concat();
        let mut out = Vec::new();
        write_pretty(&mut out, &deep, 0, &Styles::plain()).unwrap();
        assert!(out.len() < 4_000_000);
    }

    #[test]
    fn objects_are_written_as_given() {
        let mut object = ObjectWriter::new();
        object.number("a", Some(1u64)).string("b", None).id("c", Some(&Id::Number("1.0".into())));
        object.array("d", [b"1".to_vec(), b"{}".to_vec()]).number("e", None::<u64>);
        assert_eq!(object.finish(), br#"{"a":1,"b":null,"c":1.0,"d":[1,{}],"e":null}"#);
    }
}
