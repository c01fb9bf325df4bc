//! What all workers and connections of a proxy share.

use super::upstream::Connector;
use crate::http::options::{Limits, ProxyOptions};
use crate::http::record::counters::ConnectionCounters;
use crate::http::record::recorder::Recorder;
use std::sync::Arc;
use tokio::sync::watch;
use wiretape_events::Ended;

/// The state that all workers and connections of a proxy share.
pub(crate) struct RelayContext {
    pub(crate) limits: Limits,
    pub(crate) connector: Connector,
    pub(crate) recorder: Arc<Recorder>,
    drain: watch::Sender<bool>,
}

impl RelayContext {
    /// A context with these options. Takes those for recording out of them.
    pub(crate) fn new(options: &mut ProxyOptions) -> Self {
        RelayContext {
            limits: options.limits.clone(),
            connector: Connector::new(options.limits.connect),
            recorder: Arc::new(Recorder::new(options)),
            drain: watch::Sender::new(false),
        }
    }

    pub(crate) fn connections(&self) -> &ConnectionCounters {
        &self.recorder.counters.connections
    }

    /// Counts an exchange by how it ended.
    pub(crate) fn count(&self, ended: Ended) {
        self.recorder.counters.exchanges.count(ended);
    }

    /// Becomes `true` when the proxy begins to drain.
    pub(crate) fn drain(&self) -> watch::Receiver<bool> {
        self.drain.subscribe()
    }

    pub(crate) fn is_draining(&self) -> bool {
        *self.drain.borrow()
    }

    /// Begins to drain: connections end as soon as nothing is in flight on them.
    pub(crate) fn begin_draining(&self) {
        self.drain.send_replace(true);
    }
}

/// Counts a connection against `--max-connections` until it is dropped.
pub(crate) struct ConnectionPermit(Arc<RelayContext>);

impl ConnectionPermit {
    pub(crate) fn new(context: &Arc<RelayContext>) -> Option<Self> {
        // Counted first and taken back by `Drop` if there is no room: a check before the count could let two
        // connections in.
        let before = context.connections().opened();
        let permit = ConnectionPermit(Arc::clone(context));
        (before < context.limits.connections).then_some(permit)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.0.connections().closed();
    }
}
