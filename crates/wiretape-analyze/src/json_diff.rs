//! The differences between two JSON values: what was added, removed and changed, each with its JSON pointer.
//!
//! Values are compared by meaning, as in [`crate::fingerprint`]: the order of members doesn't matter, and `1` equals
//! `1.0`. Array elements are aligned by [`crate::align`], so that an inserted element is one difference instead of a change
//! of every later one.
//!
//! The comparison is a work list instead of a recursion, because payloads may be nested arbitrarily deep; below
//! [`MAX_DEPTH`] levels values are compared as a whole. Pointers are built only for differences that are reported: most
//! pairs are equal. How much of a long value to show is up to the caller.

use crate::align::{self, Key, Row};
use crate::fingerprint::{combine, fingerprint, fingerprint_without, text};
use crate::volatile::{Paths, Trail};
use std::collections::{BTreeMap, VecDeque};
use wiretape_trace::value::Value;

/// Levels of nesting that are compared member by member; deeper values are compared as a whole.
pub const MAX_DEPTH: usize = 64;

/// A place where two values differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference<'a> {
    /// The JSON pointer of the place: in the later value, or in the earlier one if it was removed.
    pub pointer: String,
    /// The pointer in the earlier value, if it differs because elements were added or removed before it.
    pub pointer_before: Option<String>,
    /// What was there; `None` if it was added.
    pub before: Option<Value<'a>>,
    /// What is there now; `None` if it was removed.
    pub after: Option<Value<'a>>,
    trail: Trail,
}

/// Two strings that hold JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inside {
    before: Vec<u8>,
    after: Vec<u8>,
    trail: Trail,
}

impl Difference<'_> {
    /// The JSON in two strings; `None` if they don't hold JSON or are to be compared as strings.
    pub fn inside(&self, paths: &Paths) -> Option<Inside> {
        let (before, after) = (self.before?.string_bytes()?, self.after?.string_bytes()?);
        let (before, after) = (paths.json_in(&before)?.to_vec(), paths.json_in(&after)?.to_vec());
        Some(Inside { before, after, trail: self.trail.clone() })
    }
}

impl Inside {
    /// The differences between the two JSON values.
    pub fn differences(&self, paths: &Paths, limit: usize) -> Differences<'_> {
        self.differences_beyond(paths, limit, None)
    }

    /// The differences between the two JSON values, except between values that are alike.
    pub fn differences_beyond(
        &self,
        paths: &Paths,
        limit: usize,
        alike: Option<Alike<'_>>,
    ) -> Differences<'_> {
        match (Value::parse(&self.before), Value::parse(&self.after)) {
            (Ok(before), Ok(after)) => diff_at((before, after), paths, self.trail.clone(), limit, alike),
            _ => Differences::default(),
        }
    }
}

/// Values that count as equal although they differ: generated ids, redaction markers. Array elements whose ids are alike are
/// paired.
#[derive(Clone, Copy)]
pub struct Alike<'f> {
    /// Whether the later value counts as equal to the earlier one.
    pub is_alike: &'f dyn Fn(Value<'_>, Value<'_>) -> bool,
    /// Whether they are reported as differences anyway.
    pub is_reported: bool,
}

/// The places where two values differ, in the order of the later value's elements and of the names of members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences<'a> {
    /// The first of them.
    pub list: Vec<Difference<'a>>,
    /// Whether there are more.
    pub more: bool,
}

/// The differences between two values except in ignored paths, at most `limit` of them.
///
/// ```
/// use wiretape_analyze::json_diff::diff;
/// use wiretape_analyze::volatile::Paths;
/// use wiretape_trace::value::Value;
///
/// let before = Value::parse(br#"{"a":1,"list":[1,2,3]}"#).unwrap();
/// let after = Value::parse(br#"{"list":[1,7,2,3],"a":1.0}"#).unwrap();
/// let differences = diff(before, after, Paths::none(), 100);
/// assert_eq!(differences.list.len(), 1);
/// assert_eq!(differences.list[0].pointer, "/list/1");
/// assert_eq!(differences.list[0].after.unwrap().raw, b"7");
/// ```
pub fn diff<'a>(before: Value<'a>, after: Value<'a>, paths: &Paths, limit: usize) -> Differences<'a> {
    diff_at((before, after), paths, paths.start(), limit, None)
}

