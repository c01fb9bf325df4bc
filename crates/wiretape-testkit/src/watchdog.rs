//! A limit on how long a driven process may take, so that a recorder that hangs fails a test instead of stopping it.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// Kills a process when the time is up. Dropped in time, it does nothing.
#[derive(Debug)]
pub(crate) struct Watchdog {
    _leash: Sender<()>,
}

impl Watchdog {
    /// Watches the process `pid`, which must not have been waited for while this lives.
    pub(crate) fn new(pid: u32, limit: Duration) -> Self {
        let (leash, slipped) = mpsc::channel::<()>();
        thread::spawn(move || {
            if slipped.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                kill(pid);
            }
        });
        Self { _leash: leash }
    }
}

#[cfg(unix)]
fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        // It may be gone already, which is as good.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// Elsewhere a hanging test is left to the test runner's own time limit.
#[cfg(not(unix))]
fn kill(_pid: u32) {}
