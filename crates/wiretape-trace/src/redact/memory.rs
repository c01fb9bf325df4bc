//! The secrets that a session has named, so that they are recognised wherever they appear again.
//!
//! A password is named once, in the arguments of a login, and then repeated in prose, in an error, in a log.
//! Each remembered value is searched for as it is, escaped, percent-encoded and in Base64, with one
//! automaton. The memory is bounded, and while it is empty it costs one atomic load.

use super::rules;
use super::values;
use super::views;
use crate::protocol;
use aho_corasick::{AhoCorasick, Input, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The most secrets that are remembered; the oldest are evicted. Bounds the automaton and the time to rebuild
/// it.
const MAX_SECRETS: usize = 256;
/// In bytes. Anything shorter occurs by chance in other text, and redacting it there would make the trace
/// unreadable.
const MIN_LENGTH: usize = 8;
// In bytes. Bounds the automaton, which has states for each encoding of every secret.
const MAX_LENGTH: usize = 1024;

/// The values that were secret by name in a session. Shared by all threads that record the session.
#[derive(Debug, Default)]
pub struct SecretMemory {
    known: Mutex<Arc<KnownSecrets>>,
    /// How often a new secret was learned. Readable without the lock, because most sessions never name one.
    generation: AtomicU64,
}

impl SecretMemory {
    /// Remembers a value, unless it is too short or a common word.
    pub fn learn(&self, secret: &[u8]) {
        self.learn_all(&[secret.to_vec()]);
    }

    /// A number that changes whenever a secret is learned. What was redacted before may contain that secret.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(super) fn learn_all(&self, secrets: &[Vec<u8>]) {
        if secrets.is_empty() {
            return;
        }
        let mut known = self.lock();
        for secret in secrets.iter().filter(|secret| is_memorable(secret)) {
            if !known.contains(secret) {
                // Copied only if a scan is using it, in which case that scan keeps what it started with.
                Arc::make_mut(&mut known).add(secret);
                self.generation.fetch_add(1, Ordering::Release);
            }
        }
    }

    /// The searcher for everything remembered so far. `None` if that is nothing.
    pub(super) fn known(&self) -> Option<Arc<KnownSecrets>> {
        (self.generation() > 0).then(|| self.lock().clone())
    }

    fn lock(&self) -> MutexGuard<'_, Arc<KnownSecrets>> {
        // A panic while the lock was held leaves at worst a secret that is not searched for. Refusing to
        // redact from then on would be worse.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Values that are used as passwords but also occur in ordinary text, where replacing them would only do
/// harm.
const COMMON: &[&str] = &[
    "password",
    "username",
    "postgres",
    "localhost",
    "changeme",
    "undefined",
    "required",
    "optional",
    "disabled",
    "default",
    "anonymous",
    "administrator",
    "development",
    "production",
    "superuser",
    "12345678",
    "123456789",
    "1234567890",
    "password1",
    "password123",
    "qwertyuiop",
    "passw0rd",
    "testtest",
    "test1234",
    "letmein1",
    "example.com",
    "placeholder",
];

fn is_memorable(secret: &[u8]) -> bool {
    if !(MIN_LENGTH..=MAX_LENGTH).contains(&secret.len())
        // Short numbers are dates, ids and amounts somewhere else.
        || secret.iter().all(u8::is_ascii_digit) && secret.len() < 12
    {
        return false;
    }
    let is_common = COMMON.iter().any(|word| secret.eq_ignore_ascii_case(word.as_bytes()));
    let mut seen = [false; 256];
    secret.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    let distinct = seen.iter().filter(|seen| **seen).count();
    !is_common
        && distinct >= 4
        && !super::marker::is_whole(secret)
        && !values::is_prose(secret)
        && !names_the_protocol(secret)
}

/// Whether it is a method or a revision of MCP, or a part of one. All sessions of a proxy share the memory: a client that
/// sends `Authorization: Bearer resources/read` would make it redact this method in everyone's messages.
fn names_the_protocol(secret: &[u8]) -> bool {
    let mut decoded = secret.to_vec();
    while let Some(at) = memchr::memmem::find(&decoded, b"%2") {
        // Of the characters that a URL may escape in these names, `/` and `-`.
        match decoded.get(at + 2) {
            Some(b'f' | b'F') => drop(decoded.splice(at..at + 3, [b'/'])),
            Some(b'd' | b'D') => drop(decoded.splice(at..at + 3, [b'-'])),
            _ => break,
        }
    }
    memchr::memmem::find(protocol::NAMES, &decoded).is_some()
}

/// The parts of a secret found by name that are worth remembering: the value, and the credentials inside it.
/// Values that go by their format are found again by it.
pub(super) fn parts(rule: &str, secret: &[u8], learned: &mut Vec<Vec<u8>>) {
    match rule {
        rules::PASSWORD
        | rules::SECRET
        | rules::TOKEN
        | rules::API_KEY
        | rules::PRIVATE_KEY
        | rules::COMMAND_LINE
        | rules::SQL
        | rules::QUERY
        | super::keys::CUSTOM_KEY => learned.push(secret.to_vec()),
        rules::URL_PASSWORD => {
            learned.push(secret.to_vec());
            // A URL holds the password percent-encoded; elsewhere it appears decoded.
            learned.push(views::View::new(secret).text);
        }
        rules::AUTHORIZATION | rules::BASIC | rules::BEARER | rules::CREDENTIALS => {
            // Without the scheme: `Bearer` is not repeated with the token.
            let token = secret.rsplit(|&byte| byte == b' ').next().unwrap_or(secret);
            learned.push(token.to_vec());
            if let Some(pair) = views::base64_pair(token) {
                let password = pair.splitn(2, |&byte| byte == b':').nth(1).unwrap_or_default();
                learned.push(password.to_vec());
                learned.push(pair);
            }
        }
        _ => {}
    }
}

/// Remembers a secret that was found by name outside of a text: in a list of arguments, or in a URL.
pub(super) fn learn_parts(memory: Option<&SecretMemory>, rule: &str, secret: &[u8]) {
    if let Some(memory) = memory {
        let mut learned = Vec::new();
        parts(rule, secret, &mut learned);
        memory.learn_all(&learned);
    }
}

/// A searcher for all remembered secrets in all their encodings.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownSecrets {
    /// The oldest first.
    secrets: VecDeque<Arc<Remembered>>,
    beginnings: Beginnings,
    /// How many secrets have been evicted whose beginnings are still searched for.
    evicted: usize,
    /// Searches for all forms, from the first place where one may begin. Built when there is such a place: most secrets are
    /// never repeated. `None` inside if it can't be built: too many states cost the rule for repetitions, not the recording.
    automaton: OnceLock<Option<FormSearch>>,
}

