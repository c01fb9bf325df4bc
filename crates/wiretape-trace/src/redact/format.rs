//! Matches the token formats of [`super::providers`].
//!
//! Patterns are matched without backtracking: each part takes as many characters as it may, and the tables
//! are written so that no part takes what the next one needs. So a format reads each character at most once,
//! which a general regular expression does not promise.
//!
//! [`FORMATS`] files every format under its first mark and the two characters before it; the scanner in
//! [`super::text`] looks a format up there instead of comparing hundreds of anchors.

use super::providers;
use std::sync::LazyLock;

/// A set of bytes: one bit of the entries of [`CLASSES`].
type Class = u16;

const fn class_bit(name: u8) -> Class {
    match name {
        b'a' => 1,
        b'c' => 1 << 1,
        b'l' => 1 << 2,
        b'U' => 1 << 3,
        b'd' => 1 << 4,
        b'x' => 1 << 5,
        b'h' => 1 << 6,
        b'w' => 1 << 7,
        b'u' => 1 << 8,
        b'g' => 1 << 9,
        b't' => 1 << 10,
        b'b' => 1 << 11,
        b'e' => 1 << 12,
        b's' => 1 << 13,
        _ => 0,
    }
}

const fn is_in(name: u8, byte: u8) -> bool {
    let alphanumeric = byte.is_ascii_alphanumeric();
    match name {
        b'a' => alphanumeric,
        b'c' => byte.is_ascii_alphabetic(),
        b'l' => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
        b'U' => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        b'd' => byte.is_ascii_digit(),
        b'x' => byte.is_ascii_hexdigit(),
        b'h' => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        b'w' => alphanumeric || byte == b'_',
        b'u' => alphanumeric || matches!(byte, b'_' | b'-'),
        b'g' => alphanumeric || matches!(byte, b'_' | b'-' | b'='),
        b't' => alphanumeric || matches!(byte, b'_' | b'-' | b'.'),
        b'b' => alphanumeric || matches!(byte, b'+' | b'/'),
        b'e' => alphanumeric || matches!(byte, b'+' | b'/' | b'='),
        b's' => alphanumeric || matches!(byte, b'_' | b'-' | b'=' | b'.' | b'+' | b'/' | b'~' | b'*'),
        _ => false,
    }
}

// A table of bits, so that testing a byte against any class is one load and one `and`.
static CLASSES: [Class; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut names: &[u8] = b"aclUdxhwugtbes";
        while let [name, rest @ ..] = names {
            if is_in(*name, byte as u8) {
                classes[byte] |= class_bit(*name);
            }
            names = rest;
        }
        byte += 1;
    }
    classes
};

/// The classes whose characters can join words, as in `github_pat_from_env`.
const JOINS_WORDS: Class =
    class_bit(b'w') | class_bit(b'u') | class_bit(b'g') | class_bit(b't') | class_bit(b's');

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Run { class: Class, min: usize, max: usize },
    Text(&'static [u8]),
}

/// What a token must contain in addition to matching its pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variety {
    Any,
    /// A digit, or letters of both cases.
    Mixed,
    Digit,
}

/// The format of one kind of token: a fixed beginning and a pattern for the rest.
#[derive(Debug)]
pub(super) struct Format {
    pub(super) anchor: &'static [u8],
    pub(super) rule: &'static str,
    parts: Vec<Part>,
    variety: Variety,
    /// How many characters must follow the anchor if it is glued to a word, as in `nullghp_…`. `None` for
    /// anchors that end ordinary words (`task-`, `linuxapp-`).
    glued: Option<usize>,
}

impl Format {
    fn new(rule: &'static str, anchor: &'static str, pattern: &'static str) -> Self {
        let mut format =
            Format { anchor: anchor.as_bytes(), rule, parts: Vec::new(), variety: Variety::Any, glued: None };
        for word in pattern.split(' ') {
            let word = match word.as_bytes()[0] {
                b'!' => {
                    format.variety = Variety::Mixed;
                    &word[1..]
                }
                b'#' => {
                    format.variety = Variety::Digit;
                    &word[1..]
                }
                _ => word,
            };
            format.parts.push(part(word));
        }
        format.glued = format.least_when_glued();
        format
    }

