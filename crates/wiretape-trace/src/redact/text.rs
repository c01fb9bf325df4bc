//! The scanner: finds the places in a text that may hold a secret, and dispatches each to its check.
//!
//! Nearly every kind of secret has one of a few bytes in it or next to it that are rare elsewhere: the `_` of
//! `ghp_`, the `.` of a JWT, the `@` of a URL with a password, the `=` or `:` of an assignment. The text is
//! scanned for these [marks](Marks), and the few bytes around each decide whether a real check is worth it.
//! Only secrets that consist of letters (`AKIA`, `Bearer`) need a search of their own ([`LiteralSearch`]).
//!
//! To keep the total linear, no check scans an unbounded range without either matching it, which moves the
//! scan past it, or recording in the [`Memo`] up to where there is nothing to find.
//!
//! Checks for tokens, PEM blocks and key paths are here; names and their values are in `named`, formats
//! without a prefix in `special`, options in `command_line`.

use super::format::{self, FORMATS, is_words};
use super::keys::KeyRules;
use super::marker;
use super::rules;
use super::{command_line, documents, named, special, views};
use crate::json::Text;
use aho_corasick::{AhoCorasick, MatchKind, Span, packed};
use memchr::memmem;
use std::sync::LazyLock;

/// The longest name that is considered, in bytes. Bounds how far a check looks back from a separator.
pub(super) const MAX_NAME: usize = 96;
/// The longest word that may directly precede a token, as in `nullghp_…`. A longer run of such characters is
/// Base64, which may contain any prefix.
const MAX_WORD: usize = 24;
/// The most backslashes before a quote: seven levels of strings within strings (2⁷ − 1).
pub(super) const MAX_ESCAPES: usize = 127;

/// A candidate: a place that may hold a secret, and the check that decides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    /// Byte offset of the mark or literal that was found.
    pub(super) at: usize,
    /// Its length in bytes; 1 for a mark.
    pub(super) len: usize,
    check: Check,
}

/// The check that decides whether a candidate is a secret.
#[derive(Debug, Clone, Copy)]
pub(super) enum Check {
    /// One of the formats in the bucket of this mark.
    Tokens,
    /// A token of the given format begins here.
    Token(u16),
    /// The dot between header and payload of a JWT.
    Jwt,
    Pem,
    /// The end of an authentication scheme that credentials follow.
    Scheme(&'static str),
    AtSign,
    KeyPath,
    /// A separator with this name before it and a value after it.
    Named(named::Name),
    /// A separator with the name of a pair after it: `name: DB_PASSWORD`.
    Pair,
    /// The start of a long option (`--password`).
    Option,
    /// The start of a short option (`-p`).
    Flag,
    /// The end of the word `password` or `IDENTIFIED BY`, which a value may follow.
    Word,
    /// The end of another word for a secret in a sentence: `the token is …`.
    Sentence,
    /// The values of an `INSERT` follow: found by [`super::documents`].
    Insert,
    /// A function call that may have a name and its value as arguments.
    Call,
    /// The start of what may be the Base64 of a text.
    Base64,
    /// An escape that [`super::views`] decodes.
    Encoded,
    /// The end of an XML start tag, with the content after it.
    Element,
    /// One of the formats that [`super::special`] checks.
    Special(special::Form),
}

impl Hit {
    /// Whether this is the beginning of a provider's token that Base64 and random text don't contain by chance.
    pub(super) fn is_distinctive(self) -> bool {
        match self.check {
            // These anchors have a mark in them.
            Check::Tokens => true,
            Check::Token(index) => {
                let anchor = FORMATS.all[usize::from(index)].anchor;
                anchor.len() >= 4 && !views::begins_base64_of_text(anchor)
            }
            _ => false,
        }
    }
}

impl Check {
    /// A hit of this check at a single mark.
    pub(super) fn at(self, mark: usize) -> Hit {
        Hit { at: mark, len: 1, check: self }
    }
}

pub(super) fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(super) fn url_safe(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

pub(super) fn dotted(byte: u8) -> bool {
    url_safe(byte) || byte == b'.'
}

/// Literals without a mark in them, in addition to the anchors of formats. The first letter of a word is left
/// out so that `Bearer` and `bearer` take one literal: there is room for few (see [`LiteralSearch`]).
const WORDS: &[(&str, Check)] = &[
    ("earer ", Check::Scheme(rules::BEARER)),
    ("EARER ", Check::Scheme(rules::BEARER)),
    ("earer\t", Check::Scheme(rules::BEARER)),
    ("asic ", Check::Scheme(rules::BASIC)),
    ("ASIC ", Check::Scheme(rules::BASIC)),
    ("asic\t", Check::Scheme(rules::BASIC)),
    ("assword ", Check::Word),
    ("ASSWORD ", Check::Word),
    ("oken ", Check::Sentence),
    ("ecret ", Check::Sentence),
    (" key ", Check::Sentence),
    ("entified by ", Check::Word),
    ("ENTIFIED BY ", Check::Word),
    ("requirepass ", Check::Word),
    ("define(", Check::Call),
    ("etenv(", Check::Call),
    ("utenv(", Check::Call),
    (".put(", Check::Call),
    (".set(", Check::Call),
    ("Property(", Check::Call),
    ("VALUES", Check::Insert),
    ("alues (", Check::Insert),
    ("AZDO", special::AZURE_KEY),
    ("JQQJ99", special::AZURE_KEY),
    ("AzFu", special::AZURE_KEY),
    ("AzSe", special::AZURE_KEY),
    ("+ASt", special::AZURE_KEY),
    ("+ASb", special::AZURE_KEY),
    ("+AEh", special::AZURE_KEY),
    ("+ACR", special::AZURE_KEY),
    ("ACDb", special::AZURE_KEY),
    ("FFFFNRAL", Check::Special(special::Form::NewRelic)),
];

/// The search for secrets that have no mark. The literals are split between two searchers, because beyond
/// about sixty literals, or with literals of three letters, the SIMD search becomes several times slower.
#[derive(Debug)]
pub(super) struct LiteralSearch {
    searchers: [Searcher; 2],
}

#[derive(Debug)]
struct Searcher {
    literals: Literals,
    checks: Vec<Check>,
    /// How many leading bytes of each literal are context and not part of the hit.
    lead: usize,
}

/// A few dozen literals at most, searched for all at once.
#[derive(Debug)]
pub(super) enum Literals {
    /// SIMD; only if the processor has it.
    Packed(Box<packed::Searcher>),
    Automaton(AhoCorasick),
}

impl Literals {
    pub(super) fn new<L: AsRef<[u8]>>(literals: &[L]) -> Self {
        let mut builder = packed::Config::new().match_kind(packed::MatchKind::LeftmostLongest).builder();
        match builder.extend(literals).build() {
            Some(searcher) => Literals::Packed(Box::new(searcher)),
            // Teddy takes 64 literals at most (`literals_are_searched_with_simd`); other processors have no Teddy.
            None => Literals::Automaton(
                AhoCorasick::builder()
                    .match_kind(MatchKind::LeftmostLongest)
                    .build(literals)
                    .expect("a few dozen short literals are far below the size limit of an automaton"),
            ),
        }
    }

    /// The first match at or after `from`.
    #[inline]
    pub(super) fn find(&self, text: &[u8], from: usize) -> Option<aho_corasick::Match> {
        match self {
            Literals::Packed(searcher) => searcher.find_in(text, Span { start: from, end: text.len() }),
            Literals::Automaton(automaton) => automaton.find(aho_corasick::Input::new(text).range(from..)),
        }
    }
}

impl LiteralSearch {
    pub(super) fn new() -> Self {
        let anchors = FORMATS
            .unmarked
            .iter()
            .map(|&index| (FORMATS.all[usize::from(index)].anchor.to_vec(), Check::Token(index)));
        let (long, short): (Vec<_>, Vec<_>) = anchors.partition(|(anchor, _)| anchor.len() > 3);
        let words = WORDS.iter().map(|(literal, check)| (literal.as_bytes().to_vec(), *check));
        // Three letters occur everywhere in Base64; with a delimiter before them they are rare.
        let twilio =
            b"0123456789abcdef".iter().map(|&digit| (vec![b' ', b'S', b'K', digit], special::TWILIO));
        let short = short.into_iter().flat_map(|(anchor, check)| {
            let before = if anchor == b"AQE" { &b" "[..] } else { b" \n\"'`(/>*" };
            before.iter().map(|&byte| ([&[byte][..], &anchor].concat(), check)).collect::<Vec<_>>()
        });
        LiteralSearch {
            searchers: [
                Searcher::new(long.into_iter().chain(words).collect(), 0),
                Searcher::new(short.chain(twilio).collect(), 1),
            ],
        }
    }

    /// Whether the text contains any of the literals.
    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        self.searchers.iter().any(|searcher| searcher.find(text, 0).is_some())
    }
}

impl Searcher {
    fn new(literals: Vec<(Vec<u8>, Check)>, lead: usize) -> Self {
        let (literals, checks): (Vec<Vec<u8>>, Vec<Check>) = literals.into_iter().unzip();
        Searcher { literals: Literals::new(&literals), checks, lead }
    }

