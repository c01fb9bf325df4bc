//! Compares two versions of a list entry: a tool, prompt, resource or resource template.

use super::change::{Change, ChangeKind, Effect, Subject};
use super::compare::spot;
use super::schema::{self, Side};
use crate::definitions::{Definition, ListKind};
use crate::fingerprint::fingerprint;
use crate::json_diff::{elements, members, push_name};
use std::collections::{BTreeMap, BTreeSet};
use wiretape_trace::value::Value;

/// Compares two versions of an entry, except for its name.
pub(super) fn compare(
    kind: ListKind,
    name: &str,
    was: &Definition,
    is: &Definition,
    changes: &mut Vec<Change>,
) {
    // Most entries are unchanged, and equal bytes need no parsing.
    if was.raw == is.raw {
        return;
    }
    // Both were parsed when they were collected, so this never fails.
    let (Ok(before), Ok(after)) = (Value::parse(&was.raw), Value::parse(&is.raw)) else { return };
    let mut entry_changes = EntryChanges { kind, name, is, changes };
    let (before, after) = (members(before), members(after));
    let all: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for member in all.into_iter().filter(|member| *member != kind.key()) {
        entry_changes.member(member, before.get(member).copied(), after.get(member).copied());
    }
}

/// Collects the changes of one entry.
struct EntryChanges<'n> {
    kind: ListKind,
    name: &'n str,
    is: &'n Definition,
    changes: &'n mut Vec<Change>,
}

