//! A JSON tokenizer over raw bytes.
//!
//! Everything that looks at a message (the envelope scan, redaction, the trace reader) walks the same
//! tokens, each with its position in the input, so that bytes can be kept, copied or replaced exactly. No
//! tree is built, nothing recurses, and nesting costs one bit a level: a line of a hundred million brackets
//! is as harmless as any other.
//!
//! That is why this is not a library's parser. `serde_json` yields values, not positions: what it has read
//! can't be written again byte for byte (`1.0`, duplicate names, escapes), and it rejects what is nested
//! more than 128 levels deep, which a trace has to keep. Parsers that use SIMD need a padded copy of the
//! input, or an index as long as it, and so several times the memory of a large message. None of them can
//! skip a value without interpreting it, which is most of what the envelope scan does.
//!
//! The grammar is RFC 8259's, strictly. UTF-8 is *not* checked here; callers that need text check the whole
//! input once (see [`is_utf8`]).

use std::borrow::Cow;

/// The kind of a [`Lexeme`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// `{`, the start of an object.
    BeginObject,
    /// `}`, the end of an object.
    EndObject,
    /// `[`, the start of an array.
    BeginArray,
    /// `]`, the end of an array.
    EndArray,
    /// A member's name; the colon after it has been consumed too.
    Key,
    /// A string that is a value, not a member's name.
    String,
    /// A number, in any spelling of RFC 8259.
    Number,
    /// The literal `true`.
    True,
    /// The literal `false`.
    False,
    /// The literal `null`.
    Null,
}

/// One token and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lexeme {
    /// The kind of token.
    pub token: Token,
    /// Offset of its first byte (a string's opening quote).
    pub start: usize,
    /// Offset just past its last byte (a string's closing quote).
    pub end: usize,
    /// For keys and strings: whether the text contains an escape.
    pub escaped: bool,
}

impl Lexeme {
    /// The token's bytes, a string's quotes included.
    pub fn bytes<'a>(&self, input: &'a [u8]) -> &'a [u8] {
        &input[self.start..self.end]
    }

    /// The text of a key or string, without its quotes and still escaped.
    pub fn text<'a>(&self, input: &'a [u8]) -> Text<'a> {
        Text { raw: &input[self.start + 1..self.end - 1], escaped: self.escaped }
    }
}

/// The inside of a JSON string, as written in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a> {
    /// The bytes between the quotes.
    pub raw: &'a [u8],
    /// Whether they contain an escape.
    pub escaped: bool,
}

impl<'a> Text<'a> {
    /// Whether the string equals `expected` after unescaping.
    pub fn is(&self, expected: &str) -> bool {
        if self.escaped { *self.unescaped() == *expected.as_bytes() } else { self.raw == expected.as_bytes() }
    }

    /// The bytes after unescaping; borrowed if there is no escape.
    pub fn unescaped(&self) -> Cow<'a, [u8]> {
        if self.escaped { Cow::Owned(unescape(self.raw)) } else { Cow::Borrowed(self.raw) }
    }

    /// The unescaped string; invalid UTF-8 is replaced by U+FFFD.
    pub fn decode(&self) -> Cow<'a, str> {
        match self.unescaped() {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
            Cow::Owned(bytes) => Cow::Owned(
                String::from_utf8(bytes)
                    .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()),
            ),
        }
    }
}

/// Where and why an input is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("not JSON at byte {offset}: {what}")]
pub struct SyntaxError {
    /// Offset of the first byte that is not allowed.
    pub offset: usize,
    /// What was expected, in a few words. Never contains part of the input, so it needs no redaction.
    pub what: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    /// The end of the container; there was no comma after the last value.
    End,
    Nothing,
}

/// A syntax error whose reason and position are in the lexer. Empty, so that the `Result`s on the hot path
/// stay in registers.
struct ScanFailure;

/// The tokens of one JSON value, in order.
#[derive(Debug, Clone)]
pub struct Lexer<'a> {
    input: &'a [u8],
    pos: usize,
    expect: Expect,
    nesting: Nesting,
    /// The last token: its start and end, and whether it contains an escape. Kept here while only its kind is
    /// passed around, because a whole [`Lexeme`] is too large for registers.
    start: usize,
    end: usize,
    escaped: bool,
    error: &'static str,
}

