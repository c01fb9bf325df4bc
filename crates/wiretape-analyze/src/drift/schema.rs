//! What a change of a JSON Schema means to who calls.
//!
//! What a tool takes may become wider without harm: every call that was good still is. What it gives may become narrower:
//! every result is still one that was promised. The other way around, each breaks somebody. Where that can't be told, as
//! with `$ref` or `not`, a change counts as breaking.

use super::change::Effect;
use crate::fingerprint::fingerprint;
use crate::json_diff::{elements, members, push_name};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use wiretape_trace::value::Value;

/// Deeper than this schemas are compared whole.
const MAX_DEPTH: usize = 32;
/// More is not told of one schema.
const MAX_FOUND: usize = 200;

/// Whose schema it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Of what a tool takes.
    Input,
    /// Of what it gives.
    Output,
}

/// What has changed in a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found<'a> {
    /// Where in the schema.
    pub(super) pointer: String,
    pub(super) kind: FoundKind,
    pub(super) effect: Effect,
    pub(super) sentence: String,
    pub(super) before: Option<Value<'a>>,
    pub(super) after: Option<Value<'a>>,
}

/// What sort of change it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundKind {
    /// Of words that a model reads.
    Description,
    /// Of what is valid.
    Shape,
}

/// What a change does to the set of valid values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shift {
    Narrower,
    Wider,
    /// Some values are new and some are gone, or nobody can tell.
    Either,
    Neither,
}

/// Compares two schemas.
pub(super) fn compare<'a>(side: Side, before: Value<'a>, after: Value<'a>) -> Vec<Found<'a>> {
    let mut walk = Walk { side, found: Vec::new(), work: Vec::new() };
    walk.work.push(Work { pointer: String::new(), name: String::new(), depth: 0, before, after });
    while let Some(work) = walk.work.pop() {
        if walk.found.len() >= MAX_FOUND {
            break;
        }
        walk.schema(&work);
    }
    walk.found
}

struct Walk<'a> {
    side: Side,
    found: Vec<Found<'a>>,
    work: Vec<Work<'a>>,
}

/// Two schemas of the same place.
struct Work<'a> {
    pointer: String,
    /// What the place is called: the names of members, with dots between them.
    name: String,
    depth: usize,
    before: Value<'a>,
    after: Value<'a>,
}

type Keyword<'a> = Option<Value<'a>>;

impl<'a> Walk<'a> {
    fn schema(&mut self, work: &Work<'a>) {
        if fingerprint(work.before.raw) == fingerprint(work.after.raw) {
            return;
        }
        if !work.before.is_object() || !work.after.is_object() || work.depth >= MAX_DEPTH {
            let shift = match (work.before.raw, work.after.raw) {
                (b"true", _) | (_, b"false") => Shift::Narrower,
                (_, b"true") | (b"false", _) => Shift::Wider,
                _ => Shift::Either,
            };
            return self.tell(work, "", shift, "is defined otherwise", Some(work.before), Some(work.after));
        }
        let (before, after) = (members(work.before), members(work.after));
        let told = self.told();
        self.properties(work, &before, &after);
        let together = self.told() > told;
        let all: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for keyword in all {
            let (one, other) = (before.get(keyword).copied(), after.get(keyword).copied());
            if is_same(keyword, one, other) || (together && TOGETHER.contains(&keyword.as_str())) {
                continue;
            }
            let told = self.told();
            self.keyword(work, keyword, one, other);
            // A pin holds for all of a definition, also for what means nothing to us.
            if self.told() == told {
                self.tell(work, keyword, Shift::Neither, "is annotated otherwise", one, other);
            }
        }
    }

    /// Grows with everything that is told or still to be looked into.
    fn told(&self) -> usize {
        self.found.len() + self.work.len()
    }

