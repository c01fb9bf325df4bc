//! The `WWW-Authenticate` header: challenges as in RFC 9110, section 11.6.1, with the parameter of RFC 9728,
//! section 5.1.

use std::ops::Range;

/// The parameter that says where the protected-resource document is.
const RESOURCE_METADATA: &[u8] = b"resource_metadata";

/// Replaces the URLs of `resource_metadata` in any challenge; `change` gets each and says what to put instead. All
/// other bytes stay. `None` if nothing is replaced.
///
/// Reading is lenient, as that of clients: a missing comma or quote loses no parameter. What stands inside the quotes
/// of another parameter is text and stays.
pub(super) fn edit(header: &[u8], mut change: impl FnMut(&str) -> Option<String>) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(header.len());
    let mut copied = 0;
    for value in (Parameters { header, pos: 0 }) {
        let text = unquote(&header[value.clone()]);
        let Some(replacement) = text.and_then(|text| change(&text)) else { continue };
        out.extend_from_slice(&header[copied..value.start]);
        out.extend_from_slice(&quote(&replacement));
        copied = value.end;
    }
    if copied == 0 {
        return None;
    }
    out.extend_from_slice(&header[copied..]);
    Some(out)
}

/// Where the values of `resource_metadata` stand, quotes included.
struct Parameters<'a> {
    header: &'a [u8],
    pos: usize,
}

impl Iterator for Parameters<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        while let Some(&byte) = self.header.get(self.pos) {
            if !is_token_byte(byte) {
                // A quote here belongs to no parameter, but what it encloses is no parameter either.
                self.pos = if byte == b'"' { self.quoted_end() } else { self.pos + 1 };
                continue;
            }
            let name = self.run(is_token_byte);
            let is_wanted = self.header[name].eq_ignore_ascii_case(RESOURCE_METADATA);
            if let Some(value) = self.value().filter(|_| is_wanted) {
                return Some(value);
            }
        }
        None
    }
}

impl Parameters<'_> {
    /// The value behind a name, if there is an equals sign between them.
    fn value(&mut self) -> Option<Range<usize>> {
        let behind_name = self.pos;
        self.run(is_blank);
        if self.header.get(self.pos) != Some(&b'=') {
            self.pos = behind_name;
            return None;
        }
        self.pos += 1;
        self.run(is_blank);
        if self.header.get(self.pos) != Some(&b'"') {
            return Some(self.run(|byte| !is_blank(byte) && byte != b','));
        }
        let start = self.pos;
        self.pos = self.quoted_end();
        Some(start..self.pos)
    }

    fn run(&mut self, belongs: impl Fn(u8) -> bool) -> Range<usize> {
        let start = self.pos;
        while self.header.get(self.pos).is_some_and(|byte| belongs(*byte)) {
            self.pos += 1;
        }
        start..self.pos
    }

    /// Behind the quoted string that begins here; the end, if it doesn't end.
    fn quoted_end(&self) -> usize {
        let mut at = self.pos + 1;
        while let Some(&byte) = self.header.get(at) {
            match byte {
                b'"' => return at + 1,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        self.header.len()
    }
}

/// What a value means, if it is text.
fn unquote(value: &[u8]) -> Option<String> {
    let Some(inside) = value.strip_prefix(b"\"") else { return String::from_utf8(value.to_vec()).ok() };
    let mut bytes = Vec::with_capacity(inside.len());
    let mut rest = inside.strip_suffix(b"\"")?.iter();
    while let Some(&byte) = rest.next() {
        bytes.push(if byte == b'\\' { *rest.next()? } else { byte });
    }
    String::from_utf8(bytes).ok()
}

/// In quotes, for a URL is no token.
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

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
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
