//! The differences between operating systems: the wrapped process and its group, signals, the death of the parent, and our
//! own standard streams. Differences of file systems are in `wiretape-library`. Design note 0003 has the reasons.
//!
//! | | Linux | macOS and other Unix | Windows |
//! |---|---|---|---|
//! | the server's processes | a process group | a process group | a job object, with us in it |
//! | stopping the remaining ones | `SIGTERM`, then `SIGKILL`, to the group | the same | the job ends when we do |
//! | signals to us | forwarded to the group | the same | the console delivers Ctrl-C to the server; we only stay alive |
//! | we are killed | the server is killed too (parent-death signal) | the server reads EOF on its stdin | the job ends, and the server with it |
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

/// How the server's standard error is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StderrMode {
    /// A pump records it and forwards it to ours.
    Recorded,
    /// The server inherits ours; nothing is recorded.
    Inherited,
}

/// A server that was started, and our ends of its pipes.
#[derive(Debug)]
pub struct SpawnedServer {
    /// The process, as the leader of its group.
    pub process: Process,
    /// The write end of the server's stdin.
    pub stdin: ChildStdin,
    /// The read end of the server's stdout.
    pub stdout: ChildStdout,
    /// The read end of the server's stderr, unless it is inherited.
    pub stderr: Option<ChildStderr>,
}

/// The exit status of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// The exit code; 128 + n if signal n killed the process.
    pub code: i32,
    /// The number of the signal that killed the process.
    pub signal: Option<i32>,
}

/// Whether an open file has been deleted.
pub fn is_deleted(file: &File) -> bool {
    imp::is_deleted(file)
}

/// Whether the reader of our standard output is gone. `false` where the system doesn't report it.
pub fn stdout_is_closed() -> bool {
    imp::stdout_is_closed()
}

/// Calls `callee` with the number of each signal that asks this process to terminate. The callee must end the process.
pub fn on_termination(callee: fn(i32)) {
    imp::on_termination(callee);
}

/// Makes a write beyond the file size limit (`ulimit -f`) an error like a full disk. By default the system kills the process
/// with `SIGXFSZ`, and with a recorder the session that passes through it.
pub fn survive_file_size_limit() {
    imp::survive_file_size_limit();
}

/// Raises the soft limit of open files to the hard limit: each connection and each session needs several descriptors.
pub fn raise_file_limit() {
    imp::raise_file_limit();
}
