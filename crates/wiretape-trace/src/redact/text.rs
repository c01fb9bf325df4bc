//! Secrets that are known by their looks, and names with values in text.
//!
//! Nearly every kind of secret has one of a few bytes in it or beside it that are rare elsewhere: the `_` of `ghp_`,
//! the `.` of a JWT, the `@` of a URL with a password, the `=` or `:` of an assignment. The text is searched for
//! these [marks](Marks), and the few bytes around each tell whether it is worth a real check. Only what is all
//! letters (`AKIA`, `Bearer`) needs a search of its own ([`Letters`]).
//!
//! To keep the whole linear, no check walks an unbounded stretch without either matching it, which moves on past
//! it, or noting in the [`Memo`] how far there is nothing to be found.

use super::format::{self, FORMATS, is_words};
use super::keys::KeyRules;
use super::marker;
use super::rules;
use super::{command_line, documents, named, special, views};
use crate::json::Text;
use aho_corasick::{AhoCorasick, MatchKind, Span, packed};
use memchr::memmem;

/// How far names are looked for: they end by then.
pub(super) const MAX_NAME: usize = 96;
/// The longest word that a token may be glued to.
const MAX_WORD: usize = 24;
/// How many backslashes may stand before a quote: seven levels of strings within strings.
pub(super) const MAX_ESCAPES: usize = 127;

/// A place that may be a secret's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    /// Where what was recognised begins.
    pub(super) at: usize,
    /// How long it is.
    pub(super) len: usize,
    check: Check,
}

/// What must stand around a place to make it a secret.
#[derive(Debug, Clone, Copy)]
pub(super) enum Check {
    /// One of the formats in the bucket of this mark.
    Tokens,
    /// A token of the given format begins here.
    Token(u16),
    /// Two parts of a JWT meet here.
    Jwt,
    Pem,
    /// Credentials follow the scheme that ends here.
    Scheme(&'static str),
    AtSign,
    KeyPath,
    /// A name stands before and its value behind.
    Named,
    /// The name of a pair stands behind: `name: DB_PASSWORD`.
    Pair,
    /// A long option begins here.
    Option,
    /// A short option begins here.
    Flag,
    /// The word `password` or `IDENTIFIED BY` ends here.
    Word,
    /// A word for a secret ends here, and its value may follow.
    Told,
    /// The values of an `INSERT` follow: found by [`super::documents`].
    Insert,
    /// A call that may have a name and its value as arguments.
    Call,
    /// Base64 of a text may begin here.
    Base64,
    /// Something is written differently from what it means: [`super::views`] decodes it.
    Encoded,
    /// The name of an XML element ends here, and its content follows.
    Element,
    /// One of the forms that have their own code.
    Special(special::Form),
}

impl Check {
    /// A hit that is its mark alone.
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

/// What is all letters and has no mark in it, beside the anchors of formats.
const WORDS: &[(&str, Check)] = &[
    ("earer ", Check::Scheme(rules::BEARER)),
    ("EARER ", Check::Scheme(rules::BEARER)),
    ("earer\t", Check::Scheme(rules::BEARER)),
    ("asic ", Check::Scheme(rules::BASIC)),
    ("ASIC ", Check::Scheme(rules::BASIC)),
    ("asic\t", Check::Scheme(rules::BASIC)),
    ("assword ", Check::Word),
    ("ASSWORD ", Check::Word),
    ("oken ", Check::Told),
    ("ecret ", Check::Told),
    (" key ", Check::Told),
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

/// A search for what has no mark. The literals are dealt to several searchers, because each is fast for a few dozen of
/// four letters and more only.
#[derive(Debug)]
pub(super) struct Letters {
    searchers: [Searcher; 2],
}

#[derive(Debug)]
struct Searcher {
    engine: Engine,
    checks: Vec<Check>,
    /// How many characters before what is meant belong to the literals.
    lead: usize,
}

#[derive(Debug)]
enum Engine {
    /// SIMD, where the processor has it.
    Packed(Box<packed::Searcher>),
    Automaton(AhoCorasick),
}

impl Letters {
    pub(super) fn new() -> Self {
        let anchors = FORMATS
            .unmarked
            .iter()
            .map(|&index| (FORMATS.all[usize::from(index)].anchor.to_vec(), Check::Token(index)));
        let (long, short): (Vec<_>, Vec<_>) = anchors.partition(|(anchor, _)| anchor.len() > 3);
        let words = WORDS.iter().map(|(literal, check)| (literal.as_bytes().to_vec(), *check));
        // Three letters are everywhere in Base64; with a blank before them they are rare.
        let twilio =
            b"0123456789abcdef".iter().map(|&digit| (vec![b' ', b'S', b'K', digit], special::TWILIO));
        let short = short.into_iter().flat_map(|(anchor, check)| {
            let before = if anchor == b"AQE" { &b" "[..] } else { b" \n\"'`(/>" };
            before.iter().map(|&byte| ([&[byte][..], &anchor].concat(), check)).collect::<Vec<_>>()
        });
        Letters {
            searchers: [
                Searcher::new(long.into_iter().chain(words).collect(), 0),
                Searcher::new(short.chain(twilio).collect(), 1),
            ],
        }
    }

    /// Whether there is anything that may be a secret.
    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        self.searchers.iter().any(|searcher| searcher.find(text, 0).is_some())
    }
}

impl Searcher {
    fn new(literals: Vec<(Vec<u8>, Check)>, lead: usize) -> Self {
        let (literals, checks): (Vec<Vec<u8>>, Vec<Check>) = literals.into_iter().unzip();
        let mut builder = packed::Config::new().match_kind(packed::MatchKind::LeftmostLongest).builder();
        let engine = match builder.extend(&literals).build() {
            Some(searcher) => Engine::Packed(Box::new(searcher)),
            // Teddy takes 64 literals at most (`the_letters_are_searched_with_simd`); other processors have no Teddy.
            None => Engine::Automaton(
                AhoCorasick::builder()
                    .match_kind(MatchKind::LeftmostLongest)
                    .build(&literals)
                    .expect("the literals are few and short"),
            ),
        };
        Searcher { engine, checks, lead }
    }