impl EntryChanges<'_> {
    fn push(
        &mut self,
        (kind, effect): (ChangeKind, Effect),
        pointer: &str,
        sentence: String,
        before: Option<Value<'_>>,
        after: Option<Value<'_>>,
    ) {
        self.changes.push(Change {
            subject: Subject::Entry { list: self.kind, name: self.name.to_owned() },
            kind,
            effect,
            pointer: pointer.to_owned(),
            spot: spot(self.is, pointer),
            sentence,
            before: before.map(|value| value.raw.to_vec()),
            after: after.map(|value| value.raw.to_vec()),
        });
    }

    /// The entry for sentences: ``the tool `x` ``.
    fn entry(&self) -> String {
        format!("the {} `{}`", self.kind.noun(), self.name)
    }

    fn member(&mut self, member: &str, before: Option<Value<'_>>, after: Option<Value<'_>>) {
        let print = |value: Option<Value<'_>>| value.map(|value| fingerprint(value.raw));
        if print(before) == print(after) {
            return;
        }
        let mut pointer = String::new();
        push_name(&mut pointer, member);
        let entry = self.entry();
        match (self.kind, member) {
            (_, "description") => {
                let sentence = format!("the description of {entry} has changed");
                self.push((ChangeKind::Description, Effect::Informing), &pointer, sentence, before, after);
            }
            (_, "title") => {
                let sentence = format!("the title of {entry} has changed");
                self.push((ChangeKind::Title, Effect::Informing), &pointer, sentence, before, after);
            }
            (ListKind::Tools, "inputSchema") => self.schema(Side::Input, &pointer, before, after),
            (ListKind::Tools, "outputSchema") => self.schema(Side::Output, &pointer, before, after),
            (ListKind::Tools, "annotations") => self.hints(before, after),
            (ListKind::Prompts, "arguments") => self.arguments(before, after),
            (ListKind::Resources | ListKind::ResourceTemplates, "mimeType") => {
                let sentence = format!("the MIME type of {entry} has changed");
                self.push((ChangeKind::Other, Effect::Breaking), &pointer, sentence, before, after);
            }
            // These describe the content of a resource, which may change at any time, not the offer.
            (ListKind::Resources | ListKind::ResourceTemplates, "size" | "annotations") => {}
            _ => {
                let sentence = format!("`{member}` of {entry} has changed");
                self.push((ChangeKind::Other, Effect::Informing), &pointer, sentence, before, after);
            }
        }
    }

    fn schema(&mut self, side: Side, pointer: &str, before: Option<Value<'_>>, after: Option<Value<'_>>) {
        let entry = self.entry();
        let (Some(was), Some(is)) = (before, after) else {
            let (kind, effect, sentence) = match (side, before.is_some()) {
                // Without a schema, nothing says which arguments are accepted, so neither direction is known to be
                // harmless.
                (Side::Input, _) => (ChangeKind::Input, Effect::Breaking, "gained or lost its input schema"),
                (Side::Output, true) => {
                    (ChangeKind::Output, Effect::Breaking, "no longer declares structured results")
                }
                (Side::Output, false) => {
                    (ChangeKind::Output, Effect::Informing, "now declares structured results")
                }
            };
            return self.push((kind, effect), pointer, format!("{entry} {sentence}"), before, after);
        };
        for found in schema::compare(side, was, is) {
            let kind = match (found.kind, side) {
                (schema::SchemaChangeKind::Description, _) => ChangeKind::Description,
                (schema::SchemaChangeKind::Shape, Side::Input) => ChangeKind::Input,
                (schema::SchemaChangeKind::Shape, Side::Output) => ChangeKind::Output,
            };
            let place = format!("{pointer}{}", found.pointer);
            let sentence = format!("{entry}: {}", found.sentence);
            self.push((kind, found.effect), &place, sentence, found.before, found.after);
        }
    }

    fn hints(&mut self, before: Option<Value<'_>>, after: Option<Value<'_>>) {
        let (was, is) = (before.map(members).unwrap_or_default(), after.map(members).unwrap_or_default());
        let all: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
        for hint in all {
            let (one, other) = (was.get(hint).copied(), is.get(hint).copied());
            if one.map(|value| fingerprint(value.raw)) == other.map(|value| fingerprint(value.raw)) {
                continue;
            }
            let mut pointer = "/annotations".to_owned();
            push_name(&mut pointer, hint);
            let (effect, sentence) = match hint.as_str() {
                "title" => (Effect::Informing, format!("the title of {} has changed", self.entry())),
                // Clients skip confirmation because of these hints, so losing one is breaking, even if the schema is
                // the same.
                _ if promised(hint, one) && !promised(hint, other) => (
                    Effect::Breaking,
                    format!("{} no longer declares that it {}", self.entry(), promise(hint)),
                ),
                _ => (Effect::Informing, format!("`{hint}` of {} has changed", self.entry())),
            };
            self.push((ChangeKind::Annotations, effect), &pointer, sentence, one, other);
        }
    }

    fn arguments(&mut self, before: Option<Value<'_>>, after: Option<Value<'_>>) {
        let (was, is) = (by_name(before), by_name(after));
        let all: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
        for name in all {
            let (one, other) = (was.get(name), is.get(name));
            let pointer = other.or(one).map_or(String::new(), |(index, _)| format!("/arguments/{index}"));
            let (one, other) = (one.map(|(_, value)| *value), other.map(|(_, value)| *value));
            self.argument(name, &pointer, one, other);
        }
    }

    fn argument(&mut self, name: &str, pointer: &str, before: Option<Value<'_>>, after: Option<Value<'_>>) {
        let entry = self.entry();
        let is_required =
            |argument: Value<'_>| argument.get("required").is_some_and(|value| value.raw == b"true");
        let (kind, effect, what) = match (before, after) {
            (None, Some(after)) if is_required(after) => {
                (ChangeKind::Input, Effect::Breaking, "is new and required")
            }
            (None, _) => (ChangeKind::Input, Effect::Informing, "is new and optional"),
            (Some(_), None) => (ChangeKind::Input, Effect::Breaking, "was removed"),
            (Some(before), Some(after)) if !is_required(before) && is_required(after) => {
                (ChangeKind::Input, Effect::Breaking, "is now required")
            }
            (Some(before), Some(after)) if is_required(before) && !is_required(after) => {
                (ChangeKind::Input, Effect::Informing, "is no longer required")
            }
            (Some(before), Some(after)) if fingerprint(before.raw) != fingerprint(after.raw) => {
                (ChangeKind::Description, Effect::Informing, "has a different description")
            }
            _ => return,
        };
        let sentence = format!("{entry}: the argument `{name}` {what}");
        self.push((kind, effect), pointer, sentence, before, after);
    }
}

/// Whether a hint declares a tool harmless. A missing hint means the opposite: its default is the unsafe value
/// (2025-11-25, schema, ToolAnnotations).
fn promised(hint: &str, value: Option<Value<'_>>) -> bool {
    let wanted: &[u8] = match hint {
        "readOnlyHint" | "idempotentHint" => b"true",
        "destructiveHint" | "openWorldHint" => b"false",
        _ => return false,
    };
    value.is_some_and(|value| value.raw == wanted)
}

fn promise(hint: &str) -> &'static str {
    match hint {
        "readOnlyHint" => "is read-only",
        "idempotentHint" => "is idempotent",
        "destructiveHint" => "is not destructive",
        _ => "does not reach external systems",
    }
}

fn by_name(arguments: Option<Value<'_>>) -> BTreeMap<String, (usize, Value<'_>)> {
    let elements = arguments.map(elements).unwrap_or_default();
    let named = elements.into_iter().enumerate().filter_map(|(index, argument)| {
        Some((argument.get("name")?.string()?.into_owned(), (index, argument)))
    });
    named.collect()
}