/// A secret, and everything that is searched for to find it. The forms are kept, because encoding all of them again for each
/// new secret took most of the time of a session that names one in every message (`cargo xtask bench --only redaction`, the
/// row "a session whose messages name new secrets").
#[derive(Debug)]
struct Remembered {
    secret: Vec<u8>,
    forms: Vec<(Vec<u8>, Form)>,
}

#[derive(Debug, Clone)]
struct FormSearch {
    automaton: AhoCorasick,
    /// For each pattern of the automaton: the secret, and how the pattern encodes it.
    patterns: Vec<(Arc<Remembered>, Form)>,
}

impl FormSearch {
    fn new(secrets: &VecDeque<Arc<Remembered>>) -> Option<Self> {
        let mut known = HashSet::new();
        let mut patterns = Vec::new();
        for remembered in secrets {
            let new = remembered.forms.iter().filter(|(form, _)| known.insert(form.as_slice()));
            patterns.extend(new.map(|(form, kind)| (form.as_slice(), (Arc::clone(remembered), *kind))));
        }
        // The longest, because one secret may be a prefix of another, and the rest would stay.
        let mut builder = AhoCorasick::builder();
        builder.match_kind(MatchKind::LeftmostLongest);
        let automaton = builder.build(patterns.iter().map(|(form, _)| form)).ok()?;
        Some(FormSearch { automaton, patterns: patterns.into_iter().map(|(_, pattern)| pattern).collect() })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    /// The part of a Base64 encoding that does not depend on the bytes around the secret. The rest of the
    /// Base64 word is redacted with it.
    Base64,
}

/// An occurrence of a remembered secret in a text.
pub(super) struct Repeat<'k> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) secret: &'k [u8],
}