/// The same, except between values that are alike.
pub fn diff_beyond<'a>(
    (before, after): (Value<'a>, Value<'a>),
    paths: &Paths,
    limit: usize,
    alike: Alike<'_>,
) -> Differences<'a> {
    diff_at((before, after), paths, paths.start(), limit, Some(alike))
}

fn diff_at<'a>(
    (before, after): (Value<'a>, Value<'a>),
    paths: &Paths,
    trail: Trail,
    limit: usize,
    alike: Option<Alike<'_>>,
) -> Differences<'a> {
    let (places, work, found) = (Vec::new(), Vec::new(), Differences::default());
    let mut walk = Walk { paths, limit, alike, places, work, found };
    walk.work.push(Work { place: None, depth: 0, trail, before: Some(before), after: Some(after) });
    walk.run();
    walk.found
}

struct Walk<'a, 'p> {
    paths: &'p Paths,
    limit: usize,
    alike: Option<Alike<'p>>,
    /// The path to each pair that was compared, as parent links: pointers are built only for reported differences.
    places: Vec<Place>,
    work: Vec<Work<'a>>,
    found: Differences<'a>,
}

/// A step from a value to a member or element.
struct Place {
    parent: Option<usize>,
    before: Step,
    after: Step,
}

#[derive(Clone)]
enum Step {
    Name(String),
    Index(usize),
}

/// Two values that are still to be compared.
struct Work<'a> {
    place: Option<usize>,
    depth: usize,
    trail: Trail,
    before: Option<Value<'a>>,
    after: Option<Value<'a>>,
}

