//! A place of its own for each test, and the proxy in it.

use crate::trace::Trace;
use crate::wire::{LIMIT, Peer, Upstream};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use wiretape_testkit::process;

pub(crate) const SIGINT: i32 = 2;
pub(crate) const SIGKILL: i32 = 9;
pub(crate) const SIGTERM: i32 = 15;

/// A proxy, with its own place for data.
pub(crate) struct Proxy {
    home: tempfile::TempDir,
    child: Child,
    address: SocketAddr,
    admin: Option<SocketAddr>,
}

/// What is left of a proxy that has ended.
pub(crate) struct Stopped {
    /// Where its data is.
    home: tempfile::TempDir,
    pub(crate) status: ExitStatus,
    pub(crate) stderr: String,
}

impl Proxy {
    /// In front of a server.
    pub(crate) fn before(upstream: &Upstream, options: &[&str]) -> Self {
        Self::start(&[&["--upstream", &upstream.url()], options].concat())
    }

    /// With these options.
    pub(crate) fn start(options: &[&str]) -> Self {
        Self::start_with(tempfile::tempdir().unwrap(), options, &[])
    }

    /// As a file says, with an address of its own for each listener.
    pub(crate) fn by_file(text: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("wiretape.toml");
        fs::write(&file, text).unwrap();
        let file = file.to_str().unwrap().to_owned();
        Self::run(home, &["--config", &file], &[])
    }

    /// With its data in a place that was prepared, and with these variables.
    pub(crate) fn start_with(
        home: tempfile::TempDir,
        options: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        Self::run(home, &[&["--listen", "127.0.0.1:0"], options].concat(), environment)
    }

    /// As these options alone say, on an address of its own that they name.
    pub(crate) fn start_listening(
        home: tempfile::TempDir,
        options: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        Self::run(home, options, environment)
    }

    fn run(home: tempfile::TempDir, options: &[&str], environment: &[(&str, &str)]) -> Self {
        let stderr = home.path().join("stderr");
        let mut command = wiretape(home.path());
        command.arg("proxy").args(options).envs(environment.iter().copied());
        command.stdin(Stdio::null()).stderr(File::create(&stderr).unwrap());
        let mut child = command.spawn().unwrap();
        let has_admin = options.contains(&"--admin");
        let told = |what: &str| found_in(&fs::read_to_string(&stderr).unwrap(), what);
        wait_until("the proxy listens", || {
            assert!(child.try_wait().unwrap().is_none(), "{}", fs::read_to_string(&stderr).unwrap());
            told("listening on http://").is_some() && (!has_admin || told("status at http://").is_some())
        });
        let address = told("listening on http://").unwrap();
        let admin = told("status at http://");
        Proxy { home, child, address, admin }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the admin port.
    pub(crate) fn admin(&self) -> SocketAddr {
        self.admin.expect("started with --admin")
    }

    /// A client.
    pub(crate) fn connect(&self) -> Peer {
        Peer::connect(self.address)
    }

    /// What the admin's port answers: status and JSON.
    pub(crate) fn ask(&self, path: &str) -> (u16, Value) {
        self.ask_with(path, "Host: localhost\r\n")
    }

    /// What the admin's port answers, as text.
    pub(crate) fn ask_text(&self, path: &str) -> String {
        let mut peer = Peer::connect(self.admin());
        peer.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        String::from_utf8(peer.receive().1).unwrap()
    }

    pub(crate) fn ask_with(&self, path: &str, headers: &str) -> (u16, Value) {
        let mut peer = Peer::connect(self.admin());
        peer.send(format!("GET {path} HTTP/1.1\r\n{headers}\r\n"));
        let (head, body) = peer.receive();
        (head.status(), serde_json::from_slice(&body).unwrap())
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.home.path().join("stderr")).unwrap()).into_owned()
    }

    pub(crate) fn traces(&self) -> Vec<Trace> {
        traces_in(&traces_dir(self.home.path()))
    }

    /// Where its data is.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn signal(&self, signal: i32) {
        process::signal(self.pid(), signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> Stopped {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < LIMIT, "it doesn't end: {}", self.stderr());
            std::thread::sleep(Duration::from_millis(5));
        };
        let stderr = self.stderr();
        let home = std::mem::replace(&mut self.home, tempfile::tempdir().unwrap());
        Stopped { home, status, stderr }
    }

    /// Asks it to end, and expects it to do that well.
    pub(crate) fn stop(self) -> Stopped {
        self.signal(SIGTERM);
        let stopped = self.wait();
        assert!(stopped.status.success(), "{:?}: {}", stopped.status, stopped.stderr);
        stopped
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Stopped {
    /// The traces, each of which has an end.
    pub(crate) fn traces(&self) -> Vec<Trace> {
        let traces = self.unfinished_traces();
        for trace in &traces {
            assert_eq!(trace.lines.last().unwrap()["type"], "end", "{trace:?}");
        }
        traces
    }

    /// Where its data is.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Its data, for another proxy.
    pub(crate) fn into_home(self) -> tempfile::TempDir {
        self.home
    }

    /// The traces, as they are.
    pub(crate) fn unfinished_traces(&self) -> Vec<Trace> {
        traces_in(&traces_dir(self.home.path()))
    }

    /// The only trace.
    pub(crate) fn trace(&self) -> Trace {
        let mut traces = self.traces();
        assert_eq!(traces.len(), 1, "{traces:?}");
        traces.remove(0)
    }

    pub(crate) fn warnings(&self) -> Vec<&str> {
        self.stderr.lines().filter(|line| line.starts_with("warning:")).collect()
    }
}

/// `wiretape`, with its data in a folder.
pub(crate) fn wiretape(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wiretape"));
    command.env("WIRETAPE_DATA_DIR", home.join("data")).env_remove("CLICOLOR_FORCE").current_dir(home);
    command
}

pub(crate) fn traces_dir(home: &Path) -> PathBuf {
    home.join("data/traces")
}

/// All traces in a folder, the oldest first.
pub(crate) fn traces_in(dir: &Path) -> Vec<Trace> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    paths.sort();
    paths.iter().map(|path| Trace::open(path)).collect()
}

fn found_in(text: &str, what: &str) -> Option<SocketAddr> {
    // A line that is still being written doesn't count.
    let whole = &text[..text.rfind('\n')? + 1];
    let (_, rest) = whole.split_once(what)?;
    rest.split([' ', '/', '\n']).next()?.parse().ok()
}

/// Waits until something is so.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LIMIT, "it never came so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Says that a test could not be run here. The test runner keeps what passing tests print to itself, but not this.
pub(crate) fn say_skipped(why: &str) {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    std::io::stderr().write_all(format!("SKIPPED {test}: {why}\n").as_bytes()).unwrap();
}
