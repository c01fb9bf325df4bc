//! Which of the entries that are gone have come back under another name.
//!
//! A rename must not defeat a pin: who changes a tool and its name at once would otherwise show one tool that is gone and
//! one that is new.

use crate::definitions::{Definition, ListKind};
use crate::fingerprint::fingerprint_without;
use crate::json_diff::members;
use crate::volatile::{Paths, Trail};
use std::collections::{BTreeMap, BTreeSet};
use wiretape_trace::value::Value;

/// More pairs are not looked at one by one; what is the same but for its name is found all the same.
const MAX_PAIRS: usize = 20_000;
/// How alike two definitions must be, of 1000.
const ALIKE: u32 = 700;
/// Longer texts are compared by their beginning.
const MAX_WORDS: usize = 2000;

/// Old and new names, each at most once.
pub(super) fn renamed(
    kind: ListKind,
    removed: &BTreeMap<String, Definition>,
    added: &BTreeMap<String, Definition>,
) -> Vec<(String, String)> {
    let (old, new) = (looks(kind, removed), looks(kind, added));
    let mut candidates: Vec<(u32, &str, &str)> = Vec::new();
    let by_one = old.len().saturating_mul(new.len()) <= MAX_PAIRS;
    let mut by_print: BTreeMap<u64, Vec<&Look<'_>>> = BTreeMap::new();
    for look in &new {
        by_print.entry(look.print).or_default().push(look);
    }
    for look in &old {
        let same = by_print.get(&look.print).map(Vec::as_slice).unwrap_or_default();
        let others = if by_one { new.iter().collect::<Vec<_>>() } else { same.to_vec() };
        for other in others {
            let alike = look.alike(other);
            if alike >= ALIKE {
                candidates.push((alike, look.name, other.name));
            }
        }
    }
    // The most alike first; of equals the first by name, so that it is always the same.
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

/// What a definition looks like apart from its name.
struct Look<'d> {
    name: &'d str,
    print: u64,
    words: BTreeSet<String>,
    /// What it takes: the names of its arguments.
    arguments: BTreeSet<String>,
    schema: Option<u64>,
}

fn looks(kind: ListKind, entries: &BTreeMap<String, Definition>) -> Vec<Look<'_>> {
    let nameless = Paths::default().with(&[kind.key()]).with(&["title"]);
    entries.iter().filter_map(|(name, entry)| Look::of(name, entry, &nameless)).collect()
}

impl<'d> Look<'d> {
    /// `None` if there is nothing to recognise it by.
    fn of(name: &'d str, definition: &Definition, nameless: &Paths) -> Option<Self> {
        let value = Value::parse(&definition.raw).ok()?;
        let description = value.get("description").and_then(Value::string).unwrap_or_default();
        let words = description.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let words = words.take(MAX_WORDS).map(str::to_lowercase).collect::<BTreeSet<_>>();
        let schema = value.get("inputSchema");
        let properties = schema.and_then(|schema| schema.get("properties"));
        let arguments =
            properties.map(|properties| members(properties).into_keys().collect()).unwrap_or_default();
        let look = Look {
            name,
            print: fingerprint_without(&definition.raw, nameless, &nameless.start()),
            words,
            arguments,
            schema: schema.map(|schema| fingerprint_without(schema.raw, Paths::none(), &Trail::default())),
        };
        (look.words.len() >= 2 || !look.arguments.is_empty()).then_some(look)
    }

    /// How alike two are, of 1000.
    fn alike(&self, other: &Look<'_>) -> u32 {
        if self.print == other.print {
            return 1000;
        }
        let takes_the_same = self.schema.is_some() && self.schema == other.schema;
        // Who adds words to a description and leaves the rest does not make another tool of it.
        let words = match share(&self.words, &other.words) {
            Some(_) if takes_the_same && !self.arguments.is_empty() => kept(&self.words, &other.words),
            words => words,
        };
        let arguments = if takes_the_same { Some(1000) } else { share(&self.arguments, &other.arguments) };
        match (words, arguments) {
            // What it says of itself counts most; the same arguments alone are no sign.
            (Some(words), Some(arguments)) => (words * 6 + arguments * 4) / 10,
            (Some(words), None) => words,
            (None, Some(arguments)) if self.arguments.len() >= 2 => arguments * 9 / 10,
            _ => 0,
        }
    }
}

/// How much two sets have in common, of 1000; `None` if there is nothing in either.
fn share(one: &BTreeSet<String>, other: &BTreeSet<String>) -> Option<u32> {
    let all = one.union(other).count();
    let both = one.intersection(other).count();
    (all > 0).then(|| u32::try_from(both * 1000 / all).unwrap_or(0))
}

/// How much of a set is in the other, of 1000; `None` if there is too little to tell.
fn kept(one: &BTreeSet<String>, other: &BTreeSet<String>) -> Option<u32> {
    let both = one.intersection(other).count();
    (one.len() >= 3).then(|| u32::try_from(both * 1000 / one.len()).unwrap_or(0))
}