impl<'a> Walk<'a, '_> {
    fn run(&mut self) {
        // Once there is one difference too many, the rest isn't compared: that there are more is all that is needed.
        while let Some(work) = self.work.pop().filter(|_| !self.found.more) {
            match (work.before, work.after) {
                (Some(before), Some(after)) => self.compare(&work, before, after),
                _ => self.differs(&work),
            }
        }
    }

    fn is_same(&self, work: &Work<'a>) -> bool {
        // Equal bytes are the usual case and need no hashing. Fingerprints ignore the order of members, whitespace
        // and the spelling of numbers.
        let print = |value: Value<'_>| fingerprint_without(value.raw, self.paths, &work.trail);
        match (work.before, work.after) {
            (Some(before), Some(after)) => before.raw == after.raw || print(before) == print(after),
            _ => false,
        }
    }

    fn compare(&mut self, work: &Work<'a>, before: Value<'a>, after: Value<'a>) {
        if before.raw == after.raw {
            return;
        }
        // Below the limit, fingerprints decide; they don't recurse.
        let is_shallow = work.depth < MAX_DEPTH;
        if is_shallow && before.is_object() && after.is_object() {
            self.objects(work, before, after);
        } else if is_shallow && before.is_array() && after.is_array() {
            self.arrays(work, before, after);
        } else if !self.is_same(work) {
            self.differs(work);
        }
    }

    fn objects(&mut self, work: &Work<'a>, before: Value<'a>, after: Value<'a>) {
        let (before, mut after) = (members(before), members(after));
        let mut pairs: Vec<(String, Option<Value<'a>>, Option<Value<'a>>)> = before
            .into_iter()
            .map(|(name, value)| {
                let now = after.remove(&name);
                (name, Some(value), now)
            })
            .collect();
        pairs.extend(after.into_iter().map(|(name, value)| (name, None, Some(value))));
        pairs.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        // The list is processed from its end, so the first member is pushed last.
        for (name, before, after) in pairs.into_iter().rev() {
            if let Some(trail) = self.paths.member(&work.trail, &name) {
                let (before, after) = self.completed(&trail, before, after);
                let step = Step::Name(name);
                self.push(work, trail, (step.clone(), step), before, after);
            }
        }
    }

    /// An object that was added or removed and has ignored members is compared with an empty one, so that only the members
    /// that count are reported.
    fn completed(
        &self,
        trail: &Trail,
        before: Option<Value<'a>>,
        after: Option<Value<'a>>,
    ) -> (Option<Value<'a>>, Option<Value<'a>>) {
        // Without this, a new object would be reported with the members that the user asked to ignore.
        let only = before.xor(after).filter(|only| only.is_object());
        let mut leaves_out = false;
        if let Some(only) = only {
            only.members(|name, _| leaves_out |= self.paths.member(trail, &name.decode()).is_none());
        }
        match Value::parse(b"{}") {
            Ok(empty) if leaves_out => (before.or(Some(empty)), after.or(Some(empty))),
            _ => (before, after),
        }
    }

    fn arrays(&mut self, work: &Work<'a>, before: Value<'a>, after: Value<'a>) {
        let (before, after) = (elements(before), elements(after));
        let (first, second) = (self.keys(&work.trail, &before), self.keys(&work.trail, &after));
        let rows = align::align(&first, &second);
        let rows = match self.alike {
            Some(alike) => rejoined(&rows, &before, &after, alike),
            None => rows,
        };
        for row in rows.into_iter().rev() {
            let (i, j) = match row {
                Row::Both(i, j) if first[i].exact == second[j].exact => continue,
                Row::Both(i, j) => (Some(i), Some(j)),
                Row::First(i) => (Some(i), None),
                Row::Second(j) => (None, Some(j)),
            };
            // The pointer refers to the later value; a removed element has only the earlier index.
            let index = j.or(i).unwrap_or_default();
            if let Some(trail) = self.paths.element(&work.trail, index) {
                let steps = (Step::Index(i.unwrap_or(index)), Step::Index(index));
                self.push(work, trail, steps, i.map(|i| before[i]), j.map(|j| after[j]));
            }
        }
    }

    fn push(
        &mut self,
        parent: &Work<'a>,
        trail: Trail,
        (step_before, step_after): (Step, Step),
        before: Option<Value<'a>>,
        after: Option<Value<'a>>,
    ) {
        if matches!((before, after), (Some(before), Some(after)) if before.raw == after.raw) {
            return;
        }
        self.places.push(Place { parent: parent.place, before: step_before, after: step_after });
        let place = Some(self.places.len() - 1);
        self.work.push(Work { place, depth: parent.depth + 1, trail, before, after });
    }

    fn are_alike(&self, work: &Work<'a>) -> bool {
        let Some(alike) = self.alike.filter(|alike| !alike.is_reported) else { return false };
        work.before.zip(work.after).is_some_and(|(before, after)| (alike.is_alike)(before, after))
    }

    /// The keys by which elements are aligned.
    fn keys(&self, trail: &Trail, elements: &[Value<'a>]) -> Vec<Key> {
        let key = |(index, element): (usize, &Value<'a>)| {
            let exact = match self.paths.element(trail, index) {
                Some(trail) => fingerprint_without(element.raw, self.paths, &trail),
                // An ignored element has the same key everywhere, so it matches any other ignored element.
                None => 0,
            };
            Key { exact, kind: kind(*element), tie: 0 }
        };
        elements.iter().enumerate().map(key).collect()
    }

    fn differs(&mut self, work: &Work<'a>) {
        if self.are_alike(work) {
            return;
        }
        if self.found.list.len() == self.limit {
            self.found.more = true;
            return;
        }
        // From the leaf to the root, because places only know their parents.
        let mut steps = Vec::new();
        let mut at = work.place;
        while let Some(place) = at.map(|at| &self.places[at]) {
            steps.push(place);
            at = place.parent;
        }
        let pointer = |step: fn(&Place) -> &Step| {
            let mut pointer = String::new();
            for place in steps.iter().rev() {
                push_step(&mut pointer, step(place));
            }
            pointer
        };
        let (was, is) = (pointer(|place| &place.before), pointer(|place| &place.after));
        let (pointer, other) = if work.after.is_some() { (is, was) } else { (was, is) };
        let pointer_before =
            (work.before.is_some() && work.after.is_some() && pointer != other).then_some(other);
        self.found.list.push(Difference {
            pointer,
            pointer_before,
            before: work.before,
            after: work.after,
            trail: work.trail.clone(),
        });
    }
}

/// Appends a step to a JSON pointer.
fn push_step(pointer: &mut String, step: &Step) {
    match step {
        Step::Name(name) => push_name(pointer, name),
        Step::Index(index) => pointer.push_str(&format!("/{index}")),
    }
}

/// Appends a member name to a JSON pointer, escaped (RFC 6901, section 3).
pub(crate) fn push_name(pointer: &mut String, name: &str) {
    pointer.push('/');
    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
}

