//! The wall clock, for timestamps that no exchange provides. Nothing else in `observe` reads the time: it is a
//! value, so that loading a trace yields what the proxy would have reported at the time.

use std::time::Duration;

/// The wall clock, in milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// A duration as the observer's clock counts it.
pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
