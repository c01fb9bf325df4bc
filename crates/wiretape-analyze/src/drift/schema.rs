//! The effect of a schema change on callers.
//!
//! An input schema may become wider: every valid call stays valid. An output schema may become narrower: every result still
//! matches the earlier schema. The opposite breaks callers. Where the direction can't be determined, as with `$ref` or
//! `not`, the change counts as breaking, because a missed break costs more than a false one.

use super::change::Effect;
use crate::fingerprint::fingerprint;
use crate::json_diff::{elements, members, push_name};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use wiretape_trace::value::Value;

/// Levels of nesting that are compared by keyword; deeper schemas are compared as a whole.
const MAX_DEPTH: usize = 32;
/// Changes reported per schema.
const MAX_CHANGES: usize = 200;

/// Which of a tool's schemas is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The schema of its arguments.
    Input,
    /// The schema of its results.
    Output,
}

/// A change in a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SchemaChange<'a> {
    /// JSON pointer into the schema.
    pub(super) pointer: String,
    pub(super) kind: SchemaChangeKind,
    pub(super) effect: Effect,
    pub(super) sentence: String,
    pub(super) before: Option<Value<'a>>,
    pub(super) after: Option<Value<'a>>,
}

/// The kind of a schema change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaChangeKind {
    /// Text that the model reads.
    Description,
    /// The set of valid values.
    Shape,
}

/// How the set of valid values changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shift {
    Narrower,
    Wider,
    /// Some values became valid and others invalid, or the direction is unknown.
    Either,
    Neither,
}

/// Compares two schemas. At most [`MAX_CHANGES`] changes are returned.
pub(super) fn compare<'a>(side: Side, before: Value<'a>, after: Value<'a>) -> Vec<SchemaChange<'a>> {
    // A stack of pairs instead of recursion: schemas come from servers and may be nested arbitrarily deep.
    let mut walk = Walk { side, found: Vec::new(), work: Vec::new() };
    walk.work.push(SchemaPair { pointer: String::new(), name: String::new(), depth: 0, before, after });
    while let Some(work) = walk.work.pop() {
        if walk.found.len() >= MAX_CHANGES {
            break;
        }
        walk.schema(&work);
    }
    walk.found
}

struct Walk<'a> {
    side: Side,
    found: Vec<SchemaChange<'a>>,
    work: Vec<SchemaPair<'a>>,
}

/// Two versions of a schema at the same location.
struct SchemaPair<'a> {
    pointer: String,
    /// The location as dot-separated member names.
    name: String,
    depth: usize,
    before: Value<'a>,
    after: Value<'a>,
}

type Keyword<'a> = Option<Value<'a>>;

impl<'a> Walk<'a> {
    fn schema(&mut self, work: &SchemaPair<'a>) {
        if fingerprint(work.before.raw) == fingerprint(work.after.raw) {
            return;
        }
        if !work.before.is_object() || !work.after.is_object() || work.depth >= MAX_DEPTH {
            let shift = match (work.before.raw, work.after.raw) {
                // A boolean is a schema (JSON Schema 2020-12, section 4.3.2): `true` accepts every value, `false`
                // none.
                (b"true", _) | (_, b"false") => Shift::Narrower,
                (_, b"true") | (b"false", _) => Shift::Wider,
                _ => Shift::Either,
            };
            return self.push_change(
                work,
                "",
                shift,
                "has a different definition",
                Some(work.before),
                Some(work.after),
            );
        }
        let (before, after) = (members(work.before), members(work.after));
        let count = self.progress();
        self.properties(work, &before, &after);
        // If neither property nor `required` explains the change (say, both moved to a form that is not an object),
        // the generic comparison below has to report it.
        let together = self.progress() > count;
        let all: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for keyword in all {
            let (one, other) = (before.get(keyword).copied(), after.get(keyword).copied());
            if is_same(keyword, one, other) || (together && TOGETHER.contains(&keyword.as_str())) {
                continue;
            }
            let count = self.progress();
            self.keyword(work, keyword, one, other);
            // The baseline pins the whole definition, so an unknown keyword is reported, too.
            if self.progress() == count {
                self.push_change(work, keyword, Shift::Neither, "has different annotations", one, other);
            }
        }
    }

