//! The pauses between attempts: exponential backoff with jitter, and `Retry-After`.

use std::time::{Duration, Instant, SystemTime};

/// The longest `Retry-After` that is honored. A receiver that asks for a day would otherwise fill the spool.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

/// A limit for configured durations, because adding to an `Instant` panics on overflow.
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The instant after `wait`, which comes from the configuration and may be absurdly long.
pub(super) fn deadline_after(wait: Duration) -> Instant {
    Instant::now() + wait.min(YEAR)
}

/// Exponential backoff with full jitter: the pause is random between zero and a ceiling that doubles with
/// each failure, so that many senders don't retry at the same moment.
pub(super) struct Backoff {
    base: Duration,
    cap: Duration,
    failures: u32,
}

impl Backoff {
    pub(super) fn new(base: Duration, cap: Duration) -> Self {
        Backoff { base, cap, failures: 0 }
    }

    /// Starts over with the shortest pause, after a success.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    /// Counts a failure, and returns the pause before the next attempt.
    pub(super) fn next(&mut self) -> Duration {
        let ceiling = self.ceiling();
        self.failures = self.failures.saturating_add(1);
        ceiling.mul_f64(random_fraction()).min(ceiling)
    }

    fn ceiling(&self) -> Duration {
        self.base.saturating_mul(2_u32.saturating_pow(self.failures)).min(self.cap)
    }
}

/// A random number from 0 to 1.
fn random_fraction() -> f64 {
    let mut random = [0; 4];
    // Without a source of randomness, half of the ceiling is still a reasonable pause.
    match getrandom::fill(&mut random) {
        Ok(()) => f64::from(u32::from_le_bytes(random)) / f64::from(u32::MAX),
        Err(_) => 0.5,
    }
}

/// Parses `Retry-After`: seconds or a date (RFC 9110, section 10.2.3). At most five minutes.
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    let wait = match value.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => httpdate::parse_http_date(value).ok()?.duration_since(now).unwrap_or_default(),
    };
    Some(wait.min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_cap_and_start_again_after_success() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
        let mut ceilings = Vec::new();
        for _ in 0..40 {
            let ceiling = backoff.ceiling();
            ceilings.push(ceiling.as_secs());
            assert!(backoff.next() <= ceiling);
        }
        assert_eq!(ceilings[..8], [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(ceilings[39], 60);
        backoff.reset();
        assert_eq!(backoff.ceiling(), Duration::from_secs(1));
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_and_at_most_five_minutes() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let check = |value: &str, expected: Option<u64>| {
            assert_eq!(retry_after(value, now), expected.map(Duration::from_secs), "{value}");
        };
        check("0", Some(0));
        check(" 7 ", Some(7));
        check("301", Some(300));
        check("18446744073709551615", Some(300));
        check("Sun, 06 Nov 1994 08:49:47 GMT", Some(10));
        check("Sunday, 06-Nov-94 08:49:47 GMT", Some(10));
        check("Sun Nov  6 08:49:47 1994", Some(10));
        check("Sun, 06 Nov 1994 08:49:27 GMT", Some(0));
        check("Mon, 07 Nov 1994 08:49:27 GMT", Some(300));
        check("-1", None);
        check("soon", None);
        check("", None);
    }
}
