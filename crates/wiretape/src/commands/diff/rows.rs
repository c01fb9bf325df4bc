//! The comparison, and the messages of calls that differ.

use crate::error::CommandError;
use crate::trace_file::{self, Head, TraceFileError};
use std::io::Read;
use std::path::{Path, PathBuf};
use wiretape_analyze::diff::{
    CallIndex, CallPayloads, CallRow, Comparer, IndexedCall, Pace, PaceChange, PayloadPlace, Payloads,
    Status, Summary,
};
use wiretape_analyze::drift::Drift;
use wiretape_trace::format::ReadError;

pub(super) struct Comparison {
    pub(super) first: Side,
    pub(super) second: Side,
    pub(super) comparer: Comparer,
    pub(super) rows: Vec<CallRow>,
    pub(super) pace: Option<Pace>,
    pub(super) summary: Summary,
    pub(super) drift: Drift,
}

/// One of the two traces.
pub(super) struct Side {
    pub(super) path: PathBuf,
    pub(super) head: Head,
    pub(super) index: CallIndex,
}

/// The calls of a row.
#[derive(Clone, Copy)]
pub(super) struct Pair<'c> {
    pub(super) first: Option<&'c IndexedCall>,
    pub(super) second: Option<&'c IndexedCall>,
}

impl<'c> Pair<'c> {
    /// The later call, or the only one.
    pub(super) fn call(self) -> &'c IndexedCall {
        self.second.or(self.first).expect("the alignment makes no row without a call")
    }
}

impl Comparison {
    pub(super) fn pair(&self, row: &CallRow) -> Pair<'_> {
        Pair {
            first: row.first.map(|at| &self.first.index.calls[at]),
            second: row.second.map(|at| &self.second.index.calls[at]),
        }
    }

    pub(super) fn pace_of(&self, row: &CallRow) -> Option<PaceChange> {
        row.pace(&self.first.index, &self.second.index, self.pace)
    }

    /// Reads both traces again, for the calls that differ.
    pub(super) fn messages(&self) -> Result<Messages<'_>, CommandError> {
        Messages::read(&self.first, &self.second, &self.rows)
    }
}

/// Marks calls as unchanged that differ only in values that a server generates in each run. This needs their messages, so
/// both traces are read again if any calls differ.
pub(super) fn mark_equivalent(
    rows: &mut [CallRow],
    first: &Side,
    second: &Side,
    comparer: &Comparer,
) -> Result<(), CommandError> {
    // Only the messages of these calls are kept in memory, not those of the whole traces.
    let changed: Vec<CallRow> = rows.iter().filter(|row| row.status == Status::Changed).copied().collect();
    if changed.is_empty() {
        return Ok(());
    }
    let mut messages = Messages::read(first, second, &changed)?;
    for row in rows.iter_mut().filter(|row| row.status == Status::Changed) {
        let pair = Pair {
            first: row.first.map(|at| &first.index.calls[at]),
            second: row.second.map(|at| &second.index.calls[at]),
        };
        let (before, after) = messages.of(row, pair)?;
        if let (Some(one), Some(other)) = (pair.first, pair.second)
            && comparer.are_alike((one, before.payloads()), (other, after.payloads()))
        {
            row.status = Status::Same;
        }
    }
    Ok(())
}

/// The messages of a call, as far as they are needed.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) request: Vec<u8>,
    pub(super) response: Option<Vec<u8>>,
}

impl Texts {
    /// The payloads, for a comparison.
    pub(super) fn payloads(&self) -> CallPayloads<'_> {
        CallPayloads { request: &self.request, response: self.response.as_deref() }
    }
}

/// The messages of calls that differ.
pub(super) struct Messages<'s> {
    first: TraceMessages<'s>,
    second: TraceMessages<'s>,
}

impl<'s> Messages<'s> {
    fn read(first: &'s Side, second: &'s Side, rows: &[CallRow]) -> Result<Self, CommandError> {
        Ok(Messages {
            first: TraceMessages::open(first, rows.iter().filter_map(|row| Some((row.status, row.first?))))?,
            second: TraceMessages::open(
                second,
                rows.iter().filter_map(|row| Some((row.status, row.second?))),
            )?,
        })
    }

    /// The messages of a row's calls. Each row that differs can be taken once.
    pub(super) fn of(&mut self, row: &CallRow, pair: Pair<'_>) -> Result<(Texts, Texts), CommandError> {
        Ok((self.first.take(row.status, pair.first)?, self.second.take(row.status, pair.second)?))
    }
}

struct TraceMessages<'s> {
    path: &'s Path,
    payloads: Payloads<Box<dyn Read + Send>>,
}

impl<'s> TraceMessages<'s> {
    fn open(side: &'s Side, calls: impl Iterator<Item = (Status, usize)>) -> Result<Self, CommandError> {
        let places = calls.flat_map(|(status, at)| payload_places(status, &side.index.calls[at])).flatten();
        let payloads = Payloads::new(trace_file::open(&side.path)?, places);
        Ok(TraceMessages { path: &side.path, payloads })
    }

    fn take(&mut self, status: Status, call: Option<&IndexedCall>) -> Result<Texts, CommandError> {
        let Some(call) = call else { return Ok(Texts::default()) };
        let [request, response] = payload_places(status, call);
        let path = self.path;
        let mut take = |place: Option<PayloadPlace>| match place {
            Some(place) => self.payloads.take(place).map_err(|source: ReadError| {
                CommandError::from(TraceFileError::Read { path: path.to_owned(), source })
            }),
            None => Ok(None),
        };
        Ok(Texts { request: take(request)?.unwrap_or_default(), response: take(response)? })
    }
}

/// The request and the response of a call, if they are shown or compared.
fn payload_places(status: Status, call: &IndexedCall) -> [Option<PayloadPlace>; 2] {
    match status {
        Status::Same => [None, None],
        Status::Changed => [Some(call.request), call.response],
        Status::Removed | Status::Added => [Some(call.request), None],
    }
}
