//! Secrets that are known by their looks, and names with values in text.
//!
//! Nearly every kind of secret has one of a few bytes in it or beside it that are rare elsewhere: the `_` of `ghp_`,
//! the `.` of a JWT, the `@` of a URL with a password, the `=` or `:` of an assignment. The text is searched for
//! these [marks](Marks), and the few bytes around each tell whether it is worth a real check. Only what is all
//! letters (`AKIA`, `Bearer`) needs a search of its own ([`Letters`]).
//!
//! To keep the whole linear, no check walks an unbounded stretch without either matching it, which moves on past
//! it, or noting in the [`Memo`] how far there is nothing to be found.

use super::keys::{KeyRules, is_working_directory};
use super::marker::Marker;
use super::rules;
use crate::json::Text;
use aho_corasick::{AhoCorasick, MatchKind, Span, packed};
use memchr::memmem;

/// How far the parts of an assignment are looked for: names, gaps and quoted values end by then.
const MAX_NAME: usize = 96;
const MAX_GAP: usize = 8;
const MAX_VALUE: usize = 8 * 1024;
/// The longest word that a token may be glued to.
const MAX_WORD: usize = 24;
/// How many backslashes may stand before a quote: seven levels of strings within strings.
const MAX_ESCAPES: usize = 127;

/// A place that may be a secret's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    /// Where what was recognised begins.
    pub(super) at: usize,
    /// How long it is.
    len: usize,
    check: Check,
}