    /// A counter that grows with every reported change and every pending pair: if it stays, a keyword was not handled.
    fn progress(&self) -> usize {
        self.found.len() + self.work.len()
    }

    fn keyword(&mut self, work: &SchemaPair<'a>, keyword: &str, before: Keyword<'a>, after: Keyword<'a>) {
        match keyword {
            // Handled by `properties` above.
            _ if TOGETHER.contains(&keyword) => {}
            "description" | "title" | "$comment" | "examples" => self.words(work, keyword, before, after),
            "default" => {
                self.push_change(work, keyword, Shift::Neither, "has a different default", before, after);
            }
            "type" => {
                let shift = sets(&types(before), &types(after));
                self.push_change(work, keyword, shift, type_words(shift), before, after);
            }
            "enum" | "const" => self.values(work, keyword, before, after),
            "additionalProperties" | "items" | "not" if before.is_some() && after.is_some() => {
                self.inside(work, keyword, before, after);
            }
            "additionalProperties" | "items" => {
                let shift = appears(before, after, |schema| schema.raw == b"true" || schema.raw == b"{}");
                let words = match (keyword, shift) {
                    ("additionalProperties", Shift::Narrower) => "no longer accepts additional members",
                    ("additionalProperties", _) => "now accepts additional members",
                    _ => "has different elements",
                };
                self.push_change(work, keyword, shift, words, before, after);
            }
            "anyOf" | "oneOf" | "allOf" => self.alternatives(work, keyword, before, after),
            "$defs" | "definitions" => self.definitions(work, keyword, before, after),
            "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
                self.push_change(
                    work,
                    keyword,
                    bound(before, after, f64::lt),
                    "has a different lower limit",
                    before,
                    after,
                );
            }
            "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
                self.push_change(
                    work,
                    keyword,
                    bound(before, after, f64::gt),
                    "has a different upper limit",
                    before,
                    after,
                );
            }
            "uniqueItems" => {
                let shift = appears(before, after, |value| value.raw == b"false");
                self.push_change(
                    work,
                    keyword,
                    shift,
                    "has a different rule for duplicate elements",
                    before,
                    after,
                );
            }
            "pattern" | "multipleOf" => {
                let shift = appears(before, after, |_| false);
                self.push_change(work, keyword, shift, "has a different format", before, after);
            }
            _ if VALIDATING.contains(&keyword) => {
                self.push_change(work, keyword, Shift::Either, "has a different definition", before, after);
            }
            _ => self.push_change(work, keyword, Shift::Neither, "has different annotations", before, after),
        }
    }

    /// Compares `properties` and `required` together: whether a new property breaks callers depends on both.
    fn properties(
        &mut self,
        work: &SchemaPair<'a>,
        before: &BTreeMap<String, Value<'a>>,
        after: &BTreeMap<String, Value<'a>>,
    ) {
        let properties = |schema: &BTreeMap<String, Value<'a>>| {
            schema.get("properties").copied().map(members).unwrap_or_default()
        };
        let (was, is) = (properties(before), properties(after));
        let (had_to, has_to) = (names(before.get("required")), names(after.get("required")));
        let is_closed = after.get("additionalProperties").is_some_and(|schema| schema.raw == b"false");
        let all: BTreeSet<&String> = was.keys().chain(is.keys()).chain(&had_to).chain(&has_to).collect();
        for name in all {
            let (one, other) = (was.get(name).copied(), is.get(name).copied());
            let required = (had_to.contains(name), has_to.contains(name));
            let mut pointer = format!("{}/properties", work.pointer);
            push_name(&mut pointer, name);
            let place = SchemaPair {
                pointer,
                name: if work.name.is_empty() { name.clone() } else { format!("{}.{name}", work.name) },
                depth: work.depth + 1,
                // A property that one side lacks has no schema to compare; the parent's is a placeholder that is not
                // used, because such a pair is not queued below.
                before: one.unwrap_or(work.before),
                after: other.unwrap_or(work.after),
            };
            self.property(&place, one, other, required, is_closed.into());
            if !is_same("", one, other) && one.is_some() && other.is_some() {
                self.work.push(place);
            }
        }
    }

    fn property(
        &mut self,
        place: &SchemaPair<'a>,
        before: Keyword<'a>,
        after: Keyword<'a>,
        required: (bool, bool),
        extra: ExtraMembers,
    ) {
        let (effect, words) = match (self.side, before.is_some(), after.is_some(), required) {
            (Side::Input, false, _, (false, true)) => (Effect::Breaking, "is new and required"),
            (Side::Input, true, _, (false, true)) => (Effect::Breaking, "is now required"),
            (Side::Input, true, false, _) if extra == ExtraMembers::Closed => {
                (Effect::Breaking, "is no longer accepted")
            }
            (Side::Input, true, false, _) => (Effect::Informing, "is no longer described"),
            (Side::Input, false, true, _) => (Effect::Informing, "is new and optional"),
            (Side::Input, _, _, (true, false)) => (Effect::Informing, "is no longer required"),
            (Side::Output, true, false, (true, _)) => (Effect::Breaking, "was removed"),
            (Side::Output, true, false, _) => (Effect::Informing, "is no longer described"),
            (Side::Output, _, _, (true, false)) => (Effect::Breaking, "is now optional"),
            (Side::Output, false, true, _) => (Effect::Informing, "is new"),
            (Side::Output, _, _, (false, true)) => (Effect::Informing, "is now always present"),
            _ => return,
        };
        let sentence = format!("{} {words}", self.subject(place));
        self.found.push(SchemaChange {
            pointer: place.pointer.clone(),
            kind: SchemaChangeKind::Shape,
            effect,
            sentence,
            before,
            after,
        });
    }

    fn words(&mut self, work: &SchemaPair<'a>, keyword: &str, before: Keyword<'a>, after: Keyword<'a>) {
        let place = self.subject(work);
        let mut pointer = work.pointer.clone();
        push_name(&mut pointer, keyword);
        self.found.push(SchemaChange {
            pointer,
            kind: SchemaChangeKind::Description,
            effect: Effect::Informing,
            sentence: format!("{place} has a different description"),
            before,
            after,
        });
    }

    fn values(&mut self, work: &SchemaPair<'a>, keyword: &str, before: Keyword<'a>, after: Keyword<'a>) {
        let prints = |value: Keyword<'a>| -> Option<BTreeSet<u64>> {
            let value = value?;
            let values = if keyword == "const" { vec![value] } else { elements(value) };
            Some(values.iter().map(|value| fingerprint(value.raw)).collect())
        };
        let shift = match (prints(before), prints(after)) {
            (Some(before), Some(after)) => sets(&before, &after),
            (None, _) => Shift::Narrower,
            (_, None) => Shift::Wider,
        };
        let words = match shift {
            Shift::Narrower => "allows fewer values",
            Shift::Wider => "allows more values",
            _ => "allows different values",
        };
        self.push_change(work, keyword, shift, words, before, after);
    }

    fn alternatives(
        &mut self,
        work: &SchemaPair<'a>,
        keyword: &str,
        before: Keyword<'a>,
        after: Keyword<'a>,
    ) {
        let list = |value: Keyword<'a>| value.map(elements).unwrap_or_default();
        let (was, is) = (list(before), list(after));
        let prints =
            |list: &[Value<'a>]| list.iter().map(|one| fingerprint(one.raw)).collect::<BTreeSet<u64>>();
        let (old, new) = (prints(&was), prints(&is));
        let differing: Vec<usize> = (0..was.len().min(is.len()))
            .filter(|&at| fingerprint(was[at].raw) != fingerprint(is[at].raw))
            .collect();
        // Exactly one branch differs: it is compared in detail. With several, it is unknown which belongs to which.
        if let (true, [at]) = (was.len() == is.len(), &differing[..]) {
            let pointer = format!("{}/{keyword}/{at}", work.pointer);
            let (before, after) = (was[*at], is[*at]);
            self.work.push(SchemaPair {
                pointer,
                name: work.name.clone(),
                depth: work.depth + 1,
                before,
                after,
            });
            return;
        }
        let shift = match (keyword, before.is_some(), after.is_some()) {
            (_, false, _) => Shift::Narrower,
            (_, _, false) => Shift::Wider,
            // A new branch narrows `allOf` and widens `anyOf`.
            ("allOf", ..) => sets(&new, &old),
            ("anyOf", ..) => sets(&old, &new),
            _ => Shift::Either,
        };
        self.push_change(work, keyword, shift, "has different alternatives", before, after);
    }

    fn definitions(&mut self, work: &SchemaPair<'a>, keyword: &str, before: Keyword<'a>, after: Keyword<'a>) {
        let (was, is) = (before.map(members).unwrap_or_default(), after.map(members).unwrap_or_default());
        for (name, after) in is {
            // A new or removed definition shows where it is referenced.
            if let Some(before) = was.get(&name) {
                let mut pointer = format!("{}/{keyword}", work.pointer);
                push_name(&mut pointer, &name);
                self.work.push(SchemaPair { pointer, name, depth: work.depth + 1, before: *before, after });
            }
        }
    }

    /// Queues a subschema for comparison.
    fn inside(&mut self, work: &SchemaPair<'a>, keyword: &str, before: Keyword<'a>, after: Keyword<'a>) {
        let (Some(before), Some(after)) = (before, after) else { return };
        if keyword == "not" {
            return self.push_change(
                work,
                keyword,
                Shift::Either,
                "has a different definition",
                Some(before),
                Some(after),
            );
        }
        let name = match keyword {
            "items" => format!("{}[]", work.name),
            _ => work.name.clone(),
        };
        let pointer = format!("{}/{keyword}", work.pointer);
        self.work.push(SchemaPair { pointer, name, depth: work.depth + 1, before, after });
    }

    fn push_change(
        &mut self,
        work: &SchemaPair<'a>,
        keyword: &str,
        shift: Shift,
        words: &str,
        before: Keyword<'a>,
        after: Keyword<'a>,
    ) {
        let mut pointer = work.pointer.clone();
        if !keyword.is_empty() {
            push_name(&mut pointer, keyword);
        }
        let effect = match (self.side, shift) {
            (_, Shift::Either) | (Side::Input, Shift::Narrower) | (Side::Output, Shift::Wider) => {
                Effect::Breaking
            }
            _ => Effect::Informing,
        };
        let sentence = format!("{} {words}", self.subject(work));
        self.found.push(SchemaChange {
            pointer,
            kind: SchemaChangeKind::Shape,
            effect,
            sentence,
            before,
            after,
        });
    }

    fn subject(&self, work: &SchemaPair<'_>) -> String {
        match (self.side, work.name.as_str()) {
            (Side::Input, "") => "its input".to_owned(),
            (Side::Output, "") => "its output".to_owned(),
            (Side::Input, name) => format!("the argument `{name}`"),
            (Side::Output, name) => format!("the result member `{name}`"),
        }
    }
}

