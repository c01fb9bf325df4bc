//! Finds the bytes that a JSON pointer refers to.
//!
//! Works on the lexer's tokens rather than on a parsed tree: a line may be megabytes long, and only the path is needed.

use std::borrow::Cow;
use std::ops::Range;
use wiretape_trace::json::{Lexer, Token};

/// The byte range of the value at a pointer: a scalar's own bytes; for an object or array, its key or else its opening
/// bracket, because it may be long. `None` if there is no such value.
pub(crate) fn locate(json: &[u8], pointer: &str) -> Option<Range<usize>> {
    let mut lexer = Lexer::new(json);
    let mut value = lexer.next_token().ok()??;
    let mut key = None;
    for step in pointer.split('/').skip(1).map(unescape) {
        key = None;
        match value.token {
            Token::BeginObject => loop {
                let name = lexer.next_token().ok()?.filter(|lexeme| lexeme.token == Token::Key)?;
                value = lexer.next_token().ok()??;
                // The first of several equal names: a pointer can't tell them apart, and `duplicate-key` is a finding
                // of its own.
                if name.text(json).is(&step) {
                    key = Some(name.start..name.end);
                    break;
                }
                lexer.finish_value(value).ok()?;
            },
            Token::BeginArray => {
                let index: usize = step.parse().ok()?;
                for at in 0..=index {
                    value = lexer.next_token().ok()?.filter(|lexeme| lexeme.token != Token::EndArray)?;
                    if at < index {
                        lexer.finish_value(value).ok()?;
                    }
                }
            }
            _ => return None,
        }
    }
    match value.token {
        Token::BeginObject | Token::BeginArray => Some(key.unwrap_or(value.start..value.end)),
        _ => Some(value.start..value.end),
    }
}

/// The same for the longest prefix of the pointer that has a value.
pub(crate) fn locate_nearest(json: &[u8], pointer: &str) -> Option<Range<usize>> {
    // Each step scans the line again. Real pointers are short, but a hostile payload can make a long one.
    const STEPS: usize = 64;
    let mut pointer = pointer;
    for _ in 0..STEPS {
        if let Some(found) = locate(json, pointer) {
            return Some(found);
        }
        pointer = &pointer[..pointer.rfind('/')?];
    }
    None
}

/// Escapes a name for a JSON pointer (RFC 6901, section 3).
pub(crate) fn escape(name: &str) -> Cow<'_, str> {
    if name.contains(['~', '/']) {
        Cow::Owned(name.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(name)
    }
}

fn unescape(step: &str) -> Cow<'_, str> {
    if step.contains('~') {
        // In this order (RFC 6901, section 4): the other way round, `~01` would become `/` instead of `~1`.
        Cow::Owned(step.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pointer: &str, expected: &str) {
        let json = r#"{"a":{"x":1},"a/b":[10,{"c":"d"},[]],"n":null}"#;
        let found = locate_nearest(json.as_bytes(), pointer).map(|range| &json[range]);
        assert_eq!(found, Some(expected), "{pointer}");
    }

    #[test]
    fn pointers_lead_to_bytes() {
        check("", "{");
        check("/a", "\"a\"");
        check("/a/x", "1");
        check("/a~1b/0", "10");
        check("/a~1b/1/c", "\"d\"");
        check("/a~1b/2", "[");
        check("/n", "null");
        check("/a/missing/deeper", "\"a\"");
        check("/a~1b/7", "\"a/b\"");
        assert_eq!(locate(b"{", ""), Some(0..1));
        assert_eq!(locate(b"", "/x"), None);
    }
}
