//! Durations, sizes and times, as people write and read them. The formats of the trace and of JSON output are fixed
//! and are not formatted here, except [`iso`], which both share.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};
use std::time::Duration;
pub(crate) use wiretape_analyze::glance::{bytes, duration};

/// A number with thousands separators: `3,518`. Every number for people is formatted here.
pub(crate) fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number of things: `1 file`, `3 files`, `3,518 files`.
pub(crate) fn count(n: u64, thing: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", number(n))
}

/// A time relative to now, in one unit: `just now`, `3 min ago`, `2 h ago`; after a day the local date and time, after
/// some months the date.
pub(crate) fn when(then_ms: i64, now_ms: i64, zone: &TimeZone) -> String {
    let seconds = now_ms.saturating_sub(then_ms) / 1000;
    match seconds {
        // Slightly in the future is normal: a trace of another machine, or a clock that was adjusted.
        -60..10 => "just now".to_owned(),
        10..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        86_400..26_000_000 => format_local(then_ms, zone, "%b %d %H:%M"),
        _ => format_local(then_ms, zone, "%Y-%m-%d"),
    }
}

/// A local time to the millisecond, with the date if it is not today.
pub(crate) fn clock(ms: i64, now_ms: i64, zone: &TimeZone) -> String {
    const DAY: &str = "%Y-%m-%d";
    if format_local(ms, zone, DAY) == format_local(now_ms, zone, DAY) {
        return format_local(ms, zone, "%H:%M:%S.%3f");
    }
    format_local(ms, zone, "%b %d %H:%M:%S")
}

/// A local date and time, to the minute.
pub(crate) fn local(ms: i64, zone: &TimeZone) -> String {
    format_local(ms, zone, "%Y-%m-%d %H:%M")
}

fn format_local(ms: i64, zone: &TimeZone, format: &str) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(time) => time.to_zoned(zone.clone()).strftime(format).to_string(),
        Err(_) => "unknown".to_owned(),
    }
}

/// A date, in UTC.
pub(crate) fn date(ms: i64) -> String {
    format_local(ms, &TimeZone::UTC, "%Y-%m-%d")
}

/// A UTC time as in the trace format.
pub(crate) fn iso(ms: i64) -> Option<String> {
    let time = Timestamp::from_millisecond(ms).ok()?;
    // Not `strftime`, which interprets its pattern again for each row of a table (`xtask bench --only
    // analyze`).
    Some(format!("{time:.3}"))
}

/// Parses an age: `30d`, `2 weeks`, `12h`. A day has 24 hours.
pub(crate) fn parse_age(text: &str) -> Result<Duration, String> {
    let expected = || format!("`{text}` is not an age: expected e.g. 30d, 2w or 12h");
    let span: Span = text.parse().map_err(|_| expected())?;
    let age: SignedDuration =
        span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| expected())?;
    Duration::try_from(age).map_err(|_| expected())
}

/// Parses a time: an age (`1h`, `2d`), or a date and time, local unless it has an offset.
pub(crate) fn parse_time(text: &str) -> Result<i64, String> {
    time(text, Timestamp::now(), TimeZone::system()).ok_or_else(|| {
        format!("`{text}` is not a time: expected e.g. 90s, 1h, 2d (ago), 2026-05-12 or 2026-05-12T23:00:00Z")
    })
}

fn time(text: &str, now: Timestamp, zone: TimeZone) -> Option<i64> {
    // An age can't be mistaken for a date: it ends in a unit, a date in a digit or in `Z`.
    if let Ok(age) = parse_age(text) {
        return now.checked_sub(age).ok().map(Timestamp::as_millisecond);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_millisecond());
    }
    // A date without a time is midnight.
    let local: DateTime = text.parse().ok()?;
    Some(local.to_zoned(zone).ok()?.timestamp().as_millisecond())
}

/// Parses a duration: `500ms`, `30s`, `1m 30s`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    parse_age(text).map_err(|_| format!("`{text}` is not a duration: expected e.g. 500ms, 30s or 2m"))
}