/// What must stand around a place to make it a secret.
#[derive(Debug, Clone, Copy)]
enum Check {
    /// A token of the given shape begins here.
    Token(usize),
    /// Two parts of a JWT meet here.
    Jwt,
    Pem,
    SlackHook,
    /// Credentials follow the scheme that ends here.
    Scheme(&'static str),
    UrlPassword,
    KeyPath,
    /// A name stands before and its value behind.
    Named,
}

impl Check {
    /// A hit that is its mark alone.
    fn at(self, mark: usize) -> Hit {
        Hit { at: mark, len: 1, check: self }
    }
}

/// A literal, and the characters that must follow it.
struct Shape {
    literal: &'static str,
    /// Where in the literal its first mark stands.
    mark: usize,
    rule: &'static str,
    allowed: fn(u8) -> bool,
    min: usize,
    max: usize,
    /// The least that must follow if the literal ends a word, as in `nullghp_…`. None for what ends words of its own (`task-`,
    /// `linuxapp-`).
    glued: Option<usize>,
}

const fn shape(literal: &'static str, rule: &'static str, allowed: fn(u8) -> bool, min: usize) -> Shape {
    let mut mark = 0;
    while mark < literal.len() && !matches!(literal.as_bytes()[mark], b'_' | b'-' | b'.') {
        mark += 1;
    }
    Shape { literal, mark, rule, allowed, min, max: usize::MAX, glued: Some(if min > 24 { min } else { 24 }) }
}

fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn url_safe(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn dotted(byte: u8) -> bool {
    url_safe(byte) || byte == b'.'
}

fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

const SHAPES: &[Shape] = &[
    Shape { max: 16, glued: Some(16), ..shape("AKIA", rules::AWS, upper, 16) },
    Shape { max: 16, glued: Some(16), ..shape("ASIA", rules::AWS, upper, 16) },
    shape("AIza", rules::GOOGLE, url_safe, 35),
    shape("ghp_", rules::GITHUB, alphanumeric, 30),
    shape("gho_", rules::GITHUB, alphanumeric, 30),
    shape("ghu_", rules::GITHUB, alphanumeric, 30),
    shape("ghs_", rules::GITHUB, alphanumeric, 30),
    shape("ghr_", rules::GITHUB, alphanumeric, 30),
    shape("github_pat_", rules::GITHUB, word, 22),
    shape("sk_live_", rules::STRIPE, alphanumeric, 10),
    shape("sk_test_", rules::STRIPE, alphanumeric, 10),
    shape("rk_live_", rules::STRIPE, alphanumeric, 10),
    shape("rk_test_", rules::STRIPE, alphanumeric, 10),
    shape("whsec_", rules::STRIPE, alphanumeric, 16),
    shape("npm_", rules::NPM, alphanumeric, 36),
    shape("hf_", rules::HUGGING_FACE, alphanumeric, 30),
    Shape { glued: None, ..shape("sk-", rules::SK_KEY, url_safe, 20) },
    Shape { glued: Some(20), ..shape("glpat-", rules::GITLAB, url_safe, 20) },
    shape("xoxb-", rules::SLACK, url_safe, 10),
    shape("xoxp-", rules::SLACK, url_safe, 10),
    shape("xoxa-", rules::SLACK, url_safe, 10),
    shape("xoxe-", rules::SLACK, url_safe, 10),
    shape("xoxr-", rules::SLACK, url_safe, 10),
    shape("xoxs-", rules::SLACK, url_safe, 10),
    Shape { glued: None, ..shape("xapp-", rules::SLACK, url_safe, 10) },
    Shape { glued: None, ..shape("SG.", rules::SENDGRID, dotted, 34) },
];

/// What is all letters and has no mark in it. The first are the first of [`SHAPES`]; the others end a scheme.
const LETTERS: &[&str] = &["AKIA", "ASIA", "AIza", "earer ", "EARER ", "asic ", "ASIC "];

/// A search for [`LETTERS`].
#[derive(Debug)]
pub(super) enum Letters {
    /// SIMD, where the processor has it.
    Packed(Box<packed::Searcher>),
    Automaton(AhoCorasick),
}

impl Letters {
    pub(super) fn new() -> Self {
        let mut builder = packed::Config::new().match_kind(packed::MatchKind::LeftmostLongest).builder();
        match builder.extend(LETTERS).build() {
            Some(searcher) => Letters::Packed(Box::new(searcher)),
            None => Letters::Automaton(
                AhoCorasick::builder()
                    .match_kind(MatchKind::LeftmostLongest)
                    .build(LETTERS)
                    .expect("the literals are few and short"),
            ),
        }
    }

    /// The first of the letters at or after `from`.
    pub(super) fn find(&self, text: &[u8], from: usize) -> Option<Hit> {
        let found = match self {
            Letters::Packed(searcher) => searcher.find_in(text, Span { start: from, end: text.len() }),
            Letters::Automaton(automaton) => automaton.find(aho_corasick::Input::new(text).range(from..)),
        }?;
        let check = match LETTERS[found.pattern().as_usize()] {
            "earer " | "EARER " => Check::Scheme(rules::BEARER),
            "asic " | "ASIC " => Check::Scheme(rules::BASIC),
            _ => Check::Token(found.pattern().as_usize()),
        };
        Some(Hit { at: found.start(), len: found.len(), check })
    }
}

/// The places of the bytes that stand in or beside a secret, in order.
#[derive(Debug)]
struct Marks<'t> {
    text: &'t [u8],
    at: usize,
    /// Where the next of each half of the marks was last found: a search takes three bytes at a time.
    joint: usize,
    separator: usize,
    /// Behind the last at sign: how far back the next one has to look for its URL.
    after_at_sign: usize,
}

/// Which bytes are marks.
const IS_MARK: [bool; 256] = {
    let mut table = [false; 256];
    let mut marks: &[u8] = b"_-.=:@";
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
        Marks { text, at: 0, joint: 0, separator: 0, after_at_sign: 0 }
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
        let mark = self.joint.min(self.separator);
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
                b'=' | b':' => secret_name(self.text, mark, keys, 0).map(|_| Check::Named.at(mark)),
                b'@' => self.at_sign(mark),
                b'_' => underscore(self.text, mark),
                b'-' => hyphen(self.text, mark),
                _ => dot(self.text, mark),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// An at sign belongs to a URL only if a slash stands before it. If that slash stands before the last at sign,
    /// then that one was the place to look at.
    fn at_sign(&mut self, mark: usize) -> Option<Hit> {
        let since = std::mem::replace(&mut self.after_at_sign, mark + 1);
        memchr::memrchr(b'/', &self.text[since..mark]).map(|_| Check::UrlPassword.at(mark))
    }
}

/// All places of a text that may be a secret's, in order.
pub(super) struct Hits<'t> {
    text: &'t [u8],
    keys: &'t KeyRules,
    marks: Marks<'t>,
    marked: Option<Hit>,
    letters: Option<&'t Letters>,
    lettered: Option<Hit>,
}