    /// The first at or after `from` that may be a secret's.
    fn find(&self, text: &[u8], mut from: usize) -> Option<Hit> {
        loop {
            let found = match &self.engine {
                Engine::Packed(searcher) => searcher.find_in(text, Span { start: from, end: text.len() }),
                Engine::Automaton(automaton) => automaton.find(aho_corasick::Input::new(text).range(from..)),
            }?;
            let check = self.checks[found.pattern().as_usize()];
            let hit = Hit { at: found.start() + self.lead, len: found.len() - self.lead, check };
            if may_be_secret(text, hit) {
                return Some(hit);
            }
            from = found.start() + 1;
        }
    }
}

/// The places of letters in a text, in order. Each searcher's next one is kept, so that none reads anything twice.
struct LetterHits<'t> {
    text: &'t [u8],
    letters: &'t Letters,
    next: [Option<Hit>; 2],
}

impl<'t> LetterHits<'t> {
    fn new(text: &'t [u8], letters: &'t Letters) -> Self {
        let next = std::array::from_fn(|at| letters.searchers[at].find(text, 0));
        LetterHits { text, letters, next }
    }

    /// The first one.
    fn first(&self) -> Option<Hit> {
        self.next.iter().flatten().min_by_key(|hit| hit.at).copied()
    }

    /// Leaves out what begins before `at`.
    fn skip_to(&mut self, at: usize) {
        for (next, searcher) in self.next.iter_mut().zip(&self.letters.searchers) {
            if next.is_some_and(|hit| hit.at < at) {
                *next = searcher.find(self.text, at.saturating_sub(searcher.lead));
            }
        }
    }
}

/// Where the next of the [`Letters`] stands, searched for in a whole JSON value at once: one search is cheap, one for
/// each short string is not.
pub(super) struct LettersAhead<'t>(Option<LetterHits<'t>>);

