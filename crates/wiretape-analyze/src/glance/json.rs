//! JSON on the level of tokens: lookups and one-line output that keep every digit as written.

use super::printable::{ELLIPSIS, printable};
use std::borrow::Cow;
use wiretape_trace::json::{Lexeme, Lexer, Token};

/// The value of an object's member; the last one if there are several.
pub fn member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    // All members are read: of several with the same name the last one counts, as in most parsers.
    let mut found = None;
    for_each_member(object, |key, value| {
        if key.text(object).is(name) {
            found = Some(value);
        }
    });
    found
}

/// The names of an object's members, in order.
pub fn keys(object: &[u8]) -> Vec<String> {
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

/// The elements of an array; empty for other values.
pub fn elements(array: &[u8]) -> Vec<&[u8]> {
    if array.trim_ascii_start().first() == Some(&b'[') {
        wiretape_trace::message::payloads(array)
    } else {
        Vec::new()
    }
}

/// The text of a string; `None` for other values.
pub fn string(value: &[u8]) -> Option<Cow<'_, str>> {
    match Lexer::new(value).next_token() {
        Ok(Some(lexeme)) if lexeme.token == Token::String => Some(lexeme.text(value).decode()),
        _ => None,
    }
}

/// The text of a string member.
pub fn string_member<'a>(object: &'a [u8], name: &str) -> Option<Cow<'a, str>> {
    member(object, name).and_then(string)
}

/// A value on one line, cut after about `budget` bytes.
pub fn compact(value: &[u8], budget: usize) -> String {
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
        // The token is cut before it is made printable, so that a string of megabytes costs no more than what is
        // shown.
        let room = budget.saturating_sub(out.len());
        out.push_str(&printable(&String::from_utf8_lossy(&bytes[..bytes.len().min(room)])));
        if bytes.len() > room {
            out.push(ELLIPSIS);
            return out;
        }
        if lexeme.token == Token::Key {
            out.push(':');
        }
        previous = Some(lexeme.token);
    }
    out
}

/// The members of an object on one line without some of them, each cut after about `budget` bytes.
pub fn compact_members(object: &[u8], without: &[&str], budget: usize) -> String {
    let mut members = Vec::new();
    for_each_member(object, |key, value| {
        if !without.iter().any(|name| key.text(object).is(name)) {
            let name = String::from_utf8_lossy(key.text(object).raw);
            members.push(format!("{}: {}", printable(&name), compact(value, budget)));
        }
    });
    members.join(", ")
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
}
