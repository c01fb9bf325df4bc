//! How one call differs from another.

use super::index::{CallIndex, Ignored, IndexedCall};
use crate::json_diff::{Alike, Differences, Inside, diff, diff_beyond};
use crate::looks::Runs;
use crate::volatile::{Part, Paths};
use wiretape_trace::message::{Direction, Envelope};
use wiretape_trace::value::Value;

/// More differences of one message are not looked for.
const MAX_DIFFERENCES: usize = 1000;

/// The messages of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallPayloads<'a> {
    /// What was asked.
    pub request: &'a [u8],
    /// What was answered, if anything was.
    pub response: Option<&'a [u8]>,
}

/// How one call differs from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallDifferences<'a> {
    /// By what it asks.
    pub params: Differences<'a>,
    /// By what it was answered.
    pub answer: Answer<'a>,
}

/// How one answer differs from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<'a> {
    /// Both are results, or both are errors.
    Alike(Part, Differences<'a>),
    /// They are not of one kind, or one of them is not there.
    Other {
        /// What it was.
        before: Option<(Part, Value<'a>)>,
        /// What it is now.
        after: Option<(Part, Value<'a>)>,
    },
}

impl Answer<'_> {
    /// Whether they are the same.
    pub fn is_same(&self) -> bool {
        match self {
            Answer::Alike(_, differences) => differences.list.is_empty(),
            Answer::Other { before, after } => before.is_none() && after.is_none(),
        }
    }
}

/// Whether what a server makes up in each run counts: times of the run, and ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MadeUp {
    /// It counts for nothing.
    LeftOut,
    /// It is compared like everything else.
    Compared,
}

/// Compares the calls of two traces.
#[derive(Debug)]
pub struct Comparer {
    ignored: Ignored,
    runs: Option<Runs>,
}

impl Comparer {
    /// For the calls of these traces.
    pub fn new(ignored: Ignored, first: &CallIndex, second: &CallIndex, made_up: MadeUp) -> Self {
        let run = |index: &CallIndex| index.run_ms.clone().unwrap_or(0..0);
        let runs = (made_up == MadeUp::LeftOut).then(|| Runs {
            recorded: run(first),
            live: run(second),
            repeated: first.ids.clone(),
        });
        Comparer { ignored, runs }
    }

    /// What is left out of a part of a call of this method, by its place.
    pub fn paths(&self, method: &str, part: Part) -> &Paths {
        self.ignored.of(method, part)
    }

    /// How two calls of one method differ, which this side made. What a client asks counts whole; of what the server says, what it
    /// makes up in each run does not.
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
        let alike = Some(Alike { is_alike: &is_alike, is_told: false });
        let alike = match asker {
            Direction::ClientToServer => SideAlike { params: None, answer: alike },
            Direction::ServerToClient => SideAlike { params: alike, answer: None },
        };
        compare_beyond(&self.ignored, method, (before, after), alike)
    }

    /// How two texts differ that are JSON.
    pub fn differences_inside<'i>(&self, inside: &'i Inside, paths: &Paths, limit: usize) -> Differences<'i> {
        let Some(runs) = &self.runs else { return inside.differences(paths, limit) };
        let is_alike = |before: Value<'_>, after: Value<'_>| runs.are_alike(before, after);
        inside.differences_beyond(paths, limit, Some(Alike { is_alike: &is_alike, is_told: false }))
    }

    /// Whether two calls that are not equal differ by nothing that counts.
    pub fn are_alike(
        &self,
        (one, before): (&IndexedCall, CallPayloads<'_>),
        (other, after): (&IndexedCall, CallPayloads<'_>),
    ) -> bool {
        // A file may have been changed since: what can't be read is not alike.
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
            // A text that is JSON is compared as what it holds.
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

/// Which values are alike though they differ, on each side of a call.
#[derive(Clone, Copy, Default)]
pub(crate) struct SideAlike<'f> {
    /// In what is asked.
    pub(crate) params: Option<Alike<'f>>,
    /// In what is answered.
    pub(crate) answer: Option<Alike<'f>>,
}

impl<'f> SideAlike<'f> {
    /// The same on both sides.
    pub(crate) fn both(alike: Alike<'f>) -> Self {
        SideAlike { params: Some(alike), answer: Some(alike) }
    }
}

/// Compares two calls of the same method, where some values are alike.
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
