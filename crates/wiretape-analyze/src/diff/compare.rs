//! Compares the parameters and the outcomes of two paired calls, without what is ignored.

use super::index::{CallIndex, Ignored, IndexedCall};
use crate::json_diff::{Alike, Differences, Inside, diff, diff_beyond};
use crate::looks::Runs;
use crate::volatile::{Part, Paths};
use wiretape_trace::message::{Direction, Envelope};
use wiretape_trace::value::Value;

/// Differences reported per message; `Differences::more` says that there are others. A result that is another
/// document altogether would otherwise produce one difference for each of its values.
const MAX_DIFFERENCES: usize = 1000;

/// The messages of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallPayloads<'a> {
    /// The JSON-RPC request, as recorded.
    pub request: &'a [u8],
    /// The JSON-RPC response, if there is one.
    pub response: Option<&'a [u8]>,
}

/// The differences between two calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallDifferences<'a> {
    /// The differences in the requests' params.
    pub params: Differences<'a>,
    /// How the answers differ.
    pub answer: Answer<'a>,
}

/// The differences between two answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<'a> {
    /// Both are results, or both are errors.
    Alike(Part, Differences<'a>),
    /// One is a result and the other an error, or one is missing.
    Other {
        /// The earlier answer: its part and value.
        before: Option<(Part, Value<'a>)>,
        /// The later answer: its part and value.
        after: Option<(Part, Value<'a>)>,
    },
}

impl Answer<'_> {
    /// Whether there are no differences.
    pub fn is_same(&self) -> bool {
        match self {
            Answer::Alike(_, differences) => differences.list.is_empty(),
            Answer::Other { before, after } => before.is_none() && after.is_none(),
        }
    }
}

/// Whether values that a server generates in each run are compared: timestamps of the run, and ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GeneratedValues {
    /// Differences are not reported.
    Ignored,
    /// They are compared like all others.
    Compared,
}

/// Compares the calls of two traces.
#[derive(Debug)]
pub struct Comparer {
    ignored: Ignored,
    runs: Option<Runs>,
}

impl Comparer {
    /// A comparer for two traces.
    pub fn new(ignored: Ignored, first: &CallIndex, second: &CallIndex, made_up: GeneratedValues) -> Self {
        // Without times in the trace, an empty range: no timestamp is within it, so all of them are compared.
        let run = |index: &CallIndex| index.run_ms.clone().unwrap_or(0..0);
        let runs = (made_up == GeneratedValues::Ignored).then(|| Runs {
            recorded: run(first),
            live: run(second),
            repeated: first.ids.clone(),
        });
        Comparer { ignored, runs }
    }

    /// The ignored paths of a part of a call.
    pub fn paths(&self, method: &str, part: Part) -> &Paths {
        self.ignored.of(method, part)
    }

    /// The differences between two calls of a method from one direction. The client's values all count; values that the
    /// server generates are ignored.
    pub fn compare<'a>(
        &self,
        (asker, method): (Direction, &str),
        before: CallPayloads<'a>,
        after: CallPayloads<'a>,
    ) -> CallDifferences<'a> {
        let Some(runs) = &self.runs else {
            return compare_beyond(&self.ignored, method, (before, after), SideAlike::default());
        };
        let is_alike = |before: Value<'_>, after: Value<'_>| runs.are_alike(before, after);
        let alike = Some(Alike { is_alike: &is_alike, is_reported: false });
        // Generated values come from the server: they are in its answers to the client, and in its own requests.
        let alike = match asker {
            Direction::ClientToServer => SideAlike { params: None, answer: alike },
            Direction::ServerToClient => SideAlike { params: alike, answer: None },
        };
        compare_beyond(&self.ignored, method, (before, after), alike)
    }

    /// The differences between two strings that hold JSON.
    pub fn differences_inside<'i>(&self, inside: &'i Inside, paths: &Paths, limit: usize) -> Differences<'i> {
        let Some(runs) = &self.runs else { return inside.differences(paths, limit) };
        let is_alike = |before: Value<'_>, after: Value<'_>| runs.are_alike(before, after);
        inside.differences_beyond(paths, limit, Some(Alike { is_alike: &is_alike, is_reported: false }))
    }

    /// Whether two calls with different fingerprints differ only in generated values.
    pub fn are_alike(
        &self,
        (one, before): (&IndexedCall, CallPayloads<'_>),
        (other, after): (&IndexedCall, CallPayloads<'_>),
    ) -> bool {
        // The file may have changed since it was indexed; an unreadable call counts as different.
        let is_read = |call: &IndexedCall, payloads: CallPayloads<'_>| {
            !payloads.request.is_empty() && call.response.is_some() == payloads.response.is_some()
        };
        let asked = (other.direction, &*other.method);
        let differences = || self.compare(asked, before, after);
        self.runs.is_some()
            && is_read(one, before)
            && is_read(other, after)
            && one.outcome == other.outcome
            && differences().are_none(self, &other.method)
    }
}

