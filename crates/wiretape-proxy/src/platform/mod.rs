//! What differs between operating systems, and nothing else: the wrapped process and its group, signals, the death
//! of a parent, and our own standard streams. What differs for files is in `wiretape-library`.
//!
//! | | Linux | macOS and other Unix | Windows |
//! |---|---|---|---|
//! | the server's processes | a process group | a process group | a job object, with us in it |
//! | stopping what is left of them | `SIGTERM`, then `SIGKILL`, to the group | the same | the job ends when we do |
//! | signals to us | passed on to the group | the same | Ctrl-C reaches the server by the console itself; we only stay alive |
//! | we are killed | the server is killed too (parent-death signal) | the server sees the end of its input | the job ends, and the server with it |
//! | `npx`, `uvx` … | found by the system | the same | `.cmd` and `.bat` shims are found on `PATH` |

#[cfg(unix)]
#[path = "unix.rs"]
mod imp;
#[cfg(windows)]
#[path = "windows.rs"]
mod imp;

use std::fs::File;
use std::process::{ChildStderr, ChildStdin, ChildStdout};

pub use imp::{Process, Signals, StandardStreams};

/// What becomes of the server's standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StderrMode {
    /// It passes through us.
    Recorded,
    /// It goes where ours goes.
    Inherited,
}

/// A server that was started, and its ends of the pipes.
#[derive(Debug)]
pub struct Spawned {
    /// The process.
    pub process: Process,
    /// Where its input is written.
    pub stdin: ChildStdin,
    /// Where its output is read.
    pub stdout: ChildStdout,
    /// Where its standard error is read, if it is recorded.
    pub stderr: Option<ChildStderr>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code; 128 + n if signal n ended it.
    pub code: i32,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// Whether an open file has been deleted.
pub fn is_deleted(file: &File) -> bool {
    imp::is_deleted(file)
}

/// Whether nobody reads our standard output any more. Where the system can't tell, somebody does.
pub fn stdout_is_closed() -> bool {
    imp::stdout_is_closed()
}

/// Calls this when a signal wants to end us, with its number. It is then for the callee to end.
pub fn on_termination(callee: fn(i32)) {
    imp::on_termination(callee);
}

/// Allows this process as many open files as the system lets it have: each connection and each session needs some.
pub fn raise_file_limit() {
    imp::raise_file_limit();
}
