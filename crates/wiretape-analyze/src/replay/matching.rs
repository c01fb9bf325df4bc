//! How requests are compared: what has to be equal, in which order, and how often.

use super::difference::{Departure, Secrets};
use crate::fingerprint::{combine, fingerprint_without, in_order, text};
use crate::json_diff::{Alike, Differences, diff_beyond};
use crate::volatile::{META, Part, PathPattern, Paths, Trail, Volatile};
use memchr::memmem::Finder;
use std::sync::{Arc, LazyLock};
use wiretape_trace::redact::markers;
use wiretape_trace::value::Value;

/// How closely a request must match a recorded one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Everything except the progress token.
    Exact,
    /// Everything except the client's `_meta` about itself and trace contexts.
    #[default]
    Default,
    /// As by default; without a match, the most similar call of the same method and tool.
    Loose,
}

/// The order in which calls may come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// Calls may come in any order.
    #[default]
    Free,
    /// As recorded. Calls that were in flight at the same time may be swapped.
    Recorded,
}

/// What to do with a call that comes more often than recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Repeats {
    /// Repeat the last answer.
    #[default]
    Last,
    /// It is a miss.
    Never,
}

/// Values that a client generates for each request.
const ALWAYS: &[&str] = &["params/_meta/progressToken"];

/// Differences that are counted per pair of requests; more make no difference to which is nearest.
const MAX_DIFFERENCES: usize = 50;

/// How requests are compared with recorded ones.
#[derive(Debug, Clone)]
pub struct Matching {
    /// How closely requests must match.
    pub mode: Mode,
    /// The order in which calls may come.
    pub order: Order,
    /// What to do with repeated calls.
    pub repeats: Repeats,
    params: IgnoredParams,
    without_input: IgnoredParams,
    answers: Volatile,
    secrets: Option<Arc<Secrets>>,
}

impl Default for Matching {
    fn default() -> Self {
        Self::new(Mode::default(), Order::default(), Repeats::default(), &[])
    }
}

impl Matching {
    /// A comparison that also ignores the paths in `ignore`.
    pub fn new(mode: Mode, order: Order, repeats: Repeats, ignore: &[PathPattern]) -> Self {
        let mut volatile = Volatile::nothing();
        // Cursors, request states and task ids count, although a server generates them: the client received the
        // recorded ones and repeats them.
        let by_default = if mode == Mode::Exact { &[] } else { META };
        for pattern in ALWAYS.iter().chain(by_default) {
            volatile.add(&pattern.parse().expect("the default patterns are constants that the tests parse"));
        }
        let mut answers = Volatile::defaults();
        for pattern in ignore {
            volatile.add(pattern);
            answers.add(pattern);
        }
        let params = volatile.of(Part::Params);
        let without_input = IgnoredParams::new(&params.with(&["inputResponses"]));
        let params = IgnoredParams::new(params);
        Matching { mode, order, repeats, params, without_input, answers, secrets: None }
    }

    /// The same comparison with secrets redacted in reported differences.
    pub fn with_secrets(self, secrets: Secrets) -> Self {
        Matching { secrets: Some(Arc::new(secrets)), ..self }
    }

    /// The key of a request: equal for requests that match.
    pub fn key(&self, method: &str, params: Option<&[u8]>) -> u64 {
        key(method, params, &self.params)
    }

    /// The same without the `inputResponses` of a retry (2026-07-28, patterns/mrtr).
    pub(super) fn key_without_input(&self, method: &str, params: Option<&[u8]>) -> u64 {
        key(method, params, &self.without_input)
    }

    /// The differences between the params of two requests. A redacted value matches anything.
    pub fn differences<'a>(&self, recorded: Option<&'a [u8]>, asked: Option<&'a [u8]>) -> Differences<'a> {
        let value = |params: Option<&'a [u8]>| Value::parse(params.unwrap_or(NO_PARAMS)).ok();
        let (Some(recorded), Some(asked)) = (value(recorded), value(asked)) else {
            return Differences::default();
        };
        let (paths, _) = self.params.of([recorded.raw, asked.raw]);
        diff_beyond((recorded, asked), paths, MAX_DIFFERENCES, REDACTED)
    }

    /// The same as text.
    pub(super) fn departures(&self, recorded: Option<&[u8]>, asked: Option<&[u8]>) -> Vec<Departure> {
        let both = (recorded.unwrap_or(NO_PARAMS), asked.unwrap_or(NO_PARAMS));
        Departure::of_all("params", both, self.secrets.as_deref(), |recorded, asked| {
            self.differences(Some(recorded), Some(asked))
        })
    }

    /// The differences between a part of a client's answer and the recorded one.
    pub(super) fn departures_of_answer(&self, part: Part, recorded: &[u8], live: &[u8]) -> Vec<Departure> {
        Departure::of_all(part.name(), (recorded, live), self.secrets.as_deref(), |recorded, live| {
            let values = Value::parse(recorded).ok().zip(Value::parse(live).ok());
            values.map_or_else(Differences::default, |(recorded, live)| {
                diff_beyond((recorded, live), self.answers(part), MAX_DIFFERENCES, REDACTED)
            })
        })
    }

