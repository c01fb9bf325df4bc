//! Now and then the proxy tells how it is.

use crate::event::{Event, EventIds, HeartbeatEvent, SinkStatus, VERSION};
use crate::observe::now_ms;
use crate::sink::Signal;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often, and about what.
pub struct Pulse {
    /// How often.
    pub every: Duration,
    /// Finds out how each listener is; it may take a while.
    pub probe: Box<dyn Fn() -> Vec<Heart> + Send>,
}

/// How a listener is.
#[derive(Debug, Clone)]
pub struct Heart {
    /// The listener's name.
    pub listener: Arc<str>,
    /// The server.
    pub upstream: Arc<str>,
    /// The port that it listens on.
    pub port: u16,
    /// Whether the server takes connections; `None` where there is no one server.
    pub reachable: Option<bool>,
}

impl Heart {
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

/// Beats until it is dropped.
pub(super) struct Heartbeat {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    pub(super) fn start(pulse: Pulse, tell: impl Fn(Vec<Heart>) + Send + 'static) -> std::io::Result<Self> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let mine = Arc::clone(&stop);
        let thread = super::spawn("wiretape-heart".to_owned(), move || {
            let (stopped, news) = &*mine;
            loop {
                let guard = stopped.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = news.wait_timeout_while(guard, pulse.every, |stopped| !*stopped);
                if *waited.unwrap_or_else(PoisonError::into_inner).0 {
                    return;
                }
                tell((pulse.probe)());
            }
        })?;
        Ok(Heartbeat { stop, thread: Some(thread) })
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