/// Keywords that are compared together.
const TOGETHER: [&str; 2] = ["properties", "required"];

/// Whether a keyword is unchanged. The order of `type`, `enum` and `required` doesn't matter.
fn is_same(keyword: &str, before: Keyword<'_>, after: Keyword<'_>) -> bool {
    let print = |value: Keyword<'_>| value.map(|value| fingerprint(value.raw));
    let sorted = |value: Value<'_>| {
        let mut prints: Vec<u64> = elements(value).iter().map(|element| fingerprint(element.raw)).collect();
        prints.sort_unstable();
        prints
    };
    match (before, after) {
        (Some(before), Some(after)) if matches!(keyword, "type" | "enum" | "required") => {
            print(Some(before)) == print(Some(after))
                || (before.is_array() && after.is_array() && sorted(before) == sorted(after))
        }
        _ => print(before) == print(after),
    }
}

/// Whether undeclared members are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExtraMembers {
    Open,
    Closed,
}

impl From<bool> for ExtraMembers {
    fn from(is_closed: bool) -> Self {
        if is_closed { ExtraMembers::Closed } else { ExtraMembers::Open }
    }
}

/// Validating keywords whose changes are not analyzed; any change counts as [`Shift::Either`].
const VALIDATING: [&str; 17] = [
    "$ref",
    "$dynamicRef",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "patternProperties",
    "propertyNames",
    "prefixItems",
    "contains",
    "minContains",
    "maxContains",
    "unevaluatedProperties",
    "unevaluatedItems",
];