/// Parses a duration, or `none`.
pub(crate) fn parse_timeout(text: &str) -> Result<Timeout, String> {
    if text == "none" { Ok(Timeout(None)) } else { parse_duration(text).map(|limit| Timeout(Some(limit))) }
}

/// A time limit, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeout(pub(crate) Option<Duration>);

/// Parses a size: `500MB`, `2G`, `1.5 GiB`. Units are powers of 1000, or of 1024 with an `i`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let expected = || format!("`{text}` is not a size: expected e.g. 500MB, 2GB or 1GiB");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| expected())?;
    let unit = unit.trim().to_ascii_lowercase();
    // `2G`, `2GB` and `2gb` are the same: sizes are always in bytes.
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let (letter, base) = match unit.strip_suffix('i') {
        Some(letter) if !letter.is_empty() => (letter, 1024f64),
        _ => (unit, 1000f64),
    };
    let power =
        ["", "k", "m", "g", "t", "p"].iter().position(|&known| known == letter).ok_or_else(expected)?;
    Ok((number * base.powi(power as i32)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_thousands_separators() {
        for (n, expected) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345, "12,345"), (1_234_567, "1,234,567")]
        {
            assert_eq!(number(n), expected);
        }
        assert_eq!(count(1, "call"), "1 call");
        assert_eq!(count(3_518, "call"), "3,518 calls");
    }

    #[test]
    fn ages_are_understood() {
        for (text, hours) in [("30d", 720), ("2w", 336), ("12h", 12), ("1 day", 24), ("1d 2h", 26)] {
            assert_eq!(parse_age(text), Ok(Duration::from_secs(hours * 3600)), "{text}");
        }
        for text in ["", "30", "soon", "-3d", "1 month"] {
            assert!(parse_age(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_relative_for_a_day() {
        let now = 1_778_626_800_000;
        let check =
            |ago_s: i64, expected| assert_eq!(when(now - ago_s * 1000, now, &TimeZone::UTC), expected);
        check(-30, "just now");
        check(3, "just now");
        check(45, "45 s ago");
        check(200, "3 min ago");
        check(7_300, "2 h ago");
        check(86_400, "May 11 23:00");
        check(31_536_000, "2025-05-12");
        check(-7_300, "2026-05-13");
        assert_eq!(iso(now).as_deref(), Some("2026-05-12T23:00:00.000Z"));
    }

    #[test]
    fn times_are_understood() {
        let now = 1_778_626_800_000;
        let at = Timestamp::from_millisecond(now).unwrap();
        let check = |text, expected: i64| assert_eq!(time(text, at, TimeZone::UTC), Some(expected), "{text}");
        check("90s", now - 90_000);
        check("1h", now - 3_600_000);
        check("2d", now - 172_800_000);
        check("2026-05-12T23:00:00Z", now);
        check("2026-05-12T23:00:00.000+00:00", now);
        check("2026-05-12T23:00", now);
        check("2026-05-12 23:00:00", now);
        check("2026-05-12", now - 23 * 3_600_000);
        for text in ["", "yesterday", "1", "-1h", "2026-13-01"] {
            assert_eq!(time(text, at, TimeZone::UTC), None, "{text}");
        }
    }

    #[test]
    fn a_clock_shows_the_day_if_it_is_another() {
        let now = 1_778_626_800_000;
        assert_eq!(clock(now - 1, now, &TimeZone::UTC), "22:59:59.999");
        assert_eq!(clock(now - 86_400_000, now, &TimeZone::UTC), "May 11 23:00:00");
    }

    #[test]
    fn sizes_are_understood() {
        for (text, expected) in [
            ("0", 0),
            ("12", 12),
            ("2GB", 2_000_000_000),
            ("1.5 kB", 1500),
            ("1KiB", 1024),
            ("3g", 3_000_000_000),
        ] {
            assert_eq!(parse_size(text), Ok(expected), "{text}");
        }
        for text in ["", "GB", "1XB", "-1", "1 2", "i", "1ib"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
