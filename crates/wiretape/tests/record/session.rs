//! A place of its own for each test, and sessions through the recorder in it.

use crate::trace::Trace;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use wiretape_testkit::bins;
use wiretape_testkit::peer::{Peer, Pipeline, Writes};

/// After this a session is killed and its test fails: generous, for the machine may be busy.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// A folder with everything that a test has.
pub(crate) struct Home {
    dir: tempfile::TempDir,
    sessions: AtomicU32,
}

impl Home {
    pub(crate) fn new() -> Self {
        Home { dir: tempfile::tempdir().unwrap(), sessions: AtomicU32::new(0) }
    }

    /// The path of something in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Where Wiretape keeps its data. Nothing is there until it makes it.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.path("data")
    }

    pub(crate) fn traces_dir(&self) -> PathBuf {
        self.data_dir().join("traces")
    }

    /// The only trace.
    pub(crate) fn trace(&self) -> Trace {
        let traces = traces_in(&self.traces_dir());
        assert_eq!(traces.len(), 1, "{traces:?}");
        Trace::open(&traces[0])
    }

    /// Writes the user's configuration.
    pub(crate) fn configure(&self, text: &str) {
        fs::create_dir_all(self.data_dir()).unwrap();
        fs::write(self.data_dir().join("config.toml"), text).unwrap();
    }

    /// `wiretape`, with its data in here.
    pub(crate) fn wiretape(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wiretape"));
        command.env("WIRETAPE_DATA_DIR", self.data_dir()).env_remove("CLICOLOR_FORCE");
        command.current_dir(self.dir.path());
        command
    }

    /// `wiretape record OPTIONS -- SERVER`.
    pub(crate) fn record(&self, options: &[&str], server: &[OsString]) -> Command {
        let mut command = self.wiretape();
        command.arg("record").args(options).arg("--").args(server);
        command
    }

    pub(crate) fn start(&self, options: &[&str], server: &[OsString]) -> Session {
        self.start_command(self.record(options, server))
    }

    pub(crate) fn start_command(&self, mut command: Command) -> Session {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        let stderr = self.path(&format!("stderr-{number}"));
        command.stderr(File::create(&stderr).unwrap());
        Session { peer: Peer::spawn(&mut command, LIMIT).unwrap(), stderr }
    }
}

/// A client's end of a session.
pub(crate) struct Session {
    pub(crate) peer: Peer,
    stderr: PathBuf,
}

/// The result of a session.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    /// What the server said that the client had not read yet.
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Session {
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.peer.send(bytes.as_ref()).unwrap();
    }

    /// The server's next line, without its newline.
    pub(crate) fn receive_line(&mut self) -> String {
        let line = String::from_utf8(self.peer.receive_line().unwrap()).unwrap();
        line.strip_suffix('\n').unwrap_or_else(|| panic!("the output ended: {line:?}")).to_owned()
    }

    /// Sends something and reads it back, from a server that echoes.
    pub(crate) fn round_trip(&mut self, message: impl AsRef<[u8]>) {
        self.peer.round_trip(message.as_ref()).unwrap();
    }

    /// Sends bytes of any number and reads them back while it does, from a server that copies its input.
    pub(crate) fn stream(&mut self, bytes: &[u8]) {
        let pipeline = Pipeline { messages: bytes, length: 1, window: bytes.len(), writes: Writes::Bulk };
        self.peer.pipeline(&pipeline).unwrap();
    }

    /// Standard error so far.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.stderr).unwrap()).into_owned()
    }

    /// Ends the server's input, reads what it still says, and waits for the end.
    pub(crate) fn end(self) -> Ended {
        let stderr = self.stderr.clone();
        let (status, stdout) = self.peer.finish().unwrap();
        let stderr = String::from_utf8_lossy(&fs::read(stderr).unwrap()).into_owned();
        Ended { code: status.code(), stdout, stderr }
    }
}

impl Ended {
    /// The server exited with 0, without further output on either stream.
    pub(crate) fn check_quiet(&self) {
        assert_eq!((self.code, self.stdout.as_slice(), self.stderr.as_str()), (Some(0), &b""[..], ""));
    }

    pub(crate) fn warnings(&self) -> Vec<&str> {
        self.stderr.lines().filter(|line| line.starts_with("warning:")).collect()
    }
}

/// A command line.
pub(crate) fn server<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> Vec<OsString> {
    words.into_iter().map(|word| word.as_ref().to_owned()).collect()
}

/// `wt-echo`, with options.
pub(crate) fn echo(options: &[&str]) -> Vec<OsString> {
    let mut command = vec![bins::path("wt-echo").into_os_string()];
    command.extend(server(options));
    command
}

/// A shell's script; its arguments are `$1` and so on.
pub(crate) fn shell<A: AsRef<OsStr>>(script: &str, arguments: impl IntoIterator<Item = A>) -> Vec<OsString> {
    let mut command = server(["sh", "-c", script, "sh"]);
    command.extend(server(arguments));
    command
}

/// All traces in a folder, the oldest first.
pub(crate) fn traces_in(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    paths.sort();
    paths
}

/// Waits until something is so.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LIMIT, "it never came so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a process has written its number to a file.
pub(crate) fn pid_in(file: &Path) -> u32 {
    let read = || fs::read_to_string(file).ok().filter(|text| text.ends_with('\n'));
    wait_until("a process wrote its number", || read().is_some());
    read().unwrap().trim().parse().unwrap()
}

/// Says that a test could not be run here. The test runner keeps what passing tests print to itself, but not this.
pub(crate) fn say_skipped(why: &str) {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    std::io::stderr().write_all(format!("SKIPPED {test}: {why}\n").as_bytes()).unwrap();
}
