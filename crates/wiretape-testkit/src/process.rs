//! Processes by their id: sending signals, and whether they still run.

use std::io;
use std::os::fd::AsFd;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit, test_kill_process};

/// Sends a signal by its number.
pub fn signal(pid: u32, signal: i32) -> io::Result<()> {
    let signal = Signal::from_named_raw(signal).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process(number(pid)?, signal)?)
}

/// Whether a process runs. A zombie doesn't count.
pub fn is_running(pid: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        // `pid (name) state …`, where the name may contain anything.
        Ok(stat) => stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X'])),
        Err(_) if cfg!(target_os = "linux") => false,
        Err(_) => number(pid).is_ok_and(|pid| test_kill_process(pid).is_ok()),
    }
}

/// Makes an open file non-blocking, for all processes that share it.
pub fn set_nonblocking(file: impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&file)?;
    Ok(rustix::fs::fcntl_setfl(&file, flags | rustix::fs::OFlags::NONBLOCK)?)
}

/// Raises the limit of open files to the hard limit and returns it.
pub fn raise_file_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    // If it can't be raised, the old limit is returned.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

fn number(pid: u32) -> io::Result<Pid> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}