impl KnownSecrets {
    fn contains(&self, secret: &[u8]) -> bool {
        self.secrets.iter().any(|known| known.secret == secret)
    }

    /// Remembers a secret, and forgets the oldest one if there are too many.
    fn add(&mut self, secret: &[u8]) {
        let remembered = Remembered { secret: secret.to_vec(), forms: written_forms(secret) };
        remembered.forms.iter().for_each(|(form, _)| self.beginnings.add(form));
        self.secrets.push_back(Arc::new(remembered));
        if self.secrets.len() > MAX_SECRETS {
            self.secrets.pop_front();
            self.evicted += 1;
        }
        // Beginnings can't be removed one by one. A few that belong to no secret any more only cost time.
        if self.evicted > MAX_SECRETS / 2 {
            self.beginnings = Beginnings::default();
            let forms = self.secrets.iter().flat_map(|known| &known.forms);
            forms.for_each(|(form, _)| self.beginnings.add(form));
            self.evicted = 0;
        }
        self.automaton = OnceLock::new();
    }

    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        self.searched(text).is_some_and(|(search, input)| search.automaton.is_match(input))
    }

    pub(super) fn find<'k>(&'k self, text: &'k [u8]) -> impl Iterator<Item = Repeat<'k>> {
        self.searched(text).into_iter().flat_map(move |(search, input)| {
            search.automaton.find_iter(input).map(move |found| {
                let (remembered, form) = &search.patterns[found.pattern().as_usize()];
                let (start, end) = match form {
                    Form::Plain => (found.start(), found.end()),
                    Form::Base64 => around(text, found.start(), found.end()),
                };
                Repeat { start, end, secret: &remembered.secret }
            })
        })
    }

    /// The automaton, and the part of the text to be searched with it. `None` if no form can be in the text.
    fn searched<'k>(&'k self, text: &'k [u8]) -> Option<(&'k FormSearch, Input<'k>)> {
        let from = self.beginnings.find(text)?;
        let search = self.automaton.get_or_init(|| FormSearch::new(&self.secrets));
        Some((search.as_ref()?, Input::new(text).range(from..)))
    }
}

/// The first bytes of all patterns, searched for as Wu and Manber do ("A fast algorithm for multi-pattern searching", 1994):
/// of a window of as many bytes, the last three say how far the next one is that may match, usually six bytes. An automaton
/// over the thousand patterns of 256 secrets looks at every byte, and at memory that is in no cache: it took two thirds of
/// the time of a session (`cargo xtask bench --only redaction`, the row "a session that remembers 256 secrets").
#[derive(Clone)]
struct Beginnings {
    /// For each hash of three bytes: how many bytes a window that ends with them moves on; 0 if a pattern may begin here.
    shifts: Box<[u8; Self::SLOTS]>,
    /// In ascending order.
    beginnings: Vec<[u8; MIN_LENGTH]>,
}

impl std::fmt::Debug for Beginnings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Beginnings").field("count", &self.beginnings.len()).finish_non_exhaustive()
    }
}

impl Default for Beginnings {
    fn default() -> Self {
        Beginnings { shifts: Box::new([Self::FARTHEST; Self::SLOTS]), beginnings: Vec::new() }
    }
}