    fn keyword(&mut self, work: &Work<'a>, keyword: &str, before: Keyword<'a>, after: Keyword<'a>) {
        match keyword {
            // What these mean was told, if there was something to tell.
            _ if TOGETHER.contains(&keyword) => {}
            "description" | "title" | "$comment" | "examples" => self.words(work, keyword, before, after),
            "default" => self.tell(work, keyword, Shift::Neither, "has another default", before, after),
            "type" => {
                let shift = sets(&types(before), &types(after));
                self.tell(work, keyword, shift, type_words(shift), before, after);
            }
            "enum" | "const" => self.values(work, keyword, before, after),
            "additionalProperties" | "items" | "not" if before.is_some() && after.is_some() => {
                self.inside(work, keyword, before, after);
            }
            "additionalProperties" | "items" => {
                let shift = appears(before, after, |schema| schema.raw == b"true" || schema.raw == b"{}");
                let words = match (keyword, shift) {
                    ("additionalProperties", Shift::Narrower) => "takes no other members any more",
                    ("additionalProperties", _) => "takes other members now",
                    _ => "has other elements",
                };
                self.tell(work, keyword, shift, words, before, after);
            }
            "anyOf" | "oneOf" | "allOf" => self.alternatives(work, keyword, before, after),
            "$defs" | "definitions" => self.definitions(work, keyword, before, after),
            "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
                self.tell(
                    work,
                    keyword,
                    bound(before, after, f64::lt),
                    "has another lower limit",
                    before,
                    after,
                );
            }
            "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
                self.tell(
                    work,
                    keyword,
                    bound(before, after, f64::gt),
                    "has another upper limit",
                    before,
                    after,
                );
            }
            "uniqueItems" => {
                let shift = appears(before, after, |value| value.raw == b"false");
                self.tell(work, keyword, shift, "treats equal elements otherwise", before, after);
            }
            "pattern" | "multipleOf" => {
                let shift = appears(before, after, |_| false);
                self.tell(work, keyword, shift, "must look otherwise", before, after);
            }
            _ if VALIDATING.contains(&keyword) => {
                self.tell(work, keyword, Shift::Either, "is defined otherwise", before, after);
            }
            _ => self.tell(work, keyword, Shift::Neither, "is annotated otherwise", before, after),
        }
    }

    /// `properties` and `required`, which mean something only together.
    fn properties(
        &mut self,
        work: &Work<'a>,
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
            let place = Work {
                pointer,
                name: if work.name.is_empty() { name.clone() } else { format!("{}.{name}", work.name) },
                depth: work.depth + 1,
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
        place: &Work<'a>,
        before: Keyword<'a>,
        after: Keyword<'a>,
        required: (bool, bool),
        rest: Rest,
    ) {
        let (effect, words) = match (self.side, before.is_some(), after.is_some(), required) {
            (Side::Input, false, _, (false, true)) => (Effect::Breaking, "is new and must be given"),
            (Side::Input, true, _, (false, true)) => (Effect::Breaking, "must be given now"),
            (Side::Input, true, false, _) if rest == Rest::Closed => {
                (Effect::Breaking, "is no longer accepted")
            }
            (Side::Input, true, false, _) => (Effect::Informing, "is no longer described"),
            (Side::Input, false, true, _) => (Effect::Informing, "is new and may be given"),
            (Side::Input, _, _, (true, false)) => (Effect::Informing, "need not be given any more"),
            (Side::Output, true, false, (true, _)) => (Effect::Breaking, "is gone"),
            (Side::Output, true, false, _) => (Effect::Informing, "is no longer described"),
            (Side::Output, _, _, (true, false)) => (Effect::Breaking, "may be missing now"),
            (Side::Output, false, true, _) => (Effect::Informing, "is new"),
            (Side::Output, _, _, (false, true)) => (Effect::Informing, "is always there now"),
            _ => return,
        };
        let sentence = format!("{} {words}", self.subject(place));
        self.found.push(Found {
            pointer: place.pointer.clone(),
            kind: FoundKind::Shape,
            effect,
            sentence,
            before,
            after,
        });
    }

    fn words(&mut self, work: &Work<'a>, keyword: &str, before: Keyword<'a>, after: Keyword<'a>) {
        let place = self.subject(work);
        let mut pointer = work.pointer.clone();
        push_name(&mut pointer, keyword);
        self.found.push(Found {
            pointer,
            kind: FoundKind::Description,
            effect: Effect::Informing,
            sentence: format!("{place} is described otherwise"),
            before,
            after,
        });
    }

    fn values(&mut self, work: &Work<'a>, keyword: &str, before: Keyword<'a>, after: Keyword<'a>) {
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
            Shift::Narrower => "has fewer values",
            Shift::Wider => "has more values",
            _ => "has other values",
        };
        self.tell(work, keyword, shift, words, before, after);
    }

    fn alternatives(&mut self, work: &Work<'a>, keyword: &str, before: Keyword<'a>, after: Keyword<'a>) {
        let list = |value: Keyword<'a>| value.map(elements).unwrap_or_default();
        let (was, is) = (list(before), list(after));
        let prints =
            |list: &[Value<'a>]| list.iter().map(|one| fingerprint(one.raw)).collect::<BTreeSet<u64>>();
        let (old, new) = (prints(&was), prints(&is));
        let differing: Vec<usize> = (0..was.len().min(is.len()))
            .filter(|&at| fingerprint(was[at].raw) != fingerprint(is[at].raw))
            .collect();
        if let (true, [at]) = (was.len() == is.len(), &differing[..]) {
            let pointer = format!("{}/{keyword}/{at}", work.pointer);
            let (before, after) = (was[*at], is[*at]);
            self.work.push(Work { pointer, name: work.name.clone(), depth: work.depth + 1, before, after });
            return;
        }
        let shift = match (keyword, before.is_some(), after.is_some()) {
            (_, false, _) => Shift::Narrower,
            (_, _, false) => Shift::Wider,
            // Each of `allOf` takes something away, each of `anyOf` gives something.
            ("allOf", ..) => sets(&new, &old),
            ("anyOf", ..) => sets(&old, &new),
            _ => Shift::Either,
        };
        self.tell(work, keyword, shift, "has other alternatives", before, after);
    }

    fn definitions(&mut self, work: &Work<'a>, keyword: &str, before: Keyword<'a>, after: Keyword<'a>) {
        let (was, is) = (before.map(members).unwrap_or_default(), after.map(members).unwrap_or_default());
        for (name, after) in is {
            // What is new is seen where it is referred to; what is gone, too.
            if let Some(before) = was.get(&name) {
                let mut pointer = format!("{}/{keyword}", work.pointer);
                push_name(&mut pointer, &name);
                self.work.push(Work { pointer, name, depth: work.depth + 1, before: *before, after });
            }
        }
    }

    /// A schema in a schema.
    fn inside(&mut self, work: &Work<'a>, keyword: &str, before: Keyword<'a>, after: Keyword<'a>) {
        let (Some(before), Some(after)) = (before, after) else { return };
        if keyword == "not" {
            return self.tell(
                work,
                keyword,
                Shift::Either,
                "is defined otherwise",
                Some(before),
                Some(after),
            );
        }
        let name = match keyword {
            "items" => format!("{}[]", work.name),
            _ => work.name.clone(),
        };
        let pointer = format!("{}/{keyword}", work.pointer);
        self.work.push(Work { pointer, name, depth: work.depth + 1, before, after });
    }

    fn tell(
        &mut self,
        work: &Work<'a>,
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
        self.found.push(Found { pointer, kind: FoundKind::Shape, effect, sentence, before, after });
    }

    fn subject(&self, work: &Work<'_>) -> String {
        match (self.side, work.name.as_str()) {
            (Side::Input, "") => "what it takes".to_owned(),
            (Side::Output, "") => "what it gives".to_owned(),
            (Side::Input, name) => format!("the argument `{name}`"),
            (Side::Output, name) => format!("the result's member `{name}`"),
        }
    }
}

