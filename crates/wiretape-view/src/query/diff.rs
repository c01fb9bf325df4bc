//! The comparison of two traces.

use super::calls::call_row;
use super::{detail, text_of};
use crate::api::types::{
    DefinitionChange, DiffDetail, DiffReport, DiffRow, DiffSide, DifferenceView, Dir, Progress,
};
use crate::trace::OpenTrace;
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use wiretape_analyze::diff::{
    self, Answer, CallIndex, CallIndexer, CallPayloads, CallRow, Comparer, GeneratedValues, Ignored,
    IndexedCall, Pace, PaceChange, Status, Summary,
};
use wiretape_analyze::drift::{self, Change};
use wiretape_analyze::json_diff::{Difference, Differences};
use wiretape_analyze::reading::Reading;
use wiretape_analyze::volatile::{Part, Paths, Volatile};

/// The minimum slowdown that is reported, besides half of the duration.
const PACE: Pace = Pace { ratio: 0.5, floor_us: 10_000 };
/// The limit of cached comparisons.
const KEPT: usize = 4;
/// The limit of differences within a text.
const INSIDE: usize = 200;
/// The limit of a value in a response, in characters.
const LONGEST_VALUE: usize = 20_000;

/// The cache of comparisons, finished or running.
#[derive(Default)]
pub(crate) struct Comparisons {
    kept: Mutex<Vec<Arc<Comparison>>>,
}

/// A comparison of two traces.
pub(crate) struct Comparison {
    of: [(String, u64); 2],
    first: Arc<OpenTrace>,
    second: Arc<OpenTrace>,
    done: AtomicU64,
    result: Mutex<Option<Arc<ComparisonResult>>>,
}

/// The result of a comparison.
pub(crate) struct ComparisonResult {
    first: CallIndex,
    second: CallIndex,
    comparer: Comparer,
    rows: Vec<CallRow>,
    summary: Summary,
    definitions: Vec<DefinitionChange>,
}

impl Comparisons {
    /// The comparison of two traces in their current state; started if there is none.
    pub(crate) fn of(&self, first: &Arc<OpenTrace>, second: &Arc<OpenTrace>) -> Arc<Comparison> {
        // The length is part of the key, so a trace that is being recorded is compared again when it has grown.
        let of = [first, second].map(|trace| (trace.key.clone(), trace.progress().done));
        let mut kept = self.kept.lock();
        // Also finds a comparison that is still running, so that polling doesn't start another one.
        if let Some(known) = kept.iter().find(|comparison| comparison.of == of) {
            return Arc::clone(known);
        }
        let comparison = Arc::new(Comparison {
            of,
            first: Arc::clone(first),
            second: Arc::clone(second),
            done: AtomicU64::new(0),
            result: Mutex::new(None),
        });
        // The page shows one comparison at a time; a few more make going back and forth immediate. Each holds two
        // indexes, so the number is small.
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push(Arc::clone(&comparison));
        let run = Arc::clone(&comparison);
        // Not in the request: comparing two long traces takes seconds, and the page polls for the progress.
        thread::spawn(move || run.run());
        comparison
    }
}

impl Comparison {
    fn run(&self) {
        // A read error is reported by the index, which reads the same files.
        let Ok(compared) = ComparisonResult::new(&self.first, &self.second, &self.done) else { return };
        *self.result.lock() = Some(Arc::new(compared));
    }

    fn result(&self) -> Option<Arc<ComparisonResult>> {
        self.result.lock().clone()
    }

    fn progress(&self) -> Progress {
        let total = self.of.iter().map(|(_, bytes)| bytes).sum();
        // The result may be missing although all bytes are read: aligning comes after reading.
        Progress { done: self.done.load(Ordering::Acquire), total, is_complete: self.result().is_some() }
    }

    /// A page of the rows with these statuses.
    pub(crate) fn report(&self, kinds: &[Status], from: u64, limit: u64) -> io::Result<DiffReport> {
        let mut report = empty_report(self.progress(), from);
        let Some(compared) = self.result() else { return Ok(report) };
        let summary = compared.summary;
        (report.same, report.changed) = (summary.same, summary.changed);
        (report.removed, report.added) = (summary.removed, summary.added);
        (report.slower, report.faster) = (summary.slower, summary.faster);
        report.definitions.clone_from(&compared.definitions);
        // No status means all, so that a URL without a filter shows everything.
        let is_meant = |row: &CallRow| kinds.is_empty() || kinds.contains(&row.status);
        let rows: Vec<usize> = (0..compared.rows.len()).filter(|at| is_meant(&compared.rows[*at])).collect();
        report.total = rows.len() as u64;
        let skipped = usize::try_from(from).unwrap_or(usize::MAX);
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        for at in rows.into_iter().skip(skipped).take(wanted) {
            report.rows.push(self.row(&compared, at)?);
        }
        Ok(report)
    }