impl Beginnings {
    /// The number of bytes that decide how far the window moves. Two occur too often among a thousand patterns.
    const BLOCK: usize = 3;
    const SLOT_BITS: u32 = 15;
    const SLOTS: usize = 1 << Self::SLOT_BITS;
    /// No pattern has these bytes among its first ones, so the next window begins after the first of them.
    const FARTHEST: u8 = (MIN_LENGTH - Self::BLOCK + 1) as u8;

    fn add(&mut self, pattern: &[u8]) {
        let beginning = pattern.first_chunk().expect("only values of `MIN_LENGTH` are remembered");
        for (distance, block) in (0..).zip(beginning.windows(Self::BLOCK).rev()) {
            let shift = &mut self.shifts[Self::slot([block[0], block[1], block[2]])];
            *shift = distance.min(*shift);
        }
        if let Err(place) = self.beginnings.binary_search(beginning) {
            self.beginnings.insert(place, *beginning);
        }
    }

    /// A multiplicative hash (Knuth): the upper bits depend on all three bytes.
    #[inline]
    fn slot([a, b, c]: [u8; Self::BLOCK]) -> usize {
        let number = u32::from_le_bytes([a, b, c, 0]);
        (number.wrapping_mul(0x9E37_79B1) >> (u32::BITS - Self::SLOT_BITS)) as usize
    }

    /// The first place where a pattern may begin.
    #[inline]
    fn find(&self, text: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(window) = text.get(at..).and_then(<[u8]>::first_chunk::<MIN_LENGTH>) {
            let [.., a, b, c] = *window;
            let shift = self.shifts[Self::slot([a, b, c])];
            if shift == 0 && self.beginnings.binary_search(window).is_ok() {
                return Some(at);
            }
            at += usize::from(shift.max(1));
        }
        None
    }
}

/// Extends a match inside Base64 to the whole Base64 word, by at most 1024 bytes in each direction, to keep
/// the search linear.
fn around(text: &[u8], start: usize, end: usize) -> (usize, usize) {
    const MAX: usize = 1024;
    let is_base64 = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'+' | b'/' | b'-' | b'_');
    let before = text[..start].iter().rev().take(MAX).take_while(is_base64).count();
    let after = text[end..].iter().take(MAX).take_while(|byte| is_base64(byte) || **byte == b'=').count();
    (start - before, end + after)
}

/// All encodings of a secret that are searched for.
fn written_forms(secret: &[u8]) -> Vec<(Vec<u8>, Form)> {
    let mut forms = vec![(secret.to_vec(), Form::Plain)];
    let once = escaped(secret);
    // Twice: JSON in a string in a message is how most tool results arrive.
    let twice = escaped(&once);
    forms.push((once, Form::Plain));
    forms.push((twice, Form::Plain));
    forms.push((percent_encoded(secret, false), Form::Plain));
    forms.push((percent_encoded(secret, true), Form::Plain));
    for skipped in 0..3usize {
        let padded = [&vec![0; skipped][..], secret].concat();
        let encoded = STANDARD_NO_PAD.encode(&padded).into_bytes();
        // Base64 encodes groups of three bytes, so there are three alignments. The characters at both ends of
        // each also depend on the bytes around the secret, and are cut off.
        let first = [0, 2, 3][skipped];
        let last = padded.len() / 3 * 4;
        // Fewer characters would match unrelated Base64.
        if last > first + 8 {
            let core = encoded[first..last].to_vec();
            let url_safe = core.iter().map(|byte| match byte {
                b'+' => b'-',
                b'/' => b'_',
                other => *other,
            });
            forms.push((url_safe.collect(), Form::Base64));
            forms.push((core, Form::Base64));
        }
    }
    forms
}

fn escaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            _ => out.push(byte),
        }
    }
    out
}

