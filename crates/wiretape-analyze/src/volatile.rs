//! Paths of values that differ from run to run without meaning anything: times, generated ids, trace contexts.
//!
//! A [`Volatile`] is a set of [`PathPattern`]s: JSON pointers with wildcards, relative to the `params`, `result` or `error`
//! of a message. Comparisons ignore the values that they match.
//!
//! Patterns are followed step by step while a value is walked ([`Trail`]), instead of matching each pointer against each
//! pattern: pointers are never built for values that are equal, which most are.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A part of a message that can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// The params of a request or notification.
    Params,
    /// The result of a response.
    Result,
    /// The error of a response.
    Error,
}

impl Part {
    const ALL: [Part; 3] = [Part::Params, Part::Result, Part::Error];

    /// The name of the member.
    pub fn name(self) -> &'static str {
        match self {
            Part::Params => "params",
            Part::Result => "result",
            Part::Error => "error",
        }
    }
}

/// A JSON pointer with wildcards: `*` matches one member or element, `**` any number of them, including none. A name that ends
/// in `*` matches any name with that prefix.
///
/// `/a/*/b` applies to every part of a message; `params/a`, `result/a` and `error/a` to one.
///
/// A pattern and its clones share whether one of them ever matched: a pattern that never does is most likely a typo.
///
/// ```
/// use wiretape_analyze::volatile::PathPattern;
///
/// assert!("/content/*/text".parse::<PathPattern>().is_ok());
/// assert!("result/**/etag".parse::<PathPattern>().is_ok());
/// assert!("content".parse::<PathPattern>().is_err());
/// ```
#[derive(Debug, Clone)]
pub struct PathPattern {
    text: String,
    part: Option<Part>,
    steps: Vec<Step>,
    matched: Matched,
}

/// Whether a pattern has matched anything.
#[derive(Debug, Clone, Default)]
struct Matched(Arc<AtomicBool>);

impl Matched {
    fn set(&self) {
        // Read before write: after the first match, a store would still take the cache line from other threads.
        if !self.get() {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl PathPattern {
    /// Whether it or a clone of it has matched anything since it was parsed.
    pub fn has_matched(&self) -> bool {
        self.matched.get()
    }
}

impl PartialEq for PathPattern {
    fn eq(&self, other: &Self) -> bool {
        (self.part, &self.steps) == (other.part, &other.steps)
    }
}

impl Eq for PathPattern {}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Name(String),
    /// Any name with this prefix.
    Beginning(String),
    Any,
    Rest,
}

/// Why a text is not a valid pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It starts with neither a slash nor a part.
    #[error("a path must start with `/`, `params/`, `result/` or `error/`")]
    Beginning,
    /// The pattern would ignore the whole message.
    #[error("this would ignore everything")]
    Everything,
    /// It has too many steps.
    #[error("a path can have at most {MAX_STEPS} steps")]
    TooLong,
}

/// Steps of a pattern. A trail stores the step as one byte.
const MAX_STEPS: usize = 64;

impl FromStr for PathPattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let (part, pointer) = match text.split_once('/') {
            Some(("", pointer)) => (None, pointer),
            Some((name, pointer)) => {
                let part = Part::ALL.into_iter().find(|part| part.name() == name);
                (Some(part.ok_or(PatternError::Beginning)?), pointer)
            }
            None => return Err(PatternError::Beginning),
        };
        let steps: Vec<Step> = pointer.split('/').map(step).collect();
        // Such a pattern would make every comparison succeed.
        if steps.iter().all(|step| *step == Step::Rest) {
            return Err(PatternError::Everything);
        }
        if steps.len() > MAX_STEPS {
            return Err(PatternError::TooLong);
        }
        Ok(PathPattern { text: text.to_owned(), part, steps, matched: Matched::default() })
    }
}

fn step(text: &str) -> Step {
    match text {
        "*" => Step::Any,
        "**" => Step::Rest,
        name => match name.strip_suffix('*') {
            Some(beginning) => Step::Beginning(unescaped(beginning)),
            None => Step::Name(unescaped(name)),
        },
    }
}

