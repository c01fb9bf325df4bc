//! Counters of exchanges and connections, for the status page, the metrics and the end of a run. Atomic: all workers share them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use wiretape_events::Ended;

/// The counters of one proxy.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) exchanges: ExchangeCounters,
    pub(crate) connections: ConnectionCounters,
}

/// The counters of exchanges.
#[derive(Debug, Default)]
pub(crate) struct ExchangeCounters {
    begun: AtomicU64,
    /// Exchanges in flight, except streams that outlive requests.
    requests: AtomicUsize,
    /// Streams that outlive requests.
    streams: AtomicUsize,
    cut_off: AtomicU64,
    ended: [AtomicU64; Ended::ALL.len()],
}

/// The counters of client connections.
#[derive(Debug, Default)]
pub(crate) struct ConnectionCounters {
    accepted: AtomicU64,
    open: AtomicUsize,
    turned_away: AtomicU64,
    malformed: AtomicU64,
}

impl ExchangeCounters {
    /// The number of the next exchange.
    pub(crate) fn next(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The number of exchanges so far.
    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    pub(crate) fn request_began(&self) {
        self.requests.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts a request as one that has opened a stream, which may stay open for days: draining must not wait for it.
    pub(crate) fn request_became_stream(&self) {
        self.streams.fetch_add(1, Ordering::Relaxed);
        self.request_ended();
    }

    pub(crate) fn stream_ended(&self) {
        self.streams.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts a request as answered.
    pub(crate) fn request_ended(&self) {
        self.requests.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn requests_in_flight(&self) -> usize {
        self.requests.load(Ordering::Acquire)
    }

    pub(crate) fn open_streams(&self) -> usize {
        self.streams.load(Ordering::Relaxed)
    }

    /// Counts an exchange that was cut off because draining took too long.
    pub(crate) fn count_cut_off(&self) {
        self.cut_off.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn cut_off(&self) -> u64 {
        self.cut_off.load(Ordering::Relaxed)
    }

    /// Counts an exchange by how it ended.
    pub(crate) fn count(&self, ended: Ended) {
        self.ended[ended as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The number of exchanges that ended this way.
    pub(crate) fn ended(&self, ended: Ended) -> u64 {
        self.ended[ended as usize].load(Ordering::Relaxed)
    }
}

impl ConnectionCounters {
    /// The number of the next client connection.
    pub(crate) fn next(&self) -> u64 {
        self.accepted.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Counts a connection as open. Returns how many were open before.
    pub(crate) fn opened(&self) -> usize {
        self.open.fetch_add(1, Ordering::AcqRel)
    }

    pub(crate) fn closed(&self) {
        self.open.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Acquire)
    }

    /// Counts a connection that was refused because too many were open.
    pub(crate) fn count_turned_away(&self) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    /// Counts bytes that were not an HTTP request.
    pub(crate) fn count_malformed(&self) {
        self.malformed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn malformed(&self) -> u64 {
        self.malformed.load(Ordering::Relaxed)
    }
}
