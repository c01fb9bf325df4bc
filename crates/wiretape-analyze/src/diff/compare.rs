//! How one call differs from another.

use super::index::Ignored;
use crate::json_diff::{Alike, Differences, diff, diff_beyond};
use crate::volatile::Part;
use wiretape_trace::message::Envelope;
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

/// Compares two calls of the same method.
pub fn compare<'a>(
    ignored: &Ignored,
    method: &str,
    before: CallPayloads<'a>,
    after: CallPayloads<'a>,
) -> CallDifferences<'a> {
    compare_beyond(ignored, method, (before, after), None)
}

/// The same, where some values are alike.
pub fn compare_beyond<'a>(
    ignored: &Ignored,
    method: &str,
    (before, after): (CallPayloads<'a>, CallPayloads<'a>),
    alike: Option<Alike<'_>>,
) -> CallDifferences<'a> {
    let diff = |before, after, part| match alike {
        Some(alike) => diff_beyond((before, after), ignored.of(method, part), MAX_DIFFERENCES, alike),
        None => diff(before, after, ignored.of(method, part), MAX_DIFFERENCES),
    };
    let params = |call: CallPayloads<'a>| {
        let params = Envelope::scan(call.request).params.unwrap_or(b"{}");
        Value::parse(params).ok()
    };
    let params = match (params(before), params(after)) {
        (Some(before), Some(after)) => diff(before, after, Part::Params),
        _ => Differences::default(),
    };
    let answer = match (answer(before.response), answer(after.response)) {
        (Some((part, before)), Some((other, after))) if part == other => {
            Answer::Alike(part, diff(before, after, part))
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
