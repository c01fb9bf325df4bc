//! How the server ends: with a status, by a signal, or leaving a child process behind.

use std::env;
use std::io;
use std::process::{Command, ExitCode, Stdio};

use crate::options::Options;

pub(crate) fn end(options: &Options) -> io::Result<ExitCode> {
    if let Some(seconds) = options.grandchild {
        leave_grandchild(seconds)?;
    }
    if let Some(signal) = options.signal {
        signal_self(signal)?;
    }
    Ok(ExitCode::from(options.exit))
}

/// Starts a process that inherits only stdout, and outlives this one.
fn leave_grandchild(seconds: u64) -> io::Result<()> {
    Command::new(env::current_exe()?)
        .args(["--sleep", &seconds.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(())
}

#[cfg(unix)]
fn signal_self(number: i32) -> io::Result<()> {
    use rustix::process::{Signal, getpid, kill_process};

    let signal =
        Signal::from_named_raw(number).ok_or_else(|| io::Error::other(format!("no signal {number}")))?;
    kill_process(getpid(), signal)?;
    Ok(())
}

#[cfg(not(unix))]
fn signal_self(_number: i32) -> io::Result<()> {
    Err(io::Error::other("there are no signals here"))
}
