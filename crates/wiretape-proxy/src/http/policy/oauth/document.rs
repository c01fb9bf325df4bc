//! Discovery documents: recognising them by their paths, and finding and replacing strings in them.

use std::ops::Range;

use wiretape_trace::json::{Lexeme, Lexer, SyntaxError, Token};

use super::url::is_plain_path;
use wiretape_trace::splice::{Edit, splice};

/// The well-known path of protected resource metadata (RFC 9728, section 3).
const PROTECTED_RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// The well-known paths of RFC 8414 and OpenID Connect Discovery: the same members, under two names.
const AUTHORIZATION_SERVER: [&str; 2] =
    ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];

/// The document that a discovery path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Discovery<'a> {
    /// The document of a protected resource.
    ProtectedResource,
    /// The metadata of an authorization server.
    AuthorizationServer {
        /// The path of its issuer; empty for an issuer without a path.
        issuer_path: &'a str,
        well_known: &'static str,
        form: WellKnownForm,
    },
}

/// The position of the well-known name in a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WellKnownForm {
    /// Before the issuer's path (RFC 8414, section 3.1).
    Inserted,
    /// After it (OpenID Connect Discovery 1.0, section 4.1).
    Appended,
}

impl<'a> Discovery<'a> {
    /// The document that a path without a query names. `None` for a path that parsers may read in two ways.
    pub(super) fn of(path: &'a str) -> Option<Self> {
        // A path that the upstream normalizes differently than we do must not be taken for a document.
        if !is_plain_path(path) {
            return None;
        }
        if cut(path, PROTECTED_RESOURCE).is_some() {
            return Some(Discovery::ProtectedResource);
        }
        AUTHORIZATION_SERVER.into_iter().find_map(|well_known| {
            let (issuer_path, form) = cut(path, well_known)?;
            Some(Discovery::AuthorizationServer { issuer_path, well_known, form })
        })
    }
}

/// The rest of a path without the well-known name.
fn cut<'a>(path: &'a str, well_known: &str) -> Option<(&'a str, WellKnownForm)> {
    let inserted = path.strip_prefix(well_known).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let inserted = inserted.map(|rest| (rest, WellKnownForm::Inserted));
    inserted.or_else(|| path.strip_suffix(well_known).map(|rest| (rest, WellKnownForm::Appended)))
}

/// A string or `true` in a member of the document's object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// The name of the member.
    pub(super) member: String,
    pub(super) value: Value,
    /// Its position in the document, quotes included.
    pub(super) range: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// The value of the member itself.
    Text(String),
    /// An element of the array that is the member's value.
    Element(String),
    True,
}

impl Item {
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Element(_) | Value::True => None,
        }
    }
}

/// The items of a document, in order; `None` if it isn't one JSON object.
pub(super) fn items(json: &[u8]) -> Option<Vec<Item>> {
    if !json.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    read_items(json).ok()
}

fn read_items(json: &[u8]) -> Result<Vec<Item>, SyntaxError> {
    let mut items = Vec::new();
    let mut member = String::new();
    let mut is_array = false;
    // A lexer instead of a parsed tree, because the edits need the positions of strings in the text.
    let mut lexer = Lexer::new(json);
    while let Some(lexeme) = lexer.next_token()? {
        match (lexer.depth(), lexeme.token) {
            (1, Token::Key) => {
                member = lexeme.text(json).decode().into_owned();
                is_array = false;
            }
            (2, Token::BeginArray) => is_array = true,
            (1, Token::String) => items.push(item(&member, Value::Text(text(lexeme, json)), lexeme)),
            // Only direct elements: strings that are nested deeper are none of the URLs that RFC 9728 and RFC 8414
            // define.
            (2, Token::String) if is_array => {
                items.push(item(&member, Value::Element(text(lexeme, json)), lexeme));
            }
            (1, Token::True) => items.push(item(&member, Value::True, lexeme)),
            _ => {}
        }
    }
    Ok(items)
}

fn text(lexeme: Lexeme, json: &[u8]) -> String {
    lexeme.text(json).decode().into_owned()
}

fn item(member: &str, value: Value, lexeme: Lexeme) -> Item {
    Item { member: member.to_owned(), value, range: lexeme.start..lexeme.end }
}

