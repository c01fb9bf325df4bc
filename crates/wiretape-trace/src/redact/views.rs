//! Encoded text: percent-encoding, HTML entities, terminal colours, Base64.
//!
//! Such a text is scanned twice: as it is, and as a *view*, decoded, whose edits are mapped back to the
//! original. So no other rule needs to know that `%3D` is an equals sign, or that a colour is not part of a
//! word.

use super::Edit;
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// A decoded text, with a map back to the original.
pub(super) struct View {
    pub(super) text: Vec<u8>,
    /// Pairs of an offset in the view and the offset in the original that corresponds to it, ascending.
    /// Between two steps both advance alike.
    steps: Vec<(usize, usize)>,
}

const ENTITIES: &[(&str, u8)] = &[
    ("&quot;", b'"'),
    ("&amp;", b'&'),
    ("&apos;", b'\''),
    ("&lt;", b'<'),
    ("&gt;", b'>'),
    ("&#34;", b'"'),
    ("&#39;", b'\''),
    ("&#x27;", b'\''),
    ("&#x22;", b'"'),
    ("&#61;", b'='),
    ("&#x3D;", b'='),
    ("&#58;", b':'),
    ("&nbsp;", b' '),
];

/// The byte that starts a terminal's control sequences (ECMA-48).
pub(super) const ESCAPE: u8 = 0x1b;

/// Whether a percent escape, an entity or a control sequence starts at `at`.
#[inline]
pub(super) fn is_encoded_at(text: &[u8], at: usize) -> bool {
    decoded_at(text, at).is_some()
}

/// Decodes the escape at `at`. Returns the byte, or none if it means nothing as text (a colour), and its
/// length in the input.
fn decoded_at(text: &[u8], at: usize) -> Option<(Option<u8>, usize)> {
    match text[at] {
        b'%' => {
            let digit = |at: usize| char::from(*text.get(at)?).to_digit(16);
            let value = u8::try_from(digit(at + 1)? << 4 | digit(at + 2)?).ok()?;
            is_text(value).then_some((Some(value), 3))
        }
        b'&' => {
            let found = ENTITIES.iter().find(|(entity, _)| text[at..].starts_with(entity.as_bytes()))?;
            Some((Some(found.1), found.0.len()))
        }
        ESCAPE => {
            let parameters = text.get(at + 1).filter(|byte| **byte == b'[').map(|_| &text[at + 2..])?;
            let length = parameters
                .iter()
                // Control sequences are short; the bound keeps a lone escape byte from scanning the rest of
                // the text.
                .take(24)
                .position(|byte| !matches!(byte, b'0'..=b'9' | b';' | b':' | b'?'))?;
            parameters[length].is_ascii_alphabetic().then_some((None, length + 3))
        }
        _ => None,
    }
}

impl View {
    /// Decodes a text. Escapes that don't decode are copied.
    pub(super) fn new(text: &[u8]) -> Self {
        let mut view = View { text: Vec::with_capacity(text.len()), steps: vec![(0, 0)] };
        let mut at = 0;
        while at < text.len() {
            let next = text[at..]
                .iter()
                .position(|byte| matches!(*byte, b'%' | b'&' | ESCAPE))
                .map_or(text.len(), |found| at + found);
            view.text.extend_from_slice(&text[at..next]);
            at = next;
            let Some((byte, length)) = (at < text.len()).then(|| decoded_at(text, at)).flatten() else {
                view.text.extend(text.get(at));
                at += 1;
                continue;
            };
            view.step(at);
            view.text.extend(byte);
            at += length;
            view.step(at);
        }
        view
    }

    /// Records that the end of the view corresponds to `at` in the original. Where escapes follow each other, the end of one
    /// is the beginning of the next.
    fn step(&mut self, at: usize) {
        let step = (self.text.len(), at);
        if self.steps.last() != Some(&step) {
            self.steps.push(step);
        }
    }

    /// Maps edits of the view back to the original text.
    pub(super) fn map_back(&self, edits: &mut [Edit]) {
        for edit in edits {
            edit.start = self.original_start(edit.start);
            edit.end = self.original_end(edit.end);
        }
    }

    fn original_start(&self, offset: usize) -> usize {
        let step = self.steps[self.steps.partition_point(|(view, _)| *view <= offset) - 1];
        step.1 + (offset - step.0)
    }

    /// Unlike a start, an end at a step maps to before the omitted bytes: a colour reset after a secret is
    /// not part of it.
    fn original_end(&self, offset: usize) -> usize {
        let first = self.steps.partition_point(|(view, _)| *view < offset);
        match self.steps.get(first) {
            Some(step) if step.0 == offset => step.1,
            _ => self.original_start(offset),
        }
    }
}

// Tokens are often cut or stripped of their padding, and still give their secret away.
const INDIFFERENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, INDIFFERENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, INDIFFERENT);