impl<'t> Hits<'t> {
    /// The hits in `text`; letters are looked for only if they are given.
    pub(super) fn new(text: &'t [u8], keys: &'t KeyRules, letters: Option<&'t Letters>) -> Self {
        let mut hits = Hits { text, keys, marks: Marks::new(text), marked: None, letters, lettered: None };
        hits.advance_marks();
        hits.lettered = letters.and_then(|letters| letters.find(text, 0));
        hits
    }

    /// Leaves out what begins before `at`.
    pub(super) fn skip_to(&mut self, at: usize) {
        self.marks.skip_to(at);
        if self.marked.is_some_and(|hit| hit.at + hit.len <= at) {
            self.advance_marks();
        }
        if self.lettered.is_some_and(|hit| hit.at < at) {
            self.lettered = self.letters.and_then(|letters| letters.find(self.text, at));
        }
    }

    fn advance_marks(&mut self) {
        self.marked = self.marks.next_candidate(self.keys);
    }
}

impl Iterator for Hits<'_> {
    type Item = Hit;

    fn next(&mut self) -> Option<Hit> {
        let letters_first = match (self.marked, self.lettered) {
            (Some(marked), Some(lettered)) => lettered.at < marked.at,
            (None, Some(_)) => true,
            _ => false,
        };
        if letters_first {
            let hit = self.lettered?;
            self.lettered = self.letters.and_then(|letters| letters.find(self.text, hit.at + 1));
            return Some(hit);
        }
        let hit = self.marked?;
        self.advance_marks();
        Some(hit)
    }
}

/// Whether a text has no mark at all, as most short strings.
pub(super) fn is_unmarked(text: &[u8]) -> bool {
    Marks::new(text).next().is_none()
}

/// Whether there may be a secret in a string, [`Letters`] aside. Names and marks look the same however deep the JSON
/// that they stand in is escaped.
pub(super) fn is_suspicious(string: Text<'_>, keys: &KeyRules) -> bool {
    Marks::new(string.raw).next_candidate(keys).is_some()
        || string.escaped && memmem::find(string.raw, b"\\u00").is_some()
}

fn underscore(text: &[u8], mark: usize) -> Option<Hit> {
    match text.get(mark.checked_sub(2)?..mark)? {
        b"hp" | b"ho" | b"hu" | b"hs" | b"hr" => prefix(text, mark, 3..8),
        b"ub" => prefix(text, mark, 8..9),
        b"sk" | b"rk" => prefix(text, mark, 9..13),
        b"ec" => prefix(text, mark, 13..14),
        b"pm" => prefix(text, mark, 14..15),
        b"hf" => prefix(text, mark, 15..16),
        b"id" => key_identity(&text[mark - 2..]).then_some(Check::KeyPath.at(mark)),
        _ => None,
    }
}

fn hyphen(text: &[u8], mark: usize) -> Option<Hit> {
    const BEGIN: &[u8] = b"-----BEGIN ";
    match text.get(mark.saturating_sub(2)..mark)? {
        b"sk" => prefix(text, mark, 16..17),
        b"at" => prefix(text, mark, 17..18),
        [b'x', _] => prefix(text, mark, 18..24),
        b"pp" => prefix(text, mark, 24..25),
        _ if text[mark..].starts_with(BEGIN) => Some(Hit { at: mark, len: BEGIN.len(), check: Check::Pem }),
        _ => None,
    }
}

fn dot(text: &[u8], mark: usize) -> Option<Hit> {
    let hit = |check: Check| Some(check.at(mark));
    let (before, after) = (&text[..mark], &text[mark + 1..]);
    if let Some(b"pem" | b"p12" | b"pfx" | b"ppk") = after.get(..3) {
        return hit(Check::KeyPath);
    }
    if before.ends_with(b"SG") {
        return prefix(text, mark, 25..26);
    }
    if after.starts_with(b"slack.com") && before.ends_with(b"hooks") {
        return hit(Check::SlackHook);
    }
    let joins = before.last().is_some_and(|&b| url_safe(b)) && after.first().is_some_and(|&b| url_safe(b));
    (joins && jwt_header(before).is_some()).then_some(Check::Jwt.at(mark))
}