    fn least_when_glued(&self) -> Option<usize> {
        // Short anchors and those that end ordinary words would match inside them.
        let is_apart = self.variety != Variety::Any
            || self.anchor.len() < 4 && self.anchor != b"hf_"
            || matches!(self.anchor, b"xapp-" | b"perm-" | b"mfa.")
            || self.anchor.ends_with(b".") && self.anchor.len() < 5;
        let (Part::Run { min, .. }, false) = (self.parts[0], is_apart) else { return None };
        let fixed =
            matches!(self.parts[0], Part::Run { min, max, .. } if min == max) || self.anchor == b"glpat-";
        // An open-ended pattern needs more evidence here than at the beginning of a word.
        Some(if fixed { min } else { min.max(24) })
    }

    /// The class and the least length of the first part.
    fn first_run(&self) -> (Class, usize) {
        match self.parts[0] {
            Part::Run { class, min, .. } => (class, min),
            Part::Text(_) => (0, 0),
        }
    }

    /// Whether the text after the anchor can be the rest of the token, judged by at most twelve characters.
    pub(super) fn may_follow(&self, text: &[u8], body: usize) -> bool {
        let (class, min) = self.first_run();
        let near = min.min(12);
        text.get(body..body + near)
            .is_some_and(|near| near.iter().all(|&byte| CLASSES[usize::from(byte)] & class == class))
    }

    /// The end of the token whose anchor ends at `body`. On failure, the offset up to which no other token of
    /// this format can begin.
    pub(super) fn end(&self, text: &[u8], body: usize) -> Result<usize, usize> {
        let mut at = body;
        let mut first_end = None;
        for part in &self.parts {
            match *part {
                Part::Run { class, min, max } => {
                    let limit = text.len().min(at.saturating_add(max).saturating_add(1));
                    let end = run(text, at, limit, class);
                    first_end = first_end.or(Some(end));
                    let length = end - at;
                    if length < min {
                        return Err(first_end.unwrap_or(end));
                    }
                    // One byte beyond `max` was scanned: in the middle it may belong to the next part; after
                    // the last part it makes the token too long, which is checked below.
                    at = end.min(at + max);
                }
                Part::Text(expected) => {
                    if !text[at..].starts_with(expected) {
                        return Err(first_end.unwrap_or(at));
                    }
                    at += expected.len();
                }
            }
        }
        if let Some(Part::Run { class, .. }) = self.parts.last()
            && text.get(at).is_some_and(|&byte| CLASSES[usize::from(byte)] & class != 0)
        {
            return Err(first_end.unwrap_or(at));
        }
        // A full stop after a token ends the sentence.
        at -= text[body..at].iter().rev().take_while(|&&byte| byte == b'.').count();
        if self.is_varied(&text[body..at]) { Ok(at) } else { Err(first_end.unwrap_or(at)) }
    }

    /// How many characters must follow the anchor where it does not begin a word; `None` if it must begin
    /// one.
    pub(super) fn glued(&self) -> Option<usize> {
        self.glued
    }

    fn is_varied(&self, body: &[u8]) -> bool {
        // `ghp_xxxxxxxxxxxx` stands for a token in documentation.
        let last = body.last().copied().unwrap_or(b'x');
        if body.iter().rev().take(12).all(|&byte| byte == last) {
            return false;
        }
        let has_digit = || body.iter().any(u8::is_ascii_digit);
        let is_mixed = || body.iter().any(u8::is_ascii_lowercase) && body.iter().any(u8::is_ascii_uppercase);
        let joins_words =
            matches!(self.parts.last(), Some(Part::Run { class, .. }) if class & JOINS_WORDS != 0);
        match self.variety {
            Variety::Digit => has_digit(),
            Variety::Mixed => has_digit() || is_mixed() && !(joins_words && is_words(body)),
            Variety::Any => has_digit() || !(joins_words && is_words(body)),
        }
    }
}

/// How much longer than its least length an example is, at most.
#[cfg(any(test, feature = "corpus"))]
const MAX_EXTRA: usize = 24;

