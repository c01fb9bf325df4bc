//! The times of a recording's lines, also those that have none.

use wiretape_trace::format::{Moment, Stamp};

/// The current time of a recording.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// The first wall-clock time, the origin for recordings without microseconds.
    first_ms: Option<i64>,
    last: Tick,
}

/// The time of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tick {
    /// Microseconds since the recording began.
    pub(super) us: u64,
    /// The wall clock, in milliseconds since 1970.
    pub(super) wall_ms: i64,
    /// Whether the line has a time of its own.
    pub(super) source: Source,
}

/// Where a time comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Source {
    /// From the line itself.
    Line,
    /// From the line before, because this one has none.
    #[default]
    Before,
}

impl Timeline {
    /// Sets the wall-clock time, for lines that have no other.
    pub(super) fn wall(&mut self, wall_ms: i64) {
        self.last.wall_ms = wall_ms;
    }

    /// Advances to the next line.
    pub(super) fn line(&mut self, stamp: &Stamp<'_>) -> Tick {
        let wall = stamp.wall_ms();
        let by_wall = wall.map(|ms| {
            let first = *self.first_ms.get_or_insert(ms);
            u64::try_from(ms.saturating_sub(first)).unwrap_or(0).saturating_mul(1000)
        });
        let us = stamp.us.or(by_wall);
        let source = if us.is_some() { Source::Line } else { Source::Before };
        self.last =
            Tick { us: us.unwrap_or(self.last.us), wall_ms: wall.unwrap_or(self.last.wall_ms), source };
        self.last
    }

    /// The time of the last line.
    pub(super) fn last(&self) -> Tick {
        self.last
    }
}

impl Tick {
    /// The same time for an observer.
    pub(super) fn moment(self) -> Moment {
        Moment { wall_ms: self.wall_ms, us: self.us }
    }

    /// Microseconds since an earlier line; `None` if one of them has no time.
    pub(super) fn since(self, earlier: Tick) -> Option<u64> {
        let both = self.source == Source::Line && earlier.source == Source::Line;
        both.then(|| self.us.saturating_sub(earlier.us))
    }

    /// The time `us` microseconds earlier.
    pub(super) fn before(self, us: u64) -> Tick {
        let ms = i64::try_from(us / 1000).unwrap_or(i64::MAX);
        Tick { us: self.us.saturating_sub(us), wall_ms: self.wall_ms.saturating_sub(ms), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(t: Option<&'static str>, us: Option<u64>) -> Stamp<'static> {
        Stamp { t: t.map(Into::into), seq: None, us }
    }

    fn check(lines: &[(Option<&'static str>, Option<u64>)], expected: &[(u64, i64, Source)]) {
        let mut timeline = Timeline::default();
        let ticks = lines.iter().map(|(t, us)| timeline.line(&stamp(*t, *us)));
        let ticks: Vec<_> = ticks.map(|tick| (tick.us, tick.wall_ms, tick.source)).collect();
        assert_eq!(ticks, expected);
    }

    #[test]
    fn microseconds_count_and_the_wall_clock_stands_in_for_them() {
        let (t, later) = (Some("1970-01-01T00:00:01.000Z"), Some("1970-01-01T00:00:01.002Z"));
        check(&[(t, Some(5)), (later, Some(9))], &[(5, 1000, Source::Line), (9, 1002, Source::Line)]);
        check(&[(t, None), (later, None)], &[(0, 1000, Source::Line), (2000, 1002, Source::Line)]);
        check(&[(t, Some(5)), (None, None)], &[(5, 1000, Source::Line), (5, 1000, Source::Before)]);
        check(&[(later, None), (t, None)], &[(0, 1002, Source::Line), (0, 1000, Source::Line)]);
    }

    #[test]
    fn no_time_is_too_large() {
        let mut timeline = Timeline::default();
        let tick = timeline.line(&stamp(None, Some(u64::MAX)));
        assert_eq!(tick.moment().us, u64::MAX);
        assert_eq!(tick.before(u64::MAX).us, 0);
    }
}
