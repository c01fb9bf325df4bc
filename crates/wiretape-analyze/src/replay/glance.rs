//! The fast path of replay: just enough of a request to look it up by its bytes, without parsing the params.

use std::ops::Range;
use wiretape_trace::json::{Lexeme, Lexer, Token};

/// The parts of a request, unparsed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Glance<'m> {
    /// The byte range of its id.
    pub(super) id: Range<usize>,
    pub(super) method: &'m [u8],
    /// If they are the last member, they are assumed to reach to the end of the request, unchecked: only a recorded request with
    /// the same bytes matches, and that one was parsed.
    pub(super) params: Option<&'m [u8]>,
}

impl<'m> Glance<'m> {
    /// Scans a message; `None` if it is not a request or has an unusual form.
    pub(super) fn at(message: &'m [u8]) -> Option<Self> {
        let mut lexer = Lexer::new(message);
        let (mut id, mut method, mut params) = (None, None, None);
        next(&mut lexer).filter(|first| first.token == Token::BeginObject)?;
        loop {
            let key = next(&mut lexer)?;
            if key.token == Token::EndObject {
                lexer.next_token().ok()?;
                break;
            }
            let name = key.text(message).raw;
            // SDKs send `params` last, and it is most of the message: not lexing it is what makes this path fast
            // ("Replay" in docs/benchmarks.md).
            if name == b"params" && id.is_some() && method.is_some() && params.is_none() {
                params = Some(to_the_end(&message[key.end..])?);
                break;
            }
            let first = next(&mut lexer)?;
            let value = first.start..lexer.finish_value(first).ok()?;
            match name {
                b"jsonrpc" => {}
                b"id" if id.is_none() && matches!(first.token, Token::String | Token::Number) => {
                    id = Some(value);
                }
                // An escaped method or a duplicate member leaves the fast path; the slow one handles every spelling.
                b"method" if method.is_none() && first.token == Token::String && !first.escaped => {
                    method = Some(first.text(message).raw);
                }
                b"params" if params.is_none() => params = Some(&message[value]),
                _ => return None,
            }
        }
        Some(Glance { id: id?, method: method?, params })
    }
}

fn next(lexer: &mut Lexer<'_>) -> Option<Lexeme> {
    lexer.next_token().ok().flatten()
}

/// The value of the last member, from the bytes after its key.
fn to_the_end(rest: &[u8]) -> Option<&[u8]> {
    let value = rest.strip_prefix(b":")?.strip_suffix(b"}")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_recognized_and_odd_ones_left_to_others() {
        let check = |message: &str, expected: Option<(&str, &str, Option<&str>)>| {
            let text = |bytes| std::str::from_utf8(bytes).unwrap();
            let seen = Glance::at(message.as_bytes());
            let seen = seen.map(|seen| (&message[seen.id], text(seen.method), seen.params.map(text)));
            assert_eq!(seen, expected, "{message}");
        };
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}"#,
            Some(("1", "m", Some(r#"{"a":1}"#))),
        );
        check(r#"{"method": "m", "params": {"a": 1}, "id": "x"}"#, Some(("\"x\"", "m", Some(r#"{"a": 1}"#))));
        check(r#" {"id":1,"method":"m"} "#, Some(("1", "m", None)));
        for odd in [
            r#"{"id":1,"id":2,"method":"m"}"#,
            r#"{"id":[1],"method":"m"}"#,
            r#"{"id":null,"method":"m"}"#,
            r#"{"id":1,"method":"m","more":1}"#,
            r#"{"id":1,"method":"m","result":{}}"#,
            r#"{"id":1,"method":"\u006d"}"#,
            r#"{"id":1,"method":"m"} 1"#,
            r#"{"method":"m","params":{}}"#,
            r#"{"id":1,"result":{}}"#,
            r#"{"id":1,"method":"m""#,
            "[]",
            "[1]",
            "1",
            "{}",
            "",
        ] {
            check(odd, None);
        }
    }
}
