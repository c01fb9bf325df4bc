//! Compares two sets of definitions.

use super::change::{Change, ChangeKind, Effect, Subject};
use super::entry;
use super::rename;
use crate::definitions::{Definition, Definitions, Extent, ListKind, Listing, ServerFact, Spot};
use crate::fingerprint::fingerprint;
use crate::json_diff::{Difference, diff};
use crate::volatile::Paths;
use std::collections::BTreeMap;
use wiretape_trace::value::Value;

/// The differences between two sets of definitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drift {
    /// The changes: first of the server itself, then of its lists, sorted by the entries' names.
    pub changes: Vec<Change>,
    /// Earlier lists that were not requested this time and can't be compared.
    pub unseen: Vec<ListKind>,
    /// Lists of which one side has only some pages: a missing entry may be on another page.
    pub partial: Vec<ListKind>,
}

impl Drift {
    /// The number of changes that break existing callers.
    pub fn breaking(&self) -> usize {
        self.changes.iter().filter(|change| change.effect == Effect::Breaking).count()
    }
}

/// Compares the definitions of a server with earlier ones. Lists without an earlier version are not compared.
pub fn compare(before: &Definitions, after: &Definitions) -> Drift {
    let mut drift = Drift::default();
    // A trace without a handshake says nothing about the server.
    if !before.server.is_empty() && !after.server.is_empty() {
        for fact in ServerFact::ALL {
            server(fact, before.server.get(&fact), after.server.get(&fact), &mut drift.changes);
        }
    }
    for (kind, pinned) in &before.lists {
        let Some(listing) = after.lists.get(kind) else {
            drift.unseen.push(*kind);
            continue;
        };
        if pinned.extent == Extent::Partial || listing.extent == Extent::Partial {
            drift.partial.push(*kind);
        }
        list(*kind, pinned, listing, &mut drift.changes);
    }
    drift
}

fn list(kind: ListKind, before: &Listing, after: &Listing, changes: &mut Vec<Change>) {
    // An entry that is missing from a partial list may be on a page that was not read.
    let gone = |whole: &Listing, part: &Listing| -> BTreeMap<String, Definition> {
        let missing = whole.entries.iter().filter(|(name, _)| !part.entries.contains_key(*name));
        let missing = missing.filter(|_| part.extent == Extent::Whole);
        missing.map(|(name, entry)| (name.clone(), entry.clone())).collect()
    };
    let (mut removed, mut added) = (gone(before, after), gone(after, before));
    let mut found: BTreeMap<String, Vec<Change>> = BTreeMap::new();
    for (old, new) in rename::renamed(kind, &removed, &added) {
        let (Some(was), Some(is)) = (removed.remove(&old), added.remove(&new)) else { continue };
        let entry = found.entry(new.clone()).or_default();
        entry.push(renamed(kind, &old, &new, &was, &is));
        // A renamed entry is compared with its old self: a rename must not hide other changes.
        entry::compare(kind, &new, &was, &is, entry);
    }
    for (name, entry) in &removed {
        found.entry(name.clone()).or_default().push(gone_entry(kind, name, entry, after));
    }
    for (name, entry) in &added {
        found.entry(name.clone()).or_default().push(new_entry(kind, name, entry));
    }
    for (name, was) in &before.entries {
        if let Some(is) = after.entries.get(name) {
            entry::compare(kind, name, was, is, found.entry(name.clone()).or_default());
        }
    }
    // Collected by name first, so that all changes of one entry are adjacent and the order is stable.
    changes.extend(found.into_values().flatten());
}

fn renamed(kind: ListKind, old: &str, new: &str, was: &Definition, is: &Definition) -> Change {
    let mut pointer = String::new();
    crate::json_diff::push_name(&mut pointer, kind.key());
    Change {
        subject: Subject::Entry { list: kind, name: new.to_owned() },
        kind: ChangeKind::Renamed,
        effect: Effect::Breaking,
        spot: spot(is, &pointer),
        pointer,
        sentence: format!("the {} `{old}` was renamed to `{new}`", kind.noun()),
        before: Some(was.raw.clone()),
        after: Some(is.raw.clone()),
    }
}

