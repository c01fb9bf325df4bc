//! Measures how much of a corpus of generated secrets is found, and how much of what only looks like one is
//! left alone.
//!
//! Everything is generated from a fixed seed: no file has a string that a secret scanner would take for a leak. A
//! secret counts as leaked if a run of two fifths of it, and of six characters at least, is left.
//!
//! `cargo test -p wiretape-trace --lib corpus -- --nocapture` prints the tables.

#[cfg(test)]
mod documents;
#[cfg(test)]
mod lookalikes;
mod names;
#[cfg(test)]
mod placements;
mod tokens;

#[cfg(test)]
use super::{LineState, RedactionKey, Redactor, Rules};
#[cfg(test)]
use std::collections::BTreeMap;

/// Random numbers from a seed (xorshift).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 33) % limit as u64)
            .expect("a remainder is smaller than `limit`, which is a usize")
    }

    pub(super) fn text(&mut self, alphabet: &str, length: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..length).map(|_| letters[self.below(letters.len())]).collect()
    }
}

pub(super) const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
pub(super) const ALPHANUMERIC: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
pub(super) const HEX: &str = "0123456789abcdef";
pub(super) const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A generated secret.
#[derive(Debug, Clone)]
pub struct Secret {
    /// The kind of token, or the name.
    pub kind: String,
    /// The name of a value that is secret by its name alone; `None` for a token with a format of its own.
    pub name: Option<&'static str>,
    /// The secret itself.
    pub text: String,
}

/// All kinds of tokens, and a value for each name. The same at every call.
pub fn secrets() -> Vec<Secret> {
    let tokens = tokens::tokens().into_iter();
    let tokens = tokens.map(|token| Secret { kind: token.kind, name: None, text: token.text });
    let names = names::names().into_iter();
    let names =
        names.map(|named| Secret { kind: named.name.to_owned(), name: Some(named.name), text: named.value });
    tokens.chain(names).collect()
}

/// How the text of a case reaches the redactor.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Json,
    Text,
    Lines,
    Command,
    Url,
}

/// A text with secrets in it.
#[cfg(test)]
pub(super) struct Case {
    /// The row of the table that it counts for.
    pub(super) group: String,
    /// A description, for the list of misses.
    pub(super) what: String,
    pub(super) way: Way,
    pub(super) text: String,
    pub(super) secrets: Vec<String>,
}

#[cfg(test)]
fn redacted(redactor: &Redactor, way: Way, text: &str) -> String {
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match way {
        Way::Json => shown(&redactor.json(text.as_bytes()).unwrap_or_else(|e| panic!("{e}: {text}"))),
        Way::Text => shown(&redactor.text(text.as_bytes())),
        Way::Lines => {
            let mut state = LineState::default();
            text.split('\n')
                .map(|line| shown(&redactor.line(line.as_bytes(), &mut state, None)) + "\n")
                .collect()
        }
        Way::Command => {
            let command: Vec<String> = text.split('\u{1}').map(str::to_owned).collect();
            redactor.command(&command).join("\u{1}")
        }
        Way::Url => redactor.url(text).into_owned(),
    }
}

/// Whether two fifths of a secret are left, and at least six characters.
pub fn is_leaked(clean: &str, secret: &str) -> bool {
    let secret: Vec<char> = secret.chars().collect();
    let length = (secret.len() * 2).div_ceil(5).max(6).min(secret.len());
    secret.windows(length).any(|run| clean.contains(&run.iter().collect::<String>()))
}

#[cfg(test)]
fn redactor() -> Redactor {
    Redactor::new(&Rules::default(), &RedactionKey::new([7; 32])).unwrap()
}

/// Prints the share of secrets found in each group, and returns the whole with what was missed.
#[cfg(test)]
fn recall(cases: &[Case]) -> (f64, Vec<String>) {
    let redactor = redactor();
    let mut groups: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut missed = Vec::new();
    for case in cases {
        let clean = redacted(&redactor, case.way, &case.text);
        for secret in &case.secrets {
            let (found, all) = groups.entry(&case.group).or_default();
            *all += 1;
            if is_leaked(&clean, secret) {
                missed.push(format!("{} | {} | {secret} | {clean}", case.group, case.what));
            } else {
                *found += 1;
            }
        }
    }
    print_table(&groups);
    let (found, all) = groups.values().fold((0, 0), |sum, group| (sum.0 + group.0, sum.1 + group.1));
    (share(found, all), missed)
}

#[cfg(test)]
fn share(found: usize, all: usize) -> f64 {
    100.0 * found as f64 / all.max(1) as f64
}

#[cfg(test)]
fn print_table(groups: &BTreeMap<&str, (usize, usize)>) {
    for (group, (found, all)) in groups {
        println!("| {group:44} | {found:5} of {all:5} | {:5.1} % |", share(*found, *all));
    }
}

#[cfg(test)]
fn print_some(what: &str, lines: &[String]) {
    println!("{what}: {}", lines.len());
    for line in lines.iter().take(40) {
        println!("  {}", line.chars().take(400).collect::<String>());
    }
}

#[test]
fn secrets_are_found_wherever_they_are_placed() {
    let tokens = tokens::tokens();
    let names = names::names();
    assert!(tokens.len() >= 250, "{} kinds of tokens", tokens.len());
    assert!(names.len() >= 100, "{} names", names.len());
    let mut cases = placements::of_tokens(&tokens);
    cases.extend(placements::of_names(&names));
    let (found, missed) = recall(&cases);
    print_some("missed", &missed);
    assert!(found >= 98.0, "{found:.1} % of {} found", cases.len());
}

#[test]
fn secrets_are_found_in_documents() {
    let templates = documents::templates();
    assert!(templates.len() >= 150, "{} different documents", templates.len());
    let cases = documents::documents();
    let (found, missed) = recall(&cases);
    print_some("missed", &missed);
    assert!(found >= 98.0, "{found:.1} % of {} found", cases.len());
}

#[test]
fn what_only_looks_like_a_secret_is_left_alone() {
    let texts = lookalikes::lookalikes();
    let written = lookalikes::written();
    assert!(written.len() >= 300, "{} different lookalikes", written.len());
    let redactor = redactor();
    let changed: Vec<String> = texts
        .iter()
        .filter_map(|(way, text)| {
            let clean = redacted(&redactor, *way, text);
            let clean = if *way == Way::Lines { clean.trim_end_matches('\n').to_owned() } else { clean };
            (clean != *text).then(|| format!("{text} | {clean}"))
        })
        .collect();
    print_some("changed", &changed);
    let left = share(texts.len() - changed.len(), texts.len());
    assert!(left >= 99.0, "{left:.1} % left alone");
}

#[test]
fn redacting_twice_is_redacting_once() {
    let redactor = redactor();
    let mut cases = placements::of_tokens(&tokens::tokens());
    cases.extend(placements::of_names(&names::names()));
    cases.extend(documents::documents());
    let changed: Vec<String> = cases
        .iter()
        .filter(|case| matches!(case.way, Way::Json | Way::Text | Way::Url))
        .filter_map(|case| {
            let once = redacted(&redactor, case.way, &case.text);
            let twice = redacted(&redactor, case.way, &once);
            (once != twice).then(|| format!("{once} | {twice}"))
        })
        .collect();
    print_some("changed again", &changed);
    assert!(changed.is_empty(), "{} of {} changed again", changed.len(), cases.len());
}
