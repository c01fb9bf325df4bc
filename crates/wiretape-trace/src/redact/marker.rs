//! Markers: the text that replaces a secret, how it is computed, and how existing ones are recognised.
//!
//! Recognising them matters as much as writing them: a trace may be redacted again with newer rules, and
//! traffic may contain markers of other programs. A marker must not be redacted a second time.

use super::text::MAX_ESCAPES;
use hmac::{Hmac, KeyInit, Mac};
use memchr::memmem::Finder;
use sha2::Sha256;
use std::ops::Range;
use std::sync::LazyLock;

/// In bytes. The names of rules are far shorter.
const MAX_MARKER: usize = 96;

/// The installation's key for hashing secrets. `Debug` never prints it.
#[derive(Clone)]
pub struct RedactionKey([u8; 32]);

impl RedactionKey {
    /// A key of 32 random bytes. Generating and storing them is up to the caller.
    pub fn new(bytes: [u8; 32]) -> Self {
        RedactionKey(bytes)
    }
}

impl std::fmt::Debug for RedactionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RedactionKey(…)")
    }
}

/// The byte ranges of all markers in a text, ours and other programs': `[REDACTED]`, `[REDACTED:rule:…]`.
///
/// ```
/// let places = wiretape_trace::redact::markers(b"key [REDACTED:token:0a1b2c3d], [REDACTED]");
/// assert_eq!(places, [4..29, 31..41]);
/// ```
pub fn markers(text: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    // A search for the whole prefix would be prepared for each call, and most texts are short values without a bracket.
    while let Some(next) = memchr::memchr(b'[', &text[at..]) {
        let start = at + next;
        at = start + 1;
        if !text[start..].starts_with(Marker::PREFIX) {
            continue;
        }
        at = start + Marker::PREFIX.len();
        if matches!(text.get(at), Some(b']' | b':')) {
            let Some(end) = memchr::memchr(b']', &text[at..]) else { break };
            at += end + 1;
            found.push(start..at);
        }
    }
    found
}

/// Whether a text contains a marker, ours or another program's.
pub fn is_redacted(text: &[u8]) -> bool {
    // Cached, because building the searcher takes longer than scanning a text of the usual length.
    static PREFIX: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(Marker::PREFIX));
    PREFIX.find(text).is_some() && !markers(text).is_empty()
}

pub(super) struct Marker(Hmac<Sha256>);

impl Marker {
    /// The prefix of every marker, in our traces and in those of other programs.
    pub(super) const PREFIX: &'static [u8] = b"[REDACTED";

    /// The prefix of our own markers, before the rule's name.
    pub(super) const PREFIX_COLON: &'static [u8] = b"[REDACTED:";

    pub(super) fn new(key: &RedactionKey) -> Self {
        Marker(Hmac::new_from_slice(&key.0).expect("HMAC accepts a key of any length"))
    }

    /// The marker for a secret: `[REDACTED:<rule>:<8 hex digits>]`.
    pub(super) fn replacement(&self, rule: &str, secret: &[u8]) -> String {
        // Cloning a keyed HMAC skips hashing the key again.
        let mut mac = self.0.clone();
        mac.update(secret);
        let hash = mac.finalize().into_bytes();
        // Four bytes: enough to tell the secrets of a trace apart, and too few to reveal anything about them.
        format!("[REDACTED:{rule}:{:02x}{:02x}{:02x}{:02x}]", hash[0], hash[1], hash[2], hash[3])
    }
}

impl std::fmt::Debug for Marker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Marker(…)")
    }
}

/// Whether a text consists of one marker and nothing else.
pub(super) fn is_whole(text: &[u8]) -> bool {
    let Some(rest) = text.strip_prefix(Marker::PREFIX) else { return false };
    match rest {
        [b']'] => true,
        [b':', inside @ .., b']'] => {
            inside.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':'))
        }
        _ => false,
    }
}

/// Whether a text begins with a marker in quotes, which may be escaped, after blanks. The value ends with the marker then.
pub(super) fn is_quoted(text: &[u8]) -> bool {
    let Some(open) = text.iter().take(MAX_ESCAPES).position(|&byte| byte == b'[') else { return false };
    let (quotes, rest) = text.split_at(open);
    let quotes = quotes.trim_ascii_start();
    let Some(close) = memchr::memchr(b']', &rest[..rest.len().min(MAX_MARKER)]) else { return false };
    let is_quote =
        matches!(quotes, [escapes @ .., b'"' | b'\''] if escapes.iter().all(|&byte| byte == b'\\'));
    is_quote && is_whole(&rest[..=close]) && rest[close + 1..].starts_with(quotes)
}

/// Whether a value was redacted already and must stay as it is. The exception is a marker at the beginning of
/// a value with more text after it: an older version may have left the rest of the secret there.
pub(super) fn is_redacted_already(value: &[u8]) -> bool {
    let places: Vec<_> = markers(value).into_iter().filter(|place| is_whole(&value[place.clone()])).collect();
    let Some(first) = places.first() else { return false };
    let inside: usize = places.iter().map(|place| letters(&value[place.clone()])).sum();
    first.start > 0 || letters(value) < inside + 4
}

fn letters(text: &[u8]) -> usize {
    text.iter().filter(|byte| byte.is_ascii_alphanumeric()).count()
}

/// Whether a text contains a complete marker.
pub(super) fn is_in(text: &[u8]) -> bool {
    markers(text).into_iter().any(|place| is_whole(&text[place]))
}
