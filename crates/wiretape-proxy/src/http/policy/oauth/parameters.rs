//! Queries and forms (`application/x-www-form-urlencoded`), edited in place: all other bytes stay as they were sent.

use std::borrow::Cow;

/// Replaces values: `change` gets each decoded name and value and returns the replacement. All other bytes are kept. `None` if
/// nothing is replaced.
pub(super) fn edit(text: &str, mut change: impl FnMut(&str, &str) -> Option<String>) -> Option<String> {
    let mut changed = false;
    let pairs: Vec<Cow<str>> = text
        .split('&')
        .map(|pair| match edit_pair(pair, &mut change) {
            Some(pair) => {
                changed = true;
                Cow::Owned(pair)
            }
            None => Cow::Borrowed(pair),
        })
        .collect();
    changed.then(|| pairs.join("&"))
}

fn edit_pair(pair: &str, change: &mut impl FnMut(&str, &str) -> Option<String>) -> Option<String> {
    let (name, value) = pair.split_once('=')?;
    let replacement = change(&decode(name)?, &decode(value)?)?;
    Some(format!("{name}={}", encode(&replacement)))
}

/// The decoded values of a parameter, which may occur several times.
pub(super) fn values<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = Cow<'a, str>> {
    text.split('&').filter_map(move |pair| {
        let (given, value) = pair.split_once('=').unwrap_or((pair, ""));
        if *decode(given)? == *name { decode(value) } else { None }
    })
}

pub(super) fn has(text: &str, name: &str) -> bool {
    values(text, name).next().is_some()
}

/// Decodes a name or value; `None` if the result is not UTF-8.
fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['%', '+']) {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        // A `%` without two digits is a literal `%`, as in the WHATWG URL standard.
        let escaped = if byte == b'%' { behind.get(..2).and_then(hex_pair) } else { None };
        bytes.push(escaped.unwrap_or(if byte == b'+' { b' ' } else { byte }));
        rest = if escaped.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

fn hex_pair(digits: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(digits[0])? * 16 + digit(digits[1])?).ok()
}

/// Percent-encodes everything but the unreserved characters of RFC 3986, section 2.3.
fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: Option<&str>) {
        let edited = edit(text, |name, value| {
            (name == "resource" && value == "http://a/b c").then(|| "https://ü/&=+%".to_owned())
        });
        assert_eq!(edited.as_deref(), expected, "{text}");
    }

    #[test]
    fn values_are_replaced_in_place() {
        let new = "https%3A%2F%2F%C3%BC%2F%26%3D%2B%25";
        check("resource=http://a/b+c", Some(&format!("resource={new}")));
        check("x=%zz&resource=http%3a%2F%2fa%2Fb%20c&y", Some(&format!("x=%zz&resource={new}&y")));
        check("res%6Furce=http%3A//a/b%20c", Some(&format!("res%6Furce={new}")));
        check(
            "resource=http://a/b+c&&resource=http://a/b+c",
            Some(&format!("resource={new}&&resource={new}")),
        );
    }

    #[test]
    fn other_parameters_stay() {
        check("", None);
        check("resource", None);
        check("resource=", None);
        check("Resource=http://a/b+c", None);
        check("resource%00=http://a/b+c", None);
        check("resource=http://a/b%20c%ff", None);
        check("resource=http%253A%252F%252Fa%252Fb%2520c", None);
        check("a=resource=http://a/b+c", None);
        check("resource=http://a/b+c;d", None);
    }

    #[test]
    fn values_are_found_however_they_are_escaped() {
        let text = "a=1&b&%61=2+3&a=%4&=5";
        assert_eq!(values(text, "a").collect::<Vec<_>>(), ["1", "2 3", "%4"]);
        assert!(has(text, "b") && has(text, "") && !has(text, "c"));
    }

    proptest! {
        #[test]
        fn an_encoded_value_means_what_it_meant(text in any::<String>()) {
            let encoded = encode(&text);
            let decoded = decode(&encoded);
            prop_assert_eq!(decoded.as_deref(), Some(text.as_str()));
            prop_assert!(encoded.is_ascii());
        }

        #[test]
        fn only_the_value_changes(before in "[ -~]{0,30}", after in "[ -~]{0,30}") {
            let text = format!("{before}&mark=old&{after}");
            let edited = edit(&text, |name, _| (name == "mark").then(|| "new".to_owned())).unwrap();
            prop_assume!(!has(&before, "mark") && !has(&after, "mark"));
            prop_assert_eq!(edited, format!("{before}&mark=new&{after}"));
        }
    }
}
