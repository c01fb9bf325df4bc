//! The thread that periodically emits a heartbeat event for each listener.

use crate::event::{Event, EventIds, HeartbeatEvent, SinkStatus, VERSION};
use crate::observe::now_ms;
use crate::sink::Signal;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How often heartbeats are sent, and how the health of the listeners is determined.
pub struct HeartbeatOptions {
    /// The interval between heartbeats.
    pub every: Duration,
    /// Checks each listener; called on the heartbeat's own thread, so it may connect and wait for a timeout.
    pub probe: Box<dyn Fn() -> Vec<ListenerHealth> + Send>,
}

/// The health of one listener, as its probe found it.
#[derive(Debug, Clone)]
pub struct ListenerHealth {
    /// The listener's name in the configuration.
    pub listener: Arc<str>,
    /// The URL of the server behind the listener.
    pub upstream: Arc<str>,
    /// The local port the listener is bound to.
    pub port: u16,
    /// Whether the server accepts connections; `None` for a forward proxy, which has no single server.
    pub reachable: Option<bool>,
}

impl ListenerHealth {
    pub(super) fn signal(
        self,
        requests: u64,
        uptime: Duration,
        sinks: Vec<SinkStatus>,
        ids: &EventIds,
    ) -> Signal {
        let mcp_status = match self.reachable {
            Some(true) => "running",
            Some(false) => "unreachable",
            None => "unknown",
        };
        Signal::event(Event::Heartbeat(HeartbeatEvent {
            v: VERSION,
            event_id: ids.next(),
            ts: now_ms(),
            mcp_status,
            // There are no tunnels; the fields stay because the schema has them.
            tunnel_status: "disabled",
            tunnel_address: None,
            upstream: self.upstream,
            export_port: self.port,
            listener: self.listener,
            requests,
            uptime_s: uptime.as_secs(),
            sinks,
        }))
    }
}

/// The heartbeat thread. Dropping it stops and joins the thread.
pub(super) struct Heartbeat {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    pub(super) fn start(
        options: HeartbeatOptions,
        emit: impl Fn(Vec<ListenerHealth>) + Send + 'static,
    ) -> std::io::Result<Self> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let mine = Arc::clone(&stop);
        let thread = super::spawn("wiretape-heart".to_owned(), move || {
            let (stopped, news) = &*mine;
            loop {
                // A condition variable and not a sleep, so that dropping the heartbeat doesn't wait for a
                // whole interval.
                let mut stopped = stopped.lock();
                news.wait_while_for(&mut stopped, |stopped| !*stopped, options.every);
                if *stopped {
                    return;
                }
                drop(stopped);
                // After the lock is released: a probe can take seconds, and `drop` must be able to set the
                // flag meanwhile.
                emit((options.probe)());
            }
        })?;
        Ok(Heartbeat { stop, thread: Some(thread) })
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        *self.stop.0.lock() = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // Joined so that no heartbeat is sent to queues that are about to be closed. A panic in the probe
            // has already been printed.
            let _ = thread.join();
        }
    }
}