    /// The first candidate at or after `from`.
    fn find(&self, text: &[u8], mut from: usize) -> Option<Hit> {
        loop {
            let found = self.literals.find(text, from)?;
            let check = self.checks[found.pattern().as_usize()];
            let hit = Hit { at: found.start() + self.lead, len: found.len() - self.lead, check };
            if may_be_secret(text, hit) {
                return Some(hit);
            }
            from = after_rejected(text, hit).max(found.start() + 1);
        }
    }
}

/// Where the search goes on after a literal that is none of a token's. In a long run of word characters, no token begins, so
/// the search continues near its end: starting it again at each `AKIA` of a megabyte of them would take thirty times as
/// long as prose (`cargo xtask bench --only redaction`).
fn after_rejected(text: &[u8], hit: Hit) -> usize {
    if !matches!(hit.check, Check::Token(_)) || ends_word(text, hit.at) {
        return 0;
    }
    // Literals that are not tokens may begin in the run and end after it.
    run(text, hit.at, word).saturating_sub(MAX_WORD)
}

/// The literals in a text, in order. The next hit of each searcher is cached, so that neither reads anything
/// twice.
pub(super) struct LiteralHits<'t> {
    text: &'t [u8],
    literals: &'t LiteralSearch,
    next: [Option<Hit>; 2],
}

impl<'t> LiteralHits<'t> {
    pub(super) fn new(text: &'t [u8], literals: &'t LiteralSearch) -> Self {
        let next = std::array::from_fn(|at| literals.searchers[at].find(text, 0));
        LiteralHits { text, literals, next }
    }

    /// The next hit of either searcher, without advancing.
    pub(super) fn first(&self) -> Option<Hit> {
        self.next.iter().flatten().min_by_key(|hit| hit.at).copied()
    }

    /// Skips the hits that begin before `at`.
    fn skip_to(&mut self, at: usize) {
        for (next, searcher) in self.next.iter_mut().zip(&self.literals.searchers) {
            if next.is_some_and(|hit| hit.at < at) {
                *next = searcher.find(self.text, at.saturating_sub(searcher.lead));
            }
        }
    }
}

/// The literals in a whole JSON value, searched for once: a search has a fixed cost, and most strings are
/// short.
pub(super) struct LiteralsAhead<'t>(Option<LiteralHits<'t>>);