/// Keywords that mean something only together.
const TOGETHER: [&str; 2] = ["properties", "required"];

/// Whether a keyword says the same: the order of some lists counts for nothing.
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

/// Whether members that are not described are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    Open,
    Closed,
}

impl From<bool> for Rest {
    fn from(is_closed: bool) -> Self {
        if is_closed { Rest::Closed } else { Rest::Open }
    }
}

/// Keywords that say what is valid, and whose changes nobody can weigh at a glance.
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

/// The types that a value may have; a number may be an integer.
fn types(keyword: Keyword<'_>) -> BTreeSet<String> {
    const ALL: [&str; 7] = ["null", "boolean", "object", "array", "number", "integer", "string"];
    let mut types: BTreeSet<String> = match keyword {
        None => ALL.iter().map(|name| (*name).to_owned()).collect(),
        Some(value) if value.is_array() => names(Some(&value)),
        Some(value) => value.string().map(Cow::into_owned).into_iter().collect(),
    };
    if types.contains("number") {
        types.insert("integer".to_owned());
    }
    types
}

fn type_words(shift: Shift) -> &'static str {
    match shift {
        Shift::Narrower => "may be of fewer types",
        Shift::Wider => "may be of more types",
        _ => "is of another type",
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

/// What comes or goes narrows or widens, unless it says nothing.
fn appears<'a>(before: Keyword<'a>, after: Keyword<'a>, says_nothing: impl Fn(Value<'a>) -> bool) -> Shift {
    let is_there = |value: Keyword<'a>| value.is_some_and(|value| !says_nothing(value));
    match (is_there(before), is_there(after)) {
        (false, false) => Shift::Neither,
        (false, true) => Shift::Narrower,
        (true, false) => Shift::Wider,
        (true, true) => Shift::Either,
    }
}

/// A limit that narrows if the old one stands in this relation to the new.
fn bound(before: Keyword<'_>, after: Keyword<'_>, narrows: fn(&f64, &f64) -> bool) -> Shift {
    let number = |value: Keyword<'_>| std::str::from_utf8(value?.raw).ok()?.parse::<f64>().ok();
    match (number(before), number(after)) {
        (None, Some(_)) => Shift::Narrower,
        (Some(_), None) => Shift::Wider,
        (Some(before), Some(after)) if narrows(&before, &after) => Shift::Narrower,
        (Some(_), Some(_)) => Shift::Wider,
        (None, None) => Shift::Either,
    }
}
