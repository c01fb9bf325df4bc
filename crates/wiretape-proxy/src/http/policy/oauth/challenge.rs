//! The `resource_metadata` parameter of RFC 9728, section 5.1, in a `WWW-Authenticate` header.

use wiretape_trace::challenge::parameters;

/// Replaces the URLs of `resource_metadata` in all challenges; `change` gets each URL and returns its replacement. All other
/// bytes are kept. `None` if nothing is replaced.
pub(super) fn edit(header: &[u8], mut change: impl FnMut(&str) -> Option<String>) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(header.len());
    let mut copied = 0;
    for parameter in parameters(header).filter(|one| one.name(header) == "resource_metadata") {
        let Some(replacement) = parameter.text(header).and_then(|text| change(&text)) else { continue };
        out.extend_from_slice(&header[copied..parameter.value.start]);
        out.extend_from_slice(&quote(&replacement));
        copied = parameter.value.end;
    }
    if copied == 0 {
        return None;
    }
    out.extend_from_slice(&header[copied..]);
    Some(out)
}

/// A quoted string (RFC 9110, section 5.6.4): a URL has characters that a token must not have.
fn quote(text: &str) -> Vec<u8> {
    let mut out = vec![b'"'];
    for byte in text.bytes() {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn change(url: &str) -> Option<String> {
        url.strip_prefix("https://up.example").map(|rest| format!("http://127.0.0.1:3004{rest}"))
    }

    fn check(header: &str, expected: Option<&str>) {
        let edited = edit(header.as_bytes(), change).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(edited.as_deref(), expected, "{header}");
    }

    #[test]
    fn the_url_is_replaced_and_nothing_else() {
        check(
            r#"Bearer resource_metadata="https://up.example/.well-known/x""#,
            Some(r#"Bearer resource_metadata="http://127.0.0.1:3004/.well-known/x""#),
        );
        check(
            r#"Bearer realm="a, \"b\" ",  Resource_Metadata = "https://up.example/x" , scope="s""#,
            Some(r#"Bearer realm="a, \"b\" ",  Resource_Metadata = "http://127.0.0.1:3004/x" , scope="s""#),
        );
        check(
            r#"Basic realm="x", DPoP algs="ES256", resource_metadata="https://up.example/x", Bearer resource_metadata="https://up.example/y""#,
            Some(
                r#"Basic realm="x", DPoP algs="ES256", resource_metadata="http://127.0.0.1:3004/x", Bearer resource_metadata="http://127.0.0.1:3004/y""#,
            ),
        );
        check(
            r#"Negotiate a87421000492aa874209af8bc028==, Bearer resource_metadata="https://up.example/x""#,
            Some(
                r#"Negotiate a87421000492aa874209af8bc028==, Bearer resource_metadata="http://127.0.0.1:3004/x""#,
            ),
        );
    }

    #[test]
    fn what_clients_forgive_is_forgiven() {
        check(
            r#"Bearer realm="x" resource_metadata="https://up.example/x""#,
            Some(r#"Bearer realm="x" resource_metadata="http://127.0.0.1:3004/x""#),
        );
        check(
            "Bearer resource_metadata=https://up.example/x, scope=y",
            Some(r#"Bearer resource_metadata="http://127.0.0.1:3004/x", scope=y"#),
        );
        check(
            r#"Bearer resource_metadata="https:\/\/up.example\/x""#,
            Some(r#"Bearer resource_metadata="http://127.0.0.1:3004/x""#),
        );
    }

    #[test]
    fn other_values_stay() {
        check("", None);
        check("Bearer", None);
        check("Bearer resource_metadata", None);
        check("Bearer resource_metadata=", None);
        check(r#"Bearer resource_metadata="https://evil.example/x""#, None);
        check(r#"Bearer x_resource_metadata="https://up.example/x""#, None);
        check(r#"Bearer realm="https://up.example/x""#, None);
        check(r#"Bearer realm="resource_metadata=https://up.example/x""#, None);
        check(r#"Bearer realm="\", resource_metadata=\"https://up.example/x""#, None);
        check(r#"Bearer resource_metadata="https://up.example/x"#, None);
        check(r#"Bearer resource_metadata="https://up.example/x\"#, None);
    }

    proptest! {
        #[test]
        fn nothing_panics_and_only_urls_change(
            header in prop::collection::vec(prop_oneof![
                Just(&b"resource_metadata="[..]), Just(&b"\"https://up.example/x\""[..]), Just(&b"\""[..]),
                Just(&b"\\"[..]), Just(&b" "[..]), Just(&b","[..]), Just(&b"="[..]), Just(&b"a"[..]), Just(&b"\xff"[..]),
            ], 0..12).prop_map(|parts| parts.concat()),
        ) {
            let Some(edited) = edit(&header, change) else { return Ok(()) };
            let undone = edit(&edited, |url| url.strip_prefix("http://127.0.0.1:3004").map(|rest| format!("https://up.example{rest}")));
            prop_assert_eq!(undone, Some(header));
        }
    }
}
