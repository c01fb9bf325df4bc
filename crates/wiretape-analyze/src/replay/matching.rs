//! What counts when two requests are compared.

use super::difference::{Departure, Secrets};
use crate::fingerprint::{combine, fingerprint_without, in_order, text};
use crate::json_diff::{Alike, Differences, diff_beyond};
use crate::volatile::{META, Part, PathPattern, Paths, Trail, Volatile};
use memchr::memmem::Finder;
use std::sync::{Arc, LazyLock};
use wiretape_trace::redact::markers;
use wiretape_trace::value::Value;

/// How much of a request must be as it was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Everything but the token under which progress comes.
    Exact,
    /// Everything but what a client says of itself, and trace contexts.
    #[default]
    Default,
    /// As by default; otherwise the nearest call of the same method and tool.
    Loose,
}

/// In which order calls may come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// In any.
    #[default]
    Free,
    /// As they were recorded. Calls that were open at the same time may change places.
    Recorded,
}

/// What becomes of a call that comes more often than it was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Repeats {
    /// The last answer is given again.
    #[default]
    Last,
    /// It is a miss.
    Never,
}

/// What a client makes up for each request.
const ALWAYS: &[&str] = &["params/_meta/progressToken"];

/// More differences of two requests are not looked for.
const MAX_DIFFERENCES: usize = 50;

/// How requests are compared with recorded ones.
#[derive(Debug, Clone)]
pub struct Matching {
    /// How much must be the same.
    pub mode: Mode,
    /// In which order calls may come.
    pub order: Order,
    /// What becomes of repeats.
    pub repeats: Repeats,
    params: Left,
    without_input: Left,
    answers: Volatile,
    secrets: Option<Arc<Secrets>>,
}

impl Default for Matching {
    fn default() -> Self {
        Self::new(Mode::default(), Order::default(), Repeats::default(), &[])
    }
}

impl Matching {
    /// Compares so, and leaves out what `ignore` names.
    pub fn new(mode: Mode, order: Order, repeats: Repeats, ignore: &[PathPattern]) -> Self {
        let mut volatile = Volatile::nothing();
        // Cursors, states and ids of tasks count: a server makes them up, and a client that is told the recorded ones repeats them.
        let by_default = if mode == Mode::Exact { &[] } else { META };
        for pattern in ALWAYS.iter().chain(by_default) {
            volatile.add(&pattern.parse().expect("the defaults are patterns"));
        }
        let mut answers = Volatile::defaults();
        for pattern in ignore {
            volatile.add(pattern);
            answers.add(pattern);
        }
        let params = volatile.of(Part::Params);
        let without_input = Left::new(&params.with(&["inputResponses"]));
        let params = Left::new(params);
        Matching { mode, order, repeats, params, without_input, answers, secrets: None }
    }

    /// Compares as before, and keeps secrets where it tells how messages differ.
    pub fn keeping(self, secrets: Secrets) -> Self {
        Matching { secrets: Some(Arc::new(secrets)), ..self }
    }

    /// By what a request is known: equal for requests that ask the same.
    pub fn key(&self, method: &str, params: Option<&[u8]>) -> u64 {
        key(method, params, &self.params)
    }

    /// The same, whatever the client brought that the server had asked for.
    pub(super) fn key_without_input(&self, method: &str, params: Option<&[u8]>) -> u64 {
        key(method, params, &self.without_input)
    }

    /// How the parameters of a request differ from recorded ones. What was redacted is like anything.
    pub fn differences<'a>(&self, recorded: Option<&'a [u8]>, asked: Option<&'a [u8]>) -> Differences<'a> {
        let value = |params: Option<&'a [u8]>| Value::parse(params.unwrap_or(NO_PARAMS)).ok();
        let (Some(recorded), Some(asked)) = (value(recorded), value(asked)) else {
            return Differences::default();
        };
        let (paths, _) = self.params.of([recorded.raw, asked.raw]);
        diff_beyond((recorded, asked), paths, MAX_DIFFERENCES, REDACTED)
    }

    /// The same in words.
    pub(super) fn departures(&self, recorded: Option<&[u8]>, asked: Option<&[u8]>) -> Vec<Departure> {
        let both = (recorded.unwrap_or(NO_PARAMS), asked.unwrap_or(NO_PARAMS));
        Departure::of_all("params", both, self.secrets.as_deref(), |recorded, asked| {
            self.differences(Some(recorded), Some(asked))
        })
    }