impl<'t> LiteralsAhead<'t> {
    pub(super) fn new(text: &'t [u8], literals: &'t LiteralSearch) -> Self {
        LiteralsAhead(Some(LiteralHits::new(text, literals)))
    }

    /// Whether a range contains a literal. Ranges must be queried in ascending order.
    pub(super) fn any_in(&mut self, start: usize, end: usize) -> bool {
        let Some(hits) = &mut self.0 else { return false };
        hits.skip_to(start);
        match hits.first() {
            // A hit after `end` stays cached for the next range.
            Some(hit) => hit.at < end,
            None => {
                // No more literals until the end: later queries return at once.
                self.0 = None;
                false
            }
        }
    }
}

/// Classifies a `=` or `:`: after the name of a secret, before the name of a pair, or before a token.
#[inline]
fn separator(text: &[u8], mark: usize, keys: &KeyRules) -> Option<Hit> {
    if let Some(end) = named::name_end(text, mark) {
        if named::may_be_secret(text, mark, end, keys)
            && let Some(name) = named::secret_name(text, mark, keys, 0)
        {
            return Some(Check::Named(name).at(mark));
        }
        if let Some(found) = named::pair_name(text, mark, end, keys) {
            return Some(found);
        }
    }
    short_value(text, mark)
}

/// A token with a short anchor, or Base64, after a separator and its blanks and quotes.
#[inline]
fn short_value(text: &[u8], mark: usize) -> Option<Hit> {
    let mut at = mark + 1;
    // Most values are too short to be a token; this skips the loop for them.
    if text.len() < mark + 17 {
        return None;
    }
    while at < mark + 8 && text.get(at).is_some_and(|byte| matches!(byte, b' ' | b'"' | b'\'' | b'\\')) {
        at += 1;
    }
    if views::may_be_base64(&text[at..]) {
        return Some(Hit { at, len: 1, check: Check::Base64 });
    }
    short_token(text, at)
}

/// A token at `at` whose anchor is too short to be searched for everywhere. Only the beginnings of values are
/// checked.
#[inline]
pub(super) fn short_token(text: &[u8], at: usize) -> Option<Hit> {
    match text.get(at..at + 2)? {
        b"SK" | b"SC" | b"oy" | b"ci" | b"BS" | b"EA" | b"AQ" => short_token_at(text, at),
        _ => None,
    }
}

fn short_token_at(text: &[u8], at: usize) -> Option<Hit> {
    if text[at..].starts_with(b"SK") {
        return Some(Hit { at, len: 2, check: special::TWILIO });
    }
    FORMATS.short.iter().find_map(|&index| {
        let anchor = FORMATS.all[usize::from(index)].anchor;
        let hit = Hit { at, len: anchor.len(), check: Check::Token(index) };
        (text[at..].starts_with(anchor) && may_be_secret(text, hit)).then_some(hit)
    })
}

/// A cheap test around a literal, which Base64 contains by chance: whether the text continues as the check
/// requires. In escaped text a backslash may hide anything.
fn may_be_secret(text: &[u8], hit: Hit) -> bool {
    let body = hit.at + hit.len;
    match hit.check {
        Check::Token(index) => {
            let format = &FORMATS.all[usize::from(index)];
            let escaped = || memchr::memchr(b'\\', &text[body..text.len().min(body + 12)]).is_some();
            (format.may_follow(text, body) || escaped())
                && (begins_word(text, hit.at) || format.glued().is_some() && ends_word(text, hit.at))
        }
        Check::Sentence => may_state_value(&text[body..]),
        Check::Scheme(rule) => {
            let value = &text[body..text.len().min(body + 64)];
            scheme(text, hit, rule).is_some() || memchr::memchr(b'\\', value).is_some()
        }
        // What follows the others can't be told from prose by a few bytes.
        _ => true,
    }
}

/// Whether a value may follow in a sentence: a word with a digit, after a verb perhaps. "The token was read" ends here, and
/// with it most messages of prose (`cargo xtask bench --only stdio`, the row "1 MiB each way, prose"). Escaped text only makes
/// words longer.
fn may_state_value(text: &[u8]) -> bool {
    let start = named::stated_verb(text).map_or(0, <[u8]>::len);
    let value = &text[start..text.len().min(start + named::MAX_VALUE)];
    let value = &value[..memchr::memchr(b' ', value).unwrap_or(value.len())];
    let is_redacted =
        || value.starts_with(marker::Marker::PREFIX_COLON) && marker::is_redacted_already(value);
    has_digit(value) && !is_redacted()
}

/// An iterator over the marks in a text: the bytes that occur in or next to secrets.
#[derive(Debug)]
struct Marks<'t> {
    text: &'t [u8],
    at: usize,
    /// The next mark of each group, cached: `memchr` searches for three bytes at a time, so twelve marks take
    /// four searches.
    joint: usize,
    separator: usize,
    rare: usize,
    bracket: usize,
    /// Offset after the last at sign: how far back the next one has to search for its URL.
    after_at_sign: usize,
    /// The format that a check has ruled out last, and up to where.
    dead_end: (u16, usize),
    /// Set by the first escape of [`super::views`]. One is enough to have the whole text decoded, so the others are skipped.
    has_escape: bool,
}

/// The marks. Rare enough in prose and Base64 to skip most of the text, and in or next to nearly every
/// secret.
static IS_MARK: [bool; 256] = table_of(b"_-.=:@~!$>%&");

/// The marks that don't begin an escape.
static IS_OTHER_MARK: [bool; 256] = table_of(b"_-.=:@~!$>");

const fn table_of(mut marks: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    while let [mark, rest @ ..] = marks {
        table[*mark as usize] = true;
        marks = rest;
    }
    table
}

