//! The result of a run, as `wt-http-load` prints it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Counts and latencies of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The number of calls that were answered correctly, or of events that were read.
    pub calls: u64,
    /// The duration of the run, in seconds.
    pub seconds: f64,
    /// The median latency, in seconds.
    pub p50: f64,
    /// The 99th percentile of the latency, in seconds.
    pub p99: f64,
    /// The maximum latency, in seconds.
    pub worst: f64,
}

impl Outcome {
    /// Computes the outcome from the latency of each call, in nanoseconds.
    pub(super) fn new(mut latencies: Vec<u32>, elapsed: Duration) -> Self {
        latencies.sort_unstable();
        let within = |share: f64| {
            // The nearest-rank percentile.
            let rank = (latencies.len() as f64 * share).ceil() as usize;
            latencies.get(rank.saturating_sub(1)).map_or(0.0, |latency| f64::from(*latency) / 1e9)
        };
        Self {
            calls: latencies.len() as u64,
            seconds: elapsed.as_secs_f64(),
            p50: within(0.5),
            p99: within(0.99),
            worst: within(1.0),
        }
    }

    /// The outcome of streams that were read: the events take the place of calls, and have no latency.
    pub(super) fn of_events(events: u64, elapsed: Duration) -> Self {
        Self { calls: events, seconds: elapsed.as_secs_f64(), p50: 0.0, p99: 0.0, worst: 0.0 }
    }

    /// The number of calls per second of the measured time.
    pub fn rate(&self) -> f64 {
        self.calls as f64 / self.seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_rank() {
        let latencies = (1..=200).rev().collect();
        let outcome = Outcome::new(latencies, Duration::from_secs(2));
        assert_eq!((outcome.calls, outcome.rate()), (200, 100.0));
        assert_eq!([outcome.p50, outcome.p99, outcome.worst], [100e-9, 198e-9, 200e-9]);
    }

    #[test]
    fn nothing_has_no_latency() {
        assert_eq!(Outcome::new(Vec::new(), Duration::from_secs(1)).p99, 0.0);
    }
}
