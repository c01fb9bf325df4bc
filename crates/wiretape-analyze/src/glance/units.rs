//! Human-readable sizes and durations.

/// Microseconds, to about three digits: `312µs`, `1.20ms`, `12.3s`, `2m 05s`, `3h 07m`, `2d 04h`.
pub fn duration(us: u64) -> String {
    let seconds = us / 1_000_000;
    match us {
        0..1_000 => format!("{us}µs"),
        1_000..60_000_000 => {
            // The limits are where rounding would add a digit: 999.5 ms would be printed as `1000ms`.
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
pub fn bytes(bytes: u64) -> String {
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
pub fn count(n: u64, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_keep_two_digits() {
        let check = |n, expected| assert_eq!(bytes(n), expected);
        check(0, "0 B");
        check(999, "999 B");
        check(1_234, "1.2 kB");
        check(34_000_000, "34 MB");
        check(999_999_999, "1.0 GB");
        check(u64::MAX, "18 EB");
    }

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
}
