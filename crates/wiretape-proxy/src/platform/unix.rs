//! Linux, macOS and other Unix systems.

use super::{Exit, SpawnedServer, StderrMode};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
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
    let polled = poll(&mut streams, Some(&at_once));
    // A pipe without a reader polls as ERR, a closed terminal as HUP.
    polled.is_ok() && streams[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// Our own standard streams as unbuffered files: the standard library's `stdin` and `stdout` would add a buffer and a copy.
#[derive(Debug)]
pub struct StandardStreams;

impl StandardStreams {
    /// The stream that the client writes to.
    pub fn stdin() -> io::Result<File> {
        Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
    }

    /// The stream that the client reads from.
    pub fn stdout() -> io::Result<File> {
        Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
    }

    /// The stream that the client shows as the server's log.
    pub fn stderr() -> io::Result<File> {
        Ok(File::from(io::stderr().as_fd().try_clone_to_owned()?))
    }

    /// Closes our stdin, so that a client that continues to write gets the broken pipe that it would get from the server.
    pub fn close_stdin() {
        if let Ok(null) = File::open("/dev/null") {
            // Replaced and not closed: the next file that is opened would otherwise get descriptor 0. If it fails,
            // the client only notices later.
            let _ = rustix::stdio::dup2_stdin(null);
        }
    }
}

/// A wrapped process that leads its own process group.
#[derive(Debug)]
pub struct Process {
    child: Child,
    pid: Pid,
}

impl Process {
    /// Starts a command with its standard streams as pipes to us.
    pub fn spawn(command: &[OsString], stderr: StderrMode) -> io::Result<SpawnedServer> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut builder = Command::new(program);
        builder.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        builder.stderr(if stderr == StderrMode::Recorded { Stdio::piped() } else { Stdio::inherit() });
        // A group of its own, so that everything the server starts can be signaled together, and the terminal's
        // Ctrl-C reaches the server once, through us.
        builder.process_group(0);
        die_with_parent(&mut builder);
        let mut child = builder.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
        Ok(SpawnedServer {
            stdin: child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?,
            stdout: child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?,
            stderr: child.stderr.take(),
            process: Process { child, pid },
        })
    }

    /// A handle that can signal the group from another thread.
    pub fn group(&self) -> ProcessGroup {
        ProcessGroup(self.pid)
    }

    /// Waits until the process has exited. It stays a zombie until [`Process::reap`], so that its pid, which is also the
    /// group's id, can't be reused: a later signal to the group would hit an unrelated process.
    pub fn wait(&self) -> io::Result<()> {
        rustix::io::retry_on_intr(|| {
            rustix::process::waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        })?;
        Ok(())
    }

    /// Terminates the remaining processes of the group: `SIGTERM` first, `SIGKILL` after half a second.
    pub fn end_group(&self) {
        const GRACE: Duration = Duration::from_millis(500);
        const STEP: Duration = Duration::from_millis(20);
        if !self.signal_others(Signal::TERM) {
            return;
        }
        // Polled, because processes that are not our children can't be waited for.
        for _ in 0..GRACE.as_millis() / STEP.as_millis() {
            std::thread::sleep(STEP);
            if !self.has_others() {
                return;
            }
        }
        self.signal_others(Signal::KILL);
    }

    /// Reaps the zombie and returns its exit status.
    pub fn reap(mut self) -> io::Result<Exit> {
        let status = self.child.wait()?;
        let signal = status.signal();
        Ok(Exit { code: status.code().unwrap_or_else(|| 128 + signal.unwrap_or(0)), signal })
    }

    /// Signals the group if it has a process other than the dead leader.
    fn signal_others(&self, signal: Signal) -> bool {
        self.has_others() && rustix::process::kill_process_group(self.pid, signal).is_ok()
    }

    /// Whether the group has a process other than the dead leader. Linux lists the group of each process in `/proc`; where that
    /// can't be read, a group that accepts signal 0 counts as having one.
    fn has_others(&self) -> bool {
        match group_members(self.pid) {
            Some(members) => members > 0,
            None => rustix::process::test_kill_process_group(self.pid).is_ok(),
        }
    }
}

/// The number of living processes in a group according to `/proc`, or `None` if `/proc` can't be read.
fn group_members(group: Pid) -> Option<usize> {
    let group = group.as_raw_nonzero().get();
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let stats = processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let mut seen = false;
    let members = stats
        .filter(|stat| {
            // proc(5): `pid (name) state ppid pgrp …`. The name may contain spaces and parentheses, so split at the last `) `.
            let Some((_, fields)) = stat.rsplit_once(") ") else { return false };
            let fields: Vec<&str> = fields.split(' ').take(3).collect();
            seen = true;
            matches!(fields[..], [state, _, pgrp] if !matches!(state, "Z" | "X") && pgrp.parse() == Ok(group))
        })
        .count();
    seen.then_some(members)
}

/// A process group that can be signaled.
#[derive(Debug, Clone, Copy)]
pub struct ProcessGroup(Pid);

impl ProcessGroup {
    fn signal(self, number: i32) {
        if let Some(signal) = Signal::from_named_raw(number) {
            // ESRCH is fine: the group has already ended.
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

/// Other Unix systems have no parent-death signal. The server's stdin closes with us, and servers should exit on EOF
/// (MCP 2025-11-25, basic/lifecycle, "Shutdown").
#[cfg(not(target_os = "linux"))]
fn die_with_parent(_: &mut Command) {}

/// The signals that are forwarded to the server.
#[derive(Debug)]
pub struct Signals(signal_hook::iterator::Signals);

impl Signals {
    /// Installs the handlers: from now on these signals no longer terminate us.
    pub fn catch() -> io::Result<Self> {
        signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).map(Signals)
    }

    /// Forwards every signal, including those received since [`Signals::catch`], until the process ends. The returned value
    /// holds the last stop signal or 0: a server that exits after one did not crash.
    pub fn forward_to(mut self, group: ProcessGroup) -> Arc<AtomicI32> {
        let stop_signal = Arc::new(AtomicI32::new(0));
        let last_seen = Arc::clone(&stop_signal);
        std::thread::spawn(move || {
            for signal in self.0.forever() {
                if matches!(signal, SIGINT | SIGTERM | SIGHUP) {
                    last_seen.store(signal, Ordering::Release);
                }
                group.signal(signal);
            }
        });
        stop_signal
    }
}

pub(super) fn on_termination(callee: fn(i32)) {
    // Without handlers the default action stays: the signals terminate us at once.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || signals.forever().for_each(callee));
}

pub(super) fn survive_file_size_limit() {
    // A handler, not `SIG_IGN`: a handler is reset by exec, so the wrapped server keeps the system's default. If it can't be
    // installed, the limit ends the process, as it would without this.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

pub(super) fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // If it can't be raised, fewer connections are possible; that is not worth failing for.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