impl<'t> Marks<'t> {
    /// How many bytes are tested one by one before a SIMD search starts: where marks are dense, as in JSON, a
    /// search costs more than it saves.
    const NEAR: usize = 24;

    fn new(text: &'t [u8]) -> Self {
        Marks {
            text,
            at: 0,
            joint: 0,
            separator: 0,
            rare: 0,
            bracket: 0,
            after_at_sign: 0,
            dead_end: (0, 0),
            has_escape: false,
        }
    }

    /// Continues at `at`; never moves backwards.
    fn skip_to(&mut self, at: usize) {
        self.at = self.at.max(at);
    }

    /// Searches for another escape, if the one that was found is not to be checked.
    fn search_escape(&mut self) {
        self.has_escape = false;
        self.bracket = 0;
    }

    fn far(&mut self) -> Option<usize> {
        let (text, from) = (self.text, self.at);
        let found = |at: Option<usize>| at.map_or(text.len(), |at| from + at);
        // A cached position that is still ahead is reused: each group is searched once from mark to mark, so
        // all four searches together read the text four times at most.
        if self.joint < from {
            self.joint = found(memchr::memchr3(b'_', b'-', b'.', &text[from..]));
        }
        if self.separator < from {
            self.separator = found(memchr::memchr3(b'=', b':', b'@', &text[from..]));
        }
        if self.rare < from {
            self.rare = found(memchr::memchr3(b'~', b'!', b'$', &text[from..]));
        }
        if self.bracket < from {
            self.bracket = found(if self.has_escape {
                memchr::memchr(b'>', &text[from..])
            } else {
                memchr::memchr3(b'>', b'%', b'&', &text[from..])
            });
        }
        let mark = self.joint.min(self.separator).min(self.rare).min(self.bracket);
        self.at = text.len().min(mark + 1);
        (mark < text.len()).then_some(mark)
    }
}

impl Marks<'_> {
    #[inline]
    fn next(&mut self) -> Option<usize> {
        let near = self.text.len().min(self.at + Self::NEAR);
        let marks = if self.has_escape { &IS_OTHER_MARK } else { &IS_MARK };
        while self.at < near {
            let mark = self.at;
            self.at += 1;
            if marks[usize::from(self.text[mark])] {
                return Some(mark);
            }
        }
        if self.at == self.text.len() { None } else { self.far() }
    }

    /// The next mark that may belong to a secret.
    fn next_candidate(&mut self, keys: &KeyRules) -> Option<Hit> {
        while let Some(mark) = self.next() {
            let found = match self.text[mark] {
                b':' => special::colon(self.text, mark).or_else(|| separator(self.text, mark, keys)),
                b'=' => separator(self.text, mark, keys),
                b'@' => self.at_sign(mark),
                b'_' => underscore(self.text, mark, self.dead_end),
                b'-' => hyphen(self.text, mark, self.dead_end, keys),
                b'.' => dot(self.text, mark, self.dead_end),
                b'>' => named::may_be_element(self.text, mark, keys).then_some(Check::Element.at(mark)),
                b'~' | b'!' | b'$' => special::rare(self.text, mark),
                _ if self.has_escape => None,
                _ => {
                    self.has_escape = views::is_encoded_at(self.text, mark);
                    self.has_escape.then_some(Check::Encoded.at(mark))
                }
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// An at sign belongs to a URL or an address only if a slash or a colon precedes it in its word. If that is
    /// before the previous at sign, the previous one was the candidate.
    fn at_sign(&mut self, mark: usize) -> Option<Hit> {
        let since = std::mem::replace(&mut self.after_at_sign, mark + 1);
        let lead = &self.text[since..mark];
        // The byte after the run of backslashes: in text quoted twice, an escape begins with two of them.
        let mut escaped = b'@';
        let mut ends = |byte: u8| match byte {
            // `\u20ac` is a letter, and may be part of a password; the other escapes are blanks, quotes and slashes.
            b'\\' => escaped != b'u',
            byte => {
                escaped = byte;
                byte == b':' || !special::is_authority(byte)
            }
        };
        let last = lead.iter().rev().copied().find(|&byte| ends(byte))?;
        matches!(last, b'/' | b':').then(|| Check::AtSign.at(mark))
    }
}

/// All candidates of a text, in order: marks and literals merged.
pub(super) struct Hits<'t> {
    keys: &'t KeyRules,
    marks: Marks<'t>,
    marked: Option<Hit>,
    literals: Option<LiteralHits<'t>>,
    /// A short token at the very beginning, which no separator precedes.
    first: Option<Hit>,
}

impl<'t> Hits<'t> {
    /// The candidates in `text`. Literals are searched for only if `literals` is given.
    pub(super) fn new(text: &'t [u8], keys: &'t KeyRules, literals: Option<&'t LiteralSearch>) -> Self {
        let mut hits = Hits {
            keys,
            marks: Marks::new(text),
            marked: None,
            literals: literals.map(|literals| LiteralHits::new(text, literals)),
            first: short_token(text, 0),
        };
        hits.advance_marks();
        hits
    }

    /// Skips the candidates before `at`.
    pub(super) fn skip_to(&mut self, at: usize) {
        self.marks.skip_to(at);
        if let Some(hit) = self.marked
            && hit.at + hit.len <= at
        {
            if matches!(hit.check, Check::Encoded) {
                self.marks.search_escape();
            }
            self.advance_marks();
        }
        if let Some(literals) = &mut self.literals {
            literals.skip_to(at);
        }
    }

    /// Skips the beginnings of a format's tokens up to an offset, because a check has read them all. Without this, every `sk-`
    /// of a text of them is a candidate (`cargo xtask bench --only redaction`).
    #[inline]
    pub(super) fn skip_dead_end(&mut self, dead_end: (u16, usize)) {
        self.marks.dead_end = dead_end;
    }

    fn advance_marks(&mut self) {
        self.marked = self.marks.next_candidate(self.keys);
    }
}

impl Iterator for Hits<'_> {
    type Item = Hit;

    fn next(&mut self) -> Option<Hit> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let literal = self.literals.as_ref().and_then(LiteralHits::first);
        match (self.marked, literal) {
            (marked, Some(hit)) if marked.is_none_or(|marked| hit.at < marked.at) => {
                if let Some(literals) = &mut self.literals {
                    literals.skip_to(hit.at + 1);
                }
                Some(hit)
            }
            (Some(hit), _) => {
                self.advance_marks();
                Some(hit)
            }
            (None, _) => None,
        }
    }
}

