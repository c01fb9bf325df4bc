//! The parameters of a `WWW-Authenticate` header: challenges as in RFC 9110, section 11.6.1.
//!
//! Parsing is as lenient as clients are: a missing comma or quote loses no parameter. Parameters are returned
//! as ranges, so that a proxy can replace a value and keep the rest of the header. Text inside the quotes of
//! another parameter is not parsed.

use std::ops::Range;

/// The parameters of all challenges in one header line, in order.
///
/// ```
/// let header = br#"Basic realm="scope=x", Bearer Scope = "read", error=invalid_token"#;
/// let names: Vec<_> = wiretape_trace::challenge::parameters(header).map(|one| one.name(header)).collect();
/// assert_eq!(names, ["realm", "scope", "error"]);
/// ```
pub fn parameters(header: &[u8]) -> impl Iterator<Item = Parameter> {
    Parameters { header, pos: 0 }
}

/// The position of a parameter in its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    name: Range<usize>,
    /// Byte range of the value, including its quotes.
    pub value: Range<usize>,
}

impl Parameter {
    /// The parameter's name, in lower case.
    pub fn name(&self, header: &[u8]) -> String {
        String::from_utf8_lossy(&header[self.name.clone()]).to_ascii_lowercase()
    }

    /// The unquoted value, if it is UTF-8.
    pub fn text(&self, header: &[u8]) -> Option<String> {
        unquote(&header[self.value.clone()])
    }
}

struct Parameters<'a> {
    header: &'a [u8],
    pos: usize,
}

impl Iterator for Parameters<'_> {
    type Item = Parameter;

    fn next(&mut self) -> Option<Parameter> {
        while let Some(&byte) = self.header.get(self.pos) {
            if !is_token_byte(byte) {
                // A quote without a parameter: what it encloses must not be parsed as parameters either.
                self.pos = if byte == b'"' { self.quoted_end() } else { self.pos + 1 };
                continue;
            }
            let name = self.run(is_token_byte);
            if let Some(value) = self.value() {
                return Some(Parameter { name, value });
            }
        }
        None
    }
}

impl Parameters<'_> {
    /// The range of the value after a name, if an equals sign follows.
    fn value(&mut self) -> Option<Range<usize>> {
        let behind_name = self.pos;
        self.run(is_blank);
        if self.header.get(self.pos) != Some(&b'=') {
            // The word was a scheme; the blanks after it separate it from its first parameter.
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

    /// The offset after the quoted string that begins here; the end of the header if it is not closed.
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

/// Unquotes a value. `None` if the quote is not closed or the value is not UTF-8.
fn unquote(value: &[u8]) -> Option<String> {
    let Some(inside) = value.strip_prefix(b"\"") else { return String::from_utf8(value.to_vec()).ok() };
    let mut bytes = Vec::with_capacity(inside.len());
    let mut rest = inside.strip_suffix(b"\"")?.iter();
    while let Some(&byte) = rest.next() {
        bytes.push(if byte == b'\\' { *rest.next()? } else { byte });
    }
    String::from_utf8(bytes).ok()
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