/// The shape among some of [`SHAPES`] whose literal has its first mark here.
fn prefix(text: &[u8], mark: usize, shapes: std::ops::Range<usize>) -> Option<Hit> {
    shapes.into_iter().find_map(|index| {
        let shape = &SHAPES[index];
        let start = mark.checked_sub(shape.mark)?;
        let is_there = text[start..].starts_with(shape.literal.as_bytes());
        is_there.then_some(Hit { at: start, len: shape.literal.len(), check: Check::Token(index) })
    })
}

/// Where a JWT's header begins that ends `text`. Parts are cut by dots, so no byte is looked at for two of them.
fn jwt_header(text: &[u8]) -> Option<usize> {
    let start = text.len() - text.iter().rev().take_while(|&&byte| url_safe(byte)).count();
    // In escaped text the letter of an escape (`\n`) stands before the header.
    let start = if text[..start].ends_with(b"\\") { start + 1 } else { start };
    (text.len() >= start + 10 && text[start..].starts_with(b"eyJ")).then_some(start)
}

/// A name before a separator that makes the value behind it a secret.
struct Name {
    start: usize,
    end: usize,
    rule: &'static str,
    /// It stands in a URL's query.
    in_query: bool,
}

/// The name before the separator at `mark`, if it is a secret's. Most are ruled out by their last letters.
#[inline]
fn secret_name(text: &[u8], mark: usize, keys: &KeyRules, floor: usize) -> Option<Name> {
    let end = name_end(text, mark).filter(|&end| end > floor)?;
    let tail = &text[end.saturating_sub(3)..end];
    let may_be_query = text[mark] == b'=' && matches!(tail, b"sig" | b"ure" | b"uth");
    if !keys.may_be_secret(tail) && !may_be_query {
        return None;
    }
    classify_name(text, end, keys, floor)
}

fn classify_name(text: &[u8], end: usize, keys: &KeyRules, floor: usize) -> Option<Name> {
    let start = name_start(text, end, floor);
    if text[..start].ends_with(Marker::PREFIX_COLON) {
        return None;
    }
    let name = &text[start..end];
    let in_query = start > 0 && matches!(text[start - 1], b'?' | b'&');
    let rule = keys.classify(&Text { raw: name, escaped: name.contains(&b'\\') }.unescaped()).or_else(|| {
        // In escaped text the letter of an escape (`\n`) stands before the name.
        let escape = start > 0 && text[start - 1] == b'\\';
        if escape { keys.classify(&name[1..]) } else { None }
    });
    match rule {
        Some(rule) => Some(Name { start, end, rule, in_query }),
        None if in_query && is_query_secret(name) => Some(Name { start, end, rule: rules::QUERY, in_query }),
        None => None,
    }
}

/// Where a name begins: behind its opening quote if it is quoted, otherwise with its first letter.
fn name_start(text: &[u8], end: usize, floor: usize) -> usize {
    let before = &text[floor.max(end.saturating_sub(MAX_NAME))..end];
    let quote = text[end..].iter().find(|&&byte| byte != b'\\').filter(|byte| matches!(byte, b'"' | b'\''));
    let opening = quote.and_then(|&quote| memchr::memrchr(quote, before));
    match opening {
        Some(at) => end - before.len() + at + 1,
        None => end - before.iter().rev().take_while(|&&byte| dotted(byte)).count(),
    }
}

/// Where the name before a separator ends: before blanks, a closing quote and its backslashes.
#[inline]
fn name_end(text: &[u8], mark: usize) -> Option<usize> {
    let mut end = mark;
    // However many: no two separators have blanks in common.
    while end > 0 && matches!(text[end - 1], b' ' | b'\t') {
        end -= 1;
    }
    if end > 0 && matches!(text[end - 1], b'"' | b'\'') {
        end -= 1;
        while end > 0 && text[end - 1] == b'\\' && mark - end < MAX_ESCAPES {
            end -= 1;
        }
    }
    (end > 0 && dotted(text[end - 1])).then_some(end)
}

