//! Finds removed entries that came back under another name.
//!
//! A rename must not evade the baseline: otherwise a server that changes a tool together with its name would show one
//! removed and one unrelated new tool, and the change itself would go unseen.

use crate::definitions::{Definition, ListKind};
use crate::fingerprint::fingerprint_without;
use crate::json_diff::members;
use crate::volatile::{Paths, Trail};
use std::collections::{BTreeMap, BTreeSet};
use wiretape_trace::value::Value;

/// Pairs that are compared one by one. Beyond that, only entries that are equal except for their name are found.
const MAX_PAIRS: usize = 20_000;
/// The similarity at which two definitions count as one, in thousandths.
const MIN_SIMILARITY: u32 = 700;
/// Words of a description that are compared; bounds the cost of a pair.
const MAX_WORDS: usize = 2000;

/// Pairs of old and new names, each name at most once.
pub(super) fn renamed(
    kind: ListKind,
    removed: &BTreeMap<String, Definition>,
    added: &BTreeMap<String, Definition>,
) -> Vec<(String, String)> {
    let (old, new) = (signatures(kind, removed), signatures(kind, added));
    let mut candidates: Vec<(u32, &str, &str)> = Vec::new();
    // Comparing all pairs is quadratic; a hostile list could have thousands of entries on both sides.
    let compare_all = old.len().saturating_mul(new.len()) <= MAX_PAIRS;
    let mut by_print: BTreeMap<u64, Vec<&Signature<'_>>> = BTreeMap::new();
    for signature in &new {
        by_print.entry(signature.print).or_default().push(signature);
    }
    for signature in &old {
        let same = by_print.get(&signature.print).map(Vec::as_slice).unwrap_or_default();
        let others = if compare_all { new.iter().collect::<Vec<_>>() } else { same.to_vec() };
        for other in others {
            let similarity = signature.similarity(other);
            if similarity >= MIN_SIMILARITY {
                candidates.push((similarity, signature.name, other.name));
            }
        }
    }
    // Most similar first; equal ones by name, so that the result is deterministic.
    candidates.sort_by(|one, other| (other.0, one.1, one.2).cmp(&(one.0, other.1, other.2)));
    let (mut taken_old, mut taken_new) = (BTreeSet::new(), BTreeSet::new());
    let mut pairs = Vec::new();
    for (_, old, new) in candidates {
        if !taken_old.contains(old) && !taken_new.contains(new) {
            taken_old.insert(old);
            taken_new.insert(new);
            pairs.push((old.to_owned(), new.to_owned()));
        }
    }
    pairs
}

/// What identifies a definition apart from its name.
struct Signature<'d> {
    name: &'d str,
    print: u64,
    words: BTreeSet<String>,
    /// The names of its arguments.
    arguments: BTreeSet<String>,
    schema: Option<u64>,
}

fn signatures(kind: ListKind, entries: &BTreeMap<String, Definition>) -> Vec<Signature<'_>> {
    let nameless = Paths::default().with(&[kind.key()]).with(&["title"]);
    entries.iter().filter_map(|(name, entry)| Signature::of(name, entry, &nameless)).collect()
}

impl<'d> Signature<'d> {
    /// `None` if there is too little to recognize it by.
    fn of(name: &'d str, definition: &Definition, nameless: &Paths) -> Option<Self> {
        let value = Value::parse(&definition.raw).ok()?;
        let description = value.get("description").and_then(Value::string).unwrap_or_default();
        let words = description.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let words = words.take(MAX_WORDS).map(str::to_lowercase).collect::<BTreeSet<_>>();
        let schema = value.get("inputSchema");
        let properties = schema.and_then(|schema| schema.get("properties"));
        let arguments =
            properties.map(|properties| members(properties).into_keys().collect()).unwrap_or_default();
        let signature = Signature {
            name,
            print: fingerprint_without(&definition.raw, nameless, &nameless.start()),
            words,
            arguments,
            schema: schema.map(|schema| fingerprint_without(schema.raw, Paths::none(), &Trail::default())),
        };
        (signature.words.len() >= 2 || !signature.arguments.is_empty()).then_some(signature)
    }

    /// The similarity of two definitions, from 0 to 1000.
    fn similarity(&self, other: &Signature<'_>) -> u32 {
        if self.print == other.print {
            return 1000;
        }
        let has_same_schema = self.schema.is_some() && self.schema == other.schema;
        // Appending to a description doesn't make it another tool: a server could hide a change behind added text.
        let words = match overlap(&self.words, &other.words) {
            Some(_) if has_same_schema && !self.arguments.is_empty() => retained(&self.words, &other.words),
            words => words,
        };
        let arguments = if has_same_schema { Some(1000) } else { overlap(&self.arguments, &other.arguments) };
        match (words, arguments) {
            // The description counts most: unrelated tools often share argument names such as `path` or `query`.
            (Some(words), Some(arguments)) => (words * 6 + arguments * 4) / 10,
            (Some(words), None) => words,
            (None, Some(arguments)) if self.arguments.len() >= 2 => arguments * 9 / 10,
            _ => 0,
        }
    }
}

/// The share of common elements, in thousandths; `None` if both sets are empty.
fn overlap(one: &BTreeSet<String>, other: &BTreeSet<String>) -> Option<u32> {
    let all = one.union(other).count();
    let both = one.intersection(other).count();
    (all > 0).then(|| u32::try_from(both * 1000 / all).unwrap_or(0))
}

/// The share of the first set that is in the second, in thousandths; `None` if the first has fewer than three elements.
fn retained(one: &BTreeSet<String>, other: &BTreeSet<String>) -> Option<u32> {
    let both = one.intersection(other).count();
    (one.len() >= 3).then(|| u32::try_from(both * 1000 / one.len()).unwrap_or(0))
}
