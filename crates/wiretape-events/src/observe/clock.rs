//! The time at which something is observed: now, or when a trace was recorded.

use std::time::Instant;

/// A moment, on the clock that never runs backwards and on the wall's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) instant: Instant,
    /// Milliseconds since 1970.
    pub(crate) wall_ms: i64,
}

/// Tells an observer what time it is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Clock {
    /// The machine's.
    #[default]
    Machine,
    /// That of a recording, which stands still between its lines.
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

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
