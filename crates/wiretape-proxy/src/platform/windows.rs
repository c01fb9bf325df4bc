//! Windows.

use super::{Exit, Spawned, StderrMode};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::windows::fs::MetadataExt as _;
use std::os::windows::io::AsHandle;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;
use win32job::{ExtendedLimitInfo, Job};

pub(super) fn stdout_is_closed() -> bool {
    false
}

pub(super) fn is_deleted(file: &File) -> bool {
    // A file that is open can't vanish here; it can only be marked, and then it can't be asked any more.
    file.metadata().map(|metadata| metadata.file_attributes()).is_err()
}

/// Our own standard streams, as plain files without any buffer of the library's.
#[derive(Debug)]
pub struct StandardStreams;

impl StandardStreams {
    /// Where the client writes.
    pub fn stdin() -> io::Result<File> {
        Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
    }

    /// Where the client reads.
    pub fn stdout() -> io::Result<File> {
        Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
    }

    /// Where the client's log is.
    pub fn stderr() -> io::Result<File> {
        Ok(File::from(io::stderr().as_handle().try_clone_to_owned()?))
    }

    /// Nothing: the process's own handle stays open until it ends, and the client finds its pipe full instead.
    pub fn close_stdin() {}
}

/// A wrapped process, in a job object with ourselves. When we end, in whatever way, the job ends with all that is
/// left in it.
#[derive(Debug)]
pub struct Process {
    child: Mutex<Child>,
}

/// How often is looked whether a process has ended. A wait would keep it from being ended meanwhile.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

impl Process {
    /// Starts a command with its streams in our hands.
    pub fn spawn(command: &[OsString], stderr: StderrMode) -> io::Result<Spawned> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        // Before the start, so that the server and all that it starts are in it from the first moment. Where a job
        // can't be had, the server sees the end of its input.
        join_job();
        let mut builder = Command::new(resolve(program));
        builder.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        builder.stderr(if stderr == StderrMode::Recorded { Stdio::piped() } else { Stdio::inherit() });
        let mut child = builder.spawn()?;
        Ok(Spawned {
            stdin: child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?,
            stdout: child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?,
            stderr: child.stderr.take(),
            process: Process { child: Mutex::new(child) },
        })
    }

    /// Something that stands for the group; signals reach it by the console.
    pub fn group(&self) -> ProcessGroup {
        ProcessGroup
    }

    /// Waits until the process has ended.
    pub fn wait(&self) -> io::Result<()> {
        while self.child().try_wait()?.is_none() {
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    /// Ends the process. What else is left the job ends when we end.
    pub fn end_group(&self) {
        // One that has ended already can't be.
        let _ = self.child().kill();
    }

    /// How the process ended.
    pub fn reap(self) -> io::Result<Exit> {
        let status = self.child().wait()?;
        Ok(Exit { code: status.code().unwrap_or(1), signal: None })
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One job for all processes of ours. It is never closed while we run: that would end us, too.
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

/// The program as the shell would find it: `npx` is `npx.cmd` here.
fn resolve(program: &OsStr) -> PathBuf {
    which::which(program).unwrap_or_else(|_| PathBuf::from(program))
}

/// The job; Ctrl-C reaches its processes by the console they share with us.
#[derive(Debug, Clone, Copy)]
pub struct ProcessGroup;

/// Ctrl-C and Ctrl-Break, which must not end us before the server.
#[derive(Debug)]
pub struct Signals;

impl Signals {
    /// From now on these no longer end us.
    pub fn catch() -> io::Result<Self> {
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
        Ok(Signals)
    }

    /// Nothing to do: the server has its own.
    pub fn forward_to(self, _: ProcessGroup) -> std::sync::Arc<std::sync::atomic::AtomicI32> {
        std::sync::Arc::default()
    }
}

pub(super) fn raise_file_limit() {}

/// There are no such signals: Ctrl-C ends us at once.
pub(super) fn on_termination(_: fn(i32)) {}