/// The beginning of the escapes of ASCII characters.
static LETTER_ESCAPE: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"\\u00"));

/// Whether a raw JSON string may contain a secret, apart from literals. Works on the escaped text, because
/// names and marks look the same at any depth of escaping.
pub(super) fn is_suspicious(string: Text<'_>, keys: &KeyRules) -> bool {
    candidate(string.raw, keys).is_some()
        || short_token(string.raw, 0).is_some()
        // `\u003d` hides an equals sign from the scan for marks.
        || string.escaped && LETTER_ESCAPE.find(string.raw).is_some()
        || string.escaped && documents::may_be_document(string.raw, keys)
}

/// The first mark in the text that may belong to a secret. Names of pairs (`name: DB_PASSWORD`) count only if there may also
/// be a value, and names whose value is a marker do not count.
pub(super) fn candidate(text: &[u8], keys: &KeyRules) -> Option<Hit> {
    let mut marks = Marks::new(text);
    let mut has_values = None;
    while let Some(hit) = marks.next_candidate(keys) {
        let may_be_secret = match hit.check {
            Check::Pair => {
                *has_values.get_or_insert_with(|| may_have_pair_values(text))
                    || short_value(text, hit.at).is_some()
            }
            Check::Named(_) => !marker::is_quoted(&text[hit.at + 1..]),
            _ => true,
        };
        if may_be_secret {
            return Some(hit);
        }
    }
    None
}

/// Parts of the names that the values of pairs have in text ([`named`]), also if it is JSON in a string ([`super::walk`]), and
/// of the end of an element that holds such a value.
static PAIR_VALUES: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let parts = ["alue", "ALUE", "val\\", "plain", "retString", "ontent", "</"];
    AhoCorasick::new(parts).expect("a few short literals are far below the size limit of an automaton")
});

/// Whether the text may contain the value of a pair of `name` and `value`.
fn may_have_pair_values(text: &[u8]) -> bool {
    PAIR_VALUES.is_match(text)
}

fn underscore(text: &[u8], mark: usize, dead_end: (u16, usize)) -> Option<Hit> {
    tokens(text, mark, dead_end).or_else(|| {
        // `id_rsa` and its siblings: default names of SSH keys.
        let is_identity = text[..mark].ends_with(b"id") && key_identity(&text[mark - 2..]);
        if is_identity { Some(Check::KeyPath.at(mark)) } else { special::underscore(text, mark) }
    })
}

fn hyphen(text: &[u8], mark: usize, dead_end: (u16, usize), keys: &KeyRules) -> Option<Hit> {
    const BEGIN: &[u8] = b"---- BEGIN ";
    if text.get(mark + 1) == Some(&b'-') {
        // Both the five dashes of PEM and the four of SSH2 keys, with a space.
        let dashes = &text[mark..];
        if dashes.starts_with(b"-----BEGIN ") || dashes.starts_with(BEGIN) {
            return Some(Hit { at: mark, len: BEGIN.len(), check: Check::Pem });
        }
        if begins_argument(text, mark) && command_line::takes_secret(text, mark, keys) {
            return Some(Check::Option.at(mark));
        }
    } else if begins_argument(text, mark) {
        if command_line::may_be_single_dash_option(text, mark) {
            return Some(Check::Option.at(mark));
        }
        if command_line::may_be_flag(text, mark) {
            return Some(Check::Flag.at(mark));
        }
    }
    tokens(text, mark, dead_end).or_else(|| special::hyphen(text, mark))
}

/// Whether an option of a command line may begin at `at`: after a blank, a quote or a list's delimiter. In escaped text, the
/// blank may be an escape (`\n`).
fn begins_argument(text: &[u8], at: usize) -> bool {
    match &text[..at] {
        [.., b'\\', b'n' | b'r' | b't'] | [] => true,
        [.., before] => {
            matches!(before, b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'[' | b',' | b'`')
        }
    }
}

fn dot(text: &[u8], mark: usize, dead_end: (u16, usize)) -> Option<Hit> {
    let hit = |check: Check| Some(check.at(mark));
    let (before, after) = (&text[..mark], &text[mark + 1..]);
    // File extensions of private keys and key stores.
    if let Some(b"pem" | b"p12" | b"pfx" | b"ppk") = after.get(..3) {
        return hit(Check::KeyPath);
    }
    if let Some(found) = tokens(text, mark, dead_end) {
        return Some(found);
    }
    let joins = before.last().is_some_and(|&b| url_safe(b))
        && after.first().is_some_and(|&b| url_safe(b) || b == b'.');
    if joins && jwt_header(before).is_some() {
        return hit(Check::Jwt);
    }
    special::dot(text, mark)
}