#[cfg(any(test, feature = "corpus"))]
impl Format {
    /// A token of this format, made of random numbers below the argument. Its length varies as far as the pattern allows, and
    /// so do its characters: real tokens have hyphens and underscores where their alphabet does.
    pub(super) fn example(&self, mut below: impl FnMut(usize) -> usize) -> String {
        let mut token = self.anchor.to_vec();
        for part in &self.parts {
            match *part {
                Part::Text(text) => token.extend_from_slice(text),
                Part::Run { class, min, max } => {
                    let is_allowed = |byte: &u8| CLASSES[usize::from(*byte)] & class != 0;
                    let letters: Vec<u8> = (b'0'..=b'z')
                        .filter(|byte| byte.is_ascii_alphanumeric() && is_allowed(byte))
                        .collect();
                    let joints: Vec<u8> = b"_-".iter().copied().filter(is_allowed).collect();
                    let length = min + below((max - min).min(MAX_EXTRA) + 1);
                    for at in 0..length {
                        let is_joint = !joints.is_empty() && at > 0 && at + 1 < length && below(16) == 0;
                        let from = if is_joint { &joints } else { &letters };
                        token.push(from[below(from.len())]);
                    }
                }
            }
        }
        String::from_utf8(token).expect("anchors, literals and classes are ASCII")
    }
}

/// Whether a text consists of words, as identifiers and file names do: `from_the_environment`,
/// `Mode-Enabled`.
pub(super) fn is_words(text: &[u8]) -> bool {
    text.split(|&byte| !byte.is_ascii_alphanumeric()).all(|word| {
        let rest = word.get(1..).unwrap_or_default();
        rest.len() < 15
            && (rest.iter().all(u8::is_ascii_lowercase) || word.iter().all(u8::is_ascii_uppercase))
    })
}

fn run(text: &[u8], from: usize, limit: usize, class: Class) -> usize {
    text[from..limit]
        .iter()
        .position(|&byte| CLASSES[usize::from(byte)] & class == 0)
        .map_or(limit, |at| from + at)
}

/// Parses one word of a pattern; the syntax is in [`super::providers`].
fn part(word: &'static str) -> Part {
    if let Some(text) = word.strip_prefix('\'') {
        return Part::Text(text.as_bytes());
    }
    let (class, numbers) = word.split_at(1);
    let number = |digits: &str| {
        digits.parse().expect("the tables are constants, and a pattern has a number after its class")
    };
    let (min, max) = match (numbers.strip_suffix('+'), numbers.split_once('-')) {
        // Half, so that adding an offset can't overflow.
        (Some(min), _) => (number(min), usize::MAX / 2),
        (None, Some((min, max))) => (number(min), number(max)),
        (None, None) => (number(numbers), number(numbers)),
    };
    Part::Run { class: class_bit(class.as_bytes()[0]), min, max }
}

/// All formats, and an index to find them by.
pub(super) struct Formats {
    pub(super) all: Vec<Format>,
    /// For each mark and the two characters before it: one more than the index of the bucket with the anchors
    /// that contain them, or 0 for none.
    by_mark: [u16; 3 * 1024],
    buckets: Vec<Vec<(u16, u8)>>,
    /// Indices of the formats whose anchor has no mark; they are searched for as literals.
    pub(super) unmarked: Vec<u16>,
    /// Those of them that are too short to be searched for everywhere.
    pub(super) short: Vec<u16>,
}

pub(super) static FORMATS: LazyLock<Formats> = LazyLock::new(Formats::new);

impl Formats {
    fn new() -> Self {
        let all: Vec<Format> = providers::all()
            .flat_map(|provider| {
                provider
                    .formats
                    .iter()
                    .map(|(anchor, pattern)| Format::new(provider.rule.name, anchor, pattern))
            })
            .collect();
        let mut formats = Formats {
            all,
            by_mark: [0; 3 * 1024],
            buckets: Vec::new(),
            unmarked: Vec::new(),
            short: Vec::new(),
        };
        for index in 0..formats.all.len() {
            formats.enter(index);
        }
        // The longest anchor first, so that `sk_live_` is tried before `sk_`.
        for bucket in &mut formats.buckets {
            bucket.sort_by_key(|(index, _)| std::cmp::Reverse(formats.all[usize::from(*index)].anchor.len()));
        }
        formats
    }