/// The members of an object; of several with the same name, the last one.
pub(crate) fn members(object: Value<'_>) -> BTreeMap<String, Value<'_>> {
    let mut members = BTreeMap::new();
    object.members(|name, value| {
        // RFC 8259, section 4, leaves duplicate names open; most parsers take the last, so a client most likely does
        // as well.
        members.insert(name.decode().into_owned(), value);
    });
    members
}

/// The elements of an array, in order.
pub(crate) fn elements(array: Value<'_>) -> Vec<Value<'_>> {
    let mut elements = Vec::new();
    array.elements(|element| elements.push(element));
    elements
}

/// Members that identify an element even if the rest of it changed, in order of preference.
const NAMES: [&str; 6] = ["id", "name", "uri", "key", "type", "role"];

/// Equal for elements of which one may be a changed version of the other.
fn kind(element: Value<'_>) -> u64 {
    if !element.is_object() {
        return u64::from(element.is_array());
    }
    // Elements without an identifying member all get the same kind, and are then paired by their order.
    let name = identity(element).and_then(|(_, name)| name.string());
    name.map_or(2, |name| combine(3, text(&name)))
}

/// The identifying member of an element: its index in [`NAMES`], and its value.
fn identity(element: Value<'_>) -> Option<(usize, Value<'_>)> {
    // One pass over the members: a `get` per name would scan a large element six times.
    let mut known: [Option<Value<'_>>; NAMES.len()] = [None; NAMES.len()];
    element.members(|name, value| {
        if let Some(at) = NAMES.iter().position(|known| name.is(known)) {
            known[at] = value.string().map(|_| value);
        }
    });
    known.into_iter().enumerate().find_map(|(at, value)| Some((at, value?)))
}

/// Unpaired elements that are tried as a partner. Bounds the cost of a gap to a constant per element.
const LOOKED_AT: usize = 8;

/// Pairs unpaired elements whose ids are alike, first those that are otherwise equal. If alike values aren't reported, also
/// those that differ otherwise: "changed" says more than "removed and added".
fn rejoined(rows: &[Row], before: &[Value<'_>], after: &[Value<'_>], alike: Alike<'_>) -> Vec<Row> {
    let joined =
        joined(rows, before, after, |was, is| has_like_id(was, is, alike) && is_like(was, is, alike));
    if alike.is_reported {
        joined
    } else {
        self::joined(&joined, before, after, |was, is| has_like_id(was, is, alike))
    }
}

/// Pairs each unpaired element with the next one that may be its counterpart.
fn joined(
    rows: &[Row],
    before: &[Value<'_>],
    after: &[Value<'_>],
    may_be: impl Fn(Value<'_>, Value<'_>) -> bool,
) -> Vec<Row> {
    let mut joined = Vec::with_capacity(rows.len());
    // Only within a gap: elements on both sides of a matching one keep their order.
    for gap in rows.chunk_by(|one, other| is_single(*one) && is_single(*other)) {
        let firsts = gap.iter().filter_map(|row| if let Row::First(i) = row { Some(*i) } else { None });
        let seconds = gap.iter().filter_map(|row| if let Row::Second(j) = row { Some(*j) } else { None });
        let mut waiting: VecDeque<usize> = seconds.collect();
        if waiting.is_empty() {
            joined.extend_from_slice(gap);
            continue;
        }
        for i in firsts {
            let place = waiting.iter().take(LOOKED_AT).position(|j| may_be(before[i], after[*j]));
            let Some(at) = place else {
                joined.push(Row::First(i));
                continue;
            };
            // Those before the partner were skipped, and rows must stay in the order of the second list.
            joined.extend(waiting.drain(..at).map(Row::Second));
            joined.extend(waiting.pop_front().map(|j| Row::Both(i, j)));
        }
        joined.extend(waiting.into_iter().map(Row::Second));
    }
    joined
}

/// Whether an element goes by an id that is like that of another.
fn has_like_id(was: Value<'_>, is: Value<'_>, alike: Alike<'_>) -> bool {
    match (identity(was), identity(is)) {
        (Some((name, was)), Some((other, is))) => name == other && (alike.is_alike)(was, is),
        _ => false,
    }
}

/// Whether two objects have equal members, except for those that are alike.
fn is_like(was: Value<'_>, is: Value<'_>, alike: Alike<'_>) -> bool {
    let (was, is) = (members(was), members(is));
    let is_same = |was: Value<'_>, is: Value<'_>| {
        was.raw == is.raw || (alike.is_alike)(was, is) || fingerprint(was.raw) == fingerprint(is.raw)
    };
    was.len() == is.len() && was.iter().all(|(name, was)| is.get(name).is_some_and(|is| is_same(*was, *is)))
}

fn is_single(row: Row) -> bool {
    !matches!(row, Row::Both(..))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volatile::{Part, Volatile};
    use proptest::prelude::*;
    use serde_json::Value as Json;

    fn tell(differences: &Differences<'_>) -> Vec<String> {
        let show = |value: Option<Value<'_>>| {
            value.map_or("-".to_owned(), |value| String::from_utf8_lossy(value.raw).into_owned())
        };
        let tell = |difference: &Difference<'_>| {
            let was = difference.pointer_before.as_ref().map(|was| format!(" ({was})")).unwrap_or_default();
            format!("{}{was}: {} > {}", difference.pointer, show(difference.before), show(difference.after))
        };
        differences.list.iter().map(tell).collect()
    }

    fn check(before: &str, after: &str, expected: &[&str]) {
        let (a, b) = (Value::parse(before.as_bytes()).unwrap(), Value::parse(after.as_bytes()).unwrap());
        assert_eq!(tell(&diff(a, b, Paths::none(), 100)), expected, "{before} {after}");
    }

    #[test]
    fn differences_are_told_at_their_place() {
        check("1", "1.0", &[]);
        check("1", "2", &[": 1 > 2"]);
        check(
            "12345678901234567890",
            "12345678901234567891",
            &[": 12345678901234567890 > 12345678901234567891"],
        );
        check(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1e0}"#, &[]);
        check(
            r#"{"a":1,"b":{"c":true}}"#,
            r#"{"b":{"c":false},"d":null}"#,
            &["/a: 1 > -", "/b/c: true > false", "/d: - > null"],
        );
        check(r#"{"a/b":{"~":1}}"#, r#"{"a/b":{"~":2}}"#, &["/a~1b/~0: 1 > 2"]);
        check(r#"{"a":[]}"#, r#"{"a":{}}"#, &["/a: [] > {}"]);
        check(r#"{"a":1,"a":2}"#, r#"{"a":2}"#, &[]);
    }

    #[test]
    fn elements_are_aligned() {
        check("[1,2,3]", "[1,9,2,3]", &["/1: - > 9"]);
        check("[1,2,3]", "[1,3]", &["/1: 2 > -"]);
        check("[1,2,3]", "[1,5,3]", &["/1: 2 > 5"]);
        check("[1,[2]]", "[[3]]", &["/0: 1 > -", "/0/0 (/1/0): 2 > 3"]);
        check(
            r#"[{"name":"a","x":1},{"name":"b","x":1}]"#,
            r#"[{"name":"b","x":2},{"name":"c"}]"#,
            &[r#"/0: {"name":"a","x":1} > -"#, "/0/x (/1/x): 1 > 2", r#"/1: - > {"name":"c"}"#],
        );
    }

    #[test]
    fn what_is_left_out_makes_no_difference() {
        let mut volatile = Volatile::nothing();
        for pattern in ["/**/at", "/list/*/n", "/gone"] {
            volatile.add(&pattern.parse().unwrap());
        }
        let before = Value::parse(br#"{"at":1,"list":[{"n":1,"x":[{"at":3}]}],"gone":[]}"#).unwrap();
        let after = Value::parse(br#"{"at":2,"list":[{"n":2,"x":[{}]}]}"#).unwrap();
        assert_eq!(tell(&diff(before, after, volatile.of(Part::Result), 100)), Vec::<String>::new());
        assert_eq!(diff(before, after, Paths::none(), 100).list.len(), 4);
    }

    #[test]
    fn texts_that_are_json_are_looked_into_by_default() {
        let volatile = Volatile::defaults();
        let paths = volatile.of(Part::Result);
        let before = Value::parse(br#"{"text":"{\"a\":[1],\"timestamp\":5}"}"#).unwrap();
        let same = Value::parse(br#"{"text":"{\"a\":[1.0]}"}"#).unwrap();
        assert_eq!(diff(before, same, paths, 9).list, []);
        let other = Value::parse(br#"{"text":"{\"a\":[1,2],\"timestamp\":7}"}"#).unwrap();
        let differences = diff(before, other, paths, 9);
        assert_eq!(differences.list[0].pointer, "/text");
        let inside = differences.list[0].inside(paths).unwrap();
        assert_eq!(tell(&inside.differences(paths, 9)), ["/a/1: - > 2"]);
        assert_eq!(differences.list[0].inside(Paths::none()), None);
    }

    #[test]
    fn there_is_a_limit() {
        let (before, after) = (Value::parse(b"[1,2,3,4]").unwrap(), Value::parse(b"[5,6,7,4]").unwrap());
        let differences = diff(before, after, Paths::none(), 2);
        assert_eq!((differences.list.len(), differences.more), (2, true));
        let differences = diff(before, after, Paths::none(), 3);
        assert_eq!((differences.list.len(), differences.more), (3, false));
    }

    #[test]
    fn hostile_values_are_done_in_time() {
        let deep = |inside: &str| "[".repeat(20_000) + inside + &"]".repeat(20_000);
        let (one, other) = (deep("1"), deep("2"));
        let (a, b) = (Value::parse(one.as_bytes()).unwrap(), Value::parse(other.as_bytes()).unwrap());
        let differences = diff(a, b, Paths::none(), 100);
        assert_eq!(differences.list.len(), 1);
        assert_eq!(differences.list[0].pointer, "/0".repeat(MAX_DEPTH));
        let long = |salt: u64| {
            let number = |at: u64| (combine(at, salt) % 9).to_string();
            format!("[{}]", (0..100_000).map(number).collect::<Vec<_>>().join(","))
        };
        let (one, other) = (long(1), long(2));
        let (a, b) = (Value::parse(one.as_bytes()).unwrap(), Value::parse(other.as_bytes()).unwrap());
        assert!(diff(a, b, Paths::none(), 100).more);
    }

    fn json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            (0..5).prop_map(Json::from),
            "[a~/]{0,2}".prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
                proptest::collection::btree_map("[ab~/]{0,2}", inner, 0..4)
                    .prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    fn remove(json: &mut Json, pointer: &str) {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        match json.pointer_mut(parent).unwrap() {
            Json::Array(elements) => drop(elements.remove(name.parse().unwrap())),
            Json::Object(members) => {
                members.remove(&name.replace("~1", "/").replace("~0", "~")).unwrap();
            }
            _ => panic!("{pointer}"),
        }
    }

    fn insert(json: &mut Json, pointer: &str, value: Json) {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        match json.pointer_mut(parent).unwrap() {
            Json::Array(elements) => elements.insert(name.parse().unwrap(), value),
            Json::Object(members) => {
                assert!(members.insert(name.replace("~1", "/").replace("~0", "~"), value).is_none());
            }
            _ => panic!("{pointer}"),
        }
    }

    /// Applies differences: what was removed from the end, what was added from the beginning, then what changed.
    fn apply(json: &mut Json, differences: &Differences<'_>) {
        let parse = |value: Value<'_>| serde_json::from_slice::<Json>(value.raw).unwrap();
        for difference in differences.list.iter().rev().filter(|difference| difference.after.is_none()) {
            remove(json, &difference.pointer);
        }
        for difference in &differences.list {
            match (difference.before, difference.after) {
                (None, Some(after)) => insert(json, &difference.pointer, parse(after)),
                (Some(_), Some(after)) => *json.pointer_mut(&difference.pointer).unwrap() = parse(after),
                _ => {}
            }
        }
    }

    proptest! {
        #[test]
        fn applied_differences_make_the_one_the_other(before in json(), after in json()) {
            let (one, other) = (before.to_string(), after.to_string());
            let (a, b) = (Value::parse(one.as_bytes()).unwrap(), Value::parse(other.as_bytes()).unwrap());
            prop_assert!(diff(a, a, Paths::none(), 1000).list.is_empty());
            let differences = diff(a, b, Paths::none(), 1000);
            let mut made = before.clone();
            apply(&mut made, &differences);
            prop_assert_eq!(made, after);
            prop_assert_eq!(diff(b, a, Paths::none(), 1000).list.is_empty(), differences.list.is_empty());
        }

        #[test]
        fn any_json_can_be_compared(a in r#"[\[\]{}:,"a1]{0,20}"#, b in r#"[\[\]{}:,"a1]{0,20}"#) {
            if let (Ok(a), Ok(b)) = (Value::parse(a.as_bytes()), Value::parse(b.as_bytes())) {
                diff(a, b, &Volatile::defaults().of(Part::Result).clone(), 10);
            }
        }
    }
}
