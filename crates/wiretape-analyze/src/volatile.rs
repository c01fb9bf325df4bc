//! What differs from run to run and means nothing: times, ids that a peer makes up, trace contexts.
//!
//! A [`Volatile`] is a list of [`PathPattern`]s, each a JSON pointer with wildcards, relative to the `params`, the
//! `result` or the `error` of a message. Comparing traces leaves what they match out. Whether two messages are the same
//! is for those who compare.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A part of a message that can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// What a request asks.
    Params,
    /// What a response brings.
    Result,
    /// Why a request failed.
    Error,
}

impl Part {
    const ALL: [Part; 3] = [Part::Params, Part::Result, Part::Error];

    /// Its name in a message.
    pub fn name(self) -> &'static str {
        match self {
            Part::Params => "params",
            Part::Result => "result",
            Part::Error => "error",
        }
    }
}

/// A JSON pointer with wildcards: `*` is any one member or element, `**` any number of them, none included. A name that ends
/// in `*` is any that begins so.
///
/// `/a/*/b` holds for every part of a message; `params/a`, `result/a` and `error/a` for one.
///
/// A pattern and its clones know whether one of them has ever matched: one that never does is most likely a slip.
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
    fn note(&self) {
        // Mostly it is known already, and a write would take the cache line from the other threads.
        if !self.get() {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl PathPattern {
    /// Whether it has matched anything since it was parsed, in any comparison that it or a clone of it was added to.
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
    /// Any name that begins so.
    Beginning(String),
    Any,
    Rest,
}

/// A text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It begins with neither a slash nor a part.
    #[error("a path begins with `/`, or with `params/`, `result/` or `error/`")]
    Beginning,
    /// It matches everything.
    #[error("this would leave out everything")]
    Everything,
    /// It is longer than anybody needs.
    #[error("a path has {MAX_STEPS} steps at most")]
    TooLong,
}

/// A pattern has so many steps at most.
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

/// What peers put into `_meta` for each other and for tracing: who they are, which revision they speak, which log messages they
/// want. It says nothing of what is asked or answered.
pub const META: &[&str] = &[
    "/_meta/io.modelcontextprotocol~1*",
    // Trace context.
    "/_meta/traceparent",
    "/_meta/tracestate",
    "/_meta/baggage",
];

/// What is left out of a comparison by default, beside [`META`].
///
/// Arguments count whole, for they are what a caller asks: of a request only what the protocol makes up is left out.
pub const DEFAULTS: &[&str] = &[
    // What ties messages together.
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

/// What is left out of a comparison.
#[derive(Debug, Clone, Default)]
pub struct Volatile {
    params: Paths,
    result: Paths,
    error: Paths,
}

impl Volatile {
    /// Nothing: everything counts.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// [`META`] and [`DEFAULTS`]. Texts that are JSON are looked into: many tools answer so.
    pub fn defaults() -> Self {
        let mut volatile = Self::default();
        for part in Part::ALL {
            volatile.part_mut(part).texts = Texts::MayBeJson;
        }
        for pattern in META.iter().chain(DEFAULTS) {
            volatile.add(&pattern.parse().expect("the defaults are patterns"));
        }
        volatile
    }

    /// Leaves out more.
    pub fn add(&mut self, pattern: &PathPattern) {
        for part in Part::ALL.into_iter().filter(|part| pattern.part.is_none_or(|only| only == *part)) {
            self.part_mut(part).add(&pattern.steps, &pattern.matched);
        }
    }

    /// What is left out of one part of a message.
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

/// Patterns below one value.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    /// `**/NAME`: the commonest kind, which needs no memory of how one came to be where one is.
    anywhere: HashMap<String, Vec<Matched>>,
    others: Vec<(Vec<Step>, Matched)>,
    texts: Texts,
}

/// What a text is that is a JSON object or array.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Texts {
    /// A text like others.
    #[default]
    AreTexts,
    /// What it means as JSON.
    MayBeJson,
}

/// How far each pattern has been followed, at one place in a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trail(Vec<(u32, u8)>);

impl Paths {
    /// No patterns.
    pub fn none() -> &'static Paths {
        static NONE: std::sync::LazyLock<Paths> = std::sync::LazyLock::new(Paths::default);
        &NONE
    }

    /// These and one more, of a member at the end of a path of names.
    pub(crate) fn with(&self, names: &[&str]) -> Paths {
        let mut more = self.clone();
        let steps: Vec<Step> = names.iter().map(|name| Step::Name((*name).to_owned())).collect();
        more.add(&steps, &Matched::default());
        more
    }

    fn add(&mut self, steps: &[Step], matched: &Matched) {
        match steps {
            // An element's number is not a name.
            [Step::Rest, Step::Name(name)] if name.parse::<u64>().is_err() => {
                self.anywhere.entry(name.clone()).or_default().push(matched.clone());
            }
            _ => self.others.push((steps.to_vec(), matched.clone())),
        }
    }

    /// The text, if it is to be compared as the JSON object or array that it is.
    pub(crate) fn json_in<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        let may_be = self.texts == Texts::MayBeJson && matches!(text.trim_ascii().first(), Some(b'{' | b'['));
        (may_be && wiretape_trace::json::validate(text).is_ok()).then_some(text)
    }

    /// At the value itself.
    pub fn start(&self) -> Trail {
        let mut trail = Trail::default();
        for pattern in 0..self.others.len() {
            self.follow(&mut trail, pattern as u32, 0);
        }
        trail
    }

    /// One step down, to a member; `None` if it is left out.
    pub fn member(&self, at: &Trail, name: &str) -> Option<Trail> {
        let below = self.down(at, || name.into());
        match self.anywhere.get(name) {
            Some(matched) => {
                matched.iter().for_each(Matched::note);
                None
            }
            None => below,
        }
    }

    /// One step down, to an element; `None` if it is left out.
    pub fn element(&self, at: &Trail, index: usize) -> Option<Trail> {
        self.down(at, || index.to_string().into())
    }

    fn down<'n>(&self, at: &Trail, name: impl FnOnce() -> std::borrow::Cow<'n, str>) -> Option<Trail> {
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
            // A `**` at the end matches what it stands for.
            if steps[usize::from(to)..].iter().all(|step| *step == Step::Rest) {
                matched.note();
                is_left_out = true;
            } else {
                self.follow(&mut next, pattern, to);
            }
        }
        (!is_left_out).then_some(next)
    }

    /// Notes a place in a pattern, and that after it if `**` may stand for nothing.
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