/// What earlier checks of the same text have learned.
#[derive(Debug, Default)]
pub(super) struct Memo {
    /// Where the last match ended: nothing before it may be matched again.
    pub(super) floor: usize,
    /// Up to where no token of each shape, no path and no URL's password can begin.
    token: [usize; SHAPES.len()],
    path: usize,
    authority: usize,
    /// Up to where no value without quotes tells that it is a secret.
    value: usize,
    /// There is no end of a PEM block any more.
    no_pem_end: bool,
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
        Check::Token(shape) => token(text, hit, shape, memo),
        Check::Jwt => jwt(text, hit),
        Check::Pem => pem(text, hit, memo),
        Check::SlackHook => slack_hook(text, hit),
        Check::Scheme(rule) => scheme(text, hit, rule),
        Check::UrlPassword => url_password(text, hit, memo),
        Check::KeyPath => key_path(text, hit, memo),
        Check::Named => named(text, hit, keys, memo),
    };
    // What was redacted already stays as it is.
    found.filter(|found| found.start < found.end && !text[found.start..].starts_with(Marker::PREFIX))
}

/// The end of the run of allowed bytes from `from`.
fn run(text: &[u8], from: usize, allowed: impl Fn(u8) -> bool) -> usize {
    text[from..].iter().position(|&byte| !allowed(byte)).map_or(text.len(), |at| from + at)
}

/// Whether no letter, digit or underscore stands before `at`, but for those of an escape: in text that quotes text,
/// `\n` is a line's end.
fn begins_word(text: &[u8], at: usize) -> bool {
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

fn has_digit(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_digit)
}

fn has_letter(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_alphabetic)
}

fn token(text: &[u8], hit: Hit, index: usize, memo: &mut Memo) -> Option<Found> {
    let shape = &SHAPES[index];
    let min = match shape.glued {
        _ if begins_word(text, hit.at) => shape.min,
        Some(min) if ends_word(text, hit.at) => min,
        _ => return None,
    };
    if hit.at < memo.token[index] {
        return None;
    }
    let body = hit.at + hit.len;
    let end = run(text, body, shape.allowed);
    let length = end - body;
    if !(shape.min..=shape.max).contains(&length) || !has_digit(&text[body..end]) {
        // A later start in the same run is shorter and has no more digits: it fails too.
        memo.token[index] = end;
        return None;
    }
    // What is too short here is short, so looking at it again costs little.
    (length >= min).then_some(Found { start: hit.at, end, rule: shape.rule })
}

/// Header, payload and signature (or the five parts of an encrypted one), joined with dots.
fn jwt(text: &[u8], hit: Hit) -> Option<Found> {
    let start = jwt_header(&text[..hit.at]).filter(|&start| begins_word(text, start))?;
    let payload_end = run(text, hit.at + 1, url_safe);
    let is_jwt = payload_end - hit.at > 4 && text.get(payload_end) == Some(&b'.');
    is_jwt.then(|| Found { start, end: run(text, payload_end, dotted), rule: rules::JWT })
}

/// From `BEGIN` to the end of `END`; if that was cut off, to where the block can't go on.
fn pem(text: &[u8], hit: Hit, memo: &mut Memo) -> Option<Found> {
    const END: &[u8] = b"-----END ";
    let body = pem_label_end(text, hit.at + hit.len).ok()?;
    let end = if memo.no_pem_end { None } else { memmem::find(&text[body..], END) };
    memo.no_pem_end = end.is_none();
    let is_body = |b: u8| {
        url_safe(b) || b.is_ascii_whitespace() || matches!(b, b'+' | b'/' | b'=' | b':' | b',' | b'\\')
    };
    let end = match end {
        Some(at) => pem_label_end(text, body + at + END.len()).unwrap_or_else(|end| end),
        None => run(text, body, is_body),
    };
    Some(Found { start: hit.at, end, rule: rules::PEM })
}

/// The end of a PEM label and the dashes behind it; of the label alone, as an error, if there are none.
fn pem_label_end(text: &[u8], start: usize) -> Result<usize, usize> {
    const DASHES: &[u8] = b"-----";
    let end = run(text, start, |byte| upper(byte) || byte == b' ');
    if text[end..].starts_with(DASHES) { Ok(end + DASHES.len()) } else { Err(end) }
}