impl<'t> LettersAhead<'t> {
    pub(super) fn new(text: &'t [u8], letters: &'t Letters) -> Self {
        LettersAhead(Some(LetterHits::new(text, letters)))
    }

    /// Whether there are any in a stretch. Stretches are asked for in order.
    pub(super) fn any_in(&mut self, start: usize, end: usize) -> bool {
        let Some(hits) = &mut self.0 else { return false };
        hits.skip_to(start);
        match hits.first() {
            Some(hit) => hit.at < end,
            None => {
                self.0 = None;
                false
            }
        }
    }
}

/// What a `=` or `:` has around it: the name of a secret before it, or of a pair behind it, or a token.
#[inline]
fn separator(text: &[u8], mark: usize, keys: &KeyRules) -> Option<Hit> {
    if let Some(end) = named::name_end(text, mark) {
        if named::may_be_secret(text, mark, end, keys) && named::secret_name(text, mark, keys, 0).is_some() {
            return Some(Check::Named.at(mark));
        }
        if let Some(found) = named::pair_name(text, mark, end, keys) {
            return Some(found);
        }
    }
    short_value(text, mark)
}

/// A short token behind a separator, its blanks and quotes.
#[inline]
fn short_value(text: &[u8], mark: usize) -> Option<Hit> {
    let mut at = mark + 1;
    // The most of what follows a separator is too short to be anything.
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

/// A token at `at` whose anchor is too short to be searched for, as at the beginning of a value.
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

/// A cheap look around letters, which are frequent in Base64: whether the text goes on as their check needs. In escaped
/// text a backslash may hide anything.
fn may_be_secret(text: &[u8], hit: Hit) -> bool {
    let body = hit.at + hit.len;
    match hit.check {
        Check::Token(index) => {
            let format = &FORMATS.all[usize::from(index)];
            let escaped = || memchr::memchr(b'\\', &text[body..text.len().min(body + 12)]).is_some();
            (format.may_follow(text, body) || escaped())
                && (begins_word(text, hit.at) || format.glued().is_some() && ends_word(text, hit.at))
        }
        _ => true,
    }
}

/// The places of the bytes that stand in or beside a secret, in order.
#[derive(Debug)]
struct Marks<'t> {
    text: &'t [u8],
    at: usize,
    /// Where the next of each group of marks was last found: a search takes three bytes at a time.
    joint: usize,
    separator: usize,
    rare: usize,
    bracket: usize,
    /// Behind the last at sign: how far back the next one has to look for its URL.
    after_at_sign: usize,
}

/// Which bytes are marks.
const IS_MARK: [bool; 256] = {
    let mut table = [false; 256];
    let mut marks: &[u8] = b"_-.=:@~!$>%&";
    while let [mark, rest @ ..] = marks {
        table[*mark as usize] = true;
        marks = rest;
    }
    table
};

impl<'t> Marks<'t> {
    /// So many bytes are looked at one by one before a search begins: where marks are dense, as in JSON, a search
    /// costs more than it saves.
    const NEAR: usize = 24;

    fn new(text: &'t [u8]) -> Self {
        Marks { text, at: 0, joint: 0, separator: 0, rare: 0, bracket: 0, after_at_sign: 0 }
    }

    /// Goes on at `at`, if that is further on.
    fn skip_to(&mut self, at: usize) {
        self.at = self.at.max(at);
    }