/// A hit if the mark belongs to the anchor of one of the formats, except for one that was ruled out up to an offset.
#[inline]
fn tokens(text: &[u8], mark: usize, (dead, until): (u16, usize)) -> Option<Hit> {
    // A bit test that rejects nearly every mark before the table of formats is touched.
    if !format::may_have_mark(text, mark) {
        return None;
    }
    FORMATS.at_mark(text, mark).iter().find_map(|&(index, place)| {
        let start = mark.checked_sub(usize::from(place))?;
        if index == dead && start < until {
            return None;
        }
        let anchor = FORMATS.all[usize::from(index)].anchor;
        let hit = Hit { at: start, len: anchor.len(), check: Check::Token(index) };
        // Anchors like `ser.` also end sentences.
        let may_be_token = text[start..].starts_with(anchor) && may_be_secret(text, hit);
        may_be_token.then_some(Hit { check: Check::Tokens, ..hit })
    })
}

/// Whether a provider's token begins at `start`.
pub(super) fn is_token_at(text: &[u8], start: usize) -> bool {
    let is_token = |index: u16| {
        let format = &FORMATS.all[usize::from(index)];
        text[start..].starts_with(format.anchor) && format.end(text, start + format.anchor.len()).is_ok()
    };
    let end = text.len().min(start + MAX_WORD);
    let mut marked = (start + 2..end).flat_map(|mark| {
        FORMATS.at_mark(text, mark).iter().filter(move |(_, place)| start + usize::from(*place) == mark)
    });
    marked.any(|&(index, _)| is_token(index)) || FORMATS.unmarked.iter().any(|&index| is_token(index))
}

/// The start of a JWT header that ends with `text`. Dots delimit the search, so no byte is read for two of
/// them.
fn jwt_header(text: &[u8]) -> Option<usize> {
    let start = text.len() - text.iter().rev().take_while(|&&byte| url_safe(byte)).count();
    // In escaped text, the header may directly follow the letter of an escape (`\n`).
    let start = if text[..start].ends_with(b"\\") { start + 1 } else { start };
    // Base64 of `{"` and of `{` with a newline.
    (text.len() >= start + 10 && matches!(text[start..].first_chunk(), Some(b"eyJ" | b"ewo")))
        .then_some(start)
}

/// What earlier checks of the same text have established. This is what keeps the scan linear: a range that a
/// check has rejected is not read by the same check again.
#[derive(Debug, Default)]
pub(super) struct Memo {
    /// Where the last match ended. Nothing before that may match again.
    pub(super) floor: usize,
    /// For each format, up to where no token of it can begin. Only long ranges are recorded.
    tokens: Vec<(u16, usize)>,
    /// The one that was recorded last.
    pub(super) dead_end: (u16, usize),
    /// Up to where there is no key path; `authority`: up to where there is no URL with a password.
    path: usize,
    pub(super) authority: usize,
    /// Up to where no unquoted value is a secret.
    pub(super) value: usize,
    /// Up to where no value fills the rest of its line.
    pub(super) own_line: usize,
    /// Up to where no header's value has to be searched for.
    pub(super) line: usize,
    /// Set if no PEM block ends in the rest of the text, so that many `BEGIN`s do not search for it many
    /// times.
    no_pem_end: bool,
    /// Offsets of `VALUES`, for [`super::documents`].
    pub(super) inserts: Vec<usize>,
    /// Offsets where the Base64 of a text may begin.
    pub(super) base64: Vec<usize>,
    /// Set if the text contains an escape of [`super::views`].
    pub(super) is_encoded: bool,
    /// Set if the text may contain a Kubernetes secret.
    pub(super) has_kubernetes: bool,
    /// The commands of the line that was looked up last.
    pub(super) command: command_line::LineCommands,
}

impl Memo {
    /// In bytes. Shorter ranges are scanned again, which costs less than recording them.
    const LONG: usize = 64;

    fn may_begin(&self, format: u16, at: usize) -> bool {
        self.tokens.iter().all(|&(noted, until)| noted != format || at >= until)
    }

    fn record_dead_end(&mut self, format: u16, from: usize, until: usize) {
        if until < from + Self::LONG {
            return;
        }
        self.dead_end = (format, until);
        match self.tokens.iter_mut().find(|(noted, _)| *noted == format) {
            Some((_, noted)) => *noted = (*noted).max(until),
            None => self.tokens.push((format, until)),
        }
    }
}

/// A secret in a text, and the rule that matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SecretMatch {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) rule: &'static str,
}

/// Runs the check of a hit. Some checks only record in the memo what has to be scanned later.
pub(super) fn check(text: &[u8], hit: Hit, keys: &KeyRules, memo: &mut Memo) -> Option<SecretMatch> {
    let found = match hit.check {
        Check::Tokens => any_token(text, hit, memo),
        Check::Token(format) => token(text, hit.at, format, memo),
        Check::Jwt => jwt(text, hit),
        Check::Pem => pem(text, hit, memo),
        Check::Scheme(rule) => scheme(text, hit, rule),
        Check::AtSign => special::at_sign(text, hit.at, memo),
        Check::KeyPath => key_path(text, hit, memo),
        Check::Named(name) => named::named(text, hit.at, name, keys, memo),
        Check::Pair => named::pair(text, hit.at, keys),
        Check::Option => command_line::option(text, hit.at, keys),
        Check::Flag => command_line::flag(text, hit.at, memo),
        Check::Word => named::word_and_value(text, hit).map(|found| by_format(text, found, memo)),
        Check::Element => named::element(text, hit.at, keys),
        Check::Sentence => named::sentence_value(text, hit, keys).map(|found| by_format(text, found, memo)),
        Check::Call => named::call(text, hit.at + hit.len, keys),
        Check::Base64 => {
            memo.base64.push(hit.at);
            None
        }
        Check::Encoded => {
            memo.is_encoded = true;
            None
        }
        Check::Insert => {
            memo.inserts.push(hit.at);
            None
        }
        Check::Special(special::Form::Kubernetes) => {
            memo.has_kubernetes = true;
            None
        }
        Check::Special(form) => special::check(text, hit, form),
    };
    // Markers are not redacted again. A value after a name is judged as a whole, because older versions
    // redacted parts of such values.
    found.filter(|found| {
        let secret = &text[found.start..found.end.max(found.start)];
        let is_redacted = match hit.check {
            Check::Named(_) => marker::is_redacted_already(secret),
            _ => marker::is_in(secret),
        };
        !secret.is_empty() && found.end >= memo.floor && !is_redacted
    })
}