/// The allowed types. `number` includes `integer`.
fn types(keyword: Keyword<'_>) -> BTreeSet<String> {
    const ALL: [&str; 7] = ["null", "boolean", "object", "array", "number", "integer", "string"];
    let mut types: BTreeSet<String> = match keyword {
        None => ALL.iter().map(|name| (*name).to_owned()).collect(),
        Some(value) if value.is_array() => names(Some(&value)),
        Some(value) => value.string().map(Cow::into_owned).into_iter().collect(),
    };
    // JSON Schema: every integer is a number. Otherwise `integer` to `number` would count as a change in both
    // directions.
    if types.contains("number") {
        types.insert("integer".to_owned());
    }
    types
}

fn type_words(shift: Shift) -> &'static str {
    match shift {
        Shift::Narrower => "allows fewer types",
        Shift::Wider => "allows more types",
        _ => "has a different type",
    }
}

/// The strings of an array.
fn names(array: Option<&Value<'_>>) -> BTreeSet<String> {
    let elements = array.copied().map(elements).unwrap_or_default();
    elements.into_iter().filter_map(Value::string).map(Cow::into_owned).collect()
}

fn sets<T: Ord>(before: &BTreeSet<T>, after: &BTreeSet<T>) -> Shift {
    match (after.is_subset(before), before.is_subset(after)) {
        (true, true) => Shift::Neither,
        (true, false) => Shift::Narrower,
        (false, true) => Shift::Wider,
        (false, false) => Shift::Either,
    }
}

/// Adding a constraint narrows, removing one widens, unless the constraint is a no-op.
fn appears<'a>(before: Keyword<'a>, after: Keyword<'a>, says_nothing: impl Fn(Value<'a>) -> bool) -> Shift {
    let is_there = |value: Keyword<'a>| value.is_some_and(|value| !says_nothing(value));
    match (is_there(before), is_there(after)) {
        (false, false) => Shift::Neither,
        (false, true) => Shift::Narrower,
        (true, false) => Shift::Wider,
        (true, true) => Shift::Either,
    }
}

/// The effect of a changed limit: it narrows if `narrows(old, new)`.
fn bound(before: Keyword<'_>, after: Keyword<'_>, narrows: fn(&f64, &f64) -> bool) -> Shift {
    let number = |value: Keyword<'_>| std::str::from_utf8(value?.raw).ok()?.parse::<f64>().ok();
    match (number(before), number(after)) {
        (None, Some(_)) => Shift::Narrower,
        (Some(_), None) => Shift::Wider,
        (Some(before), Some(after)) if narrows(&before, &after) => Shift::Narrower,
        // Equal limits don't get here, because `is_same` has skipped them.
        (Some(_), Some(_)) => Shift::Wider,
        (None, None) => Shift::Either,
    }
}