    /// The paths that are ignored when answers are compared.
    pub fn answers(&self, part: Part) -> &Paths {
        self.answers.of(part)
    }
}

/// A hash of the bytes of method and params. Equal requests may differ in it, but it needs no parsing: the fast path that
/// makes replay 0.8× a bare server instead of 0.15× ("Replay" in docs/benchmarks.md).
pub(super) fn words(method: &[u8], params: Option<&[u8]>) -> u64 {
    in_order([method, params.unwrap_or(NO_PARAMS)])
}

/// A request without params equals one with empty params.
const NO_PARAMS: &[u8] = b"{}";

fn key(method: &str, params: Option<&[u8]>, left: &IgnoredParams) -> u64 {
    let params = params.unwrap_or(NO_PARAMS);
    let (paths, start) = left.of([params]);
    combine(text(method), fingerprint_without(params, paths, start))
}

/// The ignored paths of params. A `_meta` with only ignored members equals none, and missing arguments equal empty ones: some
/// clients send `{}` where others send nothing.
#[derive(Debug, Clone)]
struct IgnoredParams {
    /// Precomputed for each combination: neither ignored, `_meta`, `arguments`, both. Building paths per request would cost
    /// more than comparing most of them.
    variants: [(Paths, Trail); 4],
    at_meta: Trail,
}

impl IgnoredParams {
    fn new(paths: &Paths) -> Self {
        let at_meta = paths.member(&paths.start(), "_meta").unwrap_or_default();
        let variants = [&[][..], &["_meta"], &["arguments"], &["_meta", "arguments"]].map(|names| {
            let paths = names.iter().fold(paths.clone(), |paths, name| paths.with(&[name]));
            let start = paths.start();
            (paths, start)
        });
        IgnoredParams { variants, at_meta }
    }

    /// The paths to ignore when these params are compared.
    fn of<const N: usize>(&self, params: [&[u8]; N]) -> &(Paths, Trail) {
        let no_meta = params.iter().all(|params| self.ignores_all_of_meta(params));
        let no_arguments = params.iter().all(|params| has_no_arguments(params));
        &self.variants[usize::from(no_meta) + 2 * usize::from(no_arguments)]
    }

    fn ignores_all_of_meta(&self, params: &[u8]) -> bool {
        // A finder is built once: building it takes longer than searching most params.
        static META: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("_meta"));
        if META.find(params).is_none() {
            return true;
        }
        let Some(meta) = Value::parse(params).ok().and_then(|params| params.get("_meta")) else {
            return true;
        };
        let (paths, _) = &self.variants[0];
        let mut is_left = !meta.is_object();
        meta.members(|name, _| is_left |= paths.member(&self.at_meta, &name.decode()).is_some());
        !is_left
    }
}

fn has_no_arguments(params: &[u8]) -> bool {
    static ARGUMENTS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"arguments\""));
    let mut places = ARGUMENTS.find_iter(params).peekable();
    if places.peek().is_none() {
        return true;
    }
    // Most calls have arguments; a byte search settles those without parsing.
    places.any(|at| is_followed_by_nothing(&params[at + "\"arguments\"".len()..])) && {
        let arguments = Value::parse(params).ok().and_then(|params| params.get("arguments"));
        let mut is_empty = true;
        arguments.is_none_or(|arguments| {
            arguments.members(|_, _| is_empty = false);
            arguments.is_object() && is_empty
        })
    }
}

/// Whether the bytes after a name look like an empty object. A heuristic that decides whether to parse.
fn is_followed_by_nothing(rest: &[u8]) -> bool {
    let mut bytes = rest.iter().filter(|byte| !byte.is_ascii_whitespace());
    [b':', b'{', b'}'].iter().all(|expected| bytes.next() == Some(expected))
}

/// A redacted value matches anything.
const REDACTED: Alike<'static> = Alike { is_alike: &may_have_been, is_reported: false };

/// Whether a value may be what was redacted in the recording.
pub(crate) fn may_have_been(recorded: Value<'_>, asked: Value<'_>) -> bool {
    let Some(pattern) = recorded.string_bytes() else { return false };
    let places = markers(&pattern);
    match places.as_slice() {
        [] => false,
        // Any type: redaction may have replaced a number or an object by its marker.
        [whole] if *whole == (0..pattern.len()) => true,
        _ => asked.string_bytes().is_some_and(|text| fits(&pattern, &places, &text)),
    }
}

