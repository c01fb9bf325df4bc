//! JSON at the level of its tokens: shown and written without changing a digit of it. A parsed `serde_json::Value`
//! would not do: it rounds integers above 2^64, drops duplicate keys, and sorts members.

use crate::output::{Paint, Styles};
use crate::text;
use serde_json::value::RawValue;
use std::io::{self, Write};
pub(crate) use wiretape_analyze::glance::json::{compact, compact_members, keys, member, string_member};
use wiretape_trace::json::{Lexer, Token};
use wiretape_trace::message::Id;

/// Writes a value over several lines, each after `indent` spaces. Tokens are copied byte for byte.
pub(crate) fn write_pretty(
    sink: &mut impl Write,
    value: &[u8],
    indent: usize,
    styles: &Styles,
) -> io::Result<()> {
    /// Deeper levels are not indented further, or lines would be mostly spaces.
    const DEEPEST: usize = 40;
    let mut lexer = Lexer::new(value);
    let mut previous = None;
    // Payloads from the wire may be malformed; what comes before the error is shown.
    while let Ok(Some(lexeme)) = lexer.next_token() {
        let opens = matches!(lexeme.token, Token::BeginObject | Token::BeginArray);
        let closes = matches!(lexeme.token, Token::EndObject | Token::EndArray);
        // The lexer has already entered the object or array that this token opens.
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

/// A request id with every digit as it was sent.
pub(crate) fn raw_id(id: &Id<'_>) -> Option<Box<RawValue>> {
    let json = match id {
        Id::Number(digits) => digits.to_string(),
        Id::String(text) => serde_json::to_string(text).ok()?,
    };
    RawValue::from_string(json).ok()
}

/// Writes one JSON object, member by member; values may be copied verbatim.
#[derive(Debug)]
pub(crate) struct ObjectWriter {
    out: Vec<u8>,
}

impl ObjectWriter {
    pub(crate) fn new() -> Self {
        ObjectWriter { out: b"{".to_vec() }
    }

    /// Adds a number, or null.
    pub(crate) fn number(&mut self, name: &str, value: Option<impl Into<i128>>) -> &mut Self {
        match value {
            Some(value) => self.raw(name, value.into().to_string().as_bytes()),
            None => self.raw(name, b"null"),
        }
    }

    /// Adds a string, or null.
    pub(crate) fn string(&mut self, name: &str, value: Option<&str>) -> &mut Self {
        let value = serde_json::to_vec(&value).expect("serializing a string into memory can't fail");
        self.raw(name, &value)
    }

    /// Adds a request id, or null.
    pub(crate) fn id(&mut self, name: &str, id: Option<&Id<'_>>) -> &mut Self {
        match id {
            Some(Id::Number(digits)) => self.raw(name, digits.as_bytes()),
            Some(Id::String(text)) => self.string(name, Some(text)),
            None => self.raw(name, b"null"),
        }
    }

    /// Adds a member whose value is already JSON. Bytes that are not UTF-8 become U+FFFD.
    pub(crate) fn raw(&mut self, name: &str, json: &[u8]) -> &mut Self {
        if self.out.len() > 1 {
            self.out.push(b',');
        }
        self.out.extend_from_slice(
            &serde_json::to_vec(name).expect("serializing a string into memory can't fail"),
        );
        self.out.push(b':');
        self.out.extend_from_slice(String::from_utf8_lossy(json).as_bytes());
        self
    }

    /// Adds an array of values that are already JSON.
    pub(crate) fn array(&mut self, name: &str, values: impl IntoIterator<Item = Vec<u8>>) -> &mut Self {
        let values: Vec<Vec<u8>> = values.into_iter().collect();
        // Joined without parsing: the values are JSON already, and a trace's payloads can be large.
        let array = [b"[", &values.join(&b","[..])[..], b"]"].concat();
        self.raw(name, &array)
    }

    /// Closes the object and returns its bytes.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.out.push(b'}');
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
