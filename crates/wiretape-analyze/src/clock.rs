//! One time axis for the lines of several traces.

use wiretape_trace::format::{Meta, Stamp};

/// Converts the times of a trace's lines to microseconds since 1970.
///
/// The result never decreases within a file, because the order of lines is the order of observation. It uses the
/// recorder's microseconds from the start of the recording where a line has them, and the line's wall-clock time
/// otherwise.
#[derive(Debug, Clone, Default)]
pub struct TraceClock {
    began_us: Option<i64>,
    last_us: i64,
}

impl TraceClock {
    /// Observes the `meta` line.
    pub fn observe_meta(&mut self, meta: &Meta) {
        // In a later part, offsets count from the start of the first part.
        let offset = meta.part.as_ref().map_or(0, |part| i64::try_from(part.us).unwrap_or(i64::MAX));
        let began = crate::summary::started_at(meta).and_then(|ms| ms.checked_mul(1000));
        // The offsets of an imported trace, if it has any, are from the source and don't count from our `meta` line.
        self.began_us = began.and_then(|us| us.checked_sub(offset)).filter(|_| meta.imported.is_none());
        self.last_us = self.last_us.max(began.unwrap_or(i64::MIN));
    }

    /// The time of an offset, or else of a wall-clock time.
    pub fn when(&self, us: Option<u64>, wall_ms: Option<i64>) -> i64 {
        let counted =
            self.began_us.zip(us).and_then(|(began, us)| began.checked_add(i64::try_from(us).ok()?));
        counted.or_else(|| wall_ms?.checked_mul(1000)).unwrap_or(self.last_us)
    }

    /// The offset of a wall-clock time from the start of the recording, in microseconds; `None` if the start is unknown or
    /// later.
    pub fn offset_of(&self, wall_ms: i64) -> Option<u64> {
        u64::try_from(wall_ms.checked_mul(1000)?.checked_sub(self.began_us?)?).ok()
    }

    /// The time of the next line.
    pub fn at(&mut self, stamp: &Stamp<'_>) -> i64 {
        // The wall-clock time is parsed only if needed: it is a date string on every line.
        let wall_ms = if self.began_us.is_some() && stamp.us.is_some() { None } else { stamp.wall_ms() };
        self.last_us = self.last_us.max(self.when(stamp.us, wall_ms));
        self.last_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretape_trace::format::Part;

    fn meta(started_at: &str, part_us: Option<u64>) -> Meta {
        let part = part_us.map(|us| Part { us, ..Part::default() });
        Meta { started_at: started_at.to_owned(), part, ..Meta::default() }
    }

    fn stamp(t: &'static str, us: Option<u64>) -> Stamp<'static> {
        Stamp { t: Some(t.into()), us, ..Stamp::default() }
    }

    #[test]
    fn offsets_count_from_the_beginning_of_the_recording() {
        let mut clock = TraceClock::default();
        clock.observe_meta(&meta("1970-01-01T00:00:10.000Z", Some(4_000_000)));
        assert_eq!(clock.at(&stamp("1970-01-01T00:00:10.002Z", Some(4_001_500))), 10_001_500);
    }

    #[test]
    fn without_offsets_the_line_tells_the_time_and_never_runs_backwards() {
        let mut clock = TraceClock::default();
        clock.observe_meta(&meta("1970-01-01T00:00:10.000Z", None));
        assert_eq!(clock.at(&stamp("1970-01-01T00:00:10.002Z", None)), 10_002_000);
        assert_eq!(clock.at(&stamp("1970-01-01T00:00:09.000Z", None)), 10_002_000);
        assert_eq!(clock.at(&Stamp::default()), 10_002_000);
    }
}