/// Whether a text contains the parts around the markers, in order.
fn fits(pattern: &[u8], places: &[std::ops::Range<usize>], text: &[u8]) -> bool {
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return pattern == text };
    let (head, tail) = (&pattern[..first.start], &pattern[last.end..]);
    let Some(mut rest) = text.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail)) else {
        return false;
    };
    for pair in places.windows(2) {
        let between = &pattern[pair[0].end..pair[1].start];
        // The first occurrence is enough: if a later one would match, the rest still contains what follows.
        let Some(at) = memchr::memmem::find(rest, between) else { return false };
        rest = &rest[at + between.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::difference::in_words;
    use super::*;

    fn asks_the_same(mode: Mode, recorded: &str, asked: &str) -> bool {
        let matching = Matching::new(mode, Order::Free, Repeats::Last, &["/arguments/now".parse().unwrap()]);
        matching.key("m", Some(recorded.as_bytes())) == matching.key("m", Some(asked.as_bytes()))
    }

    #[test]
    fn what_a_client_makes_up_does_not_count() {
        let check = |mode, recorded, asked, expected| {
            assert_eq!(asks_the_same(mode, recorded, asked), expected, "{mode:?} {recorded} {asked}");
        };
        use Mode::{Default, Exact};
        check(Default, r#"{"_meta":{"progressToken":1}}"#, r#"{"_meta":{"progressToken":"x"}}"#, true);
        check(Exact, r#"{"_meta":{"progressToken":1}}"#, r#"{"_meta":{"progressToken":"x"}}"#, true);
        check(Default, r#"{"_meta":{"traceparent":"a"}}"#, r#"{"_meta":{}}"#, true);
        check(Exact, r#"{"_meta":{"traceparent":"a"}}"#, r#"{"_meta":{}}"#, false);
        check(Default, r#"{"_meta":{"progressToken":1}}"#, "{}", true);
        check(Default, r#"{"_meta":{"other":1}}"#, "{}", false);
        let says_of_itself = r#"{"_meta":{"progressToken":1,"io.modelcontextprotocol/logLevel":"debug","io.modelcontextprotocol/clientInfo":{}}}"#;
        check(Default, says_of_itself, "{}", true);
        check(Exact, says_of_itself, "{}", false);
        check(Default, r#"{"name":"x"}"#, r#"{"arguments": { }, "name":"x"}"#, true);
        check(Exact, r#"{"name":"x","_meta":{"progressToken":1}}"#, r#"{"name":"x","arguments":{}}"#, true);
        check(Default, r#"{"name":"x"}"#, r#"{"name":"x","arguments":{"a":{}}}"#, false);
        check(Default, r#"{"name":"x"}"#, r#"{"name":"x","arguments":[]}"#, false);
        check(Default, r#"{"a":{"arguments":{}}}"#, r#"{"a":{}}"#, false);
        check(Default, r#"{"a":{"arguments":{}},"arguments":{}}"#, r#"{"a":{"arguments":{}}}"#, true);
        check(Default, r#"{"cursor":"a"}"#, r#"{"cursor":"b"}"#, false);
        check(Default, r#"{"arguments":{"now":1,"a":1}}"#, r#"{"arguments":{"a":1.0,"now":2}}"#, true);
    }

    #[test]
    fn a_miss_names_what_counts_of_a_meta_that_came_or_went() {
        let recorded = br#"{"name":"x","_meta":{"io.modelcontextprotocol/clientInfo":{"name":"a very long name of a client"},"com.example/tenant":"a"}}"#;
        let told = |asked: &[u8]| in_words(&Matching::default().departures(Some(recorded), Some(asked)));
        let gone = r#"params/_meta/com.example~1tenant was "a" and is missing"#;
        assert_eq!(told(br#"{"name":"x"}"#), gone);
        assert_eq!(told(br#"{"name":"x","_meta":{"progressToken":1}}"#), gone);
    }

    #[test]
    fn what_was_redacted_is_like_anything() {
        let check = |recorded: &str, asked: &str, expected: usize| {
            let matching = Matching::default();
            let found = matching.differences(Some(recorded.as_bytes()), Some(asked.as_bytes()));
            assert_eq!(found.list.len(), expected, "{recorded} {asked} {found:?}");
        };
        check(r#"{"key":"[REDACTED]"}"#, r#"{"key":{"a":1}}"#, 0);
        check(r#"{"key":"[REDACTED:token:01234567]"}"#, r#"{"key":"x"}"#, 0);
        check(r#"{"key":"[REDACTED:token:01234567]"}"#, r#"{"kay":"x"}"#, 2);
        check(r#"{"q":"a [REDACTED] b [REDACTED:x:1] c"}"#, r#"{"q":"a 1 b 2 c"}"#, 0);
        check(r#"{"q":"a [REDACTED] b"}"#, r#"{"q":"a 1 c"}"#, 1);
        check(r#"{"q":"a [REDACTED]"}"#, r#"{"q":7}"#, 1);
        check(r#"{"q":["[REDACTED]",2]}"#, r#"{"q":["x",3]}"#, 1);
    }
}