    fn enter(&mut self, index: usize) {
        let anchor = self.all[index].anchor;
        let number = u16::try_from(index).expect("a few hundred formats fit in 16 bits");
        let mark = (2..anchor.len()).find(|&at| mark_number(anchor[at]).is_some());
        let Some((mark, slot)) = mark.and_then(|mark| Some((mark, slot(anchor, mark)?))) else {
            self.unmarked.push(number);
            if anchor.len() < 4 {
                self.short.push(number);
            }
            return;
        };
        if self.by_mark[slot] == 0 {
            self.buckets.push(Vec::new());
            self.by_mark[slot] =
                u16::try_from(self.buckets.len()).expect("a few hundred buckets fit in 16 bits");
        }
        let mark = u8::try_from(mark).expect("an anchor has far fewer than 256 bytes");
        self.buckets[usize::from(self.by_mark[slot]) - 1].push((number, mark));
    }

    /// The formats whose anchor may have its first mark at `mark`, each with the offset of the mark in the
    /// anchor.
    #[inline]
    pub(super) fn at_mark(&self, text: &[u8], mark: usize) -> &[(u16, u8)] {
        match slot(text, mark).map(|slot| self.by_mark[slot]) {
            None | Some(0) => &[],
            Some(bucket) => &self.buckets[usize::from(bucket) - 1],
        }
    }
}

/// A bit for each combination of a mark and the two characters before it that occurs in an anchor. This is
/// tested at every mark of every text, so it is small enough to stay in the cache, and computed at compile
/// time.
static MARKED: [u64; 3 * 16] = {
    let mut bits = [0; 3 * 16];
    let mut table = 0;
    while table < providers::TABLES.len() {
        let mut provider = 0;
        while provider < providers::TABLES[table].len() {
            let formats = providers::TABLES[table][provider].formats;
            let mut format = 0;
            while format < formats.len() {
                let anchor = formats[format].0.as_bytes();
                let mut mark = 2;
                while mark < anchor.len() && mark_number(anchor[mark]).is_none() {
                    mark += 1;
                }
                if mark < anchor.len()
                    && let Some(number) = mark_number(anchor[mark])
                {
                    let slot = slot_of(number, anchor[mark - 2], anchor[mark - 1]);
                    bits[slot / 64] |= 1 << (slot % 64);
                }
                format += 1;
            }
            provider += 1;
        }
        table += 1;
    }
    bits
};

/// Whether any anchor may have its first mark at `mark`.
#[inline]
pub(super) fn may_have_mark(text: &[u8], mark: usize) -> bool {
    slot(text, mark).is_some_and(|slot| MARKED[slot / 64] >> (slot % 64) & 1 == 1)
}

const fn slot_of(number: usize, first: u8, second: u8) -> usize {
    number << 10 | ((first & 31) as usize) << 5 | (second & 31) as usize
}

#[inline]
const fn mark_number(byte: u8) -> Option<usize> {
    match byte {
        b'_' => Some(0),
        b'-' => Some(1),
        b'.' => Some(2),
        _ => None,
    }
}

#[inline]
fn slot(text: &[u8], mark: usize) -> Option<usize> {
    let (&first, &second) = (text.get(mark.checked_sub(2)?)?, text.get(mark - 1)?);
    let number = mark_number(*text.get(mark)?)?;
    Some(slot_of(number, first, second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_found_by_a_mark_or_among_the_unmarked() {
        for (index, format) in FORMATS.all.iter().enumerate() {
            let index = u16::try_from(index).unwrap();
            let anchor = format.anchor;
            let by_mark = (0..anchor.len())
                .any(|mark| FORMATS.at_mark(anchor, mark).contains(&(index, u8::try_from(mark).unwrap())));
            assert!(by_mark == (0..anchor.len()).any(|mark| may_have_mark(anchor, mark)) || !by_mark);
            assert!(by_mark || FORMATS.unmarked.contains(&index), "{}", String::from_utf8_lossy(anchor));
        }
    }
}