    fn far(&mut self) -> Option<usize> {
        let (text, from) = (self.text, self.at);
        let found = |at: Option<usize>| at.map_or(text.len(), |at| from + at);
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
            self.bracket = found(memchr::memchr3(b'>', b'%', b'&', &text[from..]));
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
        while self.at < near {
            let mark = self.at;
            self.at += 1;
            if IS_MARK[usize::from(self.text[mark])] {
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
                b'_' => underscore(self.text, mark),
                b'-' => hyphen(self.text, mark),
                b'.' => dot(self.text, mark),
                b'>' => named::may_be_element(self.text, mark, keys).then_some(Check::Element.at(mark)),
                b'~' | b'!' | b'$' => special::rare(self.text, mark),
                _ => views::is_encoded_at(self.text, mark).then_some(Check::Encoded.at(mark)),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// An at sign belongs to a URL or an address only if a slash or a colon stands before it. If that one stands before
    /// the last at sign, then that was the place to look at.
    fn at_sign(&mut self, mark: usize) -> Option<Hit> {
        let since = std::mem::replace(&mut self.after_at_sign, mark + 1);
        memchr::memrchr2(b'/', b':', &self.text[since..mark]).map(|_| Check::AtSign.at(mark))
    }
}

/// All places of a text that may be a secret's, in order.
pub(super) struct Hits<'t> {
    keys: &'t KeyRules,
    marks: Marks<'t>,
    marked: Option<Hit>,
    letters: Option<LetterHits<'t>>,
    /// What stands at the very beginning.
    first: Option<Hit>,
}

impl<'t> Hits<'t> {
    /// The hits in `text`; letters are looked for only if they are given.
    pub(super) fn new(text: &'t [u8], keys: &'t KeyRules, letters: Option<&'t Letters>) -> Self {
        let mut hits = Hits {
            keys,
            marks: Marks::new(text),
            marked: None,
            letters: letters.map(|letters| LetterHits::new(text, letters)),
            first: short_token(text, 0),
        };
        hits.advance_marks();
        hits
    }

    /// Leaves out what begins before `at`.
    pub(super) fn skip_to(&mut self, at: usize) {
        self.marks.skip_to(at);
        if self.marked.is_some_and(|hit| hit.at + hit.len <= at) {
            self.advance_marks();
        }
        if let Some(letters) = &mut self.letters {
            letters.skip_to(at);
        }
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
        let lettered = self.letters.as_ref().and_then(LetterHits::first);
        match (self.marked, lettered) {
            (marked, Some(hit)) if marked.is_none_or(|marked| hit.at < marked.at) => {
                if let Some(letters) = &mut self.letters {
                    letters.skip_to(hit.at + 1);
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

/// Whether there may be a secret in a string, [`Letters`] aside. Names and marks look the same however deep the JSON
/// that they stand in is escaped.
pub(super) fn is_suspicious(string: Text<'_>, keys: &KeyRules) -> bool {
    Marks::new(string.raw).next_candidate(keys).is_some()
        || short_token(string.raw, 0).is_some()
        || string.escaped && memmem::find(string.raw, b"\\u00").is_some()
        || string.escaped && documents::may_have_columns(string.raw, keys)
        || string.escaped && documents::may_have_structure(string.raw)
}

fn underscore(text: &[u8], mark: usize) -> Option<Hit> {
    tokens(text, mark).or_else(|| {
        let is_identity = text[..mark].ends_with(b"id") && key_identity(&text[mark - 2..]);
        if is_identity { Some(Check::KeyPath.at(mark)) } else { special::underscore(text, mark) }
    })
}

fn hyphen(text: &[u8], mark: usize) -> Option<Hit> {
    const BEGIN: &[u8] = b"---- BEGIN ";
    if text.get(mark + 1) == Some(&b'-') {
        let dashes = &text[mark..];
        if dashes.starts_with(b"-----BEGIN ") || dashes.starts_with(BEGIN) {
            return Some(Hit { at: mark, len: BEGIN.len(), check: Check::Pem });
        }
        if begins_argument(text, mark) {
            return Some(Check::Option.at(mark));
        }
    } else if begins_argument(text, mark) && command_line::may_be_flag(text, mark) {
        return Some(Check::Flag.at(mark));
    }
    tokens(text, mark).or_else(|| special::hyphen(text, mark))
}

/// Whether an option of a command line may begin here: behind a blank or a quote.
fn begins_argument(text: &[u8], at: usize) -> bool {
    text.get(at.wrapping_sub(1))
        .is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'"' | b'\'' | b'[' | b',' | b'`'))
}

fn dot(text: &[u8], mark: usize) -> Option<Hit> {
    let hit = |check: Check| Some(check.at(mark));
    let (before, after) = (&text[..mark], &text[mark + 1..]);
    if let Some(b"pem" | b"p12" | b"pfx" | b"ppk") = after.get(..3) {
        return hit(Check::KeyPath);
    }
    if let Some(found) = tokens(text, mark) {
        return Some(found);
    }
    let joins = before.last().is_some_and(|&b| url_safe(b)) && after.first().is_some_and(|&b| url_safe(b));
    if joins && jwt_header(before).is_some() {
        return hit(Check::Jwt);
    }
    special::dot(text, mark)
}

/// Whether one of the formats has its first mark here.
#[inline]
fn tokens(text: &[u8], mark: usize) -> Option<Hit> {
    if !format::may_have_mark(text, mark) {
        return None;
    }
    FORMATS.at_mark(text, mark).iter().find_map(|&(index, place)| {
        let start = mark.checked_sub(usize::from(place))?;
        let anchor = FORMATS.all[usize::from(index)].anchor;
        text[start..].starts_with(anchor).then_some(Hit {
            at: start,
            len: anchor.len(),
            check: Check::Tokens,
        })
    })
}

/// Whether the token of a provider begins here.
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

/// Where a JWT's header begins that ends `text`. Parts are cut by dots, so no byte is looked at for two of them.
fn jwt_header(text: &[u8]) -> Option<usize> {
    let start = text.len() - text.iter().rev().take_while(|&&byte| url_safe(byte)).count();
    // In escaped text the letter of an escape (`\n`) stands before the header.
    let start = if text[..start].ends_with(b"\\") { start + 1 } else { start };
    (text.len() >= start + 10 && matches!(text[start..].first_chunk(), Some(b"eyJ" | b"ewo")))
        .then_some(start)
}

/// What earlier checks of the same text have learned.
#[derive(Debug, Default)]
pub(super) struct Memo {
    /// Where the last match ended: nothing before it may be matched again.
    pub(super) floor: usize,
    /// Up to where no token of each format can begin; only long stretches are noted.
    tokens: Vec<(u16, usize)>,
    /// Up to where no path and no URL's password can be.
    path: usize,
    pub(super) authority: usize,
    /// Up to where no value without quotes tells that it is a secret.
    pub(super) value: usize,
    /// Up to where no value that has its line for itself is to be looked for.
    pub(super) own: usize,
    /// Up to where no header's value is to be looked for.
    pub(super) line: usize,
    /// There is no end of a PEM block any more.
    no_pem_end: bool,
    /// Where values of `INSERT` follow.
    pub(super) inserts: Vec<usize>,
    /// Where Base64 of a text may begin.
    pub(super) base64: Vec<usize>,
    /// Something is to be decoded.
    pub(super) is_encoded: bool,
    /// There is a Kubernetes secret.
    pub(super) has_kubernetes: bool,
    /// The line whose command was looked up last, and what it is.
    pub(super) command: command_line::Known,
}

impl Memo {
    /// Stretches shorter than this are looked at again: noting them costs more.
    const LONG: usize = 64;

    fn may_begin(&self, format: u16, at: usize) -> bool {
        self.tokens.iter().all(|&(noted, until)| noted != format || at >= until)
    }

    fn note(&mut self, format: u16, from: usize, until: usize) {
        if until < from + Self::LONG {
            return;
        }
        match self.tokens.iter_mut().find(|(noted, _)| *noted == format) {
            Some((_, noted)) => *noted = (*noted).max(until),
            None => self.tokens.push((format, until)),
        }
    }
}

/// A secret and the rule that knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) rule: &'static str,
}

/// Whether a hit is a secret.
pub(super) fn check(text: &[u8], hit: Hit, keys: &KeyRules, memo: &mut Memo) -> Option<Found> {
    let found = match hit.check {
        Check::Tokens => any_token(text, hit, memo),
        Check::Token(format) => token(text, hit.at, format, memo),
        Check::Jwt => jwt(text, hit),
        Check::Pem => pem(text, hit, memo),
        Check::Scheme(rule) => scheme(text, hit, rule),
        Check::AtSign => special::at_sign(text, hit.at, memo),
        Check::KeyPath => key_path(text, hit, memo),
        Check::Named => named::named(text, hit.at, keys, memo),
        Check::Pair => named::pair(text, hit.at, keys),
        Check::Option => command_line::option(text, hit.at, keys),
        Check::Flag => command_line::flag(text, hit.at, memo),
        Check::Word => named::word_and_value(text, hit).map(|found| by_format(text, found, memo)),
        Check::Element => named::element(text, hit.at, keys),
        Check::Told => named::told(text, hit, keys).map(|found| by_format(text, found, memo)),
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
    // What was redacted already stays as it is.
    found.filter(|found| {
        let secret = &text[found.start..found.end.max(found.start)];
        let is_redacted = match hit.check {
            Check::Named => marker::is_redacted_already(secret),
            _ => marker::is_in(secret),
        };
        !secret.is_empty() && found.end >= memo.floor && !is_redacted
    })
}

/// The end of the run of allowed bytes from `from`.
pub(super) fn run(text: &[u8], from: usize, allowed: impl Fn(u8) -> bool) -> usize {
    text[from..].iter().position(|&byte| !allowed(byte)).map_or(text.len(), |at| from + at)
}

/// Whether no letter, digit or underscore stands before `at`, but for those of an escape: in text that quotes text,
/// `\n` is a line's end.
pub(super) fn begins_word(text: &[u8], at: usize) -> bool {
    match &text[..at] {
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., b'\\', b'u', a, b, c, d] if [a, b, c, d].into_iter().all(u8::is_ascii_hexdigit) => true,
        [.., before] => !word(*before),
        [] => true,
    }
}

/// Whether what stands before `at` is a word, and not a long run such as Base64, which may have anything in it.
fn ends_word(text: &[u8], at: usize) -> bool {
    text[..at].iter().rev().take(MAX_WORD + 1).take_while(|&&byte| word(byte)).count() <= MAX_WORD
}

pub(super) fn has_digit(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_digit)
}

pub(super) fn has_letter(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_alphabetic)
}

/// The first of the formats with this mark that the text has.
fn any_token(text: &[u8], hit: Hit, memo: &mut Memo) -> Option<Found> {
    // The mark is the first one in the anchor that has two characters before it.
    let mark = (hit.at + 2..hit.at + hit.len).find(|&at| !FORMATS.at_mark(text, at).is_empty())?;
    FORMATS.at_mark(text, mark).iter().find_map(|&(index, place)| {
        let start = mark.checked_sub(usize::from(place))?;
        let is_there = text[start..].starts_with(FORMATS.all[usize::from(index)].anchor);
        if is_there { token(text, start, index, memo) } else { None }
    })
}

/// A value that a sentence gives, under the rule of its format where it has a known one: "your token is ghp_…" says more as a
/// GitHub token. Such values are rare, so all formats are tried.
fn by_format(text: &[u8], found: Found, memo: &mut Memo) -> Found {
    let value = &text[found.start..];
    let known = (0_u16..).zip(&FORMATS.all).find_map(|(index, format)| {
        let is_there = !format.anchor.is_empty() && value.starts_with(format.anchor);
        if is_there { token(text, found.start, index, memo) } else { None }
    });
    known.filter(|known| known.end >= found.end).unwrap_or(found)
}

fn token(text: &[u8], at: usize, index: u16, memo: &mut Memo) -> Option<Found> {
    let format = &FORMATS.all[usize::from(index)];
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
            Some(Found { start: at, end, rule: format.rule })
        }
        Ok(_) => None,
        Err(until) => {
            // A later start in the same run is shorter and has no more in it: it fails too.
            memo.note(index, at, until);
            None
        }
    }
}