fn unescaped(name: &str) -> String {
    name.replace("~1", "/").replace("~0", "~")
}

/// Members of `_meta` about the peers and for tracing: client info, revision, log level. They don't change the meaning of a
/// message.
pub const META: &[&str] = &[
    "/_meta/io.modelcontextprotocol~1*",
    // Trace context.
    "/_meta/traceparent",
    "/_meta/tracestate",
    "/_meta/baggage",
];

/// The paths that are ignored by default, besides [`META`].
///
/// Arguments are never ignored, because they are the caller's input: in requests, only values of the protocol are.
pub const DEFAULTS: &[&str] = &[
    // Values that link messages.
    "params/_meta/progressToken",
    "params/cursor",
    "result/nextCursor",
    "/requestState",
    "params/taskId",
    "result/**/taskId",
    "params/elicitationId",
    // Ids.
    "result/**/requestId",
    "result/**/request_id",
    "result/**/sessionId",
    "result/**/session_id",
    "result/**/correlationId",
    "result/**/correlation_id",
    "result/**/traceId",
    "result/**/trace_id",
    "result/**/spanId",
    "result/**/span_id",
    "error/**/requestId",
    "error/**/request_id",
    // Times.
    "result/**/timestamp",
    "result/**/createdAt",
    "result/**/created_at",
    "result/**/updatedAt",
    "result/**/updated_at",
    "result/**/lastUpdatedAt",
    "result/**/last_updated_at",
    "result/**/lastModified",
    "result/**/last_modified",
    "result/**/generatedAt",
    "result/**/generated_at",
    "result/**/durationMs",
    "result/**/duration_ms",
    "error/**/timestamp",
];

/// The paths that a comparison ignores.
#[derive(Debug, Clone, Default)]
pub struct Volatile {
    params: Paths,
    result: Paths,
    error: Paths,
}

impl Volatile {
    /// Ignores nothing: every value counts.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Ignores [`META`] and [`DEFAULTS`]. Strings that hold JSON are compared as JSON: many tools return their result that way.
    pub fn defaults() -> Self {
        let mut volatile = Self::default();
        for part in Part::ALL {
            volatile.part_mut(part).texts = Texts::MayBeJson;
        }
        for pattern in META.iter().chain(DEFAULTS) {
            volatile.add(&pattern.parse().expect("the default patterns are constants that the tests parse"));
        }
        volatile
    }

    /// Ignores the values that match a pattern, too.
    pub fn add(&mut self, pattern: &PathPattern) {
        for part in Part::ALL.into_iter().filter(|part| pattern.part.is_none_or(|only| only == *part)) {
            self.part_mut(part).add(&pattern.steps, &pattern.matched);
        }
    }

    /// The ignored paths of one part of a message.
    pub fn of(&self, part: Part) -> &Paths {
        match part {
            Part::Params => &self.params,
            Part::Result => &self.result,
            Part::Error => &self.error,
        }
    }

    fn part_mut(&mut self, part: Part) -> &mut Paths {
        match part {
            Part::Params => &mut self.params,
            Part::Result => &mut self.result,
            Part::Error => &mut self.error,
        }
    }
}

/// The ignored paths below one value.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    /// `**/NAME`, the most frequent kind: a hash lookup per member instead of an entry in every trail.
    anywhere: HashMap<String, Vec<Matched>>,
    others: Vec<(Vec<Step>, Matched)>,
    texts: Texts,
}

/// How strings that hold a JSON object or array are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Texts {
    /// Their text is a string and nothing else.
    #[default]
    AreTexts,
    /// Their text is compared as JSON if it is JSON.
    MayBeJson,
}

/// How far each pattern matches at one position in a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trail(Vec<(u32, u8)>);