/// The end of the run of allowed bytes from `from`.
pub(super) fn run(text: &[u8], from: usize, allowed: impl Fn(u8) -> bool) -> usize {
    text[from..].iter().position(|&byte| !allowed(byte)).map_or(text.len(), |at| from + at)
}

/// Whether a word begins at `at`. The letter of an escape does not count as part of a word: in text that
/// quotes text, `\n` ends a line.
pub(super) fn begins_word(text: &[u8], at: usize) -> bool {
    match &text[..at] {
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., b'\\', b'u', a, b, c, d] if [a, b, c, d].into_iter().all(u8::is_ascii_hexdigit) => true,
        [.., before] => !word(*before),
        [] => true,
    }
}

/// Whether what precedes `at` is a word, and not a long run such as Base64, which may contain anything. The letters of an
/// escape before the word do not count: the text is also scanned unescaped.
fn ends_word(text: &[u8], at: usize) -> bool {
    const UNICODE_ESCAPE: usize = "u20ac".len();
    let bytes = text[..at].iter().rev().take(MAX_WORD + UNICODE_ESCAPE + 1);
    let length = bytes.take_while(|&&byte| word(byte)).count();
    if length <= MAX_WORD {
        return true;
    }
    let (before, run) = text[..at].split_at(at - length);
    let escape = match run {
        _ if !before.ends_with(b"\\") => 0,
        [b'n' | b'r' | b't' | b'b' | b'f', ..] => 1,
        [b'u', code @ ..] if code.iter().take(4).all(u8::is_ascii_hexdigit) => UNICODE_ESCAPE,
        _ => 0,
    };
    length - escape <= MAX_WORD
}

pub(super) fn has_digit(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_digit)
}

pub(super) fn has_letter(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_alphabetic)
}

/// The token at a mark, by the first format that matches.
fn any_token(text: &[u8], hit: Hit, memo: &mut Memo) -> Option<SecretMatch> {
    // Formats are filed under the first mark of their anchor that has two characters before it.
    let mark = (hit.at + 2..hit.at + hit.len).find(|&at| !FORMATS.at_mark(text, at).is_empty())?;
    FORMATS.at_mark(text, mark).iter().find_map(|&(index, place)| {
        let start = mark.checked_sub(usize::from(place))?;
        let is_there = text[start..].starts_with(FORMATS.all[usize::from(index)].anchor);
        if is_there { token(text, start, index, memo) } else { None }
    })
}

/// Replaces the rule of a value given in a sentence by that of its format, if it has a known one: in "your
/// token is ghp_…", `github` says more than `token`. Such values are rare, so all formats are tried.
fn by_format(text: &[u8], found: SecretMatch, memo: &mut Memo) -> SecretMatch {
    let value = &text[found.start..];
    let known = (0_u16..).zip(&FORMATS.all).find_map(|(index, format)| {
        let is_there = !format.anchor.is_empty() && value.starts_with(format.anchor);
        if is_there { token(text, found.start, index, memo) } else { None }
    });
    known.filter(|known| known.end >= found.end).unwrap_or(found)
}

fn token(text: &[u8], at: usize, index: u16, memo: &mut Memo) -> Option<SecretMatch> {
    let format = &FORMATS.all[usize::from(index)];
    // A prefix in the middle of a word is usually chance; then more of the token has to follow.
    let least = match format.glued() {
        _ if begins_word(text, at) => 0,
        Some(least) if ends_word(text, at) => least,
        _ => return None,
    };
    if !memo.may_begin(index, at) {
        return None;
    }
    let body = at + format.anchor.len();
    match format.end(text, body) {
        Ok(end) if end - body >= least => {
            let end = if format.rule == rules::AWS {
                special::aws_secret_end(text, end).unwrap_or(end)
            } else {
                end
            };
            Some(SecretMatch { start: at, end, rule: format.rule })
        }
        Ok(_) => None,
        Err(until) => {
            // A token that starts later in the same run is shorter and contains nothing more, so it fails as
            // well.
            memo.record_dead_end(index, at, until);
            None
        }
    }
}

/// Header, payload and signature (or the five parts of an encrypted one), joined with dots.
fn jwt(text: &[u8], hit: Hit) -> Option<SecretMatch> {
    let start = jwt_header(&text[..hit.at]).filter(|&start| begins_word(text, start))?;
    let payload_end = run(text, hit.at + 1, |byte| url_safe(byte) || byte == b'=');
    // In an encrypted token whose key was agreed on, the second part is empty (RFC 7516, section 4.5).
    let is_direct =
        payload_end == hit.at + 1 && text.get(payload_end + 1).is_some_and(|&byte| url_safe(byte));
    let is_jwt = (payload_end - hit.at > 4 || is_direct) && text.get(payload_end) == Some(&b'.');
    is_jwt.then(|| SecretMatch { start, end: run(text, payload_end, dotted), rule: rules::JWT })
}

/// Words in the labels of PEM blocks that hold nothing secret.
const PUBLIC: &[&str] = &[
    "CERTIFICATE",
    "PUBLIC",
    "CRL",
    "PARAMETERS",
    "SIGNATURE",
    "SIGNED",
    "MESSAGE",
    "REQUEST",
    "PKCS7",
    "CMS",
    "ENCRYPTED FILE",
];

