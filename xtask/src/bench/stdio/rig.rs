//! The subjects, and how each is started: the same server every time, with nothing, the floor or the recorder in
//! front of it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use wiretape_testkit::peer::Peer;
use wiretape_testkit::{memory, traces};

use crate::bench::programs::Programs;
use crate::failure::{Context, Failure, Result};

/// A time limit far above any single measurement, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// The program in front of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// No program in between.
    Direct,
    /// The minimal recorder, `wt-tee`.
    Floor,
    /// The recorder as users run it, `wiretape record`.
    Recorder,
}

/// The programs, and a directory for what they write.
pub(super) struct Rig {
    echo: PathBuf,
    floor: PathBuf,
    recorder: PathBuf,
    scratch: TempDir,
}

impl Rig {
    pub(super) fn new(programs: &Programs) -> Result<Self> {
        Ok(Self {
            echo: programs.testkit("wt-echo"),
            floor: programs.testkit("wt-tee"),
            recorder: programs.subject(),
            scratch: programs.scratch()?,
        })
    }

    /// Starts the server behind `subject`, with a separate directory for its traces.
    pub(super) fn start<A: AsRef<OsStr>>(&self, subject: Subject, server_arguments: &[A]) -> Result<Started> {
        let directory = TempDir::new_in(self.scratch.path()).context("a directory for a trace")?;
        let stderr = File::create(directory.path().join("stderr.txt")).context("a file for stderr")?;
        let mut command = self.command(subject, directory.path());
        command
            .args(server_arguments)
            .stderr(stderr)
            .env("WIRETAPE_DATA_DIR", self.scratch.path().join("data"));
        let peer = Peer::spawn(&mut command, LIMIT).context(command.get_program().display())?;
        Ok(Started { subject, peer, directory })
    }

    /// The floor and the recorder take the same arguments.
    fn command(&self, subject: Subject, directory: &Path) -> Command {
        let program = match subject {
            Subject::Direct => return Command::new(&self.echo),
            Subject::Floor => &self.floor,
            Subject::Recorder => &self.recorder,
        };
        let mut command = Command::new(program);
        command.args(["record", "--out"]).arg(directory).args(["--label", "bench", "--"]).arg(&self.echo);
        command
    }
}

/// A running subject. Its traces are deleted when it is dropped.
pub(super) struct Started {
    subject: Subject,
    pub(super) peer: Peer,
    directory: TempDir,
}

impl Started {
    /// Runs `work` with the process. An error contains the subject and its stderr.
    pub(super) fn drive<T>(&mut self, work: impl FnOnce(&mut Peer) -> std::io::Result<T>) -> Result<T> {
        work(&mut self.peer).map_err(|error| {
            let stderr = fs::read_to_string(self.directory.path().join("stderr.txt")).unwrap_or_default();
            Failure::new(format!("{:?}: {error}\n{stderr}", self.subject))
        })
    }

    /// The peak memory so far in bytes, without the server's.
    pub(super) fn peak_memory(&self) -> Result<u64> {
        memory::peak_of_tree(self.peer.pid(), "wt-echo")
            .ok_or_else(|| Failure::new("peak memory can only be measured on Linux, of a process that lives"))
    }

    /// Ends it as a client does, and returns the number of lines with `marker` in its trace.
    pub(super) fn finish(self, marker: &str) -> Result<usize> {
        end(self.subject, self.peer)?;
        lines_in_trace(self.subject, self.directory.path(), marker)
    }

    /// Ends it as a client does, and returns how long that took.
    pub(super) fn time_to_exit(self) -> Result<Duration> {
        let start = Instant::now();
        end(self.subject, self.peer)?;
        Ok(start.elapsed())
    }

    /// Kills it with SIGKILL, and returns the number of lines with `marker` in its trace.
    pub(super) fn kill(self, marker: &str) -> Result<usize> {
        self.peer.kill()?;
        lines_in_trace(self.subject, self.directory.path(), marker)
    }
}

fn end(subject: Subject, peer: Peer) -> Result {
    let (status, _) = peer.finish()?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("{subject:?} ended with {status}"))) }
}

fn lines_in_trace(subject: Subject, directory: &Path, marker: &str) -> Result<usize> {
    if subject == Subject::Direct {
        return Ok(0);
    }
    let trace = traces::only_trace_in(directory).context(format!("{subject:?}"))?;
    traces::whole_lines_with(&trace, marker).context(trace.display())
}
