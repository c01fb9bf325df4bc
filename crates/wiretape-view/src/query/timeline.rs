//! Calls by time: the bars of a section of the timeline, and the density of the whole.

use super::Set;
use super::select::{Row, Rows};
use crate::api::types::{Bar, Density, Dir, LineKind, Timeline};
use crate::index::entry::CallEntry;
use std::ops::RangeInclusive;

/// The calls that were open in a section of the timeline; if there are too many, failed and long ones first.
pub(crate) fn timeline(set: &Set, rows: &Rows, part: &RangeInclusive<i64>, limit: usize) -> Timeline {
    let indexes = set.indexes();
    let call = |row: Row| indexes.get(row.trace as usize)?.call(u64::from(row.number)).copied();
    let is_in = |call: &CallEntry| call.at_us <= *part.end() && call.end_us() >= *part.start();
    let mut found: Vec<(Row, CallEntry)> =
        rows.iter().filter_map(|row| call(row).filter(is_in).map(|call| (row, call))).collect();
    let total = found.len() as u64;
    if found.len() > limit {
        // A partial selection takes linear time; only the selected ones are then sorted.
        found.select_nth_unstable_by_key(limit, |(_, call)| {
            std::cmp::Reverse((call.outcome.is_error(), call.duration_us()))
        });
        found.truncate(limit);
    }
    found.sort_by_key(|(row, call)| (call.at_us, row.trace, row.number));
    let bar = |(row, call): (Row, CallEntry)| {
        let names = &indexes[row.trace as usize].names;
        Bar {
            trace: row.trace,
            call: u64::from(row.number),
            at_us: call.at_us,
            latency_us: call.duration_us(),
            status: call.outcome.name().to_owned(),
            is_error: call.outcome.is_error(),
            direction: Dir::from(call.direction),
            name: names.get(call.tool).or_else(|| names.get(call.method)).unwrap_or_default().to_owned(),
            parent: call.parent(),
            progress: u64::from(call.progress),
        }
    };
    Timeline { bars: found.into_iter().map(bar).collect(), total }
}

/// The number of calls over time.
pub(crate) fn density(set: &Set, buckets: usize) -> Density {
    let indexes = set.indexes();
    let times: Vec<(i64, i64)> = indexes.iter().filter_map(|index| index.times()).collect();
    let from_us = times.iter().map(|(first, _)| *first).min().unwrap_or(0);
    let to_us = times.iter().map(|(_, last)| *last).max().unwrap_or(0).max(from_us + 1);
    let mut density = Density {
        from_us,
        to_us,
        calls: vec![0; buckets],
        errors: vec![0; buckets],
        stderr: vec![0; buckets],
    };
    for index in &indexes {
        for (_, call) in index.all_calls() {
            let at = bucket(from_us, to_us, buckets, call.at_us);
            density.calls[at] += 1;
            density.errors[at] += u32::from(call.outcome.is_error());
        }
        for (_, line) in index.all_lines().filter(|(_, line)| line.kind() == LineKind::Stderr) {
            density.stderr[bucket(from_us, to_us, buckets, line.at_us)] += 1;
        }
    }
    density
}

/// The index of the interval that a time falls into.
pub(crate) fn bucket(from_us: i64, to_us: i64, buckets: usize, at_us: i64) -> usize {
    // In 128 bits: microseconds times buckets can overflow 64, with absurd times in a trace.
    let span = i128::from(to_us) - i128::from(from_us);
    let at = (i128::from(at_us) - i128::from(from_us)).max(0);
    let bucket = usize::try_from(at * buckets as i128 / span.max(1)).unwrap_or(usize::MAX);
    bucket.min(buckets.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_fall_into_buckets() {
        let check = |at, expected| assert_eq!(bucket(100, 200, 10, at), expected, "{at}");
        check(100, 0);
        check(109, 0);
        check(110, 1);
        check(200, 9);
        check(i64::MIN, 0);
        check(i64::MAX, 9);
        assert_eq!(bucket(5, 5, 4, 5), 0);
    }
}
