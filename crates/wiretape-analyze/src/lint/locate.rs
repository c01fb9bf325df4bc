//! From a JSON pointer to bytes: where something stands in a line.

use std::borrow::Cow;
use std::ops::Range;
use wiretape_trace::json::{Lexer, Token};

/// Where a pointer leads, in bytes of `json`: a scalar's own bytes; of an object or array its name, or else its first
/// bracket, for it may be long. `None` if it leads nowhere.
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

/// The same for the longest beginning of the pointer that leads somewhere.
pub(crate) fn locate_nearest(json: &[u8], pointer: &str) -> Option<Range<usize>> {
    // Pointers are short, but a hostile one need not be.
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

/// A name as a step of a pointer.
pub(crate) fn escape(name: &str) -> Cow<'_, str> {
    if name.contains(['~', '/']) {
        Cow::Owned(name.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(name)
    }
}

fn unescape(step: &str) -> Cow<'_, str> {
    if step.contains('~') {
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
