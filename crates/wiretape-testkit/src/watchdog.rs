//! A time limit for a process under test, so that a recorder that hangs fails the test instead of blocking it.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// Kills a process when the time is up, unless it is dropped before.
#[derive(Debug)]
pub(crate) struct Watchdog {
    _cancel: Sender<()>,
}

impl Watchdog {
    /// Watches the process `pid`, which must not be waited for while this exists: its id could be reused.
    pub(crate) fn new(pid: u32, limit: Duration) -> Self {
        let (cancel, released) = mpsc::channel::<()>();
        thread::spawn(move || {
            // Dropping the sender disconnects the channel, which is not a timeout.
            if released.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                kill(pid);
            }
        });
        Self { _cancel: cancel }
    }
}

#[cfg(unix)]
fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        // Fails only if the process has already ended.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// Elsewhere a hanging test is left to the test runner's own time limit.
#[cfg(not(unix))]
fn kill(_pid: u32) {}