/// Header, payload and signature (or the five parts of an encrypted one), joined with dots.
fn jwt(text: &[u8], hit: Hit) -> Option<Found> {
    let start = jwt_header(&text[..hit.at]).filter(|&start| begins_word(text, start))?;
    let payload_end = run(text, hit.at + 1, |byte| url_safe(byte) || byte == b'=');
    let is_jwt = payload_end - hit.at > 4 && text.get(payload_end) == Some(&b'.');
    is_jwt.then(|| Found { start, end: run(text, payload_end, dotted), rule: rules::JWT })
}

/// What a PEM label has in it that holds nothing secret.
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

/// Whether a PEM label is that of a private key.
pub(super) fn is_private(label: &[u8]) -> bool {
    let has = |word: &str| memmem::find(label, word.as_bytes()).is_some();
    has("PRIVATE") || !PUBLIC.iter().any(|word| has(word))
}

/// From `BEGIN` to the end of `END`; if that was cut off, to where the block can't go on.
fn pem(text: &[u8], hit: Hit, memo: &mut Memo) -> Option<Found> {
    const END: &[u8] = b"END ";
    let label = memmem::find(&text[hit.at..], b"BEGIN ").map(|at| hit.at + at + 6)?;
    let body = pem_label_end(text, label).ok()?;
    if !is_private(&text[label..body]) {
        return None;
    }
    let end = if memo.no_pem_end { None } else { pem_end(&text[body..], END) };
    memo.no_pem_end = end.is_none();
    let end = match end {
        Some(at) => pem_label_end(text, body + at + END.len()).unwrap_or_else(|end| end),
        None => run(text, body, is_pem_body),
    };
    Some(Found { start: hit.at, end, rule: rules::PEM })
}