fn slack_hook(text: &[u8], hit: Hit) -> Option<Found> {
    const PATH: &[u8] = b"/services/";
    let path = hit.at + ".slack.com".len();
    let start = path + PATH.len();
    let end = text[path..]
        .starts_with(PATH)
        .then(|| run(text, start, |b| b.is_ascii_alphanumeric() || b == b'/'))?;
    (end - start >= 16).then_some(Found { start, end, rule: rules::SLACK })
}

/// `Bearer` and `Basic` credentials; "Bearer authentication" and "Basic overview" are prose.
fn scheme(text: &[u8], hit: Hit, rule: &'static str) -> Option<Found> {
    let first = hit.at.checked_sub(1)?;
    if !matches!(text[first], b'b' | b'B') || !begins_word(text, first) {
        return None;
    }
    let start = run(text, hit.at + hit.len, |byte| byte == b' ');
    let end = run(text, start, |b| url_safe(b) || matches!(b, b'.' | b'~' | b'+' | b'/' | b'='));
    let credentials = &text[start..end];
    let is_secret = if rule == rules::BASIC {
        credentials.len() >= 8 && credentials.iter().any(|&b| upper(b) || b == b'=')
    } else {
        credentials.len() >= 20 || credentials.len() >= 8 && has_digit(credentials)
    };
    is_secret.then_some(Found { start, end, rule })
}

/// `user:password@`, or a long user that must be a token itself, before a URL's host.
fn url_password(text: &[u8], hit: Hit, memo: &mut Memo) -> Option<Found> {
    if hit.at < memo.authority {
        return None;
    }
    let is_authority = |b: u8| {
        !(b.is_ascii_whitespace()
            || matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'' | b'<' | b'>' | b'\\' | b'`'))
    };
    let before = &text[memo.authority..hit.at];
    let start = hit.at - before.iter().rev().take_while(|&&byte| is_authority(byte)).count();
    memo.authority = run(text, hit.at, is_authority);
    let scheme = text[..start].strip_suffix(b"://")?;
    let authority = &text[start..memo.authority];
    let at_sign = memchr::memrchr(b'@', authority)?;
    let secret = match memchr::memchr(b':', &authority[..at_sign]) {
        _ if !scheme.last().is_some_and(u8::is_ascii_alphanumeric) => return None,
        _ if authority.starts_with(Marker::PREFIX) => return None,
        Some(colon) => colon + 1..at_sign,
        None if at_sign >= 16 && has_digit(&authority[..at_sign]) => 0..at_sign,
        None => return None,
    };
    Some(Found { start: start + secret.start, end: start + secret.end, rule: rules::URL_PASSWORD })
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

fn is_key_path(path: &[u8]) -> bool {
    let is_separator = |byte: &u8| matches!(byte, b'/' | b'\\');
    let Some(separator) = path.iter().rposition(is_separator) else { return false };
    let name = &path[separator + 1..];
    let is_store = [&b".pem"[..], b".p12", b".pfx", b".ppk"].iter().any(|ending| name.ends_with(ending));
    is_store || key_identity(name) && !name.ends_with(b".pub")
}

fn key_identity(name: &[u8]) -> bool {
    [&b"id_rsa"[..], b"id_dsa", b"id_ecdsa", b"id_ed25519"].iter().any(|id| name.starts_with(id))
}

/// The value of a name that is secret: `PASSWORD=…`, `"api_key": "…"`, `?token=…`, `Cookie: …`.
fn named(text: &[u8], hit: Hit, keys: &KeyRules, memo: &mut Memo) -> Option<Found> {
    let Name { start, end, rule, in_query } = secret_name(text, hit.at, keys, memo.floor)?;
    let value = value_start(text, hit.at)?;
    let shouted = !text[start..end].iter().any(u8::is_ascii_lowercase);
    let in_environment = shouted && end == hit.at && value == hit.at + 1 && text[hit.at] == b'=';
    let place = Place { rule, in_query, separator: text[hit.at], in_environment };
    // Before the value's end is looked for: what is not taken may not be walked twice.
    if is_working_directory(rule, &text[start..end], unquoted(text, value)) {
        return None;
    }
    let (start, end) = quoted_value(text, value).unwrap_or_else(|| bare_value(text, value, &place, memo))?;
    Some(Found { start, end, rule })
}

