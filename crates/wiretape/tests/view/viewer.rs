//! A running `wiretape view`, and raw HTTP to ask it with: no client in between that would mend a request.

use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};
#[cfg(unix)]
use wiretape_testkit::process;

/// Nothing takes nearly as long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const MOMENT: Duration = Duration::from_millis(10);

/// A server with a data directory of its own; both vanish with the test.
pub(crate) struct Viewer {
    child: Child,
    address: SocketAddr,
    pub(crate) token: String,
    home: tempfile::TempDir,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The status line and the headers, as they are.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The words of a refusal.
    pub(crate) fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_default().to_owned()
    }
}

impl Viewer {
    /// Serves these traces, each a name and its text.
    pub(crate) fn with(traces: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let shelf = home.path().join("traces");
        fs::create_dir(&shelf).unwrap();
        fs::create_dir(home.path().join("tmp")).unwrap();
        for (name, text) in traces {
            fs::write(shelf.join(name), text).unwrap();
        }
        Viewer::started(home, |command| {
            command.args(["view", "--no-open"]);
        })
    }

    /// Starts the server in a data directory, with the arguments and the environment that `prepare` adds.
    pub(crate) fn started(home: tempfile::TempDir, prepare: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wiretape"));
        command.env("WIRETAPE_DATA_DIR", home.path()).env("TMPDIR", home.path().join("tmp"));
        prepare(&mut command);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut printed = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut printed).unwrap();
        let (_, url) = printed.split_once("http://").unwrap();
        let (address, token) = url.trim().split_once("/#token=").unwrap();
        let (address, token) = (address.parse().unwrap(), token.to_owned());
        Viewer { child, address, token, home }
    }

    /// Serves a trace of `fixtures`.
    pub(crate) fn of_fixture(name: &str) -> Self {
        let text = fs::read_to_string(fixtures().join(name)).unwrap();
        Viewer::with(&[(name.rsplit('/').next().unwrap(), &text)])
    }

    /// The files that the server has made for itself.
    pub(crate) fn own_files(&self) -> usize {
        fs::read_dir(self.home.path().join("tmp")).unwrap().count()
    }

    /// Sends it a signal, and waits until it has ended.
    #[cfg(unix)]
    pub(crate) fn end_by(&mut self, signal: i32) {
        process::signal(self.child.id(), signal).unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Asks as the page does.
    pub(crate) fn ask(&self, target: &str) -> Answer {
        let (address, token) = (self.address, &self.token);
        self.send(&format!(
            "GET {target} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n"
        ))
    }

    /// Waits until a trace is read to its end: that is done in the background.
    pub(crate) fn wait_for(&self, trace: &str) {
        let is_read = || {
            self.ask(&format!("/api/set?trace={trace}")).json()["traces"][0]["progress"]["isComplete"] == true
        };
        while !is_read() {
            thread::sleep(MOMENT);
        }
    }

    /// Waits until another process has written a file, and reads it.
    #[cfg(target_os = "linux")]
    pub(crate) fn wait_for_file(&self, path: &Path) -> String {
        let start = std::time::Instant::now();
        while !path.exists() {
            assert!(start.elapsed() < PATIENCE, "{} was not written", path.display());
            thread::sleep(MOMENT);
        }
        fs::read_to_string(path).unwrap()
    }

    /// Asks with these headers and no other.
    pub(crate) fn ask_with(&self, target: &str, headers: &[&str]) -> Answer {
        let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        self.send(&format!("GET {target} HTTP/1.1\r\n{headers}\r\n"))
    }

    /// Hands over a body, as the page does.
    pub(crate) fn post(&self, target: &str, kind: &str, body: &str) -> Answer {
        let (address, token, length) = (self.address, &self.token, body.len());
        self.send(&format!(
            "POST {target} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
    }

    /// Sends bytes as they are, and reads one answer.
    pub(crate) fn send(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "it broke off: {head}");
        }
        let mut body = vec![0; length_in(&head)];
        reader.read_exact(&mut body).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head, body: String::from_utf8(body).unwrap() }
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

fn length_in(head: &str) -> usize {
    let line = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    line.unwrap_or_default()
}