    /// How a part of a client's answer departs from the recorded one.
    pub(super) fn departures_of_answer(&self, part: Part, recorded: &[u8], live: &[u8]) -> Vec<Departure> {
        Departure::of_all(part.name(), (recorded, live), self.secrets.as_deref(), |recorded, live| {
            let values = Value::parse(recorded).ok().zip(Value::parse(live).ok());
            values.map_or_else(Differences::default, |(recorded, live)| {
                diff_beyond((recorded, live), self.answers(part), MAX_DIFFERENCES, REDACTED)
            })
        })
    }

    /// What is left out where answers are compared.
    pub fn answers(&self, part: Part) -> &Paths {
        self.answers.of(part)
    }
}

/// By what a request is known that is word for word like another: much sooner told than its key.
pub(super) fn words(method: &[u8], params: Option<&[u8]>) -> u64 {
    in_order([method, params.unwrap_or(NO_PARAMS)])
}

/// A request without parameters asks what one with empty ones does.
const NO_PARAMS: &[u8] = b"{}";

fn key(method: &str, params: Option<&[u8]>, left: &Left) -> u64 {
    let params = params.unwrap_or(NO_PARAMS);
    let (paths, start) = left.of([params]);
    combine(text(method), fingerprint_without(params, paths, start))
}

/// What is left out of parameters. A `_meta` of which nothing is left is like none at all, and so are no arguments like empty ones:
/// some clients send `{}` where others send nothing.
#[derive(Debug, Clone)]
struct Left {
    /// By what of the two is there: both, only the arguments, only `_meta`, none.
    variants: [(Paths, Trail); 4],
    at_meta: Trail,
}

impl Left {
    fn new(paths: &Paths) -> Self {
        let at_meta = paths.member(&paths.start(), "_meta").unwrap_or_default();
        let variants = [&[][..], &["_meta"], &["arguments"], &["_meta", "arguments"]].map(|names| {
            let paths = names.iter().fold(paths.clone(), |paths, name| paths.with(&[name]));
            let start = paths.start();
            (paths, start)
        });
        Left { variants, at_meta }
    }

    /// What is left out where all of these are compared.
    fn of<const N: usize>(&self, params: [&[u8]; N]) -> &(Paths, Trail) {
        let no_meta = params.iter().all(|params| self.leaves_nothing_of_meta(params));
        let no_arguments = params.iter().all(|params| has_no_arguments(params));
        &self.variants[usize::from(no_meta) + 2 * usize::from(no_arguments)]
    }

    fn leaves_nothing_of_meta(&self, params: &[u8]) -> bool {
        // Made once: most parameters are shorter than making it takes.
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
    // Mostly there are some: then nothing has to be read as JSON.
    places.any(|at| is_followed_by_nothing(&params[at + "\"arguments\"".len()..])) && {
        let arguments = Value::parse(params).ok().and_then(|params| params.get("arguments"));
        let mut is_empty = true;
        arguments.is_none_or(|arguments| {
            arguments.members(|_, _| is_empty = false);
            arguments.is_object() && is_empty
        })
    }
}

/// Whether a name's value is an empty object, as it seems.
fn is_followed_by_nothing(rest: &[u8]) -> bool {
    let mut bytes = rest.iter().filter(|byte| !byte.is_ascii_whitespace());
    [b':', b'{', b'}'].iter().all(|expected| bytes.next() == Some(expected))
}

/// What was redacted is like anything.
const REDACTED: Alike<'static> = Alike { is_alike: &may_have_been, is_told: false };

/// Whether a value may have stood where something was redacted.
pub(crate) fn may_have_been(recorded: Value<'_>, asked: Value<'_>) -> bool {
    let Some(pattern) = recorded.string_bytes() else { return false };
    let places = markers(&pattern);
    match places.as_slice() {
        [] => false,
        [whole] if *whole == (0..pattern.len()) => true,
        _ => asked.string_bytes().is_some_and(|text| fits(&pattern, &places, &text)),
    }
}

/// Whether a text has what stands around the markers, in that order.
fn fits(pattern: &[u8], places: &[std::ops::Range<usize>], text: &[u8]) -> bool {
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return pattern == text };
    let (head, tail) = (&pattern[..first.start], &pattern[last.end..]);
    let Some(mut rest) = text.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail)) else {
        return false;
    };
    for pair in places.windows(2) {
        let between = &pattern[pair[0].end..pair[1].start];
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
