//! The Windows implementation, with a job object in place of a process group.

use super::{Exit, SpawnedServer, StderrMode};
use parking_lot::{Mutex, MutexGuard};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::windows::fs::MetadataExt as _;
use std::os::windows::io::AsHandle;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};
use std::time::Duration;
use win32job::{ExtendedLimitInfo, Job};

pub(super) fn stdout_is_closed() -> bool {
    false
}

pub(super) fn is_deleted(file: &File) -> bool {
    // An open file can't disappear on Windows; it can only be marked for deletion, and then its metadata can't be read.
    file.metadata().map(|metadata| metadata.file_attributes()).is_err()
}

/// Our own standard streams as unbuffered files: the standard library's `stdin` and `stdout` would add a buffer and a copy.
#[derive(Debug)]
pub struct StandardStreams;

impl StandardStreams {
    /// The stream that the client writes to.
    pub fn stdin() -> io::Result<File> {
        Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
    }

    /// The stream that the client reads from.
    pub fn stdout() -> io::Result<File> {
        Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
    }

    /// The stream that the client shows as the server's log.
    pub fn stderr() -> io::Result<File> {
        Ok(File::from(io::stderr().as_handle().try_clone_to_owned()?))
    }

    /// Does nothing: the process keeps its own handle until it exits, so the client's pipe fills up instead.
    pub fn close_stdin() {}
}

/// A wrapped process in a job object with us. However we end, the job terminates every process that is left in it.
#[derive(Debug)]
pub struct Process {
    child: Mutex<Child>,
}

/// Time between polls for the end of a process. A blocking wait would hold the lock that terminating it needs.
const EXIT_POLL: Duration = Duration::from_millis(10);

impl Process {
    /// Starts a command with its standard streams as pipes to us.
    pub fn spawn(command: &[OsString], stderr: StderrMode) -> io::Result<SpawnedServer> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        // Before the start, so that the server and its children are in the job from their first instruction. If there is no
        // job, the server still reads EOF on its stdin when we end.
        join_job();
        let mut builder = Command::new(resolve(program));
        builder.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        builder.stderr(if stderr == StderrMode::Recorded { Stdio::piped() } else { Stdio::inherit() });
        let mut child = builder.spawn()?;
        Ok(SpawnedServer {
            stdin: child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?,
            stdout: child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?,
            stderr: child.stderr.take(),
            process: Process { child: Mutex::new(child) },
        })
    }

    /// A placeholder for the group: the console delivers signals to it.
    pub fn group(&self) -> ProcessGroup {
        ProcessGroup
    }

    /// Waits until the process has exited.
    pub fn wait(&self) -> io::Result<()> {
        while self.child().try_wait()?.is_none() {
            std::thread::sleep(EXIT_POLL);
        }
        Ok(())
    }

    /// Terminates the process. Its children end with the job, when we do.
    pub fn end_group(&self) {
        // Fails for a process that has already exited, which is fine.
        let _ = self.child().kill();
    }

    /// Waits for the process and returns its exit status.
    pub fn reap(self) -> io::Result<Exit> {
        let status = self.child().wait()?;
        Ok(Exit { code: status.code().unwrap_or(1), signal: None })
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock()
    }
}

/// Puts this process into a job that all its children inherit. The handle is leaked on purpose: closing it would terminate
/// us, too.
fn join_job() {
    static JOINED: Once = Once::new();
    JOINED.call_once(|| {
        let mut limits = ExtendedLimitInfo::new();
        limits.limit_kill_on_job_close();
        let job = Job::create_with_limit_info(&limits);
        if let Ok(job) = job.and_then(|job| job.assign_current_process().map(|()| job)) {
            job.into_handle();
        }
    });
}

/// Finds a program the way the shell does: `npx` is `npx.cmd` on Windows.
fn resolve(program: &OsStr) -> PathBuf {
    which::which(program).unwrap_or_else(|_| PathBuf::from(program))
}

/// The processes of the job. Ctrl-C reaches them through the console that they share with us.
#[derive(Debug, Clone, Copy)]
pub struct ProcessGroup;

/// Handlers for Ctrl-C and Ctrl-Break, which must not terminate us before the server.
#[derive(Debug)]
pub struct Signals;

impl Signals {
    /// Installs the handlers: from now on these signals no longer terminate us.
    pub fn catch() -> io::Result<Self> {
        // The flag is never read: installing a handler is what keeps the default action from ending us.
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
        Ok(Signals)
    }

    /// Does nothing: the console sends the server its own signals.
    pub fn forward_to(self, _: ProcessGroup) -> std::sync::Arc<std::sync::atomic::AtomicI32> {
        std::sync::Arc::default()
    }
}

pub(super) fn survive_file_size_limit() {}

pub(super) fn raise_file_limit() {}

/// Does nothing: Ctrl-C terminates us at once.
pub(super) fn on_termination(_: fn(i32)) {}