impl<'a> Lexer<'a> {
    /// A lexer at the start of `input`.
    pub fn new(input: &'a [u8]) -> Self {
        Lexer {
            input,
            pos: 0,
            expect: Expect::Value,
            nesting: Nesting::default(),
            start: 0,
            end: 0,
            escaped: false,
            error: "",
        }
    }

    /// The whole input, including what has been read.
    pub fn input(&self) -> &'a [u8] {
        self.input
    }

    /// The end of the last token.
    pub fn offset(&self) -> usize {
        self.end
    }

    /// The number of open containers.
    pub fn depth(&self) -> usize {
        self.nesting.depth
    }

    /// Whether the innermost open container is an object.
    pub(crate) fn is_in_object(&self) -> bool {
        self.nesting.depth > 0 && self.nesting.in_object()
    }

    /// The next token. `None` after the value, if only white space follows.
    pub fn next_token(&mut self) -> Result<Option<Lexeme>, SyntaxError> {
        self.next_inline()
    }

    /// [`Lexer::next_token`] for hot loops: inlined into one function, the lexer's state lives in registers.
    #[inline(always)]
    pub(crate) fn next_inline(&mut self) -> Result<Option<Lexeme>, SyntaxError> {
        match self.advance() {
            Ok(Some(token)) => {
                Ok(Some(Lexeme { token, start: self.start, end: self.end, escaped: self.escaped }))
            }
            Ok(None) => Ok(None),
            Err(ScanFailure) => Err(SyntaxError { offset: self.pos, what: self.error }),
        }
    }

    /// Skips to the end of the value that begins with `first`, and returns its end.
    pub fn finish_value(&mut self, first: Lexeme) -> Result<usize, SyntaxError> {
        if !matches!(first.token, Token::BeginObject | Token::BeginArray) {
            return Ok(first.end);
        }
        // The depth decides, not the kind of bracket: `advance` has already checked that they match.
        let outside = self.depth() - 1;
        while self.depth() > outside {
            self.next_inline()?;
        }
        Ok(self.end)
    }

    #[inline(always)]
    fn advance(&mut self) -> Result<Option<Token>, ScanFailure> {
        self.skip_white_space();
        let Some(&byte) = self.input.get(self.pos) else {
            return if self.expect == Expect::Nothing { Ok(None) } else { self.fail("it ends too early") };
        };
        self.start = self.pos;
        self.escaped = false;
        match (self.expect, byte) {
            (Expect::Value, _) => self.value(byte),
            (Expect::Key, b'"') => self.key(),
            (Expect::End | Expect::KeyOrEnd, b'}') if self.nesting.in_object() => {
                Ok(self.close(Token::EndObject))
            }
            (Expect::End | Expect::ValueOrEnd, b']') if !self.nesting.in_object() => {
                Ok(self.close(Token::EndArray))
            }
            (Expect::KeyOrEnd, b'"') => self.key(),
            (Expect::ValueOrEnd, _) => self.value(byte),
            (Expect::Key | Expect::KeyOrEnd, _) => self.fail("expected a member's name"),
            (Expect::End, _) if self.nesting.in_object() => self.fail("expected a comma or a closing brace"),
            (Expect::End, _) => self.fail("expected a comma or a closing bracket"),
            (Expect::Nothing, _) => self.fail("something follows the value"),
        }
    }

    #[cold]
    fn fail<T>(&mut self, what: &'static str) -> Result<T, ScanFailure> {
        self.error = what;
        Err(ScanFailure)
    }

    #[inline(always)]
    fn skip_white_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.input.get(self.pos) {
            self.pos += 1;
        }
    }

    #[inline(always)]
    fn value(&mut self, byte: u8) -> Result<Option<Token>, ScanFailure> {
        match byte {
            b'"' => {
                self.string()?;
                Ok(self.after_value(Token::String))
            }
            b'{' => Ok(self.open(Token::BeginObject, Expect::KeyOrEnd)),
            b'[' => Ok(self.open(Token::BeginArray, Expect::ValueOrEnd)),
            b'-' | b'0'..=b'9' => {
                self.number()?;
                Ok(self.after_value(Token::Number))
            }
            b't' => self.literal(b"true", Token::True),
            b'f' => self.literal(b"false", Token::False),
            b'n' => self.literal(b"null", Token::Null),
            _ => self.fail("expected a value"),
        }
    }

    #[inline(always)]
    fn open(&mut self, token: Token, expect: Expect) -> Option<Token> {
        self.nesting.push(token == Token::BeginObject);
        self.expect = expect;
        self.pos += 1;
        self.end = self.pos;
        Some(token)
    }

    #[inline(always)]
    fn close(&mut self, token: Token) -> Option<Token> {
        self.nesting.pop();
        self.pos += 1;
        self.after_value(token)
    }

    /// Ends a value here and consumes the comma after it, so that the next call knows whether a value must
    /// follow.
    #[inline(always)]
    fn after_value(&mut self, token: Token) -> Option<Token> {
        self.end = self.pos;
        // The outermost value: only white space may follow, and not a comma.
        if self.nesting.depth == 0 {
            self.expect = Expect::Nothing;
            return Some(token);
        }
        self.skip_white_space();
        self.expect = if self.input.get(self.pos) == Some(&b',') {
            self.pos += 1;
            if self.nesting.in_object() { Expect::Key } else { Expect::Value }
        } else {
            Expect::End
        };
        Some(token)
    }

    #[inline(always)]
    fn key(&mut self) -> Result<Option<Token>, ScanFailure> {
        self.string()?;
        self.end = self.pos;
        self.skip_white_space();
        if self.input.get(self.pos) != Some(&b':') {
            return self.fail("expected a colon");
        }
        self.pos += 1;
        self.expect = Expect::Value;
        Ok(Some(Token::Key))
    }

    fn literal(&mut self, word: &'static [u8], token: Token) -> Result<Option<Token>, ScanFailure> {
        if !self.input[self.pos..].starts_with(word) {
            return self.fail("expected true, false or null");
        }
        self.pos += word.len();
        Ok(self.after_value(token))
    }

    /// Scans the string at `pos`, to after its closing quote.
    #[inline(always)]
    fn string(&mut self) -> Result<(), ScanFailure> {
        self.pos += 1;
        loop {
            // Most of a message is the inside of strings, so this search decides the speed of everything that
            // reads messages.
            self.pos = next_special(self.input, self.pos);
            match self.input.get(self.pos) {
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return self.fail("a control character inside a string"),
                None => return self.fail("a string does not end"),
            }
        }
    }

    #[inline(always)]
    fn escape(&mut self) -> Result<(), ScanFailure> {
        self.escaped = true;
        match self.input.get(self.pos + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.pos += 2;
                Ok(())
            }
            _ => self.unicode_escape(),
        }
    }

    fn unicode_escape(&mut self) -> Result<(), ScanFailure> {
        let is_unicode = self.input.get(self.pos + 1) == Some(&b'u');
        if is_unicode && is_hex4(self.input.get(self.pos + 2..self.pos + 6)) {
            self.pos += 6;
            return Ok(());
        }
        self.fail("an unknown escape")
    }

    #[inline(always)]
    fn number(&mut self) -> Result<(), ScanFailure> {
        if self.input[self.pos] == b'-' {
            self.pos += 1;
        }
        match self.input.get(self.pos) {
            // RFC 8259 allows no leading zeros; a digit after this one is an error of what follows.
            Some(b'0') => self.pos += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return self.fail("expected a digit"),
        }
        if self.input.get(self.pos) == Some(&b'.') {
            self.pos += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.input.get(self.pos) {
            self.pos += 1;
            if let Some(b'+' | b'-') = self.input.get(self.pos) {
                self.pos += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    #[inline(always)]
    fn digits(&mut self) -> Result<(), ScanFailure> {
        let start = self.pos;
        while let Some(b'0'..=b'9') = self.input.get(self.pos) {
            self.pos += 1;
        }
        if self.pos == start { self.fail("expected a digit") } else { Ok(()) }
    }
}

/// Which of the open containers are objects: a stack of bits. The innermost 64 are in one word, so that
/// ordinary messages allocate nothing.
#[derive(Debug, Clone, Default)]
struct Nesting {
    near: u64,
    far: Vec<u64>,
    depth: usize,
}

impl Nesting {
    #[inline(always)]
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            // Sixty-four levels are full: spill them. Ordinary messages never get here.
            self.far.push(self.near);
        }
        self.near = self.near << 1 | u64::from(object);
        self.depth += 1;
    }

    #[inline(always)]
    fn pop(&mut self) {
        self.depth -= 1;
        self.near >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.near = self.far.pop().unwrap_or_default();
        }
    }

    #[inline(always)]
    fn in_object(&self) -> bool {
        self.near & 1 == 1
    }
}