    fn row(&self, compared: &ComparisonResult, at: usize) -> io::Result<DiffRow> {
        let row = &compared.rows[at];
        let (a, b) = compared.pair(row);
        let call = b.or(a).expect("a row is made from a call of at least one of the two traces");
        let side = |trace: &OpenTrace, number: Option<usize>, call: Option<&IndexedCall>| match (number, call)
        {
            (Some(number), Some(call)) => side(trace, number as u64 + 1, call).map(Some),
            _ => Ok(None),
        };
        Ok(DiffRow {
            row: at as u64,
            status: row.status.name().to_owned(),
            pace: row.pace(&compared.first, &compared.second, Some(PACE)).map(pace_name),
            direction: Dir::from(call.direction),
            method: call.method.to_string(),
            name: call.name.as_deref().map(str::to_owned),
            a: side(&self.first, row.first, a)?,
            b: side(&self.second, row.second, b)?,
        })
    }

    /// How the two calls of a row differ.
    pub(crate) fn detail(&self, at: u64) -> io::Result<Option<DiffDetail>> {
        let Some(compared) = self.result() else { return Ok(None) };
        let Some(row) = usize::try_from(at).ok().and_then(|at| compared.rows.get(at)) else {
            return Ok(None);
        };
        // A call in one trace only has nothing to compare; the page shows the call itself instead.
        let (Some(first), Some(second)) = (row.first, row.second) else { return Ok(None) };
        let before = payloads(&self.first, first as u64 + 1)?;
        let after = payloads(&self.second, second as u64 + 1)?;
        Ok(Some(differences(&compared.comparer, &compared.first.calls[first], &before, &after)))
    }
}

fn empty_report(progress: Progress, from: u64) -> DiffReport {
    DiffReport {
        progress,
        same: 0,
        changed: 0,
        removed: 0,
        added: 0,
        slower: 0,
        faster: 0,
        definitions: Vec::new(),
        total: 0,
        from,
        rows: Vec::new(),
    }
}

fn pace_name(change: PaceChange) -> String {
    match change {
        PaceChange::Slower => "slower".to_owned(),
        PaceChange::Faster => "faster".to_owned(),
    }
}

impl ComparisonResult {
    fn new(first: &OpenTrace, second: &OpenTrace, done: &AtomicU64) -> io::Result<Self> {
        let ignored = Ignored::new(Volatile::defaults());
        let index = |trace: &OpenTrace, before: u64| -> io::Result<CallIndex> {
            let mut reading = Reading::new(CallIndexer::new(&ignored));
            trace.scan(&AtomicU64::new(0), |line| {
                reading.observe(line);
                // Relaxed: the number is only for a progress bar, and the result is handed over by a lock.
                done.store(before + line.offset, Ordering::Relaxed);
            })?;
            Ok(reading.finish(trace.recording_state()).finish())
        };
        let (ours, theirs) = (first, second);
        let (first, second) = (index(ours, 0)?, index(theirs, ours.progress().done)?);
        let mut rows = diff::align(&first, &second);
        let comparer = Comparer::new(ignored, &first, &second, GeneratedValues::Ignored);
        // Fingerprints differ, but that may be due to values that are ignored. Only the payloads show it.
        for row in rows.iter_mut().filter(|row| row.status == Status::Changed) {
            let (Some(one), Some(other)) = (row.first, row.second) else { continue };
            let before = payloads(ours, one as u64 + 1)?;
            let after = payloads(theirs, other as u64 + 1)?;
            let (one, other) = (&first.calls[one], &second.calls[other]);
            if comparer.are_alike((one, before.payloads()), (other, after.payloads())) {
                row.status = Status::Same;
            }
        }
        let summary = Summary::of(&rows, &first, &second, Some(PACE));
        // Definitions are compared as sets, independent of the calls that listed them.
        let drift = drift::compare(&first.definitions, &second.definitions);
        let definitions = drift.changes.iter().map(definition).collect();
        Ok(ComparisonResult { first, second, comparer, rows, summary, definitions })
    }