/// The text from `at` on, without the quote that opens a value there.
fn unquoted(text: &[u8], at: usize) -> &[u8] {
    let window = &text[..text.len().min(at + MAX_ESCAPES + 1)];
    let quote = run(window, at, |byte| byte == b'\\');
    match text.get(quote) {
        Some(b'"' | b'\'' | b'`') => &text[quote + 1..],
        _ => &text[at..],
    }
}

fn is_query_secret(name: &[u8]) -> bool {
    let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
    ["key", "sig", "signature", "auth", "x-amz-signature", "x-goog-signature"].into_iter().any(is)
}

/// What is known of a name when its value is looked for.
struct Place {
    rule: &'static str,
    in_query: bool,
    separator: u8,
    /// The name is in capitals and close to its `=`, as environment variables are.
    in_environment: bool,
}

/// Where the value behind a `=` or `:` begins; `==` and `::` have none.
fn value_start(text: &[u8], separator: usize) -> Option<usize> {
    let after = separator
        + match text[separator..] {
            [b':', b':', ..] | [b'=', b'=', ..] => return None,
            [b':', b'=', ..] | [b'=', b'>', ..] => 2,
            _ => 1,
        };
    let window = &text[..text.len().min(after + MAX_GAP)];
    Some(run(window, after, |byte| matches!(byte, b' ' | b'\t')))
}

/// The inside of a quoted value. The outer `None` says that there is no quote, the inner that there is nothing to
/// hide behind it.
fn quoted_value(text: &[u8], at: usize) -> Option<Option<(usize, usize)>> {
    let window = &text[..text.len().min(at + MAX_VALUE)];
    let escapes = run(window, at, |byte| byte == b'\\') - at;
    let quote = *window.get(at + escapes).filter(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
    let start = at + escapes + 1;
    for end in memchr::memchr_iter(quote, &window[start..]).map(|found| start + found) {
        let before = window[start..end].iter().rev().take_while(|&&byte| byte == b'\\').count();
        // A quote behind n backslashes is closed by one behind n, or behind n and whole escaped backslashes.
        if before >= escapes && (before - escapes).is_multiple_of(2 * (escapes + 1)) {
            return Some((start < end - escapes).then_some((start, end - escapes)));
        }
    }
    // The text was cut off inside the value, or it is no value at all.
    Some((window.len() == text.len() && start < window.len()).then_some((start, window.len())))
}

fn bare_value(text: &[u8], start: usize, place: &Place, memo: &mut Memo) -> Option<(usize, usize)> {
    if matches!(place.rule, rules::AUTHORIZATION | rules::COOKIE) && place.separator == b':' {
        return header_value(text, start);
    }
    let is_reference = text.get(start) == Some(&b'$');
    if is_reference || start < memo.value {
        return None;
    }
    let end = run(text, start, |byte| is_bare(byte) && !(place.in_query && byte == b'#'));
    let value = &text[start..end];
    let is_telling = value.len() >= 8 && has_digit(value) && has_letter(value);
    if place.in_query || place.in_environment || is_telling {
        return Some((start, end));
    }
    // A later value in the same stretch tells no more.
    memo.value = end;
    None
}

/// Whether a byte may stand in a value without quotes.
fn is_bare(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !b"\"'`,;&|<>(){}[]\\".contains(&byte)
}

/// The rest of a header's line, behind the name of a scheme.
fn header_value(text: &[u8], start: usize) -> Option<(usize, usize)> {
    let end = run(text, start, |byte| !matches!(byte, b'\r' | b'\n' | b'"' | b'\'' | b'\\'));
    let line = text[start..end].trim_ascii_end();
    let end = start + line.len();
    let scheme = line
        .iter()
        .position(|&byte| byte == b' ')
        .filter(|&at| line[..at].iter().all(u8::is_ascii_alphabetic));
    let start = scheme.map_or(start, |at| start + at + 1);
    (end.saturating_sub(start) >= 4).then_some((start, end))
}