/// The first `END ` behind dashes.
fn pem_end(text: &[u8], end: &[u8]) -> Option<usize> {
    memmem::find_iter(text, end).find(|&at| text[..at].ends_with(b"----") || text[..at].ends_with(b"---- "))
}

pub(super) fn is_pem_body(b: u8) -> bool {
    url_safe(b) || b.is_ascii_whitespace() || matches!(b, b'+' | b'/' | b'=' | b':' | b',' | b'\\')
}

/// The end of a PEM label and the dashes behind it; of the label alone, as an error, if there are none.
pub(super) fn pem_label_end(text: &[u8], start: usize) -> Result<usize, usize> {
    let window = &text[..text.len().min(start + 64)];
    let end = run(window, start, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_'));
    let dashes = run(window, end, |byte| byte == b'-');
    if dashes - end >= 4 { Ok(dashes.min(end + 5)) } else { Err(end) }
}

/// `Bearer` and `Basic` credentials; "Bearer authentication" and "Basic overview" are prose.
fn scheme(text: &[u8], hit: Hit, rule: &'static str) -> Option<Found> {
    let first = hit.at.checked_sub(1)?;
    if !matches!(text[first], b'b' | b'B') || !begins_word(text, first) {
        return None;
    }
    let start = run(text, hit.at + hit.len, |byte| matches!(byte, b' ' | b'\t'));
    let end = run(text, start, |b| url_safe(b) || matches!(b, b'.' | b'~' | b'+' | b'/' | b'=' | b'|'));
    let credentials = &text[start..end];
    // Parameters of a challenge (`Bearer realm="…"`) are no credentials.
    let is_parameter = credentials.iter().position(|&b| b == b'=').is_some_and(|at| {
        let padding = credentials[at..].iter().all(|&b| b == b'=');
        !padding || matches!(text.get(end), Some(b'"' | b'\''))
    });
    let is_secret = if rule == rules::BASIC {
        credentials.len() >= 8 && !is_words(credentials)
    } else {
        !is_parameter && (credentials.len() >= 20 || credentials.len() >= 8 && has_digit(credentials))
    };
    is_secret.then_some(Found { start, end, rule })
}

/// The whole path around a hit, if it is one and names a private key.
fn key_path(text: &[u8], hit: Hit, memo: &mut Memo) -> Option<Found> {
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
    is_key_path(path).then_some(Found { start, end: start + path.len(), rule: rules::KEY_PATH })
}

/// What the name of a `.pem` file has in it that is no private key.
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
    fn the_letters_are_searched_with_simd() {
        for searcher in &Letters::new().searchers {
            assert!(searcher.checks.len() <= 64, "{} literals", searcher.checks.len());
        }
    }
}
