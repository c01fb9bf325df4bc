//! The clock of an observer: the machine's, or that of a trace. Loading a trace must yield what the proxy
//! would have reported at the time, so nothing in `observe` reads the time on its own.

use std::time::Instant;

/// A moment on the monotonic clock and on the wall clock. Timeouts use the first, timestamps the second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) instant: Instant,
    /// Milliseconds since 1970.
    pub(crate) wall_ms: i64,
}

/// Where an observer gets the time from.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Clock {
    /// The machine's clock, in a running proxy.
    #[default]
    Machine,
    /// A recording's clock, which advances only with its lines.
    Recorded(Now),
}

impl Clock {
    pub(super) fn now(self) -> Now {
        match self {
            Clock::Machine => Now { instant: Instant::now(), wall_ms: now_ms() },
            Clock::Recorded(now) => now,
        }
    }
}

/// The wall clock, in milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