impl Paths {
    /// A set without patterns, which ignores nothing.
    pub fn none() -> &'static Paths {
        static NONE: std::sync::LazyLock<Paths> = std::sync::LazyLock::new(Paths::default);
        &NONE
    }

    /// The same paths and one more.
    pub(crate) fn with(&self, names: &[&str]) -> Paths {
        let mut more = self.clone();
        let steps: Vec<Step> = names.iter().map(|name| Step::Name((*name).to_owned())).collect();
        more.add(&steps, &Matched::default());
        more
    }

    fn add(&mut self, steps: &[Step], matched: &Matched) {
        match steps {
            // A number may be an index of an array, which `anywhere` doesn't look up.
            [Step::Rest, Step::Name(name)] if name.parse::<u64>().is_err() => {
                self.anywhere.entry(name.clone()).or_default().push(matched.clone());
            }
            _ => self.others.push((steps.to_vec(), matched.clone())),
        }
    }

    /// The text, if it holds a JSON object or array and is to be compared as such.
    pub(crate) fn json_in<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        // Only objects and arrays: as JSON, the texts `1` and `1.0` would be equal, but as texts they differ.
        let may_be = self.texts == Texts::MayBeJson && matches!(text.trim_ascii().first(), Some(b'{' | b'['));
        (may_be && wiretape_trace::json::validate(text).is_ok()).then_some(text)
    }

    /// The trail at the value itself.
    pub fn start(&self) -> Trail {
        let mut trail = Trail::default();
        for pattern in 0..self.others.len() {
            self.follow(&mut trail, pattern as u32, 0);
        }
        trail
    }

    /// The trail at a member; `None` if it is ignored.
    pub fn member(&self, at: &Trail, name: &str) -> Option<Trail> {
        // Also if `anywhere` ignores the member: patterns have to learn that they match, or they are reported as
        // unused.
        let below = self.down(at, || name.into());
        match self.anywhere.get(name) {
            Some(matched) => {
                matched.iter().for_each(Matched::set);
                None
            }
            None => below,
        }
    }

    /// The trail at an array element; `None` if it is ignored.
    pub fn element(&self, at: &Trail, index: usize) -> Option<Trail> {
        self.down(at, || index.to_string().into())
    }

    fn down<'n>(&self, at: &Trail, name: impl FnOnce() -> std::borrow::Cow<'n, str>) -> Option<Trail> {
        // No pattern is active here, so no name has to be compared or allocated.
        if at.0.is_empty() {
            return Some(Trail::default());
        }
        let name = name();
        let (mut next, mut is_left_out) = (Trail::default(), false);
        for &(pattern, step) in &at.0 {
            let (steps, matched) = &self.others[pattern as usize];
            let to = match &steps[usize::from(step)] {
                Step::Rest => step,
                Step::Any => step + 1,
                Step::Name(wanted) if **wanted == *name => step + 1,
                Step::Beginning(wanted) if name.starts_with(&**wanted) => step + 1,
                Step::Name(_) | Step::Beginning(_) => continue,
            };
            // A trailing `**` matches everything below.
            if steps[usize::from(to)..].iter().all(|step| *step == Step::Rest) {
                matched.set();
                is_left_out = true;
            } else {
                self.follow(&mut next, pattern, to);
            }
        }
        (!is_left_out).then_some(next)
    }

    /// Adds a position in a pattern, and the next one if `**` matches nothing.
    fn follow(&self, trail: &mut Trail, pattern: u32, mut step: u8) {
        let (steps, _) = &self.others[pattern as usize];
        while usize::from(step) < steps.len() {
            if !trail.0.contains(&(pattern, step)) {
                trail.0.push((pattern, step));
            }
            if steps[usize::from(step)] != Step::Rest {
                break;
            }
            step += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_left_out(pattern: &str, part: Part, path: &[&str]) -> bool {
        let mut volatile = Volatile::nothing();
        volatile.add(&pattern.parse().unwrap());
        let paths = volatile.of(part);
        let mut trail = paths.start();
        for name in path {
            let next = match name.parse() {
                Ok(index) => paths.element(&trail, index),
                Err(_) => paths.member(&trail, name),
            };
            match next {
                Some(next) => trail = next,
                None => return true,
            }
        }
        false
    }

    #[test]
    fn wildcards_stand_for_one_step_or_any_number() {
        let check = |pattern, path: &[&str], expected| {
            assert_eq!(is_left_out(pattern, Part::Result, path), expected, "{pattern} {path:?}");
        };
        check("/a/b", &["a", "b"], true);
        check("/a/b", &["a"], false);
        check("/a/b", &["b"], false);
        check("/a/b", &["a", "b", "c"], true);
        check("/*/b", &["x", "b"], true);
        check("/*/b", &["b"], false);
        check("/list/*/id", &["list", "17", "id"], true);
        check("/**/id", &["id"], true);
        check("/**/id", &["a", "0", "id"], true);
        check("/a/**/id", &["a", "id"], true);
        check("/a/**/id", &["a", "b", "c", "id"], true);
        check("/a/**/id", &["id"], false);
        check("/a/**", &["a", "x"], true);
        check("/a/**", &["a"], true);
        check("/**/b/*/c", &["b", "b", "x", "c"], true);
        check("/a~1b~0", &["a/b~"], true);
        check("/**/0", &["a", "0"], true);
        check("/", &[""], true);
        check("/_meta/own~1*", &["_meta", "own/x"], true);
        check("/_meta/own~1*", &["_meta", "other/x"], false);
        check("/a*", &["abc"], true);
        check("/**/a*", &["x", "abc"], true);
    }

    #[test]
    fn a_pattern_knows_whether_it_has_matched() {
        let (used, unused): (PathPattern, PathPattern) =
            ("/a/b".parse().unwrap(), "result/**/etga".parse().unwrap());
        let mut volatile = Volatile::nothing();
        [&used, &unused].into_iter().for_each(|pattern| volatile.add(pattern));
        let json = br#"{"a":{"b":1,"c":2},"etag":3}"#;
        let paths = volatile.of(Part::Result);
        crate::fingerprint::fingerprint_without(json, paths, &paths.start());
        assert_eq!((used.has_matched(), unused.has_matched()), (true, false));
        // One that leaves out what another leaves out already is not a slip.
        let twice: PathPattern = "/etag".parse().unwrap();
        volatile.add(&"/**/etag".parse().unwrap());
        volatile.add(&twice);
        let paths = volatile.of(Part::Result);
        crate::fingerprint::fingerprint_without(json, paths, &paths.start());
        assert!(twice.has_matched());
        assert_eq!(unused.to_string(), "result/**/etga");
    }

    #[test]
    fn a_part_may_be_named() {
        assert!(is_left_out("result/a", Part::Result, &["a"]));
        assert!(!is_left_out("result/a", Part::Params, &["a"]));
        assert!(is_left_out("/a", Part::Params, &["a"]) && is_left_out("/a", Part::Error, &["a"]));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        let check = |text: &str, expected| assert_eq!(text.parse::<PathPattern>(), Err(expected), "{text}");
        check("", PatternError::Beginning);
        check("a", PatternError::Beginning);
        check("body/a", PatternError::Beginning);
        check("/**", PatternError::Everything);
        check("/**/**", PatternError::Everything);
        check(&"/a".repeat(65), PatternError::TooLong);
    }

    #[test]
    fn arguments_count_whole_by_default() {
        let volatile = Volatile::defaults();
        let leaves_out = |part, name| volatile.of(part).member(&Trail::default(), name).is_none();
        assert!(leaves_out(Part::Result, "timestamp") && !leaves_out(Part::Params, "timestamp"));
        assert!(!leaves_out(Part::Result, "id") && !leaves_out(Part::Result, "text"));
        let arguments = volatile.of(Part::Params);
        let arguments = arguments.member(&arguments.start(), "arguments").unwrap();
        assert!(volatile.of(Part::Params).anywhere.is_empty() && arguments.0.is_empty());
    }
}