/// A JSON value without insignificant white space, on one line. Input that is not JSON is processed the same
/// way; callers recognize it later.
pub fn compact(input: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(input.len());
    let mut rest = input;
    while let Some(at) = memchr::memchr(b'"', rest) {
        push_without_white_space(&mut out, &rest[..at]);
        let end = at + 1 + string_end(&rest[at + 1..]);
        out.extend_from_slice(&rest[at..end]);
        rest = &rest[end..];
    }
    push_without_white_space(&mut out, rest);
    out
}

fn push_without_white_space(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(bytes.iter().filter(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')));
}

/// The length of the rest of a string after its opening quote, including the closing one.
fn string_end(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(next) = memchr::memchr2(b'"', b'\\', &rest[at.min(rest.len())..]) {
        at += next;
        if rest[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    rest.len()
}

/// Whether `input` is exactly one JSON value.
pub fn validate(input: &[u8]) -> Result<(), SyntaxError> {
    let mut lexer = Lexer::new(input);
    while lexer.next_inline()?.is_some() {}
    Ok(())
}

/// Whether `input` is UTF-8.
pub fn is_utf8(input: &[u8]) -> bool {
    simdutf8::basic::from_utf8(input).is_ok()
}

/// Offset of the next quote, backslash or control character at or after `from`; the input's length if none.
#[inline(always)]
fn next_special(input: &[u8], from: usize) -> usize {
    // Most strings, and most ranges between two escapes, are short: a few bytes are tested one by one before
    // a vectorized search starts.
    const NEAR: usize = 12;
    let near = input.len().min(from + NEAR);
    let mut at = from;
    while at < near {
        if IS_SPECIAL[usize::from(input[at])] {
            return at;
        }
        at += 1;
    }
    if at == input.len() { at } else { next_special_far(input, at) }
}

/// [`next_special`] in blocks that the compiler vectorizes: `fold` has no early exit, which is what allows
/// it.
fn next_special_far(input: &[u8], mut from: usize) -> usize {
    const BLOCK: usize = 32;
    while let Some(block) = input.get(from..from + BLOCK) {
        if block.iter().fold(false, |hit, &byte| hit | (byte == b'"') | (byte == b'\\') | (byte < 0x20)) {
            break;
        }
        from += BLOCK;
    }
    input[from..].iter().position(|&byte| IS_SPECIAL[usize::from(byte)]).map_or(input.len(), |at| from + at)
}

/// The bytes that end a plain part of a string.
const IS_SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table
};

fn is_hex4(digits: Option<&[u8]>) -> bool {
    digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

/// Unescapes the inside of a string. Lone surrogates become U+FFFD.
pub fn unescape(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut pos = 0;
    while pos < raw.len() {
        let plain = memchr::memchr(b'\\', &raw[pos..]).map_or(raw.len(), |at| pos + at);
        out.extend_from_slice(&raw[pos..plain]);
        pos = plain;
        if pos < raw.len() {
            let (meaning, width) = escape_at(raw, pos);
            out.extend_from_slice(meaning.encode_utf8(&mut [0; 4]).as_bytes());
            pos += width;
        }
    }
    out
}

/// The character that the escape at `pos` denotes, and the length of the escape in bytes. Total: what is not
/// an escape denotes its backslash.
pub(crate) fn escape_at(raw: &[u8], pos: usize) -> (char, usize) {
    let simple = match raw.get(pos + 1) {
        Some(b'u') => return unicode_escape(raw, pos),
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(&byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
        _ => return ('\\', 1),
    };
    (simple, 2)
}

fn unicode_escape(raw: &[u8], pos: usize) -> (char, usize) {
    let Some(first) = hex4(raw, pos + 2) else { return ('\\', 1) };
    if let 0xD800..=0xDBFF = first
        && raw.get(pos + 6..pos + 8) == Some(b"\\u")
        && let Some(second @ 0xDC00..=0xDFFF) = hex4(raw, pos + 8)
    {
        let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
}

fn hex4(raw: &[u8], at: usize) -> Option<u32> {
    let digits = raw.get(at..at + 4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compacting_leaves_strings_alone() {
        let check = |input: &str, expected: &str| {
            assert_eq!(String::from_utf8_lossy(&compact(input.as_bytes())), expected);
        };
        check(
            "{\n  \"a b\": [1.0,\r\n\t2e5],\n \"c\\\" \": \" \\\\\" }\n",
            "{\"a b\":[1.0,2e5],\"c\\\" \":\" \\\\\"}",
        );
        check(" 1 ", "1");
        check("\"open \\", "\"open \\");
        check("", "");
    }
    use proptest::prelude::*;

    fn tokens(input: &str) -> Result<Vec<(Token, &str)>, SyntaxError> {
        let mut lexer = Lexer::new(input.as_bytes());
        let mut found = Vec::new();
        while let Some(lexeme) = lexer.next_token()? {
            found.push((lexeme.token, &input[lexeme.start..lexeme.end]));
        }
        Ok(found)
    }

    #[test]
    fn tokens_carry_their_bytes() {
        assert_eq!(
            tokens(r#" {"a" : [1.0, "x\"y"], "b":null} "#).unwrap(),
            [
                (Token::BeginObject, "{"),
                (Token::Key, "\"a\""),
                (Token::BeginArray, "["),
                (Token::Number, "1.0"),
                (Token::String, r#""x\"y""#),
                (Token::EndArray, "]"),
                (Token::Key, "\"b\""),
                (Token::Null, "null"),
                (Token::EndObject, "}"),
            ]
        );
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place() {
        for (input, offset) in [
            ("", 0),
            ("{", 1),
            ("[1,]", 3),
            ("{\"a\":1,}", 7),
            ("{\"a\" 1}", 5),
            ("[1 2]", 3),
            ("01", 1),
            ("1.", 2),
            ("-", 1),
            ("1e", 2),
            ("\"a", 2),
            ("\"\\x\"", 1),
            ("\"\\u12g4\"", 1),
            ("\"a\tb\"", 2),
            ("tru", 0),
            ("1 1", 2),
            ("]", 0),
            ("{]", 1),
            ("NaN", 0),
        ] {
            assert_eq!(tokens(input).unwrap_err().offset, offset, "{input}");
        }
    }

    #[test]
    fn nesting_is_bounded_by_nothing() {
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        assert!(validate(deep.as_bytes()).is_ok());
        assert!(validate(&deep.as_bytes()[..399_999]).is_err());
        let mixed = "[{\"a\":".repeat(100_000) + "1" + &"}]".repeat(100_000);
        assert!(validate(mixed.as_bytes()).is_ok());
        assert_eq!(validate(mixed.replacen("}]", "]}", 1).as_bytes()).unwrap_err().offset, 600_001);
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(
            unescape(br#"a\n\"\\\/\u0041\u00e9\ud83d\ude00\ud800x"#),
            "a\n\"\\/Aé😀\u{fffd}x".as_bytes()
        );
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(input in "[ \\[\\]{}:,\"\\\\a-f0-9.eE+truefalsn\n\t-]{0,40}") {
            // IgnoredAny checks a number's grammar without rounding it, as we do.
            let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&input).is_ok();
            prop_assert_eq!(validate(input.as_bytes()).is_ok(), theirs, "{}", input);
        }

        #[test]
        fn unescape_agrees_with_serde_json(text in any::<String>()) {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(unescape(&json.as_bytes()[1..json.len() - 1]), text.into_bytes());
        }

        #[test]
        fn special_search_is_exact(input in proptest::collection::vec(prop_oneof![9 => 0x20u8..=0xff, 1 => any::<u8>()], 0..100), from in 0usize..100) {
            let from = from.min(input.len());
            let plain = input[from..].iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20).map_or(input.len(), |at| from + at);
            prop_assert_eq!(next_special(&input, from), plain);
        }
    }
}