/// Replaces strings and keeps everything else byte for byte. `None` if there are no edits.
pub(super) fn edit(json: &[u8], edits: &[(Range<usize>, String)]) -> Option<Vec<u8>> {
    let quoted = |(range, text): &(Range<usize>, String)| {
        (range.clone(), serde_json::Value::from(text.as_str()).to_string().into_bytes())
    };
    let edits: Vec<Edit> = edits.iter().map(quoted).collect();
    (!edits.is_empty()).then(|| splice(json, &edits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn documents_are_known_by_their_paths() {
        use WellKnownForm::{Appended, Inserted};
        let check = |path: &str, expected: Option<Option<(&str, WellKnownForm)>>| {
            let found = Discovery::of(path).map(|discovery| match discovery {
                Discovery::ProtectedResource => None,
                Discovery::AuthorizationServer { issuer_path, form, .. } => Some((issuer_path, form)),
            });
            assert_eq!(found, expected, "{path}");
        };
        check("/.well-known/oauth-protected-resource", Some(None));
        check("/.well-known/oauth-protected-resource/mcp", Some(None));
        check("/.well-known/oauth-protected-resource/a/b/", Some(None));
        check("/mcp/.well-known/oauth-protected-resource", Some(None));
        check("/.well-known/oauth-authorization-server", Some(Some(("", Inserted))));
        check("/.well-known/oauth-authorization-server/a/b", Some(Some(("/a/b", Inserted))));
        check("/.well-known/openid-configuration", Some(Some(("", Inserted))));
        check("/.well-known/openid-configuration/a", Some(Some(("/a", Inserted))));
        check("/a/b/.well-known/openid-configuration", Some(Some(("/a/b", Appended))));
        check("/a/.well-known/oauth-authorization-server", Some(Some(("/a", Appended))));

        check("/mcp", None);
        check("/.well-known/oauth-protected-resources", None);
        check("/.well-known/oauth-protected-resource.json", None);
        check("/.Well-Known/oauth-protected-resource", None);
        check("/.well-known/oauth-protected-resource/../../uploads/evil.json", None);
        check("/.well-known/oauth-protected-resource/%2e%2e/%2e%2e/uploads/evil.json", None);
        check("/.well-known/oauth-protected-resource/..%2f..%2fuploads", None);
        check("/.well-known/oauth-protected-resource//evil", None);
        check("//.well-known/oauth-protected-resource", None);
        check("/%2ewell-known/oauth-protected-resource", None);
    }

    #[test]
    fn items_are_those_of_the_outermost_object() {
        let json =
            br#" {"a":"1","\u0062":["2",["x"],{"c":"x"},"3"],"d":{"a":"x"},"e":true,"a":"\/4","f":4} "#;
        let found: Vec<(String, Value)> =
            items(json).unwrap().into_iter().map(|item| (item.member, item.value)).collect();
        let text = |text: &str| Value::Text(text.to_owned());
        let element = |text: &str| Value::Element(text.to_owned());
        let expected = [
            ("a", text("1")),
            ("b", element("2")),
            ("b", element("3")),
            ("e", Value::True),
            ("a", text("/4")),
        ];
        assert_eq!(found, expected.map(|(member, value)| (member.to_owned(), value)));
    }

    #[test]
    fn what_is_no_object_has_no_items() {
        for json in ["", "[]", "\"a\"", "{", "{\"a\":1,}", "{} {}", "\u{feff}{}", "[{\"a\":\"b\"}]"] {
            assert_eq!(items(json.as_bytes()), None, "{json}");
        }
    }

    proptest! {
        #[test]
        fn edits_touch_nothing_else(
            before in "[ \\n]{0,3}", key in "[a-z\"\\\\é]{0,5}", old in any::<String>(), new in any::<String>(),
        ) {
            let quote = |text: &str| serde_json::Value::from(text).to_string();
            let json = |value: &str| format!("{before}{{{}:{before}{} , \"x\": 1.0, \"x\":12345678901234567890}}\n", quote(&key), quote(value));
            let found = items(json(&old).as_bytes()).unwrap();
            prop_assert_eq!(found[0].text(), Some(old.as_str()));
            let edited = edit(json(&old).as_bytes(), &[(found[0].range.clone(), new.clone())]);
            prop_assert_eq!(edited, Some(json(&new).into_bytes()));
        }

        #[test]
        fn nothing_panics(json in prop::collection::vec(any::<u8>(), 0..60)) {
            items(&json);
        }
    }
}