fn percent_encoded(text: &[u8], lower: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(byte);
        } else if lower {
            out.extend(format!("%{byte:02x}").bytes());
        } else {
            out.extend(format!("%{byte:02X}").bytes());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_the_protocol_are_not_remembered() {
        let memory = SecretMemory::default();
        for name in
            ["resources/read", "resource", "tools/call", "2025-06-18", "resources%2Fread", "2025%2d06%2d18"]
        {
            memory.learn(name.as_bytes());
        }
        assert_eq!(memory.generation(), 0);
        memory.learn(b"resources/read-7f3");
        assert_eq!(memory.generation(), 1);
        use crate::protocol::{NAMES, Revision, method};
        let names = Revision::ALL.map(Revision::name).into_iter().chain([
            method::INITIALIZE,
            method::DISCOVER,
            method::PING,
            method::CALL_TOOL,
            method::LIST_TOOLS,
            method::READ_RESOURCE,
            method::GET_PROMPT,
            method::LISTEN,
            method::ELICIT,
            method::PROGRESS,
            method::CANCELLED,
        ]);
        for name in names {
            assert!(memchr::memmem::find(NAMES, name.as_bytes()).is_some(), "{name}");
        }
    }

    #[test]
    fn the_value_of_a_private_key_is_remembered_like_any_other() {
        let mut learned = Vec::new();
        parts(rules::PRIVATE_KEY, b"MOSHCZhJod4XaU9tCSQd", &mut learned);
        assert_eq!(learned, [b"MOSHCZhJod4XaU9tCSQd"]);
    }

    #[test]
    fn a_secret_is_found_at_any_place_and_in_any_form() {
        let memory = SecretMemory::default();
        (0..300).for_each(|n| memory.learn(format!("{n}-open/sesame-{n}").as_bytes()));
        let known = memory.known().unwrap();
        for (form, _) in written_forms(b"277-open/sesame-277") {
            for lead in 0..9 {
                let text = [&b"x".repeat(lead), &form[..], b" and more"].concat();
                let found: Vec<_> = known.find(&text).collect();
                assert_eq!(found.len(), 1, "{}", String::from_utf8_lossy(&text));
                assert_eq!(found[0].secret, b"277-open/sesame-277");
            }
        }
        assert!(!known.is_in(b"1-open/sesame-1 was forgotten, and 277-open/sesame is incomplete"));
    }

    #[test]
    fn a_memory_that_forgets_knows_the_newest_secrets() {
        let memory = SecretMemory::default();
        let secret = |n: usize| format!("{n}-open/sesame-{n}");
        for n in 0..3 * MAX_SECRETS {
            memory.learn(secret(n).as_bytes());
            let known = memory.known().unwrap();
            assert!(known.is_in(secret(n).as_bytes()));
            assert_eq!(known.is_in(secret(n.saturating_sub(MAX_SECRETS)).as_bytes()), n < MAX_SECRETS, "{n}");
            assert!(
                known.beginnings.beginnings.len()
                    <= 2 * MAX_SECRETS * written_forms(secret(n).as_bytes()).len()
            );
        }
    }

    proptest! {
        #[test]
        fn beginnings_are_found_where_a_plain_search_finds_them(
            patterns in prop::collection::vec("[abc]{8,9}", 1..6),
            text in "[abcd]{0,200}",
        ) {
            let patterns: Vec<Vec<u8>> = patterns.into_iter().map(String::into_bytes).collect();
            let windows = text.as_bytes().windows(MIN_LENGTH);
            let expected = windows.enumerate().find(|(_, window)| {
                patterns.iter().any(|pattern| pattern.starts_with(window))
            });
            let mut beginnings = Beginnings::default();
            patterns.iter().for_each(|pattern| beginnings.add(pattern));
            let found = beginnings.find(text.as_bytes());
            prop_assert_eq!(found, expected.map(|(at, _)| at));
        }
    }
}
