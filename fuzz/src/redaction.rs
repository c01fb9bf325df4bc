//! Redaction: removing secrets, and nothing else.

use serde::de::IgnoredAny;
use std::sync::OnceLock;
use wiretape_trace::framing::LineFramer;
use wiretape_trace::json;
use wiretape_trace::redact::{LineState, RedactionKey, Redactor, Rules, SecretMemory};

/// Secrets that are recognized by their format.
const TOKENS: [&str; 8] = [
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789",
    "glpat-ABcd1234efGH5678ijKL",
    "xoxb-123456789012-abcdefABCDEF",
    "sk-ant-api03-abcdefghijklmnop-1234567890",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghij",
];

/// A secret that is recognized by its name only, and that no other part of an input resembles.
const PASSWORD: &str = "zQ9-not-a-word-zQ9";

/// A line of a private key.
const KEY_LINE: &str = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo";

/// JSON stays JSON, a planted secret is removed wherever it is and in whatever chunks it arrives, and redacted text stays as it
/// is.
pub fn redaction(data: &[u8]) {
    check_json(data);
    check_text(data);
    check_lines(data);
    check_memory(data);
    let (choice, around) = data.split_first().unwrap_or((&0, &[]));
    let around = String::from_utf8_lossy(around);
    let choice = usize::from(*choice);
    let secret = TOKENS[choice % TOKENS.len()];
    // An input that contains the secret itself may have it where it is not secret: under `cursor`, or inside
    // a word.
    if !around.contains(secret) && !around.contains(PASSWORD) {
        check_planted_in_text(secret, &around);
        check_named_in_text(&around);
        check_planted_in_json(secret, &around, choice / 64);
        check_planted_in_chunks(secret, &around);
    }
}

fn redactor() -> &'static Redactor {
    static REDACTOR: OnceLock<Redactor> = OnceLock::new();
    REDACTOR.get_or_init(|| {
        Redactor::new(&Rules::default(), &RedactionKey::new([7; 32]))
            .expect("the default rules have no user patterns that could be invalid")
    })
}

fn check_json(data: &[u8]) {
    let clean = redactor().json(data);
    assert_eq!(clean.is_ok(), json::validate(data).is_ok(), "redaction has its own idea of JSON");
    let Ok(clean) = clean else { return };
    assert!(serde_json::from_slice::<IgnoredAny>(&clean).is_ok(), "JSON became something else");
    assert_eq!(count(&clean, b'\n'), count(data, b'\n'), "a line became two, or two became one");
    assert!(json::is_utf8(&clean) || !json::is_utf8(data), "UTF-8 became something else");
    let again = redactor().json(&clean).expect("redaction keeps JSON valid, and its input was parsed");
    assert_eq!(shown(&again), shown(&clean), "redacting twice changes it");
}

fn check_text(data: &[u8]) {
    let clean = redactor().text(data);
    assert!(json::is_utf8(&clean) || !json::is_utf8(data), "UTF-8 became something else");
    assert_eq!(shown(&redactor().text(&clean)), shown(&clean), "redacting twice changes it");
}

/// Redacts line by line, first the input, then a private key that spans several lines.
fn check_lines(data: &[u8]) {
    let mut state = LineState::default();
    for line in data.split(|byte| *byte == b'\n') {
        let clean = redactor().line(line, &mut state, None);
        assert!(json::is_utf8(&clean) || !json::is_utf8(line), "UTF-8 became something else");
    }
    let mut state = LineState::default();
    let label = ["RSA PRIVATE", "KEY"].join(" ");
    for line in [format!("-----BEGIN {label}-----"), KEY_LINE.to_owned(), format!("-----END {label}-----")] {
        let clean = shown(&redactor().line(line.as_bytes(), &mut state, None));
        assert!(!clean.contains(KEY_LINE), "a line of a key is left: {clean}");
    }
}

/// A secret that a session has named is redacted when it is repeated, whatever came before.
fn check_memory(data: &[u8]) {
    let memory = SecretMemory::default();
    redactor().text_with(data, &memory);
    let _ = redactor().json_with(data, &memory);
    let named = format!(r#"{{"password":{}}}"#, quoted(PASSWORD));
    redactor().json_with(named.as_bytes(), &memory).expect("built from quoted strings, so it is valid JSON");
    let said = format!("it is {PASSWORD}.");
    let clean = redactor().text_with(said.as_bytes(), &memory);
    assert!(!shown(&clean).contains(PASSWORD), "a password is said again");
    for finding in redactor().explain_text(data) {
        assert!(finding.range.start <= finding.range.end && finding.range.end <= data.len());
    }
}

fn check_planted_in_text(secret: &str, around: &str) {
    let (before, after) = halves(around);
    let text = format!("{before} {secret} {after}");
    let clean = redactor().text(text.as_bytes());
    assert!(!shown(&clean).contains(secret), "a secret is left in a text: {text:?}");
}

/// Plants lines that are secret by their names.
fn check_named_in_text(around: &str) {
    let (before, after) = halves(around);
    for line in [format!("DB_PASSWORD={PASSWORD}"), format!("Authorization: Bearer {PASSWORD}")] {
        let text = format!("{before}\n{line}\n{after}");
        let clean = redactor().text(text.as_bytes());
        assert!(!shown(&clean).contains(PASSWORD), "a password is left in a text: {text:?}");
    }
}

/// Plants secrets in an object next to arbitrary text, nested `levels` strings deep.
fn check_planted_in_json(secret: &str, around: &str, levels: usize) {
    let (before, after) = halves(around);
    // The dot keeps the text from being JSON itself, where a secret may be under a name that exempts it.
    let text = quoted(&format!(". {before} {secret} {after}"));
    let (beside, secret_value, password) = (quoted(around), quoted(secret), quoted(PASSWORD));
    let mut payload = format!(r#"{{"a":{beside},"b":[{text},{secret_value}],"password":{password}}}"#);
    for _ in 0..levels {
        payload = format!(r#"{{"content":[{{"type":"text","text":{}}}]}}"#, quoted(&payload));
    }
    let clean =
        shown(&redactor().json(payload.as_bytes()).expect("built from quoted strings, so it is valid JSON"));
    assert!(!clean.contains(secret), "a secret is left in JSON: {payload}");
    assert!(!clean.contains(PASSWORD), "a password is left in JSON: {payload}");
}

/// Plants secrets in a stream whose chunks end at places that depend on the input.
fn check_planted_in_chunks(secret: &str, around: &str) {
    let (before, after) = halves(around);
    let stream = format!("{before}\nusing {secret} now\nDB_PASSWORD={PASSWORD}\n{after}\n");
    let mut sizes = around.bytes().map(|byte| usize::from(byte % 19) + 1);
    let (mut framer, mut state) = (LineFramer::new(), LineState::default());
    let mut rest = stream.as_bytes();
    while !rest.is_empty() {
        let (chunk, behind) = rest.split_at(sizes.next().unwrap_or(usize::MAX).min(rest.len()));
        framer.push(chunk);
        while let Some(frame) = framer.next_frame() {
            let clean = shown(&redactor().line(frame.bytes, &mut state, None));
            assert!(!clean.contains(secret), "a secret is left in a stream: {stream:?}");
            assert!(!clean.contains(PASSWORD), "a password is left in a stream: {stream:?}");
        }
        rest = behind;
    }
}

fn halves(text: &str) -> (&str, &str) {
    let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.split_at(middle)
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("serializing a str has no failure case")
}

fn count(bytes: &[u8], byte: u8) -> usize {
    bytes.iter().filter(|other| **other == byte).count()
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