/// Shortest Base64 that is decoded, in bytes: below that, ordinary words decode to something.
const MIN_BASE64: usize = 16;
// Bounds the copy; longer Base64 is an image or an archive.
const MAX_BASE64: usize = 256 * 1024;

/// The value of each character of both Base64 alphabets; `u8::MAX` for all others.
static SEXTETS: [u8; 256] = {
    let mut table = [u8::MAX; 256];
    let mut letters: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut value = 0;
    while let [letter, rest @ ..] = letters {
        table[*letter as usize] = value;
        value += 1;
        letters = rest;
    }
    table[b'-' as usize] = 62;
    table[b'_' as usize] = 63;
    table
};

/// Whether a string may be the Base64 of text, judged by its first twelve characters: they rule out nearly
/// all words and binary data without decoding.
#[inline]
pub(super) fn may_be_base64(text: &[u8]) -> bool {
    text.len() >= MIN_BASE64 && text.as_chunks::<4>().0.iter().take(3).all(is_text_in_base64)
}

/// Whether the first four characters of a text are the Base64 of text.
pub(super) fn begins_base64_of_text(text: &[u8]) -> bool {
    text.first_chunk().is_some_and(is_text_in_base64)
}

/// Whether four Base64 characters decode to three bytes of text.
#[inline]
fn is_text_in_base64(characters: &[u8; 4]) -> bool {
    let mut bits: u32 = 0;
    for &character in characters {
        let sextet = SEXTETS[usize::from(character)];
        if sextet > 63 {
            return false;
        }
        bits = bits << 6 | u32::from(sextet);
    }
    let [_, bytes @ ..] = bits.to_be_bytes();
    bytes.into_iter().all(is_text)
}

fn is_text(byte: u8) -> bool {
    byte.is_ascii_graphic() || matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// The end of the Base64 that starts at `start`, including its padding.
pub(super) fn base64_end(text: &[u8], start: usize) -> usize {
    let end = text[start..]
        .iter()
        .position(|&byte| SEXTETS[usize::from(byte)] > 63)
        .map_or(text.len(), |at| start + at);
    end + text[end..].iter().take(2).take_while(|byte| **byte == b'=').count()
}

/// Decodes a Base64 string, if the result is readable text.
pub(super) fn base64_text(text: &[u8]) -> Option<Vec<u8>> {
    if text.len() > MAX_BASE64 || !may_be_base64(text) {
        return None;
    }
    let text = text.trim_ascii();
    // Mail and PEM wrap Base64 at 64 or 76 characters.
    let text: Vec<u8> = text.iter().filter(|byte| !matches!(byte, b'\n' | b'\r')).copied().collect();
    let engine = if text.iter().any(|byte| matches!(byte, b'-' | b'_')) { URL_SAFE } else { STANDARD };
    let decoded = engine.decode(&text).ok()?;
    let is_readable =
        decoded.iter().all(|&byte| is_text(byte) || byte >= 0x80) && std::str::from_utf8(&decoded).is_ok();
    is_readable.then_some(decoded)
}

/// Decodes a word to a pair `user:password`, as in `Basic` credentials and Docker's `auth`.
pub(super) fn base64_pair(word: &[u8]) -> Option<Vec<u8>> {
    if !(8..=2048).contains(&word.len()) {
        return None;
    }
    let decoded = STANDARD.decode(word).ok()?;
    let is_readable = decoded.iter().all(|&byte| is_text(byte) || byte >= 0x80);
    (is_readable && super::values::is_pair(&decoded)).then_some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_of_a_view_lead_back() {
        let text = b"a=\x1b[33mb%3Dc&quot;d\x1b[0m e";
        let view = View::new(text);
        assert_eq!(view.text, b"a=b=c\"d e");
        let back = |start: usize, end: usize| &text[view.original_start(start)..view.original_end(end)];
        assert_eq!(back(2, 3), b"b");
        assert_eq!(back(2, 5), b"b%3Dc");
        assert_eq!(back(6, 7), b"d");
        assert_eq!(back(3, 4), b"%3D");
        assert_eq!(back(0, 9), &text[..]);
        let view = View::new(b"%3D%3D&quot;%41x");
        assert_eq!((&view.text[..], view.steps.len()), (&b"==\"Ax"[..], 5));
        assert_eq!((view.original_start(2), view.original_end(4)), (6, 15));
    }

    #[test]
    fn base64_of_text_is_told_from_other_words() {
        assert_eq!(base64_text(b"cGFzc3dvcmQ9aHVudGVyMg==").as_deref(), Some(&b"password=hunter2"[..]));
        for other in ["description of a thing", "iVBORw0KGgoAAAANSUhEUgAA", "configurationOptions1234"] {
            assert_eq!(base64_text(other.as_bytes()), None, "{other}");
        }
    }
}
