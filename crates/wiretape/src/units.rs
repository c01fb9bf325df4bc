//! Durations, sizes and times, as people write and read them.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};
use std::time::Duration;

/// Microseconds, to about three digits: `312µs`, `1.20ms`, `12.3s`, `2m 05s`, `3h 07m`, `2d 04h`.
pub(crate) fn duration(us: u64) -> String {
    let seconds = us / 1_000_000;
    match us {
        0..1_000 => format!("{us}µs"),
        1_000..60_000_000 => {
            let (value, unit) = if us < 999_500 { (us as f64 / 1e3, "ms") } else { (us as f64 / 1e6, "s") };
            let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
            format!("{value:.decimals$}{unit}")
        }
        _ if seconds < 3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ if seconds < 86_400 => format!("{}h {:02}m", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{}d {:02}h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// Bytes, to about three digits, in powers of 1000: `999 B`, `1.2 kB`, `34 MB`.
pub(crate) fn bytes(bytes: u64) -> String {
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut units = ["kB", "MB", "GB", "TB", "PB", "EB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    while value >= 999.5 {
        let Some(next) = units.next() else { break };
        (value, unit) = (value / 1000.0, next);
    }
    let decimals = usize::from(value < 9.95);
    format!("{value:.decimals$} {unit}")
}

/// A number of things: `1 file`, `3 files`.
pub(crate) fn count(n: u64, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

/// How long ago, in one unit: `just now`, `3 min ago`, `2 h ago`; after a day the local day and time, after some
/// months the date.
pub(crate) fn when(then_ms: i64, now_ms: i64, zone: &TimeZone) -> String {
    let seconds = now_ms.saturating_sub(then_ms) / 1000;
    match seconds {
        -60..10 => "just now".to_owned(),
        10..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        86_400..26_000_000 => format_local(then_ms, zone, "%b %d %H:%M"),
        _ => format_local(then_ms, zone, "%Y-%m-%d"),
    }
}

/// A local time to the millisecond; with the day, if that is not today's.
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

/// A day, in UTC.
pub(crate) fn date(ms: i64) -> String {
    format_local(ms, &TimeZone::UTC, "%Y-%m-%d")
}

/// A UTC time in the manner of the trace format.
pub(crate) fn iso(ms: i64) -> Option<String> {
    let time = Timestamp::from_millisecond(ms).ok()?;
    Some(time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
}

/// An age that a user typed: `30d`, `2 weeks`, `12h`. A day has 24 hours.
pub(crate) fn parse_age(text: &str) -> Result<Duration, String> {
    let expected = || format!("`{text}` is not an age; write it like 30d, 2w or 12h");
    let span: Span = text.parse().map_err(|_| expected())?;
    let age: SignedDuration =
        span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| expected())?;
    Duration::try_from(age).map_err(|_| expected())
}

/// A time that a user typed: how long ago (`1h`, `2d`), or a date and time, local unless it says otherwise.
pub(crate) fn parse_time(text: &str) -> Result<i64, String> {
    time(text, Timestamp::now(), TimeZone::system()).ok_or_else(|| {
        format!("`{text}` is not a time; write it like 90s, 1h, 2d (ago), 2026-05-12 or 2026-05-12T23:00:00Z")
    })
}

fn time(text: &str, now: Timestamp, zone: TimeZone) -> Option<i64> {
    if let Ok(age) = parse_age(text) {
        return now.checked_sub(age).ok().map(Timestamp::as_millisecond);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_millisecond());
    }
    let local: DateTime = text.parse().ok()?;
    Some(local.to_zoned(zone).ok()?.timestamp().as_millisecond())
}

/// A duration that a user typed: `500ms`, `30s`, `1m 30s`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    parse_age(text).map_err(|_| format!("`{text}` is not a duration; write it like 500ms, 30s or 2m"))
}

/// A duration, or `none`.
pub(crate) fn parse_timeout(text: &str) -> Result<Timeout, String> {
    if text == "none" { Ok(Timeout(None)) } else { parse_duration(text).map(|limit| Timeout(Some(limit))) }
}

/// A span of time after which something ends, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeout(pub(crate) Option<Duration>);

/// A size that a user typed: `500MB`, `2G`, `1.5 GiB`. Powers of 1000, or of 1024 with an `i`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let expected = || format!("`{text}` is not a size; write it like 500MB, 2GB or 1GiB");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| expected())?;
    let unit = unit.trim().to_ascii_lowercase();
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
    fn durations_keep_three_digits() {
        let check = |us, expected| assert_eq!(duration(us), expected);
        check(0, "0µs");
        check(999, "999µs");
        check(1_204, "1.20ms");
        check(9_999, "10.0ms");
        check(12_345, "12.3ms");
        check(123_456, "123ms");
        check(999_499, "999ms");
        check(999_999, "1.00s");
        check(59_999_999, "60.0s");
        check(125_000_000, "2m 05s");
        check(11_220_000_000, "3h 07m");
        check(187_200_000_000, "2d 04h");
    }

    #[test]
    fn sizes_go_both_ways() {
        let check = |n, expected| assert_eq!(bytes(n), expected);
        check(0, "0 B");
        check(999, "999 B");
        check(1_234, "1.2 kB");
        check(34_000_000, "34 MB");
        check(999_999_999, "1.0 GB");
        check(u64::MAX, "18 EB");
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
}