impl CallDifferences<'_> {
    fn are_none(&self, comparer: &Comparer, method: &str) -> bool {
        let none = |part: Part, found: &Differences<'_>| {
            let paths = comparer.paths(method, part);
            // A string that holds JSON is compared as JSON.
            let is_none = |inside: Option<Inside>| {
                inside.is_some_and(|inside| {
                    let found = comparer.differences_inside(&inside, paths, 1);
                    found.list.is_empty() && !found.more
                })
            };
            !found.more && found.list.iter().all(|difference| is_none(difference.inside(paths)))
        };
        let answers_alike = match &self.answer {
            Answer::Alike(part, found) => none(*part, found),
            Answer::Other { before, after } => before.is_none() && after.is_none(),
        };
        answers_alike && none(Part::Params, &self.params)
    }
}

/// Which differing values count as equal, in requests and in answers.
#[derive(Clone, Copy, Default)]
pub(crate) struct SideAlike<'f> {
    /// For values in the `params` of requests.
    pub(crate) params: Option<Alike<'f>>,
    /// For values in the `result` or `error` of responses.
    pub(crate) answer: Option<Alike<'f>>,
}

impl<'f> SideAlike<'f> {
    /// The same in params and answers.
    pub(crate) fn both(alike: Alike<'f>) -> Self {
        SideAlike { params: Some(alike), answer: Some(alike) }
    }
}

/// Compares two calls of the same method. Values that are alike count as equal.
pub(crate) fn compare_beyond<'a>(
    ignored: &Ignored,
    method: &str,
    (before, after): (CallPayloads<'a>, CallPayloads<'a>),
    alike: SideAlike<'_>,
) -> CallDifferences<'a> {
    let diff = |before, after, part, alike| match alike {
        Some(alike) => diff_beyond((before, after), ignored.of(method, part), MAX_DIFFERENCES, alike),
        None => diff(before, after, ignored.of(method, part), MAX_DIFFERENCES),
    };
    let params = |call: CallPayloads<'a>| {
        // A request without params equals one with empty params, as in the fingerprint of `index.rs`.
        let params = Envelope::scan(call.request).params.unwrap_or(b"{}");
        Value::parse(params).ok()
    };
    let params = match (params(before), params(after)) {
        (Some(before), Some(after)) => diff(before, after, Part::Params, alike.params),
        _ => Differences::default(),
    };
    let answer = match (answer(before.response), answer(after.response)) {
        (Some((part, before)), Some((other, after))) if part == other => {
            Answer::Alike(part, diff(before, after, part, alike.answer))
        }
        (before, after) => Answer::Other { before, after },
    };
    CallDifferences { params, answer }
}

fn answer(response: Option<&[u8]>) -> Option<(Part, Value<'_>)> {
    let envelope = Envelope::scan(response?);
    let (part, json) = match (envelope.error, envelope.result) {
        (Some(error), _) => (Part::Error, error),
        (None, Some(result)) => (Part::Result, result),
        (None, None) => return None,
    };
    Some((part, Value::parse(json).ok()?))
}