    fn pair(&self, row: &CallRow) -> (Option<&IndexedCall>, Option<&IndexedCall>) {
        (row.first.map(|at| &self.first.calls[at]), row.second.map(|at| &self.second.calls[at]))
    }
}

fn definition(change: &Change) -> DefinitionChange {
    DefinitionChange {
        of: change.subject.noun().to_owned(),
        name: change.subject.name().to_owned(),
        change: change.kind.name().to_owned(),
        effect: change.effect.name().to_owned(),
        pointer: change.pointer.clone(),
        message: change.sentence.clone(),
        advice: change.advice().to_owned(),
        before: change.before.as_deref().map(value_text),
        after: change.after.as_deref().map(value_text),
    }
}

fn value_text(json: &[u8]) -> String {
    // A value is shown, not processed: the whole one is in the call view, and a response with thousands of
    // megabyte-long values would freeze the page.
    let text = text_of(json);
    if text.len() <= LONGEST_VALUE {
        return text;
    }
    format!("{}…", &text[..text.floor_char_boundary(LONGEST_VALUE)])
}

fn side(trace: &OpenTrace, number: u64, call: &IndexedCall) -> io::Result<DiffSide> {
    let about = call_row(trace, 0, number)?.map(|row| row.about).unwrap_or_default();
    Ok(DiffSide {
        call: number,
        line: call.request.line,
        status: call.outcome.name().to_owned(),
        is_error: call.outcome.is_error(),
        took_us: call.took_us,
        about,
    })
}

/// The messages of a call.
struct Texts {
    request: Vec<u8>,
    response: Option<Vec<u8>>,
}

impl Texts {
    fn payloads(&self) -> CallPayloads<'_> {
        CallPayloads { request: &self.request, response: self.response.as_deref() }
    }
}

fn payloads(trace: &OpenTrace, number: u64) -> io::Result<Texts> {
    let request = detail::request(trace, number)?.map(detail::LocatedPayload::into_bytes).unwrap_or_default();
    let row = call_row(trace, 0, number)?;
    let response = match row.as_ref().and_then(|row| row.response_line.map(|line| (row, line))) {
        Some((row, line)) => detail::response(trace, row, line)?.map(detail::LocatedPayload::into_bytes),
        None => None,
    };
    Ok(Texts { request, response })
}

fn differences(comparer: &Comparer, call: &IndexedCall, before: &Texts, after: &Texts) -> DiffDetail {
    let found = comparer.compare((call.direction, &call.method), before.payloads(), after.payloads());
    let paths = |part| comparer.paths(&call.method, part);
    let mut list = views(Part::Params, &found.params, paths(Part::Params), comparer);
    let mut has_more = found.params.more;
    match &found.answer {
        Answer::Alike(part, answer) => {
            list.extend(views(*part, answer, paths(*part), comparer));
            has_more |= answer.more;
        }
        Answer::Other { before, after } => {
            let whole = |part: Part, before: Option<String>, after: Option<String>| DifferenceView {
                part: part.name().to_owned(),
                pointer: String::new(),
                before,
                after,
                inside: Vec::new(),
            };
            list.extend(before.map(|(part, value)| whole(part, Some(value_text(value.raw)), None)));
            list.extend(after.map(|(part, value)| whole(part, None, Some(value_text(value.raw)))));
        }
    }
    DiffDetail { differences: list, has_more }
}

fn views(part: Part, found: &Differences<'_>, paths: &Paths, comparer: &Comparer) -> Vec<DifferenceView> {
    let view = |one: &Difference<'_>, inside: Vec<DifferenceView>| DifferenceView {
        part: part.name().to_owned(),
        pointer: one.pointer.clone(),
        before: one.before.map(|value| value_text(value.raw)),
        after: one.after.map(|value| value_text(value.raw)),
        inside,
    };
    let inside = |one: &Difference<'_>| match one.inside(paths) {
        Some(texts) => {
            let found = comparer.differences_inside(&texts, paths, INSIDE);
            found.list.iter().map(|one| view(one, Vec::new())).collect()
        }
        None => Vec::new(),
    };
    found.list.iter().map(|one| view(one, inside(one))).collect()
}