fn gone_entry(kind: ListKind, name: &str, entry: &Definition, now: &Listing) -> Change {
    let spot = now.line.map(|line| Spot { line, pointer: format!("/result/{}", kind.member()) });
    Change {
        subject: Subject::Entry { list: kind, name: name.to_owned() },
        kind: ChangeKind::Removed,
        effect: Effect::Breaking,
        pointer: String::new(),
        spot,
        sentence: format!("the {} `{name}` was removed", kind.noun()),
        before: Some(entry.raw.clone()),
        after: None,
    }
}

fn new_entry(kind: ListKind, name: &str, entry: &Definition) -> Change {
    Change {
        subject: Subject::Entry { list: kind, name: name.to_owned() },
        kind: ChangeKind::Added,
        effect: Effect::Informing,
        pointer: String::new(),
        spot: entry.spot.clone(),
        sentence: format!("the {} `{name}` is new", kind.noun()),
        before: None,
        after: Some(entry.raw.clone()),
    }
}

/// The position in the trace of a pointer into a definition.
pub(super) fn spot(definition: &Definition, pointer: &str) -> Option<Spot> {
    let spot = definition.spot.as_ref()?;
    Some(Spot { line: spot.line, pointer: format!("{}{pointer}", spot.pointer) })
}

/// Differences reported per member.
pub(super) const MAX_DIFFERENCES: usize = 100;

fn server(fact: ServerFact, was: Option<&Definition>, is: Option<&Definition>, changes: &mut Vec<Change>) {
    let print = |definition: Option<&Definition>| definition.map(|definition| fingerprint(&definition.raw));
    if print(was) == print(is) {
        return;
    }
    let change =
        |kind, effect, pointer: &str, sentence: String, before: Option<&[u8]>, after: Option<&[u8]>| Change {
            subject: Subject::Server(fact),
            kind,
            effect,
            pointer: pointer.to_owned(),
            spot: is.and_then(|is| spot(is, pointer)),
            sentence,
            before: before.map(<[u8]>::to_vec),
            after: after.map(<[u8]>::to_vec),
        };
    let (before, after) = (was.map(|was| was.raw.as_slice()), is.map(|is| is.raw.as_slice()));
    match fact {
        ServerFact::Capabilities => {
            let (one, other) = (before.unwrap_or(b"{}"), after.unwrap_or(b"{}"));
            let (Ok(one), Ok(other)) = (Value::parse(one), Value::parse(other)) else { return };
            for difference in diff(one, other, Paths::none(), MAX_DIFFERENCES).list {
                let (effect, sentence) = capability(&difference);
                changes.push(change(
                    ChangeKind::Capabilities,
                    effect,
                    &difference.pointer,
                    sentence,
                    difference.before.map(|value| value.raw),
                    difference.after.map(|value| value.raw),
                ));
            }
        }
        ServerFact::Instructions => {
            let sentence = "the server's instructions to the model have changed".to_owned();
            changes.push(change(ChangeKind::Instructions, Effect::Informing, "", sentence, before, after));
        }
        ServerFact::ServerInfo => {
            let sentence = "the server's name or version has changed".to_owned();
            changes.push(change(ChangeKind::ServerInfo, Effect::Informing, "", sentence, before, after));
        }
    }
}

fn capability(difference: &Difference<'_>) -> (Effect, String) {
    let name = difference.pointer.trim_start_matches('/').replace('/', ".");
    match (difference.before, difference.after) {
        (None, _) => (Effect::Informing, format!("the server now has the capability `{name}`")),
        (Some(_), None) => (Effect::Breaking, format!("the server no longer has the capability `{name}`")),
        // `false` to `true` is a gain, although the member existed before.
        (Some(_), Some(after)) if after.raw == b"true" => {
            (Effect::Informing, format!("the server now has the capability `{name}`"))
        }
        (Some(_), Some(_)) => (Effect::Breaking, format!("the server's capability `{name}` has changed")),
    }
}
