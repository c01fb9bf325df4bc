//! Linux, macOS and other Unix systems.

use super::{Exit, Spawned, StderrMode};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

pub(super) fn is_deleted(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
}

pub(super) fn stdout_is_closed() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = io::stdout();
    let mut streams = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let asked = poll(&mut streams, Some(&at_once));
    // A pipe whose reader has gone says ERR, a terminal that has gone HUP.
    asked.is_ok() && streams[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// Our own standard streams, as plain files without any buffer of the library's.
#[derive(Debug)]
pub struct StandardStreams;

impl StandardStreams {
    /// Where the client writes.
    pub fn stdin() -> io::Result<File> {
        Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
    }

    /// Where the client reads.
    pub fn stdout() -> io::Result<File> {
        Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
    }

    /// Where the client's log is.
    pub fn stderr() -> io::Result<File> {
        Ok(File::from(io::stderr().as_fd().try_clone_to_owned()?))
    }

    /// Closes our end of the client's output: a client that writes on is told, as the server would have told it.
    pub fn close_stdin() {
        if let Ok(null) = File::open("/dev/null") {
            let _ = rustix::stdio::dup2_stdin(null);
        }
    }
}

/// A wrapped process, the leader of a process group of its own.
#[derive(Debug)]
pub struct Process {
    child: Child,
    pid: Pid,
}

impl Process {
    /// Starts a command with its streams in our hands.
    pub fn spawn(command: &[OsString], stderr: StderrMode) -> io::Result<Spawned> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut builder = Command::new(program);
        builder.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        builder.stderr(if stderr == StderrMode::Recorded { Stdio::piped() } else { Stdio::inherit() });
        builder.process_group(0);
        die_with_parent(&mut builder);
        let mut child = builder.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Spawned {
            stdin: child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?,
            stdout: child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?,
            stderr: child.stderr.take(),
            process: Process { child, pid },
        })
    }

    /// Something that can signal the group from another thread.
    pub fn group(&self) -> ProcessGroup {
        ProcessGroup(self.pid)
    }

    /// Waits until the process has ended. It stays a zombie until [`Process::reap`], so that its number, which is the
    /// group's too, can't be given to another.
    pub fn wait(&self) -> io::Result<()> {
        rustix::io::retry_on_intr(|| {
            rustix::process::waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        })?;
        Ok(())
    }

    /// Ends what is left of the group: with `SIGTERM` first, with `SIGKILL` for what does not listen.
    pub fn end_group(&self) {
        const GRACE: Duration = Duration::from_millis(500);
        const STEP: Duration = Duration::from_millis(20);
        if !self.signal_others(Signal::TERM) {
            return;
        }
        for _ in 0..GRACE.as_millis() / STEP.as_millis() {
            std::thread::sleep(STEP);
            if !self.has_others() {
                return;
            }
        }
        self.signal_others(Signal::KILL);
    }

    /// How the process ended.
    pub fn reap(mut self) -> io::Result<Exit> {
        let status = self.child.wait()?;
        let signal = status.signal();
        Ok(Exit { code: status.code().unwrap_or_else(|| 128 + signal.unwrap_or(0)), signal })
    }

    /// Signals the group if there is anybody in it but the leader, which is dead.
    fn signal_others(&self, signal: Signal) -> bool {
        self.has_others() && rustix::process::kill_process_group(self.pid, signal).is_ok()
    }

    /// Whether the group has a member beside the dead leader. Linux says of each process which group it is in; where
    /// that can't be read, a group that takes a signal counts as having one.
    fn has_others(&self) -> bool {
        match group_members(self.pid) {
            Some(members) => members > 0,
            None => rustix::process::test_kill_process_group(self.pid).is_ok(),
        }
    }
}

/// How many living processes are in a group, as `/proc` tells.
fn group_members(group: Pid) -> Option<usize> {
    let group = group.as_raw_nonzero().get();
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let stats = processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let mut seen = false;
    let members = stats
        .filter(|stat| {
            // `pid (name) state ppid pgrp …`, and the name may hold anything.
            let Some((_, fields)) = stat.rsplit_once(") ") else { return false };
            let fields: Vec<&str> = fields.split(' ').take(3).collect();
            seen = true;
            matches!(fields[..], [state, _, pgrp] if !matches!(state, "Z" | "X") && pgrp.parse() == Ok(group))
        })
        .count();
    seen.then_some(members)
}

/// A process group that can be signalled.
#[derive(Debug, Clone, Copy)]
pub struct ProcessGroup(Pid);

impl ProcessGroup {
    fn signal(self, number: i32) {
        if let Some(signal) = Signal::from_named_raw(number) {
            // The group may be gone already; then there is nobody to tell.
            let _ = rustix::process::kill_process_group(self.0, signal);
        }
    }
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "only `pre_exec` runs in the child, between fork and exec")]
fn die_with_parent(command: &mut Command) {
    let parent = rustix::process::getpid();
    // SAFETY: the closure makes system calls that are safe after fork, and neither allocates nor locks.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before the call above took effect.
            if rustix::process::getppid() != Some(parent) {
                return Err(io::Error::from_raw_os_error(rustix::io::Errno::SRCH.raw_os_error()));
            }
            Ok(())
        });
    }
}

/// There is no such signal here. The server's input ends with us, which well-behaved servers take for the end.
#[cfg(not(target_os = "linux"))]
fn die_with_parent(_: &mut Command) {}

/// The signals that are passed on.
#[derive(Debug)]
pub struct Signals(signal_hook::iterator::Signals);

impl Signals {
    /// From now on these signals no longer end us.
    pub fn catch() -> io::Result<Self> {
        signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).map(Signals)
    }

    /// Passes on every signal that comes, and those that came already, for as long as we live. Returns where the last one
    /// that tells a process to stop is noted, or 0: a server that ends after it did not crash.
    pub fn forward_to(mut self, group: ProcessGroup) -> Arc<AtomicI32> {
        let stopped = Arc::new(AtomicI32::new(0));
        let noted = Arc::clone(&stopped);
        std::thread::spawn(move || {
            for signal in self.0.forever() {
                if matches!(signal, SIGINT | SIGTERM | SIGHUP) {
                    noted.store(signal, Ordering::Release);
                }
                group.signal(signal);
            }
        });
        stopped
    }
}

pub(super) fn on_termination(callee: fn(i32)) {
    // If signals can't be caught, they end us at once, as they always did.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || signals.forever().for_each(callee));
}

pub(super) fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // If it can't be raised, there will be fewer connections.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