/// Whether a PEM label is that of a private key. Unknown labels count as private.
pub(super) fn is_private(label: &[u8]) -> bool {
    let has = |word: &str| memmem::find(label, word.as_bytes()).is_some();
    has("PRIVATE") || !PUBLIC.iter().any(|word| has(word))
}

/// A PEM block, from `BEGIN` to the end of its `END` line. If that was cut off, up to the first byte that
/// can't be part of the block.
fn pem(text: &[u8], hit: Hit, memo: &mut Memo) -> Option<SecretMatch> {
    const END: &[u8] = b"END ";
    let label = memmem::find(&text[hit.at..], b"BEGIN ").map(|at| hit.at + at + 6)?;
    let body = pem_label_end(text, label).ok()?;
    if !is_private(&text[label..body]) {
        return None;
    }
    let end = if memo.no_pem_end { None } else { pem_end(&text[body..], END) };
    // Remembered, because each further `BEGIN` would search the rest of the text again.
    memo.no_pem_end = end.is_none();
    let end = match end {
        Some(at) => pem_label_end(text, body + at + END.len()).unwrap_or_else(|end| end),
        None => run(text, body, is_pem_body),
    };
    Some(SecretMatch { start: hit.at, end, rule: rules::PEM })
}

/// Offset of the first `END ` after dashes.
fn pem_end(text: &[u8], end: &[u8]) -> Option<usize> {
    memmem::find_iter(text, end).find(|&at| text[..at].ends_with(b"----") || text[..at].ends_with(b"---- "))
}

pub(super) fn is_pem_body(b: u8) -> bool {
    url_safe(b) || b.is_ascii_whitespace() || matches!(b, b'+' | b'/' | b'=' | b':' | b',' | b'\\')
}

/// The end of a PEM label and the dashes after it; as an error, the end of the label alone if there are no
/// dashes.
pub(super) fn pem_label_end(text: &[u8], start: usize) -> Result<usize, usize> {
    let window = &text[..text.len().min(start + 64)];
    let end = run(window, start, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_'));
    let dashes = run(window, end, |byte| byte == b'-');
    if dashes - end >= 4 { Ok(dashes.min(end + 5)) } else { Err(end) }
}

/// `Bearer` and `Basic` credentials; "Bearer authentication" and "Basic overview" are prose.
fn scheme(text: &[u8], hit: Hit, rule: &'static str) -> Option<SecretMatch> {
    let first = hit.at.checked_sub(1)?;
    if !matches!(text[first], b'b' | b'B') || !begins_word(text, first) {
        return None;
    }
    let start = run(text, hit.at + hit.len, |byte| matches!(byte, b' ' | b'\t'));
    let end = run(text, start, |b| url_safe(b) || matches!(b, b'.' | b'~' | b'+' | b'/' | b'=' | b'|'));
    let credentials = &text[start..end];
    // The parameters of a challenge (`Bearer realm="…"`, RFC 9110 section 11.6.1) are not credentials.
    let is_parameter = credentials.iter().position(|&b| b == b'=').is_some_and(|at| {
        let padding = credentials[at..].iter().all(|&b| b == b'=');
        !padding || matches!(text.get(end), Some(b'"' | b'\''))
    });
    let is_secret = if rule == rules::BASIC {
        credentials.len() >= 8 && !is_words(credentials)
    } else {
        !is_parameter && (credentials.len() >= 20 || credentials.len() >= 8 && has_digit(credentials))
    };
    is_secret.then_some(SecretMatch { start, end, rule })
}

/// The whole path around a hit, if it names a private key.
fn key_path(text: &[u8], hit: Hit, memo: &mut Memo) -> Option<SecretMatch> {
    if hit.at < memo.path {
        return None;
    }
    let is_path = |b: u8| url_safe(b) || matches!(b, b'.' | b'/' | b'\\' | b'~' | b':' | b'%' | b'+' | b'@');
    let before = &text[memo.floor.max(memo.path)..hit.at];
    let start = hit.at - before.iter().rev().take_while(|&&byte| is_path(byte)).count();
    let run_end = run(text, hit.at, is_path);
    let path = text[start..run_end].trim_ascii_end();
    let path = &path[..path.len() - path.iter().rev().take_while(|&&b| matches!(b, b'.' | b':')).count()];
    memo.path = run_end;
    is_key_path(path).then_some(SecretMatch { start, end: start + path.len(), rule: rules::KEY_PATH })
}

/// Words in the names of `.pem` files that are not private keys.
const CERTIFICATES: &[&str] = &["cert", "ca", "chain", "bundle", "root", "pub", "crt", "crl"];

fn is_key_path(path: &[u8]) -> bool {
    let is_separator = |byte: &u8| matches!(byte, b'/' | b'\\');
    let Some(separator) = path.iter().rposition(is_separator) else { return false };
    let name = &path[separator + 1..];
    let stem = name.strip_suffix(b".pem");
    let has = |word: &str| stem.is_some_and(|stem| memmem::find(stem, word.as_bytes()).is_some());
    let is_certificate = CERTIFICATES.iter().any(|word| has(word)) && !has("key");
    let is_store = [&b".pem"[..], b".p12", b".pfx", b".ppk"].iter().any(|ending| name.ends_with(ending));
    is_store && !is_certificate || key_identity(name) && !name.ends_with(b".pub")
}

fn key_identity(name: &[u8]) -> bool {
    [&b"id_rsa"[..], b"id_dsa", b"id_ecdsa", b"id_ed25519"].iter().any(|id| name.starts_with(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One literal too many, and every search falls back to the automaton, at a tenth of the speed.
    #[test]
    fn literals_are_searched_with_simd() {
        for searcher in &LiteralSearch::new().searchers {
            assert!(searcher.checks.len() <= 64, "{} literals", searcher.checks.len());
        }
    }
}
